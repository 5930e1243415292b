"""Single entries in any order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.cache.run_list import RunList
from bookkeeper_twisted.storage.index.recent_rows import SortedRows
from bookkeeper_twisted.storage.index.rows import record_offsets
from bookkeeper_twisted.storage.index.scattered import Lookup
from bookkeeper_twisted.storage.interfaces import CHECKSUM_BLOCK, IndexRow

from ..entries import entry, row, run

TABLE = SortedRows().joined((row(1, 0, 9), row(1, 20, 29, 3, 4096)))


def columns(lookup: Lookup, log_id: int = 0) -> list[list[Any]]:
    """Return the positions, entry ids, sizes, offsets and checksums of the records to read from a log."""
    return [list(column) for column in zip(*lookup.logs[log_id], strict=True)]


class LookupTests(SynchronousTestCase):
    """Where single entries are."""

    def lookup(self, *halves: RunList, uneven: IndexRow | None = None) -> Lookup:
        tables = [TABLE] if uneven is None else [SortedRows().joined((uneven,))]
        return Lookup(halves, tables, record_offsets)

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
        """The write caches come first, and among them the half that has the newer copies."""
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
            self.assertEqual([entry_id for records in lookup.logs.values() for _, entry_id, *_ in records], noted)

    def test_checksums(self) -> None:
        """The checksum of a row is that of its only record; a record beside others has none of its own."""
        rows = (row(1, 0, 0)._replace(checksums=b"abcd"), row(1, 3, 4)._replace(checksums=b"efgh"), row(1, 7, 7))
        lookup = Lookup([], [SortedRows().joined(rows)], record_offsets)
        lookup.find([0, 3, 4, 7], 10_000)
        self.assertEqual(columns(lookup)[1::3], [[0, 3, 4, 7], [b"abcd", b"", b"", b""]])

    @given(st.lists(st.integers(-1, 40), min_size=1), st.integers(0, 1000))
    def test_room(self, entry_ids: list[int], max_bytes: int) -> None:
        """It ends where the room ends, after one entry at least (S11)."""
        half = RunList()
        half.insert(run(1, 5, 10))
        lookup = self.lookup(half)
        lookup.find(entry_ids, max_bytes)
        found = lookup.found.entries
        taken = sum([len(e) for e in found if e is not None])
        taken += sum([size for records in lookup.logs.values() for _, _, size, *_ in records])
        self.assertTrue(1 <= len(found) <= len(entry_ids))
        self.assertLess(taken, max(max_bytes, 1) + 56)
        if len(found) < len(entry_ids):
            self.assertGreaterEqual(taken, max_bytes)
