"""Writing a journal: groups, syncs, rotation, recycling, failures."""

import contextlib
import errno
from collections.abc import Callable
from functools import partial

import attrs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import StorageError, StorageFailedError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.interfaces import GroupWrite, IJournal
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.journal.known_sizes import SIZES_NAME

from ...bounds import until
from ...simulated_disk.sim_disk import Operation, SimDisk
from . import apache_journal
from .journals import DIRECTORY, NOWHERE, SMALL, content, ids, new_disk, record, start


class _JournalTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.disk = new_disk()
        self.journal, _ = start(self.disk)

    def names(self, since: int = 0) -> list[str]:
        """The operations since a number, with the ends of their paths."""
        return [f"{op.name} {op.path.rpartition('/')[2]}" for op in self.disk.operations[since:]]

    def write(self, *entry_ids: int, size: int = 600) -> JournalPosition:
        """One group an entry."""
        for entry_id in entry_ids:
            position = self.journal.write_group([record(entry_id, size)])
        return position


class GroupTests(_JournalTestCase):
    """Groups and syncs."""

    def test_interface(self) -> None:
        """A journal is one."""
        verifyObject(IJournal, self.journal)

    def test_one_write_one_sync(self) -> None:
        """A group of many records is one write and one sync (S1)."""
        self.write(0)
        before = len(self.disk.operations)
        self.journal.write_group([record(1) + record(2), record(3, 2000)])
        self.assertEqual(self.names(before), ["pwrite 3e8.txn", "sync 3e8.txn"])

    def test_positions(self) -> None:
        """Positions are ends of groups, aligned; what is durable follows the syncs."""
        self.assertEqual(self.journal.position, JournalPosition())
        first = self.write(0)
        self.assertEqual((first, self.journal.durable), (JournalPosition(1000, 1536), first))
        second = self.journal.write_group([record(1)], sync=False)
        self.assertEqual((second.offset % 512, self.journal.position, self.journal.durable), (0, second, first))
        self.assertEqual(self.journal.sync(), second)
        self.assertEqual(self.journal.durable, second)

    def test_sync_with_nothing_to_do(self) -> None:
        """A sync of what is durable already touches nothing."""
        self.journal.sync()
        self.write(0)
        before = len(self.disk.operations)
        self.journal.sync()
        self.assertEqual(self.names(before), [])

    def test_unsynced_group(self) -> None:
        """A group that was not synced may be lost, what was synced is not (S1)."""
        self.write(0)
        self.journal.write_group([record(1)], sync=False)
        self.assertEqual(start(self.disk.crash(()))[1], [0])
        self.assertEqual(start(self.disk.crash())[1], [0, 1])

    def test_statistics(self) -> None:
        """What was written is counted."""
        self.write(0, 1, 2)
        journal = self.journal
        self.assertEqual((journal.groups, journal.syncs, journal.record_bytes), (3, 3, 3 * 620))
        self.assertEqual(journal.padding_bytes, 3 * (1024 - 620))

    def test_larger_alignment(self) -> None:
        """Groups end at multiples of the alignment, in a new file too."""
        settings = attrs.evolve(SMALL, alignment=4096, block=4096)
        disk = new_disk()
        journal, _ = start(disk, settings=settings)
        offsets = [journal.write_group([record(i)]).offset for i in range(3)]
        self.assertEqual({offset % 4096 for offset in offsets}, {0})
        disk.kill()
        self.assertEqual(start(disk, settings=settings)[1], [0, 1, 2])
        self.assertEqual(start(disk)[1], [0, 1, 2])

    def test_on_real_files(self) -> None:
        """The same on the disk of this machine."""
        directory = self.mktemp()
        fs = RealFileSystem()
        fs.make_directories(directory)
        for life in range(3):
            journal = Journal.open(fs, directory, SMALL, 1)
            self.assertEqual(ids(list(journal.replay(NOWHERE))), list(range(10 * life)))
            for entry_id in range(10 * life, 10 * life + 10):
                journal.write_group([record(entry_id, 500)])
                journal.prepare()
            journal.close()


