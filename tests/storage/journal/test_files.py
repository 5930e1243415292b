"""The files of a journal directory: made ready, recycled, removed."""

import errno
import posixpath

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.interfaces import IFile
from bookkeeper_twisted.storage.journal.files import JournalFiles, JournalSettings
from bookkeeper_twisted.storage.journal.format import FileIdentity, parse_header
from bookkeeper_twisted.storage.journal.known_sizes import KnownSizes

from ...bounds import until
from .journals import DIRECTORY, SMALL, content, new_disk


class JournalFilesTests(SynchronousTestCase):
    """See the module."""

    def setUp(self) -> None:
        self.disk = new_disk()
        self.files = self.open()

    def open(self, settings: JournalSettings = SMALL, salt: bytes = b"salt") -> JournalFiles:
        """The files as a new process sees them."""
        self.disk.kill()
        return JournalFiles(self.disk, DIRECTORY, settings, 1000, salt)

    def spares(self) -> list[str]:
        """Names of spare files."""
        return [name for name in self.disk.list(DIRECTORY) if name.endswith(".spare")]

    def test_take(self) -> None:
        """A file that is taken has its header, its blocks and its name, all durable."""
        file, identity = self.files.begin_next()
        self.assertEqual((file.path, identity), (f"{DIRECTORY}/3e8.txn", FileIdentity.of(1000, b"salt")))
        after = self.disk.crash(())
        self.assertEqual(parse_header(content(after, "3e8.txn")[:512], "p").identity, identity)
        self.assertEqual(content(after, "3e8.txn")[512:], bytes(1536))
        self.assertEqual((self.files.ids, self.files.created, self.files.recycled), ([1000], 1, 0))

    def test_first_file_is_quick(self) -> None:
        """A file that a writer waits for gets no more than a megabyte of zeros."""
        files = self.open(attrs.evolve(SMALL, preallocate=64 << 20))
        file, _ = files.begin_next()
        self.assertTrue((1 << 20) <= file.size() < (2 << 20))

    def test_never_without_a_header(self) -> None:
        """At no operation of making a file does a journal file without its header exist."""
        seen = 0

        def look(_: object) -> None:
            nonlocal seen
            for state in (self.disk.crash(()), self.disk.crash()):
                for name in state.list(DIRECTORY):
                    if name.endswith(".txn"):
                        seen += 1
                        self.assertIsNotNone(parse_header(content(state, name)[:512], "p").identity)

        self.disk.observer = look
        for _ in range(3):
            self.files.prepare()
            self.files.begin_next()
        self.assertGreater(seen, 5)

    def test_prepare_in_steps(self) -> None:
        """Filling goes on where it stopped and ends with a ready file; nothing is prepared twice."""
        files = self.open(attrs.evolve(SMALL, preallocate=5000, fill_step=1024))
        answers: list[bool] = []
        for _ in until(lambda: answers and answers[-1], 100):
            answers.append(files.prepare())
        self.assertEqual(answers, [False, False, False, True])
        before = len(self.disk.operations)
        self.assertTrue(files.prepare())
        self.assertEqual(len(self.disk.operations), before)
        self.assertEqual(len(content(self.disk, self.spares()[0])), 5120)  # whole sectors

    def test_recycled(self) -> None:
        """A released file comes back with a new header and no records at its start."""
        for _ in range(3):
            file, _ = self.files.begin_next()
            file.pwrite(b"x" * 2048, 512)
        self.files.release(1002)
        self.assertEqual((self.files.ids, len(self.spares())), ([1001, 1002], 1))
        file, identity = self.files.begin_next()
        self.assertEqual(self.files.recycled, 1)
        found = content(self.disk, posixpath.basename(file.path))
        self.assertEqual(parse_header(found[:512], "p").identity, identity)
        self.assertEqual(found[512:1025], bytes(512) + b"x")

    def test_old_name_goes_before_the_content(self) -> None:
        """A file is overwritten only once its old name is gone for good: no crash finds an old id with other bytes."""
        for _ in range(3):
            self.files.begin_next()
        identities = {f"{i:x}.txn": FileIdentity.of(i, b"salt") for i in range(1000, 1010)}

        def look(_: object) -> None:
            for state in (self.disk.crash(()), self.disk.crash()):
                for name in state.list(DIRECTORY):
                    if name.endswith(".txn"):
                        self.assertEqual(parse_header(content(state, name)[:512], "p").identity, identities[name])

        self.disk.observer = look
        self.files.release(1002)
        self.files.prepare()
        self.files.begin_next()
        self.assertEqual(self.files.recycled, 1)

    def test_full_disk(self) -> None:
        """What a full disk has no blocks for is not prepared, leaves nothing behind, and is made when it is needed."""
        files = self.open(attrs.evolve(SMALL, preallocate=5000, fill_step=1024))
        for number in range(1, 4):  # header, its sync, the first zeros
            self.disk.fail(errno.ENOSPC, at=len(self.disk.operations) + number + 1)  # 1: the file is created
            answers = [files.prepare()]
            self.assertEqual((answers, self.spares()), ([True], []), number)
        self.assertFalse(files.prepare())
        self.disk.fail(errno.EDQUOT, when=lambda op: op.name == "sync")
        self.assertEqual((files.prepare(), self.spares()), (True, []))
        file, identity = files.begin_next()
        self.assertEqual(parse_header(file.pread(512, 0), "p").identity, identity)
        self.assertEqual(len(content(self.disk.crash(()), "3e8.txn")), file.size())

    def test_full_disk_of_a_writer(self) -> None:
        """A file that is needed now fails on a full disk."""
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite", times=100)
        self.assertTrue(self.files.prepare())
        self.assertRaises(OSError, self.files.begin_next)

    def test_no_descriptors(self) -> None:
        """A file that got no descriptor for its name is the next one all the same, and a spare is not lost."""
        for _ in range(3):
            self.files.begin_next()
        self.files.release(1002)
        for name in ("open", "sync_directory"):
            self.disk.fail(errno.EMFILE, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
            self.assertRaises(OSError, self.files.begin_next)
            self.assertEqual((self.files.ids, len(self.spares())), ([1001, 1002], 1))
        self.disk.fail(errno.ENFILE, when=lambda op: op.name == "open")
        file, identity = self.files.begin_next()
        self.assertEqual((file.path, identity), (f"{DIRECTORY}/3eb.txn", FileIdentity.of(1003, b"salt")))
        self.assertEqual((self.files.ids, self.files.recycled, self.spares()), ([1001, 1002, 1003], 1, []))
        self.disk.heal()
        self.assertEqual(parse_header(content(self.disk.crash(()), "3eb.txn")[:512], "p").identity, identity)

    def test_spare_that_cannot_be_opened(self) -> None:
        """A spare that cannot be opened is left out, so the journal goes on with another file."""
        for _ in range(4):
            self.files.begin_next()
        self.files.release(1003)
        self.assertEqual(len(self.spares()), 2)
        self.disk.fail(errno.EACCES, when=lambda op: op.name == "open", times=2)
        self.files.begin_next()
        self.assertEqual((self.files.ids, self.files.created, self.files.recycled), ([1002, 1003, 1004], 5, 0))

    def test_old_file_that_cannot_be_read(self) -> None:
        """A file that no replay needs is deleted if it cannot be read, and so not recycled; the journal goes on."""
        for name in ("open", "pread"):
            self.setUp()
            for _ in range(3):
                self.files.begin_next()
            self.disk.fail(errno.EACCES, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
            self.files.release(1002)
            self.assertEqual((self.files.ids, self.spares()), ([1001, 1002], []), name)

    def test_old_file_without_descriptors(self) -> None:
        """A file for which no descriptor is left stays, and is recycled by a later release."""
        for _ in range(3):
            self.files.begin_next()
        self.disk.fail(errno.EMFILE, when=lambda op: op.name == "open")
        self.assertRaises(OSError, self.files.release, 1002)
        self.files.release(1002)
        self.assertEqual((self.files.ids, len(self.spares())), ([1001, 1002], 1))

    def test_nothing_is_prepared_without_descriptors(self) -> None:
        """A file that gets no descriptor is not prepared; that is tried again."""
        self.disk.fail(errno.EMFILE, when=lambda op: op.name == "create")
        self.assertEqual((self.files.prepare(), self.spares()), (True, []))
        self.files.prepare()
        self.assertEqual(len(self.spares()), 1)

    def test_nothing_is_prepared_on_a_read_only_disk(self) -> None:
        """On a disk that takes no writes nothing is prepared, half a file is left alone, and later another is made."""
        for number_of_steps in range(3):
            self.setUp()
            files = self.open(attrs.evolve(SMALL, preallocate=5000, fill_step=1024))
            for _ in range(number_of_steps):
                files.prepare()
            self.disk.read_only = (DIRECTORY,)
            before = self.spares()
            self.assertEqual([files.prepare(), files.prepare(), self.spares()], [True, True, before])
            self.assertRaises(OSError, files.begin_next)
            self.disk.read_only = ()
            for _ in until(files.prepare, 100):
                pass
            self.assertEqual(len(self.spares()), len(before) + 1)
            file, _ = files.begin_next()
            self.assertGreater(file.size(), 5000)

    def test_failed_release(self) -> None:
        """A release whose directory sync failed recycles nothing."""
        for _ in range(3):
            self.files.begin_next()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "sync_directory")
        self.assertRaises(OSError, self.files.release, 1002)
        self.files.prepare()
        self.files.begin_next()
        self.assertEqual(self.files.recycled, 0)

    def test_backups_of_a_full_disk(self) -> None:
        """Files that nothing needs are kept as long as there is space for another one beside them."""
        files = self.open(attrs.evolve(SMALL, max_backups=2, max_spares=1))
        for _ in range(4):
            files.begin_next()
        self.disk.capacity = 1 << 20, SMALL.max_size
        files.release(1003)
        self.assertEqual((files.ids, len(self.spares())), ([1001, 1002, 1003], 1))
        self.disk.capacity = 1 << 20, SMALL.max_size - 1
        files.release(1003)
        self.assertEqual((files.ids, len(self.spares())), ([1003], 1))

    def test_second_name(self) -> None:
        """The old name of a file that was recycled goes, the file stays as it is: its newer name may be needed."""
        for _ in range(3):
            self.files.begin_next()
        identities = {name: parse_header(content(self.disk, name)[:512], "p").identity for name in self.names()}
        first, last = sorted(identities)[0], sorted(identities)[-1]
        header = self.disk.open(f"{DIRECTORY}/{last}").pread(512, 0)
        self.disk.open(f"{DIRECTORY}/{first}").pwrite(header, 0)
        self.files.release(1002)
        self.files.prepare()
        self.files.begin_next()
        self.assertEqual((self.files.recycled, first in self.names(), self.spares()), (0, False, []))

    def names(self) -> list[str]:
        """The journal files there are."""
        return [name for name in self.disk.list(DIRECTORY) if name.endswith(".txn")]

    def test_pool_is_bounded(self) -> None:
        """No more spares are kept than the limit, over restarts too."""
        for _ in range(8):
            self.files.begin_next()
        self.files.release(1007)
        self.files.prepare()
        self.assertLessEqual(len(self.spares()), SMALL.max_spares)
        for number in range(20, 25):
            self.disk.open(f"{DIRECTORY}/{number}.spare", create=True)
        self.open()
        self.assertEqual(len(self.spares()), SMALL.max_spares)

    def test_spares_without_a_journal(self) -> None:
        """Where there is no journal, spares are not trusted to be older than what will be written."""
        self.disk.open(f"{DIRECTORY}/1.spare", create=True)
        self.open()
        self.assertEqual(self.spares(), [])

    def test_new_names(self) -> None:
        """A name that is in use is not used again."""
        self.files.begin_next()
        self.disk.open(f"{DIRECTORY}/7.spare", create=True)
        self.disk.open(f"{DIRECTORY}/odd.spare", create=True)
        files = self.open()
        for _ in range(4):
            files.begin_next()
        self.assertEqual(files.ids, [1000, 1001, 1002, 1003, 1004])

    def made(self, files: JournalFiles, file: IFile, start: int, end: int) -> int:
        """Make room for a group; return the size that is on record and durable then."""
        files.make_room(file, start, end)
        after = self.disk.crash(())
        known = KnownSizes(after, DIRECTORY).of(1000)
        self.assertEqual(len(content(after, "3e8.txn")), known)
        return known

    def test_make_room(self) -> None:
        """A file that is used up gets zeros in front of small groups; its size is on record first."""
        files = self.open(attrs.evolve(SMALL, preallocate=1024, max_size=3000))
        file, _ = files.begin_next()
        starts, ends = (0, 512, 1024, 1536, 2048, 2560, 3060), (512, 1024, 1536, 2048, 2560, 3060, 3100)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "allocate")
        sizes = [self.made(files, file, start, end) for start, end in zip(starts, ends, strict=True)]
        self.assertEqual(sizes, [1024, 1024, 2048, 2048, 3072, 3072, 3072])
        self.assertEqual([files.has_room(end) for end in (3072, 3073)], [True, False])
        files.begin_next()
        self.assertEqual(files.sizes.of(1001), 1024)
        self.assertFalse(files.has_room(1025))

    def test_zeros_where_the_file_was_only_allocated(self) -> None:
        """Large groups get blocks that are allocated, in which the next small group finds zeros, from its start on."""
        files = self.open(attrs.evolve(SMALL, preallocate=128 << 10, max_size=1 << 20))
        file, _ = files.begin_next()
        self.assertEqual(self.made(files, file, 128 << 10, 200 << 10), 256 << 10)
        file.pwrite(b"r" * (72 << 10), 128 << 10)
        self.assertFalse(files.has_room(200 << 10))
        before = len(self.disk.operations)
        self.assertEqual(self.made(files, file, 200 << 10, 201 << 10), 328 << 10)
        zeros = next(op for op in self.disk.operations[before:] if op.name == "pwrite")
        self.assertEqual((zeros.detail, zeros.size), (200 << 10, 128 << 10))
        self.assertEqual(content(self.disk, "3e8.txn")[128 << 10 :], b"r" * (72 << 10) + bytes(128 << 10))
        self.assertTrue(files.has_room(328 << 10))

    def test_zeros_within_the_size(self) -> None:
        """Zeros over allocated blocks end where a file of the greatest size ends, and leave its size as it is."""
        files = self.open(attrs.evolve(SMALL, preallocate=128 << 10, max_size=256 << 10))
        file, _ = files.begin_next()
        self.assertEqual(self.made(files, file, 128 << 10, 164 << 10), 256 << 10)
        self.assertEqual(self.made(files, file, 164 << 10, 165 << 10), 256 << 10)
        self.assertTrue(files.has_room(256 << 10))
        self.assertEqual(self.made(files, file, 255 << 10, 257 << 10), 256 << 10)
        self.assertEqual(file.size(), 256 << 10)

    def test_no_more_than_a_megabyte_of_zeros(self) -> None:
        """A group waits for a megabyte of zeros, no more, however much is preallocated."""
        files = self.open(attrs.evolve(SMALL, preallocate=16 << 20, max_size=64 << 20))
        file, _ = files.begin_next()
        self.assertEqual(self.made(files, file, 2 << 20, (2 << 20) + 512), 3 << 20)

    def test_make_room_for_a_large_group(self) -> None:
        """A group that exceeds the next size gets as much room as it takes; no zeros are written for it."""
        files = self.open(attrs.evolve(SMALL, preallocate=1024, max_size=128 << 10))
        file, _ = files.begin_next()
        before = len(self.disk.operations)
        files.make_room(file, 1024, 50000)
        self.assertEqual((files.sizes.of(1000), file.size()), (50176, 50176))
        self.assertEqual([op.name for op in self.disk.operations[before:]][:2], ["allocate", "sync"])
        files.make_room(file, 1024, 50000)
        self.assertFalse([op for op in self.disk.operations[before + 2 :] if op.name == "allocate"])

    def test_no_room(self) -> None:
        """A file that cannot grow in advance is used as it is, and not asked again; any other failure is one."""
        settings = attrs.evolve(SMALL, preallocate=1024, max_size=128 << 10)
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EOPNOTSUPP, errno.EINVAL):
            for name, end in (("pwrite", 2048), ("allocate", 40960)):
                files = self.open(settings)
                file, _ = files.begin_next()
                self.disk.fail(number, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
                files.make_room(file, 1024, end)
                before = len(self.disk.operations)
                files.make_room(file, 1024, end)
                self.assertEqual((files.sizes.newest.size, len(self.disk.operations)), (1024, before))
                files.make_room(files.begin_next()[0], 1024, 2048)
                self.assertEqual(files.sizes.newest.size, 2048)
        for name, end in (("allocate", 40960), ("sync", 4096), ("pwrite", 4096)):
            self.disk.fail(errno.EIO, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
            self.assertRaises(OSError, files.make_room, file, 1024, end)

    def test_close(self) -> None:
        """What was prepared is found again after an orderly end."""
        self.files.begin_next()
        self.files.prepare()
        self.files.close()
        files = self.open()
        files.begin_next()
        self.assertEqual((files.recycled, files.created), (1, 0))
