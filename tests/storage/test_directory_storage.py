"""One ledger directory."""

import errno
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.mixed_runs import MixedRun
from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.directory_storage import DirectoryStorage, merged, storage_error
from bookkeeper_twisted.storage.entry_log.reader import EntryLogReader
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.index import looked_up, rows
from bookkeeper_twisted.storage.index.recent_blocks import LedgerBlocks
from bookkeeper_twisted.storage.index.recent_index import RecentIndex
from bookkeeper_twisted.storage.interfaces import LedgerRow

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from .entries import entry, run


class DirectoryTests(SynchronousTestCase):
    """Halves, flushes, look-ups."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        log = EntryLogWriter.open(self.disk, "/", 1 << 20)
        reader = EntryLogReader(self.disk, "/")
        self.index = SimIndex.open(self.disk, "/")
        self.directory = DirectoryStorage("/", log, reader, self.index, RecentIndex(1 << 16))

    def test_halves(self) -> None:
        """Both write caches are readable, the active one first; the flushing one stays until it is let go."""
        self.directory.active.add(run(1, 0, 10))
        self.directory.swap()
        self.directory.active.add(run(1, 5, 1, salt=1))
        for when in ("before", "after the write"):
            with self.subTest(when):
                found = self.directory.cached(1, 5)
                assert found is not None
                self.assertEqual(found.count, 1)
                found = self.directory.cached(1, 9)
                assert found is not None
                self.assertEqual(found.count, 10)
                self.assertEqual(self.directory.last_cached(1), 9)
            self.directory.write([])
        self.directory.written()
        self.assertIsNone(self.directory.cached(1, 9))
        self.assertEqual(self.directory.last_cached(1), 5)

    def test_never_between(self) -> None:
        """At every operation of a flush each entry is in a write cache or found on disk: no moment of absence."""
        self.directory.active.add(run(1, 0, 10))
        self.directory.swap()
        moments = []

        def look(_: object) -> None:
            if self.directory.cached(1, 3) is None and self.directory.load(1, 3, 100) is None:
                self.fail("the entry was gone")
            moments.append(1)

        self.disk.observer = look
        self.directory.write([])
        look(None)
        self.directory.written()
        self.assertIsNone(self.directory.cached(1, 3))
        look(None)
        self.assertGreater(len(moments), 8)

    def test_not_written(self) -> None:
        """After a failure both write caches are one, the newer copies on top."""
        self.directory.active.add(run(1, 0, 10))
        self.directory.swap()
        self.directory.active.add(run(1, 5, 1, salt=1))
        self.directory.active.add(run(1, 10, 1))
        self.directory.not_written()
        self.assertFalse(self.directory.flushing)
        self.assertEqual(self.directory.active.ranges(1), [(0, 4), (5, 5), (6, 9), (10, 10)])
        found = self.directory.cached(1, 5)
        assert found is not None
        self.assertEqual(found.data, run(1, 5, 1, salt=1).data)

    def flush(self) -> None:
        self.directory.swap()
        self.directory.write([])
        self.directory.written()

    def reopened(self) -> DirectoryStorage:
        """The directory with nothing in memory, its disk with everything."""
        self.disk.resident = lambda: True
        log, reader = EntryLogWriter.open(self.disk, "/", 1 << 20), EntryLogReader(self.disk, "/")
        return DirectoryStorage("/", log, reader, self.index, RecentIndex(1 << 16))

    def test_resident(self) -> None:
        """New rows are known to memory, old ones once a read thread has looked them up."""
        self.disk.resident = lambda: True
        self.directory.add(run(1, 0, 10))
        self.flush()
        self.directory.load(1, 3, 0)
        for directory in (self.directory, self.reopened()):
            if directory is not self.directory:
                self.assertIsNone(directory.resident(1, 3, 4, 1000))
                directory.load(1, 3, 0)
                self.assertIsNone(directory.resident(1, 3, 4, 1000))
                directory.add_looked_up_rows()
            found = directory.resident(1, 3, 4, 1000)
            assert found is not None
            self.assertEqual((found.first, found.data), (3, run(1, 3, 4).data))
            self.assertIsNone(directory.resident(1, 10, 4, 1000))

    def test_scattered(self) -> None:
        """Single entries of the write caches and of entry logs, the newest copies, in the order asked for."""
        self.disk.resident = lambda: True
        self.directory.add(run(1, 0, 10))
        self.flush()
        self.directory.load(1, 3, 0)
        self.directory.add(run(1, 5, 1, salt=1))
        self.directory.swap()
        self.directory.add(run(1, 7, 1, salt=2))
        found = self.directory.scattered(1, [7, 3, 5, 20, 0], 1000)
        wanted = [run(1, 7, 1, salt=2).entry(7), entry(1, 3), run(1, 5, 1, salt=1).entry(5), None, entry(1, 0)]
        self.assertEqual(found.entries, wanted)
        self.assertEqual((found.cached, found.read, found.read_bytes), (2, 2, 2 * 56))
        self.assertEqual(self.directory.scattered(2, [0, 7], 1000).entries, [None, None])

    def test_no_stale_row(self) -> None:
        """A row that was looked up is not used once a newer copy was added, whenever that was."""
        moments = ("before the look-up", "before it is learned", "flushed before it is learned", "after")
        for when in moments:
            with self.subTest(when):
                self.setUp()
                self.directory.add(run(1, 0, 10))
                self.flush()
                self.directory = self.reopened()
                for moment in moments:
                    if moment == when:
                        self.directory.add(run(1, 5, 1, salt=1))
                    if moment == "before the look-up":
                        self.directory.load(1, 3, 0)
                    if moment == when == "flushed before it is learned":
                        self.flush()
                    if moment == "flushed before it is learned":
                        self.directory.add_looked_up_rows()
                self.assertIsNone(self.directory.looked_up.find(1, 5))

    def test_mixed_run(self) -> None:
        """Entries of a mixed run are newer copies, too."""
        self.directory.add(run(1, 0, 10))
        self.flush()
        directory = self.reopened()
        directory.load(1, 3, 0)
        directory.add_looked_up_rows()
        self.assertIsNotNone(directory.looked_up.find(1, 5))
        entries = [run(2, 0).entry(0), run(1, 5).entry(5)]
        directory.add(MixedRun([2, 1], [0, 5], [-1, -1], entries))
        self.assertIsNone(directory.looked_up.find(1, 5))

    def take_turns(self, entry_ids: range, ledger_ids: range = range(1, 40), salt: int = 0) -> None:
        """One entry of each ledger after the other, and a flush."""
        for entry_id in entry_ids:
            for ledger_id in ledger_ids:
                self.directory.add(run(ledger_id, entry_id, 1, salt=salt))
        self.flush()

    def loaded(self, ledger_id: int, entry_id: int) -> bytes | None:
        found = self.directory.load(ledger_id, entry_id, 1)
        return found.entry(entry_id) if found is not None else None

    def packed_in_memory(self, ledger_id: int) -> bool:
        """Whether memory has packed rows of a ledger."""
        return any(isinstance(each, LedgerBlocks) for each in self.directory.recent.tables_of(ledger_id, 0, 99))

    def test_turns_in_memory(self) -> None:
        """Rows of ledgers that take turns are in memory until a newer copy is flushed, or copies are committed."""
        self.take_turns(range(3))
        self.assertTrue(self.packed_in_memory(7))
        self.assertEqual(self.loaded(7, 1), entry(7, 1))
        self.directory.add(run(7, 0, 9, salt=5))
        self.flush()
        self.assertFalse(self.packed_in_memory(7))
        self.assertEqual(self.loaded(7, 1), entry(7, 1, salt=5))
        (packed,) = [self.directory.recent.find(8, 1)]
        assert packed is not None
        copy = packed._replace(log_id=77)
        self.directory.commit_moved([copy], frozenset([packed.log_id]))
        self.assertIsNone(self.directory.recent.find(8, 1))
        self.assertEqual(self.index.find(8, 1), copy)

    def test_many_short_runs(self) -> None:
        """The rows of many short runs are packed; whatever is newer is found, packed or not, after a restart too."""
        self.patch(rows, "MANY_ROWS", 20)
        newest = dict.fromkeys(range(1, 31), 0)
        for salt, changed in enumerate((range(1, 31), range(5, 8), range(3, 29))):
            for ledger_id in changed:
                self.directory.add(run(ledger_id, 0, 5, salt=salt))
                newest[ledger_id] = salt
            self.flush()
            packed = len(changed) >= 20
            self.assertEqual(self.packed_in_memory(6), packed)
            for ledger_id, newest_salt in newest.items():
                self.assertEqual(self.loaded(ledger_id, 2), entry(ledger_id, 2, salt=newest_salt))
        self.directory = self.reopened()
        for ledger_id, newest_salt in newest.items():
            self.assertEqual(self.loaded(ledger_id, 2), entry(ledger_id, 2, salt=newest_salt))

    def test_rows_ahead(self) -> None:
        """A reader that goes through a ledger of single entries has rows looked up together."""
        self.directory.recent = RecentIndex(0)
        for entry_id in range(10):
            self.take_turns(range(entry_id, entry_id + 1))
        for entry_id in (0, 1):
            self.assertEqual(self.loaded(7, entry_id), entry(7, entry_id))
            self.assertIsNone(self.directory.looked_up.find(7, entry_id))
        self.directory.add(run(7, 6, 1, salt=2))
        self.directory.add_looked_up_rows()
        known = [self.directory.looked_up.find(7, entry_id) is not None for entry_id in range(11)]
        self.assertEqual(known, [True] * 6 + [False] + [True] * 3 + [False])  # not the one that was added again
        self.assertEqual([self.loaded(7, entry_id) for entry_id in (10, 11)], [None, None])

    def test_rows_ahead_of_a_striped_ledger(self) -> None:
        """Where this bookie has every third entry of a ledger, its rows are looked up together, too."""
        self.directory.recent = RecentIndex(0)
        self.patch(looked_up, "_ROWS_AHEAD", 32)
        entry_ids = range(0, 120, 3)
        for entry_id in entry_ids:
            self.take_turns(range(entry_id, entry_id + 1), range(7, 9))
        pages: list[int] = []
        rows_ahead = self.index.rows_ahead

        def counted(ledger_id: int, entry_id: int, limit: int) -> object:
            pages.append(entry_id)
            return rows_ahead(ledger_id, entry_id, limit)

        self.patch(self.index, "rows_ahead", counted)
        for entry_id in entry_ids[:34]:
            self.assertEqual(self.loaded(7, entry_id), entry(7, entry_id))
        self.assertEqual(pages, [3, 99])
        self.directory.add(run(7, 102, 1, salt=3))
        self.flush()
        self.assertEqual(self.loaded(7, 102), entry(7, 102, salt=3))
        n_pages = len(pages)
        for entry_id in (100, 106, 119, 120, 500):
            self.assertIsNone(self.loaded(7, entry_id))
        self.assertEqual(len(pages), n_pages)  # what ends a batch costs one look-up, not that of all rows behind it

    def single_lookups(self) -> list[int]:
        """The entries whose row is not among those looked up before, from now on."""
        alone: list[int] = []
        find = SimIndex.find

        def counted(index: SimIndex, ledger_id: int, entry_id: int) -> object:
            alone.append(entry_id)
            return find(index, ledger_id, entry_id)

        self.patch(SimIndex, "find", counted)
        return alone

    def test_rows_of_several_entries_ahead(self) -> None:
        """Of a ledger with two entries in three here, a reader of any of the two looks two entries up."""
        for first in range(1, 300, 3):
            self.directory.add(run(7, first, 2))
        self.flush()
        alone = self.single_lookups()
        for chosen in (1, 2):
            directory = self.reopened()
            for entry_id in range(chosen, 300, 3):
                found = directory.load(7, entry_id, 1)
                assert found is not None
                self.assertEqual(found.entry(entry_id), entry(7, entry_id))
            directory.add_looked_up_rows()
            for entry_id in (4, 5, 298, 299):
                self.assertIsNotNone(directory.looked_up.find(7, entry_id))
        self.assertEqual(alone, [1, 4, 2, 5])

    def test_threads_that_take_turns(self) -> None:
        """Read threads that read parts of what one reader wants look few entries up alone."""
        for entry_id in range(0, 600, 3):
            self.directory.add(run(7, entry_id))
        self.flush()
        directory = self.reopened()
        alone = self.single_lookups()
        for entry_id in (96, 99, 0, 102, 3, 105, 192, 288, 108):
            self.assertIsNotNone(directory.load(7, entry_id, 1))
        self.assertEqual(alone, [96, 99, 0, 3])

    def test_no_rows_ahead(self) -> None:
        """An entry is found alone where the rows behind it cannot be listed."""
        self.directory.recent = RecentIndex(0)
        for entry_id in range(3):
            self.take_turns(range(entry_id, entry_id + 1))

        def unreadable(ledger_id: int, entry_id: int, limit: int) -> None:
            raise StorageError("a part of the index is damaged")

        self.patch(self.index, "rows_ahead", unreadable)
        self.assertEqual([self.loaded(7, entry_id) for entry_id in range(3)], [entry(7, i) for i in range(3)])

    def test_looked_up_rows_are_bounded(self) -> None:
        """What the read threads look up and is not taken over yet is bounded, and so is what was taken over (S11)."""
        self.directory.add(run(1, 0, 10))
        self.flush()
        directory = self.reopened()
        for _ in range(2000):
            directory.load(1, 3, 0)
        self.assertLessEqual(len(directory._found), 64)
        directory.add_looked_up_rows()
        self.assertEqual(len(directory._found), 0)
        self.assertLessEqual(directory.looked_up.cost, 1 << 16)

    def test_states_alone(self) -> None:
        """States are committed though there are no entries; nothing at all is no commit."""
        self.directory.write([LedgerRow(1, b"key")])
        self.assertEqual([*self.index.ledgers()], [LedgerRow(1, b"key")])
        before = len(self.disk.operations)
        self.directory.write([])
        self.assertEqual(len(self.disk.operations), before)

    def test_sync_before_commit(self) -> None:
        """The log is synced before the index learns of it, and nothing of it after a failed sync."""
        self.directory.active.add(run(1, 0, 10))
        self.directory.swap()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.number > 8)
        self.assertRaises(StorageError, self.directory.write, [])
        self.assertEqual(self.index.last_entry(1), -1)
        self.directory.write([])
        names = [op.name for op in self.disk.operations if op.path in ("/1.log", "/index.sim")]
        self.assertEqual(names[-2:], ["sync", "commit"])

    def test_close(self) -> None:
        """Everything is closed though sealing fails."""
        self.directory.active.add(run(1, 0, 10))
        self.directory.swap()
        self.directory.write([])
        self.directory.load(1, 0, 10)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite")
        self.assertRaises(StorageError, self.directory.close)
        self.assertEqual(len(self.directory.reader._idle), 0)

    def test_errors(self) -> None:
        """Full and read-only disks take no data for now; the text names the file."""
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            self.assertIsInstance(storage_error(OSError(number, "x"), "/d"), NoWritableDirectoryError)
        error = storage_error(OSError(errno.EIO, "broken", "/d/0.log"), "/d")
        self.assertNotIsInstance(error, NoWritableDirectoryError)
        self.assertEqual(str(error), "/d/0.log: broken")
        self.assertEqual(str(storage_error(OSError(errno.EIO, "broken"), "/d")), "/d: broken")


class MergedTests(SynchronousTestCase):
    """Ranges."""

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5))))
    def test_merged(self, drawn: list[tuple[int, int]]) -> None:
        """The same entries, in ranges that are disjoint, ascending and not neighbours."""
        ranges = [(first, first + more) for first, more in drawn]
        result = merged(ranges)
        self.assertEqual(
            [e for a, b in result for e in range(a, b + 1)], sorted({e for a, b in ranges for e in range(a, b + 1)})
        )
        for (_, last), (first, _) in pairwise(result):
            self.assertGreater(first, last + 1)