class BegunGroupTests(_JournalTestCase):
    """Groups whose write the caller makes."""

    settings = attrs.evolve(SMALL, max_size=4096, preallocate=8192)

    def setUp(self) -> None:
        self.disk = new_disk()
        self.journal, _ = start(self.disk, settings=self.settings)

    def begin(self, entry_id: int, size: int = 200) -> GroupWrite:
        """The write of a group of one entry."""
        write = self.journal.begin_group([record(entry_id, size)])
        assert write is not None
        return write

    def make(self, write: GroupWrite) -> None:
        """Makes a write, and tells the journal."""
        write.file.pwritev(write.parts, write.offset, True)
        self.journal.end_group()

    def test_same_bytes(self) -> None:
        """A group has the same bytes, and counts the same, whoever writes it (S1)."""
        disks, journals = [new_disk(), new_disk()], []
        for disk in disks:
            self.journal, _ = start(disk, settings=self.settings)
            journals.append(self.journal)
            self.write(0, size=200)
            for entry_id in (1, 2):
                if disk is disks[0]:
                    self.write(entry_id, size=200)
                else:
                    before = self.journal.position
                    write = self.begin(entry_id)
                    self.assertEqual((self.journal.position, self.journal.durable), (before, before))
                    self.make(write)
        self.assertEqual(content(disks[0], "3e8.txn"), content(disks[1], "3e8.txn"))
        for name in ("position", "durable", "groups", "syncs", "record_bytes", "padding_bytes"):
            first, second = [getattr(journal, name) for journal in journals]
            self.assertEqual(first, second, name)
        self.assertEqual(start(disks[1].crash(()))[1], [0, 1, 2])

    def test_touches_no_disk(self) -> None:
        """To begin and to end a group touches memory only: the reactor thread does both."""
        self.write(0, size=200)
        before = len(self.disk.operations)
        self.begin(1)
        self.journal.end_group()
        self.assertEqual(self.names(before), [])

    def test_declined(self) -> None:
        """The journal thread writes what takes more than one write: new files, more room, unsynced groups."""
        self.assertIsNone(self.journal.begin_group([record(0)]))
        self.write(0)
        self.assertIsNone(self.journal.begin_group([record(1, 9000)]))  # the file has 8192 bytes on record
        self.journal.write_group([record(1)], sync=False)
        self.assertIsNone(self.journal.begin_group([record(2)]))
        self.journal.sync()
        self.write(3, size=3000)
        self.assertGreater(self.journal.position.offset, self.settings.max_size)
        self.assertIsNone(self.journal.begin_group([record(4)]))
        self.write(4)
        self.make(self.begin(5))
        self.assertEqual(start(self.disk.crash(()))[1], [0, 1, 3, 4, 5])

    def test_first_group_of_a_file(self) -> None:
        """The zeros behind a group lie in the blocks on record, too."""
        journal, _ = start(new_disk(), settings=attrs.evolve(SMALL, block=1024))
        journal.write_group([record(0, 100)])
        self.assertIsNotNone(journal.begin_group([record(1, 400)]))
        self.assertIsNone(journal.begin_group([record(1, 900)]))

    def test_failure(self) -> None:
        """S10: a group that is not durable is the end of the journal, and its end is not marked."""
        self.write(0)
        position = self.journal.position
        self.begin(1)
        self.assertEqual(self.journal.end_group(OSError(errno.EIO, "EIO")), position)
        self.assertIsNone(self.journal.begin_group([record(2)]))
        self.assertRaises(StorageFailedError, self.write, 2)
        before = len(self.disk.operations)
        self.journal.close()
        self.assertNotIn("pwrite 3e8.txn", self.names(before))


