"""The test suite for :class:`~bookkeeper_twisted.storage.interfaces.IFileSystem`."""

import errno
import posixpath
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...errors import DirectoryLockedError
from ...storage.interfaces import IFile, IFileSystem, ILock


def make_filesystem_tests(
    make: Callable[[SynchronousTestCase], tuple[IFileSystem, str]],
) -> type[SynchronousTestCase]:
    """Make the test case with all tests of this suite for one file system.

    :param make: a function that is called with each test; it returns the file system and the path of an empty directory
        on it.
    """

    class FileSystemContract(_FileSystemContract):
        """The tests of this suite, for the file system that ``make`` returns."""

        def make(self) -> tuple[IFileSystem, str]:
            return make(self)

    return FileSystemContract


class _FileSystemContract(SynchronousTestCase):
    def make(self) -> tuple[IFileSystem, str]:
        """Return the file system and the path of an empty directory on it."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.fs, self.base = self.make()
        self.path = posixpath.join(self.base, "file")

    def create(self, data: bytes = b"") -> IFile:
        """Create a file with ``data`` and return it; it is closed after the test."""
        file = self.fs.open(self.path, create=True)
        self.addCleanup(file.close)
        if data:
            file.pwrite(data, 0)
        return file

    def test_interfaces(self) -> None:
        """The file system, its files and its locks provide ``IFileSystem``, ``IFile`` and ``ILock``."""
        verifyObject(IFileSystem, self.fs)
        file = self.create()
        verifyObject(IFile, file)
        self.assertEqual(file.path, self.path)
        lock = self.fs.lock(posixpath.join(self.base, "LOCK"))
        self.addCleanup(lock.release)
        verifyObject(ILock, lock)

    def test_read_what_was_written(self) -> None:
        """Reads at any offset return the written bytes, and zeros for offsets that were not written."""
        file = self.create()
        file.pwrite(b"abc", 0)
        file.pwrite(bytes(range(256)) * 8, 1000)
        file.pwrite(b"xyz", 1022)
        expected = b"abc".ljust(1000, b"\0") + bytes(range(256)) * 8
        expected = expected[:1022] + b"xyz" + expected[1025:]
        self.assertEqual(file.size(), len(expected))
        for offset, size in ((0, 5000), (0, 3), (2, 1), (511, 2), (512, 512), (999, 1030), (3000, 48), (3040, 100)):
            self.assertEqual(file.pread(size, offset), expected[offset : offset + size])

    def test_resident(self) -> None:
        """A read from the page cache returns the bytes, or None if they may not all be in memory."""
        data = bytes(range(256)) * 40
        file = self.create(data)
        for offset, size in ((0, len(data)), (700, 5000), (9000, 1), (0, 0)):
            self.assertIn(self.resident(file, size, offset), (data[offset : offset + size], None))
        self.assertIsNone(self.resident(file, 10, len(data) - 9))
        file.close()
        self.assertRaises(OSError, file.pread_resident, 1, 0)

    def test_resident_each(self) -> None:
        """One read of many ranges from the page cache, in any order, returns all bytes of a range or none of them."""
        data = bytes(range(256)) * 40
        file = self.create(data)
        side_by_side = [(700, 100), (1, 800), (300, 801), (0, 1101), (12, 1101)]
        near = [(10, 2000), (30, 2025), (1, 2055), (5, 4104), (900, 6158), (20, 7050), (3, 9119), (1200, 9130)]
        places = [(5000, 700), *side_by_side, *near, (1, 9000), (0, 0), (5000, 3), (9, len(data) - 9), (10, len(data))]
        try:
            found = file.pread_resident_each([size for size, _ in places], [offset for _, offset in places])
        except OSError as e:
            self.assertEqual(e.errno, errno.EOPNOTSUPP)
            return
        for (size, offset), part in zip(places[:-1], found, strict=False):
            self.assertIn(part, (data[offset : offset + size], None))
        self.assertEqual((len(found), found[-1]), (len(places), None))
        self.assertEqual(file.pread_resident_each([], []), [])
        file.close()
        self.assertRaises(OSError, file.pread_resident_each, [1], [0])

    def resident(self, file: IFile, size: int, offset: int) -> bytes | None:
        """Read bytes from the page cache; return None if the file system has no such reads."""
        try:
            return file.pread_resident(size, offset)
        except OSError as e:
            self.assertEqual(e.errno, errno.EOPNOTSUPP)
            return None

    def test_read_behind_the_end(self) -> None:
        """A read at or behind the end of a file returns no bytes."""
        file = self.create(b"abc")
        self.assertEqual((file.pread(1, 3), file.pread(10, 700)), (b"", b""))

    def test_truncate(self) -> None:
        """Truncation shortens a file or extends it by zeros; bytes that were cut off before do not come back."""
        file = self.create(b"x" * 1500)
        file.truncate(700)
        self.assertEqual((file.size(), file.pread(2000, 690)), (700, b"x" * 10))
        file.truncate(1400)
        self.assertEqual(file.pread(2000, 690), b"x" * 10 + bytes(700))
        file.sync(metadata=True)

    def test_allocate(self) -> None:
        """Allocation extends a file by zeros; it never shortens the file, and keeps its contents."""
        file = self.create(b"abc")
        for size in (9000, 9000, 5000):
            file.allocate(size)
            self.assertEqual((file.size(), file.pread(9000, 0)), (9000, b"abc".ljust(9000, b"\0")))

    def test_reopen(self) -> None:
        """If a file is open twice, a read through one file object sees the bytes written through the other."""
        file = self.create(b"abc")
        file.sync()
        other = self.fs.open(self.path)
        self.addCleanup(other.close)
        file.pwrite(b"d", 3)
        self.assertEqual(other.pread(10, 0), b"abcd")

    def test_create_existing(self) -> None:
        """Creating a file that exists fails, and does not change the file."""
        file = self.create(b"abc")
        self.assertRaises(FileExistsError, self.fs.open, self.path, create=True)
        self.assertEqual(file.pread(3, 0), b"abc")

    def test_open_missing(self) -> None:
        """Opening a missing file fails, and so does every call that names a missing directory."""
        self.assertRaises(FileNotFoundError, self.fs.open, self.path)
        for call in (self.fs.list, self.fs.sync_directory, self.fs.usage, self.fs.inodes, self.fs.disk,
                     self.fs.unlink):  # fmt: skip
            self.assertRaises(FileNotFoundError, call, posixpath.join(self.base, "none"))
        inside = posixpath.join(self.base, "none", "file")
        self.assertRaises(FileNotFoundError, self.fs.open, inside, create=True)
        self.assertRaises(FileNotFoundError, self.fs.rename, self.path, self.path + "2")

    def test_names(self) -> None:
        """A listing of a directory shows the files and directories in it, sorted; removed files are not shown."""
        self.create()
        self.fs.make_directories(posixpath.join(self.base, "a", "b"))
        self.assertEqual(self.fs.list(self.base), ["a", "file"])
        self.assertTrue(self.fs.exists(self.path) and self.fs.exists(posixpath.join(self.base, "a")))
        self.assertFalse(self.fs.exists(self.path + "2"))
        self.assertTrue(self.fs.is_directory(posixpath.join(self.base, "a", "b")))
        self.assertFalse(self.fs.is_directory(self.path))
        self.fs.unlink(self.path)
        self.fs.sync_directory(self.base)
        self.assertEqual(self.fs.list(self.base), ["a"])
        self.assertFalse(self.fs.exists(self.path))

    def test_remove_directory(self) -> None:
        """An empty directory can be removed; a directory with contents cannot."""
        inner = posixpath.join(self.base, "a", "b")
        self.fs.make_directories(inner)
        error = self.assertRaises(OSError, self.fs.remove_directory, posixpath.dirname(inner))
        self.assertEqual(error.errno, errno.ENOTEMPTY)
        for path in (inner, posixpath.dirname(inner)):
            self.fs.remove_directory(path)
            self.assertFalse(self.fs.exists(path))

    def test_make_directories_twice(self) -> None:
        """Making directories that exist succeeds, and keeps their contents."""
        self.create()
        self.fs.make_directories(self.base)
        self.assertEqual(self.fs.list(self.base), ["file"])

    def test_rename(self) -> None:
        """A renamed file replaces the file that had the new name; open file objects of both can still be used."""
        file = self.create(b"old")
        new = posixpath.join(self.base, "new")
        replaced = self.fs.open(new, create=True)
        self.addCleanup(replaced.close)
        self.fs.rename(self.path, new)
        self.assertEqual(self.fs.list(self.base), ["new"])
        file.pwrite(b"+", 3)
        found = self.fs.open(new)
        self.addCleanup(found.close)
        self.assertEqual((found.pread(10, 0), replaced.pread(10, 0)), (b"old+", b""))

    def test_unlinked_but_open(self) -> None:
        """A file that was unlinked while it is open can be used until it is closed."""
        file = self.create(b"abc")
        self.fs.unlink(self.path)
        file.pwrite(b"d", 3)
        self.assertEqual(file.pread(9, 0), b"abcd")

    def test_closed(self) -> None:
        """A file may be closed twice; reads, writes and syncs of a closed file fail."""
        file = self.create()
        file.close()
        file.close()
        self.assertRaises(OSError, file.pread, 1, 0)
        self.assertRaises(OSError, file.pwrite, b"x", 0)
        self.assertRaises(OSError, file.sync)

    def test_hints(self) -> None:
        """Hints about later reads and writes do not change the contents of a file."""
        file = self.create(b"x" * 10000)
        file.start_writeback(0, 10000)
        file.sync()
        file.will_read(4096, 1 << 20)
        self.assertEqual(file.pread(20000, 0), b"x" * 10000)

    def test_write_parts(self) -> None:
        """One call writes any number of byte strings one after the other, and syncs them if ``durable`` is True."""
        for parts in ([b"abc"], [b"abc", b"", b"defg"], [bytes([i % 251]) * 7 for i in range(3000)]):
            file = self.create()
            file.pwritev(parts, 5, durable=True)
            self.assertEqual(file.pread(30_000, 5), b"".join(parts))
            self.fs.unlink(self.path)

    def test_direct(self) -> None:
        """Byte strings of any size can be written to a direct I/O file if together they fill whole sectors."""
        file = self.fs.open(self.path, create=True, direct=True)
        self.addCleanup(file.close)
        other = self.fs.open(self.path)
        self.addCleanup(other.close)
        big = bytes(range(256)) * 4096 * 3  # several times as many bytes as one system call writes
        for parts in (
            [bytes([7]) * 512],
            [b"a" * 100, b"b" * 900, b"c" * 24],
            [b"x" * 512] * 100,
            [b"z" * 10, big, b"y" * 502],
        ):
            for durable in (True, False):
                file.pwritev(parts, 1024, durable)
                self.assertEqual(other.pread(4 << 20, 1024)[: sum(map(len, parts))], b"".join(parts))
                file.sync()
        file.pwrite(b"w" * 4096, 8192)
        self.assertEqual(other.pread(4096, 8192), b"w" * 4096)

    def test_direct_reads(self) -> None:
        """A file opened for direct I/O can be read at any offset, and sees unsynced writes of other file objects."""
        data = b"".join(number.to_bytes(4, "big") for number in range(3 << 18)) + b"tail"
        other = self.create(data)
        file = self.fs.open(self.path, direct=True)
        self.addCleanup(file.close)
        size = len(data)
        for offset in (0, 1, 511, 4095, 4096, 5000, size - 4100, size - 1, size, size + 10_000):
            for count in (0, 1, 4096, 9000, 1 << 20, (2 << 20) + 1):
                self.assertEqual(file.pread(count, offset), data[offset : offset + count], (offset, count))
        other.pwrite(b"new", 8190)
        self.assertEqual(file.pread(3, 8190), b"new")
        file.close()
        self.assertRaises(OSError, file.pread, 1, 0)

    def test_lock(self) -> None:
        """Only one holder has a lock until it is released, even within one process.

        Safety rule S6 of ``docs/architecture/durability.rst``: two processes never serve one directory.
        """
        path = posixpath.join(self.base, "LOCK")
        lock = self.fs.lock(path)
        error = self.assertRaises(DirectoryLockedError, self.fs.lock, path)
        self.assertIn(path, str(error))
        lock.release()
        again = self.fs.lock(path)
        lock.release()
        self.assertRaises(DirectoryLockedError, self.fs.lock, path)
        again.release()

    def test_usage(self) -> None:
        """The file system reports the total and the usable bytes of the disk."""
        total, usable = self.fs.usage(self.base)
        self.assertTrue(0 < usable <= self.fs.allocatable(self.base) <= total)

    def test_inodes(self) -> None:
        """The file system reports its inodes and how many are free; without a fixed number, both are 0."""
        total, free = self.fs.inodes(self.base)
        self.assertTrue(0 <= free <= total)

    def test_disk(self) -> None:
        """A directory is on the same disk as its parent directory."""
        self.fs.make_directories(posixpath.join(self.base, "a"))
        self.assertEqual(self.fs.disk(posixpath.join(self.base, "a")), self.fs.disk(self.base))
