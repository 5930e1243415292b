"""The simulated disk: the contract of file systems, what survives a crash, faults."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DirectoryLockedError
from bookkeeper_twisted.storage.interfaces import IFile, IFileSystem
from bookkeeper_twisted.testing.contracts.filesystem_contract import make_filesystem_tests

from .sim_disk import Operation, SimDisk


def _make(case: SynchronousTestCase) -> tuple[IFileSystem, str]:
    disk = SimDisk()
    disk.make_directories("/base")
    return disk, "/base"


class SimDiskContractTests(make_filesystem_tests(_make)):  # type: ignore[misc]
    """The contract on the simulated disk."""


class _DiskTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.disk = SimDisk()
        self.disk.make_directories("/d")

    def durable_file(self, data: bytes = b"") -> IFile:
        """A file whose name and bytes are durable."""
        file = self.disk.open("/d/f", create=True)
        if data:
            file.pwrite(data, 0)
        file.sync(metadata=True)
        self.disk.sync_directory("/d")
        return file

    def lost(self, data: bytes, offset: int) -> IFile:
        """A durable file of 512 bytes to which something was written that a failed sync lost."""
        file = self.durable_file(b"a" * 512)
        file.pwrite(data, offset)
        self.disk.fail(errno.EIO)
        self.assertRaises(OSError, file.sync)
        return file

    def content(self, disk: SimDisk, path: str = "/d/f") -> bytes:
        """All bytes of a file."""
        return disk.open(path).pread(1 << 20, 0)


class CrashTests(_DiskTestCase):
    """What a power cut leaves."""

    def test_durable(self) -> None:
        """What was synced, name and bytes, is there after any crash."""
        self.durable_file(b"x" * 1000)
        self.assertEqual(self.disk.pending_count(), 0)
        self.assertEqual(self.content(self.disk.crash(())), b"x" * 1000)

    def test_name_needs_its_directory(self) -> None:
        """A synced file whose directory was not synced may be gone."""
        self.disk.open("/d/f", create=True).sync()
        self.assertEqual(self.disk.crash(()).list("/d"), [])
        self.assertEqual(self.disk.crash().list("/d"), ["f"])

    def test_sectors_survive_one_by_one(self) -> None:
        """A write over existing bytes survives in any sectors of it."""
        file = self.durable_file(b"a" * 1536)
        file.pwrite(b"b" * 1536, 0)
        self.assertEqual(self.disk.pending_count(), 3)
        self.assertEqual(self.content(self.disk.crash((1,))), b"a" * 512 + b"b" * 512 + b"a" * 512)
        self.assertEqual(self.content(self.disk.crash((0, 2))), b"b" * 512 + b"a" * 512 + b"b" * 512)

    def test_size_without_data(self) -> None:
        """The size of a file may survive without its data: zeros."""
        file = self.durable_file(b"a" * 100)
        file.pwrite(b"b" * 1024, 512)
        self.assertEqual(self.content(self.disk.crash((0,))), (b"a" * 100).ljust(1536, b"\0"))

    def test_data_without_size(self) -> None:
        """Data behind the end that survives without the new size is not there."""
        file = self.durable_file(b"a" * 100)
        file.pwrite(b"b" * 512, 100)
        after = self.disk.crash((1, 2))
        self.assertEqual(self.content(after), b"a" * 100)
        grown = after.open("/d/f")
        grown.truncate(700)
        self.assertEqual(grown.pread(1000, 0), b"a" * 100 + bytes(600))

    def test_later_write_dropped(self) -> None:
        """Of two unsynced writes to one place the earlier may survive alone."""
        file = self.durable_file(b"a" * 512)
        file.pwrite(b"b" * 512, 0)
        file.pwrite(b"c" * 512, 0)
        found = {self.content(self.disk.crash(kept)) for kept in ((), (0,), (1,), (0, 1))}
        self.assertEqual(found, {b"a" * 512, b"b" * 512, b"c" * 512})

    def test_rename(self) -> None:
        """A rename is all or nothing, and may come before the bytes it names."""
        self.durable_file(b"old")
        file = self.disk.open("/d/f.tmp", create=True)
        file.pwrite(b"new", 0)
        self.disk.rename("/d/f.tmp", "/d/f")
        self.assertEqual(self.content(self.disk.crash(())), b"old")
        only_the_rename = self.disk.crash((1,))
        self.assertEqual((only_the_rename.list("/d"), self.content(only_the_rename)), (["f"], b""))
        self.assertEqual(self.content(self.disk.crash()), b"new")

    def test_unlink(self) -> None:
        """A removed name may come back until the directory is synced."""
        self.durable_file(b"abc")
        self.disk.unlink("/d/f")
        self.assertEqual(self.content(self.disk.crash(())), b"abc")
        self.assertEqual(self.disk.crash().list("/d"), [])
        self.disk.sync_directory("/d")
        self.assertEqual(self.disk.crash(()).list("/d"), [])

    def test_truncate(self) -> None:
        """A truncation is pending until a sync."""
        file = self.durable_file(b"a" * 1000)
        file.truncate(10)
        self.assertEqual(len(self.content(self.disk.crash(()))), 1000)
        file.sync(metadata=True)
        self.assertEqual(self.content(self.disk.crash(())), b"a" * 10)

    def test_independence(self) -> None:
        """Neither disk sees what happens on the other after the crash."""
        file = self.durable_file(b"abc")
        after = self.disk.crash()
        file.pwrite(b"x", 0)
        after.open("/d/f").pwrite(b"y", 1)
        self.assertEqual((self.content(self.disk), self.content(after)), (b"xbc", b"ayc"))

    def test_digest(self) -> None:
        """Equal durable disks have equal digests, however they came about; others have not."""
        file = self.durable_file(b"a" * 512)
        before = self.disk.crash(()).digest()
        file.pwrite(b"b" * 512, 0)
        self.assertEqual(self.disk.crash(()).digest(), before)
        self.assertNotEqual(self.disk.crash().digest(), before)
        file.pwrite(b"a" * 512, 0)
        self.assertEqual(self.disk.crash().digest(), before)
        self.disk.rename("/d/f", "/d/g")
        self.assertNotEqual(self.disk.crash().digest(), before)

    def test_kill(self) -> None:
        """The end of the process loses locks and open files, not what was written."""
        self.disk.lock("/d/LOCK")
        file = self.disk.open("/d/f", create=True)
        file.pwrite(b"abc", 0)
        self.disk.kill()
        self.assertEqual(self.content(self.disk), b"abc")
        self.assertRaises(OSError, file.pwrite, b"x", 0)
        lock = self.disk.lock("/d/LOCK")
        self.assertRaises(DirectoryLockedError, self.disk.lock, "/d/LOCK")
        lock.release()


class StoredObjectTests(_DiskTestCase):
    """Objects that are replaced atomically and durably."""

    def test_commit(self) -> None:
        """A committed state survives every crash; its directory lists it."""
        self.assertIs(self.disk.committed("/d/index"), None)
        self.disk.commit("/d/index", ("a",), b"1")
        first = self.disk.crash(())
        self.disk.commit("/d/index", ("a", "b"), b"2")
        self.assertEqual(first.committed("/d/index"), ("a",))
        self.assertEqual(self.disk.crash(()).committed("/d/index"), ("a", "b"))
        self.assertNotEqual(first.digest(), self.disk.digest())
        self.assertEqual(self.disk.list("/d"), ["index"])
        self.assertTrue(self.disk.exists("/d/index"))

    def test_failed_commit(self) -> None:
        """A commit that fails did not happen."""
        self.disk.commit("/d/index", 1, b"1")
        self.disk.fail(errno.EIO)
        self.assertRaises(OSError, self.disk.commit, "/d/index", 2, b"2")
        self.assertEqual(self.disk.committed("/d/index"), 1)

    def test_unlink(self) -> None:
        """An object can be removed."""
        self.disk.commit("/d/index", 1, b"1")
        self.disk.unlink("/d/index")
        self.assertFalse(self.disk.exists("/d/index"))


class OperationTests(_DiskTestCase):
    """The log of operations and the observer."""

    def test_log(self) -> None:
        """Everything that changes the disk is logged in order; reads are not."""
        file = self.durable_file(b"abc")
        file.pread(3, 0)
        file.truncate(1)
        self.disk.rename("/d/f", "/d/g")
        self.disk.unlink("/d/g")
        names = [op.name for op in self.disk.operations]
        expected = ["make_directory", "create", "pwrite", "sync", "sync_directory", "truncate", "rename", "unlink"]
        self.assertEqual(names, expected)
        self.assertEqual([op.number for op in self.disk.operations], list(range(1, 9)))

    def test_observer_comes_first(self) -> None:
        """The observer sees the disk as it is just before an operation."""
        file = self.durable_file()
        seen: list[tuple[str, int]] = []
        self.disk.observer = lambda op: seen.append((op.name, self.disk.pending_count()))
        file.pwrite(b"x" * 512, 0)
        file.sync()
        self.assertEqual(seen, [("pwrite", 0), ("sync", 2)])


class FaultTests(_DiskTestCase):
    """Errors on demand."""

    def test_numbered_operation(self) -> None:
        """The operation with the number fails, once."""
        file = self.durable_file()
        self.disk.fail(errno.ENOSPC, at=len(self.disk.operations) + 2)
        file.pwrite(b"a", 0)
        error = self.assertRaises(OSError, file.pwrite, b"b", 1)
        self.assertEqual((error.errno, error.filename), (errno.ENOSPC, "/d/f"))
        file.pwrite(b"c", 1)
        self.assertEqual(self.content(self.disk), b"ac")

    def test_predicate_sees_reads(self) -> None:
        """A predicate picks operations and reads."""
        file = self.durable_file(b"abc")

        def reads(op: Operation) -> bool:
            return op.name == "pread" and op.path == "/d/f"

        self.disk.fail(errno.EIO, when=reads, times=2)
        file.pwrite(b"x", 0)
        self.assertRaises(OSError, file.pread, 1, 0)
        self.assertRaises(OSError, file.pread, 1, 0)
        self.assertEqual(file.pread(1, 0), b"x")

    def test_heal(self) -> None:
        """Faults can be disarmed."""
        file = self.durable_file()
        self.disk.fail(errno.EIO, times=100)
        self.assertRaises(OSError, file.sync)
        self.disk.heal()
        file.sync()

    def test_failed_write_is_partial(self) -> None:
        """A write that fails has written some of it."""
        file = self.durable_file(b"a" * 2048)
        self.disk.fail(errno.EIO)
        self.assertRaises(OSError, file.pwrite, b"b" * 2048, 0)
        self.assertEqual(self.content(self.disk), b"b" * 1024 + b"a" * 1024)

    def test_failed_sync(self) -> None:
        """After a failed sync the next one succeeds and makes nothing durable that was written before."""
        file = self.lost(b"b" * 512, 0)
        file.pwrite(b"c" * 512, 512)
        file.sync()
        self.assertEqual(self.content(self.disk), b"b" * 512 + b"c" * 512)
        self.assertEqual(self.content(self.disk.crash(())), b"a" * 512 + b"c" * 512)
        self.assertEqual(self.content(self.disk.crash()), b"b" * 512 + b"c" * 512)

    def test_failed_sync_and_new_bytes(self) -> None:
        """What a failed sync lost does not come back over what was synced later."""
        file = self.lost(b"b" * 512, 0)
        file.pwrite(b"c" * 512, 0)
        file.sync()
        self.assertEqual(self.content(self.disk.crash()), b"c" * 512)

    def test_failed_sync_of_a_longer_file(self) -> None:
        """Bytes that are written again and synced are durable, though a failed sync lost the size they need."""
        file = self.lost(b"b" * 1536, 512)
        file.pwrite(b"c" * 512, 512)
        file.sync()
        self.assertEqual((file.size(), self.content(self.disk.crash(()))), (2048, b"a" * 512 + b"c" * 512))

    def test_failed_directory_sync(self) -> None:
        """After a failed sync of a directory its changes stay uncertain."""
        self.disk.open("/d/f", create=True).sync()
        self.disk.fail(errno.EIO)
        self.assertRaises(OSError, self.disk.sync_directory, "/d")
        self.disk.sync_directory("/d")
        self.assertEqual((self.disk.crash(()).list("/d"), self.disk.crash().list("/d")), ([], ["f"]))

    def test_other_failures_change_nothing(self) -> None:
        """A failed create, rename, unlink or truncation did not happen."""
        file = self.durable_file(b"abc")
        calls = (
            lambda: self.disk.open("/d/g", create=True),
            lambda: self.disk.rename("/d/f", "/d/g"),
            lambda: self.disk.unlink("/d/f"),
            lambda: file.truncate(1),
            lambda: self.disk.make_directories("/e"),
        )
        for call in calls:
            self.disk.fail(errno.EIO)
            self.assertRaises(OSError, call)
        self.assertEqual((self.disk.list("/d"), self.content(self.disk)), (["f"], b"abc"))
        self.assertFalse(self.disk.exists("/e"))

    def test_rename_across_directories(self) -> None:
        """A file cannot be moved to another directory, which would not be atomic."""
        self.durable_file()
        self.disk.make_directories("/e")
        error = self.assertRaises(OSError, self.disk.rename, "/d/f", "/e/f")
        self.assertEqual(error.errno, errno.EXDEV)