class LifeTests(_JournalTestCase):
    """Start and end."""

    def test_new_file_each_start(self) -> None:
        """Every life writes files of its own; ids go on."""
        for expected in (1000, 1001, 1002):
            self.assertEqual(self.write(0).file_id, expected)
            self.disk.kill()
            self.journal, _ = start(self.disk)

    def test_start_writes_nothing(self) -> None:
        """Opening an empty directory creates nothing; the first group does."""
        self.assertEqual(self.disk.list(DIRECTORY), [])
        self.write(0)
        self.assertEqual(self.disk.list(DIRECTORY), ["3e8.txn", SIZES_NAME])

    def test_replay_comes_first(self) -> None:
        """An existing journal is not written before it was replayed to its end."""
        self.write(0)
        self.disk.kill()
        journal = Journal.open(self.disk, DIRECTORY, SMALL, 1)
        next(iter(journal.replay(NOWHERE)))
        self.assertRaises(StorageError, journal.write_group, [record(1)])

    def test_replay_after_writing(self) -> None:
        """It is too late for a replay once something was written."""
        self.write(0)
        self.assertRaises(StorageError, list, self.journal.replay(NOWHERE))

    def test_orderly_end(self) -> None:
        """A closed journal says where it ends: the next start looks at nothing behind it."""
        self.write(0)
        self.journal.write_group([record(1)], sync=False)
        self.journal.close()
        after = self.disk.crash(())
        reads: list[Operation] = []

        def note(operation: Operation) -> bool:
            reads.append(operation)
            return False

        after.fail(errno.EIO, when=note)
        journal, found = start(after)
        self.assertEqual((found, journal.cuts), ([0, 1], []))
        self.assertEqual(after.operations, [])
        self.assertFalse([op for op in reads if op.name == "pread" and op.detail == journal.position.offset])

    def test_closed(self) -> None:
        """A closed journal takes nothing; closing twice is harmless."""
        self.write(0)
        self.journal.close()
        self.journal.close()
        self.assertRaises(StorageFailedError, self.write, 1)
        self.assertRaises(StorageFailedError, self.journal.sync)

    def test_names_that_are_none(self) -> None:
        """A journal that is not named by its id is refused."""
        self.disk.open(f"{DIRECTORY}/last.txn", create=True)
        self.assertRaises(StorageError, start, self.disk)


class RotationTests(_JournalTestCase):
    """One file after the other."""

    def test_after_a_group(self) -> None:
        """A file is followed by the next one after the group that exceeds its size; no group spans two."""
        positions = [self.journal.write_group([record(i, 700)]) for i in range(5)]
        found = [(p.file_id, p.offset) for p in positions]
        self.assertEqual(found, [(1000, 1536), (1000, 2560), (1001, 1536), (1001, 2560), (1002, 1536)])

    def test_old_file_first(self) -> None:
        """The old file is synced before the new one has a name (S1, safety 3.5)."""
        self.write(0)
        self.journal.write_group([record(1, 900)], sync=False)
        self.journal.prepare()
        before = len(self.disk.operations)
        self.journal.write_group([record(2)])
        rotation = ["sync 3e8.txn", "rename 2.spare", "sync_directory current"]
        known = [f"pwrite {SIZES_NAME}", f"sync {SIZES_NAME}"]
        self.assertEqual(self.names(before), [*rotation, *known, "pwrite 3e9.txn", "sync 3e9.txn"])

    def test_prepared(self) -> None:
        """A prepared file is taken into use by a rename; it was filled before, step by step."""
        journal, _ = start(self.disk, settings=attrs.evolve(SMALL, preallocate=4096))
        steps = [journal.prepare() for _ in range(4)]
        self.assertEqual(steps, [False, False, True, True])
        self.assertEqual(len(content(self.disk, "1.spare")), 4096)
        before = len(self.disk.operations)
        journal.write_group([record(0)])
        named = [f"create {SIZES_NAME}", "sync_directory current", "rename 1.spare", "sync_directory current"]
        self.assertEqual(self.names(before)[:4], named)

    def test_prepared_for_another_id(self) -> None:
        """A file prepared for an id that was taken without it gets the right header."""
        settings = attrs.evolve(SMALL, preallocate=4096)
        self.journal, _ = start(self.disk, settings=settings)
        self.write(0, 1)
        self.assertFalse(self.journal.prepare())
        self.assertEqual(self.write(2, 3).file_id, 1001)
        for _ in until(self.journal.prepare, 100):
            pass
        self.assertEqual(self.write(4).file_id, 1002)
        self.disk.kill()
        self.assertEqual(start(self.disk)[1], [0, 1, 2, 3, 4])

    def test_apache_reads_every_file(self) -> None:
        """Apache's reader finds exactly our records in all files, recycled ones too, also after a kill."""
        for entry_id in range(40):
            position = self.write(entry_id)
            if entry_id % 8 == 7:
                self.journal.release(position)
            self.journal.prepare()
        self.assertGreater(self.journal.files_recycled, 3)
        found = []
        for file_id in self.journal.file_ids:
            found += [body for _, body in apache_journal.read(content(self.disk, f"{file_id:x}.txn"))]
        self.assertEqual(ids(found), list(range(40 - len(found), 40)))
        self.assertGreater(len(found), 2)


