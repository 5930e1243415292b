"""Single entries in any order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.storage.cache.mixed_entries import MixedEntries
from bookkeeper_twisted.storage.cache.run_list import RunList
from bookkeeper_twisted.storage.index.blocks import BLOCK_ROWS
from bookkeeper_twisted.storage.index.looked_up import FoundRows
from bookkeeper_twisted.storage.index.recent_blocks import RecentBlocks
from bookkeeper_twisted.storage.index.recent_rows import SortedRows
from bookkeeper_twisted.storage.index.rows import packed_rows, record_offsets
from bookkeeper_twisted.storage.index.scattered import MOST_ROWS, LogRecords, Lookup
from bookkeeper_twisted.storage.interfaces import CHECKSUM_BLOCK, IndexRow
from bookkeeper_twisted.storage.mixed_rows import packed_of

from ..entries import entry, row, run

TABLE = SortedRows().joined((row(1, 0, 9), row(1, 20, 29, 3, 4096)))


def columns(lookup: Lookup, log_id: int = 0) -> list[list[Any]]:
    """Return the positions, entry ids, sizes, offsets and checksums of the records to read from a log."""
    return [list(getattr(lookup.logs[log_id], name)) for name in LogRecords.__slots__]


class LookupTests(SynchronousTestCase):
    """Where single entries are."""

    def lookup(self, *cached: RunList, uneven: IndexRow | None = None) -> Lookup:
        tables = [TABLE] if uneven is None else [SortedRows().joined((uneven,))]
        return Lookup(cached, tables, record_offsets)

    def test_by_log(self) -> None:
        """What is to be read is noted by log, with its place in the list that was asked for."""
        lookup = self.lookup()
        lookup.find([22, 3, 15, 40, -1, 25, 3], 10_000)
        noted = {log_id: columns(lookup, log_id)[:4] for log_id in lookup.logs}
        expected = {
            3: [[0, 5], [22, 25], [56, 56], [4096 + 2 * 56, 4096 + 5 * 56]],
            0: [[1, 6], [3, 3], [56, 56], [1024 + 3 * 56] * 2],
        }
        self.assertEqual(noted, expected)
        self.assertEqual(lookup.found.entries, [None] * 7)

    def test_newest(self) -> None:
        """The write caches come first, and among them the one that has the newer copies."""
        newer, older = RunList(), RunList()
        newer.insert(run(1, 4, 1, salt=2))
        older.insert(run(1, 3, 2, salt=1))
        lookup = self.lookup(newer, older)
        lookup.find([2, 3, 4, 5], 10_000)
        self.assertEqual(lookup.found.entries, [None, entry(1, 3, salt=1), entry(1, 4, salt=2), None])
        self.assertEqual((lookup.found.cached, columns(lookup)[1]), (2, [2, 5]))

    def test_uneven(self) -> None:
        """Records of uneven rows are found by their offsets; a damaged row has none."""
        sizes = b"".join([size.to_bytes(4, "big") for size in (40, 60, 50)])
        lookup = self.lookup(uneven=IndexRow(1, 5, 7, 0, 1024, sizes))
        lookup.find([6, 5], 10_000)
        self.assertEqual(columns(lookup)[2:4], [[60, 40], [1064, 1024]])
        lookup = self.lookup(uneven=IndexRow(1, 5, 7, 0, 1024, sizes[:-1]))
        lookup.find([6, 5], 10_000)
        self.assertEqual(lookup.logs, {})

    def test_blocks(self) -> None:
        """Records that may be all of a checksummed block are left to those who check it."""
        lookup = Lookup([], [SortedRows().joined((row(1, 0, 9, size=CHECKSUM_BLOCK),))], record_offsets)
        lookup.find([1, 2], 1 << 20)
        self.assertEqual(lookup.logs, {})
        size = CHECKSUM_BLOCK // 2 + 1  # the second and the fourth record end behind the begin of a block
        for last, noted in ((1, []), (2, [2]), (3, []), (4, [4])):
            lookup = Lookup([], [SortedRows().joined((row(1, 0, last, size=size),))], record_offsets)
            lookup.find([last], 1 << 20)
            self.assertEqual([entry_id for records in lookup.logs.values() for entry_id in records.entry_ids], noted)

    def test_checksums(self) -> None:
        """The checksum of a row is that of its only record; a record beside others has none of its own."""
        rows = (row(1, 0, 0)._replace(checksums=b"abcd"), row(1, 3, 4)._replace(checksums=b"efgh"), row(1, 7, 7))
        lookup = Lookup([], [SortedRows().joined(rows)], record_offsets)
        lookup.find([0, 3, 4, 7], 10_000)
        self.assertEqual(columns(lookup)[1::3], [[0, 3, 4, 7], [int.from_bytes(b"abcd", "big"), None, None, None]])

    @given(st.lists(st.integers(-1, 40), min_size=1), st.integers(0, 1000))
    def test_room(self, entry_ids: list[int], max_bytes: int) -> None:
        """It ends where the room ends, after one entry at least (S11)."""
        cached = RunList()
        cached.insert(run(1, 5, 10))
        lookup = self.lookup(cached)
        lookup.find(entry_ids, max_bytes)
        found = lookup.found.entries
        taken = sum([len(e) for e in found if e is not None])
        taken += sum([sum(records.sizes) for records in lookup.logs.values()])
        self.assertTrue(1 <= len(found) <= len(entry_ids))
        self.assertTrue(all(records.positions for records in lookup.logs.values()))
        self.assertLess(taken, max(max_bytes, 1) + 56)
        if len(found) < len(entry_ids):
            self.assertGreaterEqual(taken, max_bytes)

    def test_room_of_runs(self) -> None:
        """No more entries of runs are copied than there is room for (S11)."""
        cached, copied = RunList(), list[int]()
        cached.insert(run(1, 0, 50))
        entry = EntryRun.entry

        def entry_of(held: EntryRun, entry_id: int) -> bytes:
            copied.append(entry_id)
            return entry(held, entry_id)

        self.patch(EntryRun, "entry", entry_of)
        lookup = self.lookup(cached)
        lookup.find(range(50), 3 * 52)
        self.assertEqual((len(lookup.found.entries), lookup.found.cached, copied), (3, 3, [0, 1, 2]))


class PackedTests(SynchronousTestCase):
    """Packed rows, which are unpacked together."""

    def tables(self, rows: list[IndexRow]) -> list[Any]:
        """The rows of ledger 2 in each kind of table: first unpacked; in the last, one row has no packed form."""
        recent = RecentBlocks(1 << 30)
        others = [row(ledger_id, 0, 1 << 20)._replace(checksums=b"abcd") for ledger_id in (1, 3)]
        recent.add(packed_rows([*others, *rows]))
        packed = packed_of(packed_rows(rows))
        last = rows[-1]
        assert isinstance(last.sizes, int)
        listed = last._replace(sizes=last.sizes.to_bytes(4, "big") * (last.last - last.first + 1))
        return [
            SortedRows().joined(tuple(rows)), *recent.tables_of(2, 0, 1 << 30), FoundRows(2, packed),
            FoundRows(2, [*packed[:-1], listed]),
        ]  # fmt: skip

    def records(self, table: Any, entry_ids: list[int]) -> dict[int, list[tuple[Any, ...]]]:
        """What is noted of each log."""
        lookup = Lookup([], [table], record_offsets)
        lookup.find(entry_ids, 1 << 20)
        return {log_id: sorted(zip(*columns(lookup, log_id), strict=True)) for log_id in lookup.logs}

    @given(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 1), st.booleans()), min_size=4),
        st.lists(st.integers(-1, 25), min_size=6, max_size=40), st.booleans(),
    )  # fmt: skip
    def test_as_unpacked(self, shapes: list[tuple[int, int, int, bool]], entry_ids: list[int], in_order: bool) -> None:
        """Each kind of table gives the same records, also for entries that it does not have, in any order."""
        rows, first = list[IndexRow](), 0
        for gap, count, log_id, is_big in shapes:
            first += gap
            checksum, size = first.to_bytes(4, "big"), 70 if is_big else 56
            rows.append(IndexRow(2, first, first + count - 1, log_id, 4096 + 100 * first, size, checksum))
            first += count
        wanted = sorted(entry_ids) if in_order else entry_ids
        unpacked, *others = [self.records(table, wanted) for table in self.tables(rows)]
        self.assertEqual(others, [unpacked] * len(others))

    def test_striped(self) -> None:
        """Rows that lie in several blocks, one for each entry."""
        rows = [row(2, 3 * i, 3 * i, offset=4096 + 56 * i)._replace(checksums=b"abcd") for i in range(3 * BLOCK_ROWS)]
        for first in (0, BLOCK_ROWS - 2, 2 * BLOCK_ROWS):
            wanted = [3 * i for i in range(first, first + BLOCK_ROWS)]
            for table in self.tables(rows)[1:3]:
                packed = table.packed_between(wanted[0], wanted[-1], MOST_ROWS * len(wanted))
                self.assertEqual(len(packed), 36 * len(wanted))
                self.patch(type(table), "find", None)  # no row is unpacked by itself
                offsets = [offset for _, _, _, offset, _ in self.records(table, wanted)[0]]
                self.assertEqual(offsets, [4096 + 56 * (entry_id // 3) for entry_id in wanted])

    def test_between_rows(self) -> None:
        """Entries that are in no row, each of them behind a row of its own, are not found."""
        rows = [row(2, 3 * i, 3 * i + 1)._replace(checksums=b"abcd") for i in range(4)]
        for table in self.tables(rows):
            self.assertEqual(self.records(table, [2, 5, 8, 11]), {})

    def test_other_rows(self) -> None:
        """As many rows of one entry as are wanted, of other entries; and the first entries of rows of two."""
        single = [row(2, i, i)._replace(checksums=b"abcd") for i in (0, 3)]
        double = [row(2, i, i + 1)._replace(checksums=b"abcd") for i in (0, 3)]
        for table in self.tables(single):
            self.assertEqual([each[1] for each in self.records(table, [0, 4])[0]], [0])
        for table in self.tables(double):
            self.assertEqual([each[-1] for each in self.records(table, [0, 3])[0]], [None, None])

    def test_logs(self) -> None:
        """Rows that refer to several logs, and one that is not packed, beside entries that are in no row."""
        rows = [row(2, i, i + 1, i // 3 % 2)._replace(checksums=b"abcd") for i in range(0, 12, 3)]
        for table in self.tables(rows):
            found = self.records(table, [*range(13)])
            ids = {log_id: [entry_id for _, entry_id, *_ in records] for log_id, records in found.items()}
            self.assertEqual(ids, {0: [0, 1, 6, 7], 1: [3, 4, 9, 10]})

    def test_far_apart(self) -> None:
        """Where a ledger has many rows between the wanted entries, these are unpacked alone."""
        rows = [row(2, i, i)._replace(checksums=b"abcd") for i in range(0, 200, 2)]
        for table in self.tables(rows):
            self.assertIsNone(table.packed_between(3, 190, 20))
            self.assertEqual([len(found) for found in self.records(table, [2, 8, 3, 190]).values()], [3])


class SingleEntriesTests(SynchronousTestCase):
    """Entries in the columns of a write cache."""

    def view(self, *entry_ids: int) -> Any:
        columns = MixedEntries()
        columns.add([1] * len(entry_ids), entry_ids, [entry(1, i) for i in entry_ids], {})
        return columns.view(1)

    @given(st.lists(st.integers(-1, 60), min_size=1))
    def test_as_alone(self, entry_ids: list[int]) -> None:
        """Entries that are looked up together are the same as those that are looked up alone."""
        view = self.view(*range(0, 50, 3), 51, 52, 58)
        self.assertEqual(view.entries(entry_ids, 10), [view.entry(entry_id) for entry_id in entry_ids])

    def test_far_apart(self) -> None:
        """A look-up of a few of many entries does not go through all between them (S11)."""
        view, seen = self.view(*range(5000)), list[int]()
        ids = view._entry_ids

        class Counted:
            def __getitem__(self, position: int) -> int:
                seen.append(position)
                return int(ids[position])

        view._entry_ids = Counted()
        self.assertEqual(view.entries([4999, 0], 10), [entry(1, 4999), entry(1, 0)])
        self.assertLess(len(seen), 100)
