"""The test suite for run indexes.  A row of such an index says where in an entry log a run of entries is stored.

A run is a sequence of consecutive entries of one ledger.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from itertools import chain, pairwise

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...storage.index.blocks import unpack_rows
from ...storage.index.rows import can_be_packed, pack_sizes, packed_rows, record_offsets
from ...storage.interfaces import IndexBatch, IndexRow, IRunIndex, LedgerRow

_RECORD = 60
_EntryLocation = tuple[int, int, int]


def _row(ledger_id: int, first: int, last: int, log_id: int = 0, offset: int = 1024) -> IndexRow:
    return IndexRow(ledger_id, first, last, log_id, offset, _RECORD, b"\1\2\3\4")


def _locations(row: IndexRow) -> dict[int, _EntryLocation]:
    """Return, by entry id, where each entry of an index row is: entry log, offset and size."""
    offsets = record_offsets(row)
    return {
        row.first + i: (row.log_id, row.offset + offsets[i], offsets[i + 1] - offsets[i])
        for i in range(row.last - row.first + 1)
    }


@st.composite
def _rows(draw: st.DrawFn) -> IndexRow:
    """Draw a random index row for a test.

    The row is of one of two ledgers, and its first entry is one of the first 40 entries.
    """
    first = draw(st.integers(0, 39))
    count = draw(st.integers(1, 12))
    sizes = draw(st.one_of(st.just([_RECORD] * count), st.lists(st.integers(20, 24), min_size=count, max_size=count)))
    log_id, offset = draw(st.integers(0, 5)), draw(st.integers(1024, 9000))
    return IndexRow(draw(st.integers(7, 8)), first, first + count - 1, log_id, offset, pack_sizes(sizes), b"\0" * 4)


def _fits(row: IndexRow) -> bool:
    return can_be_packed(row) and row.offset < 1 << 32


class PackedIndex:
    """An index that commits rows in packed form (36 bytes for a row) if possible, so that tests include this form.

    :param index: the index to wrap.
    """

    def __init__(self, index: IRunIndex) -> None:
        self.index = index

    def __getattr__(self, name: str) -> object:
        """Return the attribute ``name`` of the wrapped index."""
        return getattr(self.index, name)

    def commit(self, batch: IndexBatch) -> None:
        """Commit a ``batch`` of index rows; if no two rows overlap, commit them in packed form (36 bytes each)."""
        ordered = sorted(batch.runs)
        if all(one[0] != two[0] or one[2] < two[1] for one, two in pairwise(ordered)):
            mixed = packed_rows(filter(_fits, ordered))
            batch = attrs.evolve(batch, mixed=mixed, runs=[row for row in batch.runs if not _fits(row)])
        self.index.commit(batch)


class RunIndexContract(SynchronousTestCase):
    """The tests that each run index passes; a subclass makes the index."""

    def make(self) -> IRunIndex:
        """Return a new, empty index to test; each subclass defines this method."""
        raise NotImplementedError

    def reopen(self, index: IRunIndex) -> IRunIndex:
        """Close an ``index``, open it again and return it."""
        raise NotImplementedError

    def test_interface(self) -> None:
        """The index has all members of ``IRunIndex``."""
        index = self.make()
        verifyObject(IRunIndex, index.index if isinstance(index, PackedIndex) else index)

    def test_empty(self) -> None:
        """A new index is empty, and not marked as complete: an entry may be in the entry logs although it has no row.

        Safety rule S5 of ``docs/architecture/durability.rst``: the storage must not report such an entry as missing.
        """
        index = self.make()
        self.assertIsNone(index.find(1, 0))
        self.assertEqual(index.last_entry(1), -1)
        self.assertEqual([*index.rows(1)], [])
        self.assertEqual([*index.ledgers()], [])
        self.assertFalse(index.complete)

    def test_complete(self) -> None:
        """An index that was marked as complete (it covers all entry logs) stays so, even after a restart."""
        index = self.make()
        index.commit(IndexBatch(complete=True))
        self.assertTrue(index.complete)
        index = self.reopen(index)
        self.assertTrue(index.complete)
        index.commit(IndexBatch(runs=[_row(1, 0, 3)]))
        self.assertTrue(self.reopen(index).complete)

    def test_commits(self) -> None:
        """Each commit adds one to the count of commits, and a batch may raise it to a minimum; a restart keeps it."""
        index = self.make()
        self.assertEqual(index.commits, 0)
        for number, batch in enumerate(
            (IndexBatch(complete=True), IndexBatch(runs=[_row(1, 0, 3)]), IndexBatch(deleted_ledgers=[1])), 1
        ):
            index.commit(batch)
            self.assertEqual(index.commits, number)
        index = self.reopen(index)
        self.assertEqual(index.commits, 3)
        for least, expected in ((3, 4), (90, 90), (0, 91)):
            index.commit(IndexBatch(without_runs=True, least_commits=least))
            self.assertEqual(index.commits, expected)
            index = self.reopen(index)
            self.assertEqual(index.commits, expected)

    def test_without_runs(self) -> None:
        """A batch with ``without_runs`` removes all index rows, and marks the index as incomplete.

        The states of the ledgers stay.
        """
        index = self.make()
        state = LedgerRow(1, b"key", fenced=True)
        index.commit(IndexBatch(runs=[_row(1, 10, 19), _row(2, 0, 9)], ledgers=[state], complete=True))
        self.assertTrue(IndexBatch(without_runs=True))
        index.commit(IndexBatch(without_runs=True))
        for looked in (index, self.reopen(index)):
            self.assertEqual((looked.live(), looked.complete, [*looked.ledgers()]), ({}, False, [state]))
        index = looked
        index.commit(IndexBatch(runs=[_row(1, 12, 13)], complete=True))
        self.assertEqual((index.complete, index.last_entry(1)), (True, 13))

    def test_find(self) -> None:
        """The index row that contains an entry is found; entries outside all index rows are not found."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 10, 19), _row(1, 30, 30), _row(2, 0, 99)]))
        for entry_id in (10, 15, 19):
            self.assertEqual(index.find(1, entry_id), _row(1, 10, 19))
        self.assertEqual(index.find(1, 30), _row(1, 30, 30))
        for entry_id in (0, 9, 20, 29, 31):
            self.assertIsNone(index.find(1, entry_id))
        self.assertIsNone(index.find(0, 10))
        self.assertIsNone(index.find(3, 10))

    def test_big_numbers(self) -> None:
        """Ledger and entry ids may have 63 bits, log ids 31 bits."""
        row = IndexRow(2**63 - 1, 2**62, 2**62 + 1, 2**31 - 2, 2**31, pack_sizes([40, 50]), b"")
        index = self.make()
        index.commit(IndexBatch(runs=[row]))
        self.assertEqual(index.find(2**63 - 1, 2**62 + 1), row)
        self.assertEqual(index.last_entry(2**63 - 1), 2**62 + 1)

    def test_last_entry(self) -> None:
        """The last entry of a ledger is found, whatever the order in which its index rows were committed."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 50, 59), _row(1, 0, 9), _row(2, 0, 7)]))
        self.assertEqual(index.last_entry(1), 59)
        self.assertEqual(index.last_entry(2), 7)

    def test_rows_ahead(self) -> None:
        """``rows_ahead`` returns the index row of an entry and the next rows of its ledger; no rows if it has none."""
        rows = [_row(1, 10 * i, 10 * i + 5) for i in range(5)]
        index = self.make()
        index.commit(IndexBatch(runs=[*reversed(rows), _row(2, 0, 100)]))
        self.assertEqual([*index.rows(1)], rows)
        for entry_id, limit, expected in ((15, 9, rows[1:]), (10, 2, rows[1:3]), (45, 9, rows[4:]), (3, 1, rows[:1])):
            found = index.rows_ahead(1, entry_id, limit)
            unpacked = [unpack_rows(part) if isinstance(part, bytes) else [part] for part in found]
            self.assertEqual(list(chain.from_iterable(unpacked)), expected)
        for ledger_id, entry_id in ((1, 16), (1, 46), (1, -1), (0, 3), (2, 101), (3, 0)):
            self.assertEqual([*index.rows_ahead(ledger_id, entry_id, 9)], [])

    def test_many_rows(self) -> None:
        """A listing returns all index rows of a ledger, even if there are many."""
        rows = [_row(1, 2 * i, 2 * i) for i in range(1234)]
        index = self.make()
        index.commit(IndexBatch(runs=rows))
        self.assertEqual([*index.rows(1)], rows)

    def test_commit_while_listing(self) -> None:
        """A listing of index rows misses no entry, even if a commit replaces rows during the listing."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 2 * i, 2 * i + 1) for i in range(1000)]))
        listing = index.rows(1)
        seen = [next(listing) for _ in range(10)]
        index.commit(IndexBatch(runs=[_row(1, 400, 1999, log_id=9)]))
        seen += listing
        self.assertEqual({e for row in seen for e in range(row.first, row.last + 1)}, {*range(2000)})

    def test_replace(self) -> None:
        """A new index row for the same entries in another entry log replaces the old row."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0)]))
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 1)]))
        self.assertEqual([*index.rows(1)], [_row(1, 0, 9, 1)])

    def test_split(self) -> None:
        """A new index row for entries inside an older row splits the older row; its two parts have no checksums."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0)]))
        index.commit(IndexBatch(runs=[_row(1, 4, 5, 1)]))
        left = IndexRow(1, 0, 3, 0, 1024, _RECORD)
        right = IndexRow(1, 6, 9, 0, 1024 + 6 * _RECORD, _RECORD)
        self.assertEqual([*index.rows(1)], [left, _row(1, 4, 5, 1), right])

    def test_moved(self) -> None:
        """A compaction replaces the row of an entry only if this row still refers to a log that was compacted.

        Safety rule S8 of ``docs/architecture/durability.rst``: an entry that was written again to another log is kept.
        """
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0), _row(1, 10, 19, 1), _row(1, 20, 29, 2)]))
        index.commit(IndexBatch(runs=[_row(1, 4, 5, 7)]))
        index.commit(IndexBatch(moved=[_row(1, 0, 24, 9)], moved_from=frozenset([0, 1])))
        found = [(row.first, row.last, row.log_id) for row in index.rows(1)]
        self.assertEqual(found, [(0, 3, 9), (4, 5, 7), (6, 19, 9), (20, 29, 2)])
        self.assertEqual(index.find(1, 6), IndexRow(1, 6, 19, 9, 1024 + 6 * _RECORD, _RECORD))

    def test_moved_whole(self) -> None:
        """A compaction can replace several index rows by one row with checksums."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0), _row(1, 10, 19, 1)]))
        index.commit(IndexBatch(moved=[_row(1, 0, 19, 9)], moved_from=frozenset([0, 1])))
        self.assertEqual([*index.rows(1)], [_row(1, 0, 19, 9)])

    def test_moved_of_a_deleted_ledger(self) -> None:
        """A compaction that commits after the deletion of a ledger does not bring the ledger back."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0)]))
        index.commit(IndexBatch(deleted_ledgers=[1]))
        index.commit(IndexBatch(moved=[_row(1, 0, 9, 9)], moved_from=frozenset([0])))
        self.assertEqual([*index.rows(1)], [])

    def test_page(self) -> None:
        """A page (a limited number of index rows) begins after a given entry; it can be limited to some entry logs."""
        rows = [_row(1, 0, 9, 0), _row(1, 10, 19, 1), _row(2, 0, 5, 0), _row(7, 3, 4, 2)]
        index = self.make()
        index.commit(IndexBatch(runs=rows))
        self.assertEqual(index.page((-1, -1), 3), rows[:3])
        self.assertEqual(index.page((1, 0), 9), rows[1:])
        self.assertEqual(index.page((-1, -1), 9, [0, 2]), [rows[0], rows[2], rows[3]])
        self.assertEqual(index.page((2, 0), 9, [0]), [])

    def test_live(self) -> None:
        """The index counts the live entries and bytes in each entry log, with entries of equal or of different sizes.
        """
        index = self.make()
        self.assertEqual(index.live(), {})
        uneven = IndexRow(2, 0, 2, 1, 1024, pack_sizes([20, 30, 45]))
        index.commit(IndexBatch(runs=[_row(1, 0, 9, 0), uneven, _row(3, 0, 0, 1)]))
        self.assertEqual(index.live(), {0: (10, 10 * _RECORD), 1: (4, 95 + _RECORD)})
        index.commit(IndexBatch(deleted_ledgers=[1]))
        self.assertEqual(index.live(), {1: (4, 95 + _RECORD)})

    def test_ledgers(self) -> None:
        """The states of ledgers are stored, replaced, listed by id, and still there after a restart."""
        one, two = LedgerRow(1, b"key", True, b"lac"), LedgerRow(2, b"", True, b"", 1_700_000_000)
        index = self.make()
        index.commit(IndexBatch(ledgers=[two, LedgerRow(1, b"key")]))
        index.commit(IndexBatch(ledgers=[one]))
        self.assertEqual([*index.ledgers()], [one, two])
        self.assertEqual([*self.reopen(index).ledgers()], [one, two])

    def test_many_ledgers(self) -> None:
        """A listing returns all ledgers, even if they do not fit into one page."""
        rows = [LedgerRow(i, b"key") for i in range(1234)]
        index = self.make()
        index.commit(IndexBatch(ledgers=rows))
        self.assertEqual([*index.ledgers()], rows)

    def test_delete(self) -> None:
        """The deletion of a ledger removes its index rows and its state; the same batch may add new rows of it."""
        index = self.make()
        index.commit(IndexBatch(runs=[_row(1, 0, 9), _row(2, 0, 9)], ledgers=[LedgerRow(1), LedgerRow(2)]))
        index.commit(IndexBatch(runs=[_row(1, 3, 4)], deleted_ledgers=[1]))
        self.assertEqual([*index.rows(1)], [_row(1, 3, 4)])
        self.assertEqual([*index.ledgers()], [LedgerRow(2)])
        self.assertEqual([*index.rows(2)], [_row(2, 0, 9)])

    def test_reopen(self) -> None:
        """Committed index rows are still there after a restart."""
        index = self.make()
        rows = [_row(1, 0, 9), IndexRow(1, 10, 11, 3, 77, pack_sizes([30, 40]), b"abcd")]
        index.commit(IndexBatch(runs=rows))
        self.assertEqual([*self.reopen(index).rows(1)], rows)

    def test_newest_wins(self) -> None:
        """If index rows overlap, the row that was committed last says where an entry is."""

        @settings(max_examples=60, deadline=None, derandomize=True, database=None)
        @given(st.lists(st.lists(_rows(), max_size=5), max_size=6))
        def check(batches: list[list[IndexRow]]) -> None:
            self._check_against_model(batches)

        check()

    def _check_against_model(self, batches: list[list[IndexRow]]) -> None:
        index, model = self.make(), dict[tuple[int, int], _EntryLocation]()
        for batch in batches:
            index.commit(IndexBatch(runs=batch))
            for row in batch:
                model.update(((row.ledger_id, e), location) for e, location in _locations(row).items())
        for ledger_id in (7, 8):
            listed = dict[int, _EntryLocation]()
            for row in index.rows(ledger_id):
                self.assertFalse(listed.keys() & _locations(row).keys())
                listed.update(_locations(row))
            self.assertEqual(listed, {e: location for (owner, e), location in model.items() if owner == ledger_id})
            self.assertEqual(index.last_entry(ledger_id), max(listed, default=-1))
            for entry_id in range(52):
                found = index.find(ledger_id, entry_id)
                self.assertEqual(_locations(found)[entry_id] if found else None, listed.get(entry_id))
        index.close()