class ReleaseTests(_JournalTestCase):
    """Files below the log mark."""

    def test_backups_stay(self) -> None:
        """The newest files below the log mark are kept, older ones become spares, the rest goes (S7)."""
        position = self.write(*range(11))
        self.assertEqual(position.file_id, 1005)
        self.journal.release(JournalPosition(1005, 0))
        self.assertEqual(self.journal.file_ids, (1004, 1005))
        self.assertEqual(len([n for n in self.disk.list(DIRECTORY) if n.endswith(".spare")]), SMALL.max_spares)

    def test_nothing_at_or_above_the_mark_goes(self) -> None:
        """Neither the file of the log mark nor a later one is released, wherever the log mark is."""
        self.write(*range(11))
        for file_id in range(1000, 1006):
            self.journal.release(JournalPosition(file_id, 1 << 30))
            self.assertEqual([i for i in self.journal.file_ids if i >= file_id], list(range(file_id, 1006)))

    def test_without_reuse(self) -> None:
        """Without reuse old files are removed."""
        disk = new_disk()
        journal, _ = start(disk, settings=attrs.evolve(SMALL, reuse=False, max_backups=0))
        for entry_id in range(5):
            position = journal.write_group([record(entry_id, 900)])
        journal.release(position)
        self.assertEqual(disk.list(DIRECTORY), ["3ea.txn", SIZES_NAME])

    def test_recycled_after_a_restart(self) -> None:
        """Spares of an earlier life are used."""
        position = self.write(*range(11))
        self.journal.release(position)
        self.disk.kill()
        self.journal, _ = start(self.disk, position)
        self.write(20)
        self.assertEqual((self.journal.files_recycled, self.journal.files_created), (1, 0))


