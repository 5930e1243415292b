"""The reserve of a full disk."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.files import space_reserve
from bookkeeper_twisted.storage.files.space_reserve import ReserveShortageError, SpaceReserve
from bookkeeper_twisted.storage.interfaces import JournalPosition, LedgerRow
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ...simulated_disk.sim_disk import Operation, SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.small_disk import SmallDisk
from ..entries import run
from ..ledger_storages import write

SIZE = 16384
DISK = SIZE * 20
SETTINGS = StorageSettings(log_size_limit=20_000, write_cache_bytes=1 << 20, reserve_bytes=SIZE)


def small_disk(*more: str) -> SmallDisk:
    """A disk for each of some directories."""
    disk = SmallDisk(dict.fromkeys(("/l", *more), DISK))
    for path in disk.sizes:
        disk.make_directories(path)
    return disk


class SpaceReserveTests(SynchronousTestCase):
    """The files."""

    def setUp(self) -> None:
        self.disk = small_disk("/i")

    def make(self, *directories: str, most: int = SIZE) -> SpaceReserve:
        return SpaceReserve(self.disk, directories or ("/l",), most)

    def test_taken(self) -> None:
        """It takes what it may, at most a twentieth of the disk, and is durable."""
        self.assertEqual(self.make(most=8192).missing, 0)
        self.assertEqual(self.disk.free("/l"), DISK - 8192)
        self.assertEqual(self.make(most=1 << 30).missing, 0)
        self.assertEqual(self.disk.free("/l"), DISK - SIZE)
        after = self.disk.crash(())
        self.assertEqual(after.open("/l/reserve").size(), SIZE)
        self.make(most=4096)
        self.assertEqual(self.disk.free("/l"), DISK - 4096)

    def test_plenty(self) -> None:
        """A disk with plenty of space has none until a checkpoint finds less, and keeps it then."""
        self.patch(space_reserve, "PLENTY", DISK)
        reserve = self.make()
        reserve.check(0)
        self.assertEqual((reserve.missing, self.disk.list("/l")), (0, []))
        self.patch(space_reserve, "PLENTY", DISK + 1)
        self.assertEqual(reserve.missing, SIZE)
        reserve.check(0)
        self.assertEqual((reserve.missing, self.disk.free("/l")), (0, DISK - SIZE))
        self.patch(space_reserve, "PLENTY", 0)
        reserve.check(0)
        self.assertEqual((reserve.missing, self.disk.list("/l")), (0, ["reserve"]))

    def test_disks(self) -> None:
        """Each disk has one; directories on one disk share it."""
        self.disk.make_directories("/l/index")
        self.make("/l", "/l/index")
        self.make("/l", "/i")
        exist = [self.disk.exists(f"{path}/reserve") for path in ("/l", "/i", "/l/index")]
        self.assertEqual(exist, [True, True, False])

    def test_little_space(self) -> None:
        """Where there is less it takes that, and the rest when there is more and something beside it."""
        self.disk.fill("/l", 10_000)
        reserve = self.make()
        self.assertEqual((reserve.missing, self.disk.free("/l")), (SIZE - 8192, 10_000 - 8192))
        for free in (0, SIZE // 4 + 100 - 1):
            self.disk.foreign["/l"] = DISK - SIZE - free
            error = self.assertRaises(ReserveShortageError, reserve.check, 100)
            self.assertEqual((error.errno, error.filename), (errno.ENOSPC, "/l"))
            self.assertEqual((error.needed, error.free), (100 + SIZE // 4 + 8192, self.disk.free("/l")))
            self.assertEqual(reserve.missing, SIZE - 8192)
        self.disk.foreign["/l"] -= 1
        reserve.check(100)
        self.assertEqual((reserve.missing, self.disk.free("/l")), (0, SIZE // 4 + 100))
        self.assertRaises(OSError, reserve.check, 101)

    def test_index_disk(self) -> None:
        """Without space for the index nothing is written either; entries take no space there."""
        reserve = self.make("/l", "/i")
        self.disk.fill("/i", SIZE // 4)
        reserve.check(SIZE)
        self.disk.fill("/i", SIZE // 4 - 1)
        self.assertRaises(OSError, reserve.check, 0)

    def test_lent(self) -> None:
        """Who has it has the space; meanwhile nobody else gets it, and none of it is taken back by a checkpoint."""
        reserve = self.make()
        self.disk.fill("/l")
        self.assertTrue(reserve.release())
        self.assertEqual((reserve.missing, self.disk.free("/l"), reserve.release()), (SIZE, SIZE, False))
        self.disk.foreign["/l"] = 0
        reserve.check(100)
        self.assertEqual(reserve.missing, SIZE)
        reserve.restore()
        self.assertEqual(reserve.missing, 0)
        self.assertTrue(reserve.release())

    def test_not_lent(self) -> None:
        """If one of the disks is read-only, nothing is lent, and the other disk keeps its reserve."""
        reserve = self.make("/l", "/i")
        for path, other in (("/i", "/l"), ("/l", "/i")):
            self.disk.fail(errno.EROFS, when=lambda op, path=path: op.name == "unlink" and op.path.startswith(path))  # type: ignore[misc]
            self.assertRaises(OSError, reserve.release)
            self.assertEqual((reserve.released, reserve.missing, self.disk.free(other)), (False, 0, DISK - SIZE))
        self.assertTrue(reserve.release())

    def test_reserved_blocks(self) -> None:
        """It is taken of what this process may take, also of blocks that others may not; entries leave those alone."""
        self.disk.reserved = 2 * SIZE
        self.disk.fill("/l", 2 * SIZE)
        reserve = self.make()
        self.assertEqual((reserve.missing, self.disk.usage("/l")[1]), (0, 0))
        self.assertRaises(OSError, reserve.check, 0)

    def test_nothing_to_lend(self) -> None:
        """Without a free byte at the start there is no file, and nothing to release."""
        self.disk.fill("/l")
        reserve = self.make()
        self.assertEqual((reserve.release(), self.disk.list("/l")), (False, []))

    def test_raced(self) -> None:
        """Where others take space meanwhile it takes less."""
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "allocate")
        self.assertEqual(self.make().missing, SIZE // 4)
        disk = SimDisk()
        disk.make_directories("/l")
        disk.fail(errno.EIO, when=lambda op: op.name == "allocate")
        self.assertEqual(self.assertRaises(OSError, SpaceReserve, disk, ("/l",), SIZE).errno, errno.EIO)


class FullDirectoryTests(SynchronousTestCase):
    """A ledger storage on a full disk."""

    def setUp(self) -> None:
        self.disk = small_disk()
        self.storage = self.open()

    def open(self) -> LedgerStorage:
        return LedgerStorage.open(self.disk, ["/l"], ["/l"], SETTINGS, SimIndex.open, lambda log_marks: None)

    def checkpoint(self) -> bool:
        """Whether there was space for it."""
        begun = self.storage.begin_checkpoint([JournalPosition(1, 1)])
        assert begun is not None
        try:
            write(begun)
        except NoWritableDirectoryError:
            return False
        finally:
            begun.finish()
        return True

    def test_reserve_of_clients(self) -> None:
        """Entries never use it up: they stay in memory while there is no space beside it."""
        for first in range(0, 3000, 10):
            self.storage.add(run(1, first, 10))
            if not self.checkpoint():
                break
        else:
            self.fail("the disk is not full")
        directory = self.storage.directories[0]
        assert directory.reserve is not None
        self.assertEqual((directory.reserve.missing, self.storage.pending_entries()), (0, 10))
        self.assertGreater(self.disk.free("/l"), SIZE // 4 - 1)

    def fill(self) -> None:
        """Three ledgers in a log, one of them fenced, entries in memory, and not a free byte."""
        for ledger_id in (1, 2, 3):
            self.storage.put_ledger(LedgerRow(ledger_id, b"key", fenced=ledger_id == 2))
            self.storage.add(run(ledger_id, 0, 5))
        self.assertTrue(self.checkpoint())
        self.storage.add(run(3, 5, 5))
        self.disk.fill("/l")

    def test_deletion_alone(self) -> None:
        """Deletions are durable though entries find no space, with the fence of a deleted ledger (S3)."""
        self.fill()
        self.storage.forget([1, 2], 7)
        self.assertEqual(self.storage.undeleted(), 2)
        self.assertFalse(self.checkpoint())
        self.assertEqual(self.storage.undeleted(), 0)
        rows = self.storage.directories[0].index.page((-1, -1), 9)
        self.assertEqual([(row.ledger_id, row.first, row.last) for row in rows], [(3, 0, 4)])
        self.disk = self._after_power_cut()
        after = self.open()
        self.assertEqual((after.ledger_ids(), after.was_fenced(2)), ([3], True))

    def _after_power_cut(self) -> SmallDisk:
        after = self.disk.crash(())
        assert isinstance(after, SmallDisk)
        return after

    def test_nothing_to_delete(self) -> None:
        """The reserve is not touched before something needs it: another file could take it."""
        self.fill()
        self.assertFalse(self.checkpoint())
        reserve = self.storage.directories[0].reserve
        assert reserve is not None
        self.assertEqual(reserve.missing, 0)

    def test_reserve_is_kept(self) -> None:
        """What a deletion needed of the reserve is reserved again right behind it."""
        self.fill()
        self.storage.forget([1], 7)
        self.assertFalse(self.checkpoint())
        reserve = self.storage.directories[0].reserve
        assert reserve is not None
        self.assertEqual((reserve.missing, self.disk.free("/l"), reserve.released), (0, 0, False))

    def test_a_ledger_again(self) -> None:
        """A ledger that is written again after its deletion keeps the new entries and its new state."""
        self.fill()
        self.storage.forget([1], 7)
        self.storage.put_ledger(LedgerRow(1, b"new"))
        self.storage.add(run(1, 7, 2, salt=1))
        self.assertFalse(self.checkpoint())
        self.disk.foreign["/l"] = 0
        self.assertTrue(self.checkpoint())
        self.assertEqual((self.storage.entry_ranges(1), self.storage.ledger(1)), ([(7, 8)], LedgerRow(1, b"new")))
        after = self.open()
        self.assertEqual((after.entry_ranges(1), after.ledger(1)), ([(7, 8)], LedgerRow(1, b"new")))

    def test_some_deletions(self) -> None:
        """Of many deletions those that were committed before a failure are not committed again."""
        for ledger_id in range(100):
            self.storage.put_ledger(LedgerRow(ledger_id, b"key"))
            self.storage.add(run(ledger_id, 0))
        self.assertTrue(self.checkpoint())
        self.disk.fill("/l")
        self.storage.forget(range(90), 7)
        commits = list[int]()

        def is_third(operation: Operation) -> bool:
            if operation.name == "commit":
                commits.append(operation.number)
            return len(commits) == 3  # the first one finds no space

        self.disk.fail(errno.EIO, when=is_third)
        begun = self.storage.begin_checkpoint([JournalPosition(1, 1)])
        assert begun is not None
        self.assertRaises(StorageError, begun.write, 0)
        begun.finish()
        self.assertEqual(self.storage.undeleted(), 90 - 64)
        self.assertFalse(self.checkpoint())
        self.assertEqual(self.storage.undeleted(), 0)

    def test_written_log_is_ended(self) -> None:
        """The log that was written last can be collected: no other follows while the disk is full."""
        self.fill()
        self.assertEqual(self.storage.directories[0].log.active_log_id, 0)
        self.assertFalse(self.checkpoint())
        self.assertIsNone(self.storage.directories[0].log.active_log_id)

    def test_start(self) -> None:
        """An index that cannot be opened for lack of space is opened in that of the reserve."""
        self.fill()
        index = SimIndex.open(self.disk, "/l")
        free: list[int] = []

        def picky(fs: object, directory: str, fresh: bool = False) -> SimIndex:
            free.append(self.disk.free("/l"))
            if not free[-1]:
                raise NoWritableDirectoryError("32 KiB")
            return index

        self.disk.kill()
        after = LedgerStorage.open(self.disk, ["/l"], ["/l"], SETTINGS, picky, lambda log_marks: None)
        reserve = after.directories[0].reserve
        assert reserve is not None
        self.assertEqual((free, reserve.missing), ([0, SIZE], 0))
        self.disk.unlink("/l/reserve")
        self.disk.fill("/l")
        with self.assertRaises(NoWritableDirectoryError):
            LedgerStorage.open(self.disk, ["/l"], ["/l"], SETTINGS, picky, lambda log_marks: None)
