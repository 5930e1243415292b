"""Runs of entries."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun

_ENTRIES = st.one_of(
    st.lists(st.binary(max_size=40), min_size=1, max_size=20),
    st.builds(lambda entry, count: [entry] * count, st.binary(max_size=40), st.integers(1, 70)),
)


def _naive_records(entries: list[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(entry)) + entry for entry in entries)


def _sealed(ledger_id: int, entry_id: int, lac: int = -1) -> bytes:
    return struct.pack(">qqqq", ledger_id, entry_id, lac, 0)


class EntryRunTests(SynchronousTestCase):
    """:class:`EntryRun` against a list of entries."""

    @given(_ENTRIES, st.integers(0, 1 << 40))
    def test_of_entries(self, entries: list[bytes], first: int) -> None:
        """A run holds the records, finds each entry, and is uniform exactly if all sizes are equal."""
        run = EntryRun.of_entries(7, first, entries)
        self.assertEqual(run.data, _naive_records(entries))
        self.assertEqual((run.ledger_id, run.first, run.count), (7, first, len(entries)))
        self.assertEqual((run.last, run.size), (first + len(entries) - 1, len(run.data)))
        self.assertEqual(list(run.entries()), entries)
        self.assertEqual([run.entry(first + i) for i in range(len(entries))], entries)
        self.assertEqual(run.stride, len(entries[0]) + 4 if len(set(map(len, entries))) == 1 else 0)
        offsets = [len(_naive_records(entries[:i])) for i in range(len(entries) + 1)]
        self.assertEqual(list(run.record_offsets()), offsets)

    @given(_ENTRIES, st.data())
    def test_slice(self, entries: list[bytes], data: st.DataObject) -> None:
        """A slice is the run of the sliced list."""
        start = data.draw(st.integers(0, len(entries) - 1))
        count = data.draw(st.integers(1, len(entries) - start))
        part = EntryRun.of_entries(1, 100, entries).slice(100 + start, count)
        self.assertEqual((part.first, part.count), (100 + start, count))
        self.assertEqual(part.data, _naive_records(entries[start : start + count]))
        self.assertEqual(list(part.entries()), entries[start : start + count])
        self.assertEqual(part.entry(part.last), entries[start + count - 1])

    @given(st.lists(_ENTRIES, min_size=1, max_size=4))
    def test_join(self, parts: list[list[bytes]]) -> None:
        """Joined runs are the run of the joined lists."""
        runs, first = [], 3
        for part in parts:
            runs.append(EntryRun.of_entries(1, first, part))
            first += len(part)
        whole = [entry for part in parts for entry in part]
        joined = EntryRun.join(runs)
        self.assertEqual((joined.first, joined.count), (3, len(whole)))
        self.assertEqual(joined.data, _naive_records(whole))
        self.assertEqual(list(joined.entries()), whole)
        self.assertEqual(joined.entry(joined.last), whole[-1])

    @given(_ENTRIES, st.data())
    def test_fitting(self, entries: list[bytes], data: st.DataObject) -> None:
        """As many entries fit as a count of their costs one by one says."""
        start = data.draw(st.integers(0, len(entries) - 1))
        max_count = data.draw(st.integers(1, len(entries) + 2))
        budget = data.draw(st.integers(0, len(_naive_records(entries)) + 100))
        overhead = data.draw(st.sampled_from([0, 4]))
        expected, cost = 0, 0
        for entry in entries[start : start + max_count]:
            cost += len(entry) + 4 + overhead
            if cost > budget:
                break
            expected += 1
        run = EntryRun.of_entries(1, 50, entries)
        self.assertEqual(run.fitting(50 + start, max_count, budget, overhead), expected)

    def test_whole_slice_is_the_run(self) -> None:
        """Asking for everything copies nothing."""
        run = EntryRun.of_entries(1, 0, [b"a", b"bb"])
        self.assertIs(run.slice(0, 2), run)
        self.assertIs(EntryRun.join([run]), run)

    def test_last_add_confirmed(self) -> None:
        """The LAC is that of the last entry, -1 where the entry is too short to have one."""
        self.assertEqual(EntryRun.of_entries(1, 0, [_sealed(1, 0, -1), _sealed(1, 1, 0)]).last_add_confirmed(), 0)
        self.assertEqual(EntryRun.of_entries(1, 0, [_sealed(1, 0, 9), b"short"]).last_add_confirmed(), -1)

    def test_ids_match(self) -> None:
        """A run whose first or last entry is another one, or of another ledger, is noticed (S18)."""
        good = [_sealed(1, 5), _sealed(1, 6), _sealed(1, 7)]
        self.assertTrue(EntryRun.of_entries(1, 5, good).ids_match())
        self.assertTrue(EntryRun.of_entries(1, 5, [*good[:2], good[2] + b"x"]).ids_match())
        self.assertFalse(EntryRun.of_entries(1, 4, good).ids_match())
        self.assertFalse(EntryRun.of_entries(2, 5, good).ids_match())
        self.assertFalse(EntryRun.of_entries(1, 5, [good[0], good[1], _sealed(1, 8)]).ids_match())
        self.assertFalse(EntryRun.of_entries(1, 5, [good[0], b"short"]).ids_match())

    def test_ids_do_not_match_torn_data(self) -> None:
        """A run that ends before its last record, or claims another size, does not match (S9)."""
        run = EntryRun.of_entries(1, 5, [_sealed(1, 5), _sealed(1, 6)])
        self.assertFalse(EntryRun(1, 5, 2, run.data[:-1], run.stride).ids_match())
        self.assertFalse(EntryRun(1, 5, 2, run.data[:36] + b"\0\0\0\x21" + run.data[40:], run.stride).ids_match())

    def test_repr(self) -> None:
        """The repr names ledger, entries and size, not the bytes."""
        self.assertEqual(repr(EntryRun.of_entries(1, 5, [b"ab"])), "<EntryRun ledger 1 entries 5..5, 6 bytes>")