class FailureTests(SynchronousTestCase):
    """Errors of the disk (S10)."""

    def _live(self, disk: SimDisk, acked: dict[int, int]) -> None:
        """Twelve entries; ``acked`` gets the file of each one that must be on disk."""
        journal, _ = start(disk)
        for entry_id in range(12):
            acked[entry_id] = journal.write_group([record(entry_id, 700)]).file_id
            if entry_id % 4 == 3:
                log_mark = JournalPosition(journal.position.file_id, 0)
                for released in [i for i, file_id in acked.items() if file_id < log_mark.file_id]:
                    del acked[released]
                journal.release(log_mark)
            journal.prepare()
        journal.close()

    def test_every_operation_fails_once(self) -> None:
        """After an error at any operation nothing more is acknowledged, and nothing acknowledged is lost."""
        healthy = new_disk()
        self._live(healthy, {})
        operations = len(healthy.operations)
        self.assertGreater(operations, 50)
        failed = 0
        for error in (errno.EIO, errno.ENOSPC, errno.EROFS):
            for number in range(len(new_disk().operations) + 1, operations + 1):
                disk, acked = new_disk(), dict[int, int]()
                disk.fail(error, at=number)
                try:
                    self._live(disk, acked)
                except OSError:
                    failed += 1
                else:
                    # while a file was prepared that was not needed yet, or one was released
                    self.assertIn(error, (errno.ENOSPC, errno.EROFS))
                for after in (disk.crash(()), disk.crash()):
                    self.assertLessEqual(set(acked), set(start(after)[1]))
        self.assertGreater(failed, operations)

    def test_no_descriptors(self) -> None:
        """Without file descriptors, from any moment on and for any time, groups go to the file that the journal has."""
        healthy = new_disk()
        self._live(healthy, {})
        named = next(op.number for op in healthy.operations if op.name == "rename") + 1  # the first file
        for number in range(named + 1, len(healthy.operations) + 1):
            for times in (1, 100):
                disk, acked = new_disk(), dict[int, int]()
                disk.fail(errno.EMFILE, times=times, when=partial(_takes_descriptor, number))
                self._live(disk, acked)
                self.assertIn(11, acked)
                if number == named + 1 and times > 1:
                    self.assertEqual(len(set(acked.values())), 1)
                for after in (disk.crash(()), disk.crash()):
                    self.assertLessEqual(set(acked), set(start(after)[1]))

    def test_read_only_from_any_moment(self) -> None:
        """On a disk that takes no writes from some moment on, files are neither prepared nor released, which ends
        nothing; a group ends the journal.  What was acknowledged is found."""
        healthy = new_disk()
        self._live(healthy, {})
        for number in range(len(new_disk().operations) + 1, len(healthy.operations) + 1):
            disk, acked = new_disk(), dict[int, int]()

            def look(operation: Operation, disk: SimDisk = disk, number: int = number) -> None:
                disk.read_only = (DIRECTORY,) if operation.number >= number else ()

            disk.observer = look
            with contextlib.suppress(OSError):
                self._live(disk, acked)
            for after in (disk.crash(()), disk.crash()):
                self.assertLessEqual(set(acked), set(start(after)[1]))
        disk = new_disk()
        journal, _ = start(disk)
        for entry_id in range(8):
            journal.write_group([record(entry_id, 700)])
        disk.read_only = (DIRECTORY,)
        self.assertTrue(journal.prepare())
        journal.release(JournalPosition(2000, 0))
        disk.read_only = ()
        journal.write_group([record(9)])

    def test_first_file_without_descriptors(self) -> None:
        """A journal that has no file yet cannot do without one."""
        disk = new_disk()
        journal, _ = start(disk)
        disk.fail(errno.ENFILE, when=lambda op: op.name == "create")
        self.assertRaises(OSError, journal.write_group, [record(0)])
        self.assertRaises(StorageFailedError, journal.write_group, [record(0)])

    def test_fail_stop(self) -> None:
        """After one error every call is refused, and no file is synced again (S10)."""
        calls: tuple[Callable[[Journal], object], ...] = (
            lambda j: j.write_group([record(9)]),
            lambda j: j.sync(),
            lambda j: j.release(NOWHERE),
            lambda j: j.prepare(),
            lambda j: list(j.replay(NOWHERE)),
        )
        disk = new_disk()
        journal, _ = start(disk)
        journal.write_group([record(0)])
        disk.fail(errno.EIO, when=lambda op: op.name == "sync")
        self.assertRaises(OSError, journal.write_group, [record(1)])
        before = len(disk.operations)
        for call in calls:
            error = self.assertRaises(StorageFailedError, call, journal)
            self.assertIn(DIRECTORY, str(error))
        journal.close()
        self.assertEqual(len(disk.operations), before)

    def test_failures_beside_the_groups(self) -> None:
        """A failed preparation or release ends the journal too."""
        for call in (lambda j: j.prepare(), lambda j: j.release(JournalPosition(2000, 0)), lambda j: j.sync()):
            disk = new_disk()
            journal, _ = start(disk)
            for entry_id in range(8):
                journal.write_group([record(entry_id, 700)], sync=False)
            disk.fail(errno.EIO, when=lambda op: op.name in ("create", "rename", "sync"))
            self.assertRaises(OSError, call, journal)
            self.assertRaises(StorageFailedError, journal.write_group, [record(9)])


def _takes_descriptor(after: int, operation: Operation) -> bool:
    return operation.number >= after and operation.name in ("open", "create", "sync_directory")
