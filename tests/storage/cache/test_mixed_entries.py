"""Single entries by columns."""

import random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.storage.cache import mixed_entries
from bookkeeper_twisted.storage.cache.mixed_entries import MOST_TOGETHER, MixedEntries, SortedEntries, ascending
from bookkeeper_twisted.storage.cache.run_list import RunList

from ..entries import entry, run, uneven


def _added(*added: EntryRun) -> MixedEntries:
    """All of them, by one call."""
    columns = MixedEntries()
    _add(columns, *added)
    return columns


def _add(columns: MixedEntries, *added: EntryRun, runs: RunList | None = None) -> list[tuple[int, int]]:
    """Adds entries.

    :param runs: of ledger 1.
    :returns: ids of those that were not added.
    """
    ids = [(each.ledger_id, each.first + i) for each in added for i in range(each.count)]
    entries = [data for each in added for data in each.entries()]
    held = {} if runs is None else {1: runs}
    return [ids[index] for index in columns.add([i for i, _ in ids], [e for _, e in ids], entries, held)]


class LedgerViewTests(SynchronousTestCase):
    """Look-ups of one ledger."""

    def test_find(self) -> None:
        """An entry is found with those that follow it, up to a gap; what is added later is found as well."""
        columns = _added(run(1, 3, 2), run(2, 5), run(1, 6), run(2, 6))
        view = columns.view(1)
        assert view is not None
        self.assertEqual((view.first, view.last), (3, 6))
        found = {e: (hit.first, hit.last) for e in range(9) if (hit := view.find(e, 9)) is not None}
        self.assertEqual(found, {3: (3, 4), 4: (4, 4), 6: (6, 6)})
        self.assertEqual([view.entry(e) for e in (2, 4, 5, 7)], [None, entry(1, 4), None, None])
        overlaps = [view.overlaps(first, last) for first, last in ((0, 2), (0, 3), (5, 5), (5, 6), (7, 9))]
        self.assertEqual(overlaps, [False, True, False, True, False])
        _add(columns, run(1, 7, 2))
        view = columns.view(1)
        assert view is not None
        for max_count, found_ids in ((9, (6, 7, 8)), (2, (6, 7)), (1, (6,))):
            hit = view.find(6, max_count)
            assert hit is not None
            self.assertEqual(list(hit.entries()), [entry(1, e) for e in found_ids])
        self.assertIsNone(columns.view(3))

    def test_find_newest(self) -> None:
        """The newest entry of a ledger is found without a view of the others, which earlier ones need."""
        columns = _added(run(1, 3, 2), run(2, 9))
        hits = [columns.find(*ids) for ids in ((1, 4), (2, 9), (1, 5), (3, 0))]
        self.assertEqual([hit and list(hit.entries()) for hit in hits], [[entry(1, 4)], [entry(2, 9)], None, None])
        self.assertEqual(columns._views, {})
        earlier = columns.find(1, 3, 9)
        assert earlier is not None
        self.assertEqual((earlier.first, earlier.last, list(columns._views)), (3, 4, [1]))
        self.assertIsNone(columns.find(1, 2, 9))

    def test_bounded(self) -> None:
        """So many entries or bytes are found together, at least one."""
        columns = _added(run(1, 0, 200), uneven(2, 0, [40_000, 20_000, 10_000]), run(3, 0, 1, 100_000))
        sizes = [hit.count for ledger in (1, 2, 3) if (view := columns.view(ledger)) and (hit := view.find(0, 200))]
        self.assertEqual(sizes, [MOST_TOGETHER, 2, 1])

    def test_reader_behind_a_writer(self) -> None:
        """A reader that follows a writer has each place looked at once."""
        columns = MixedEntries()
        walked = [0]
        positions = columns._positions

        def counting(newest: int, known: int = -1) -> list[int]:
            found = positions(newest, known)
            walked[0] += len(found)
            return found

        self.patch(MixedEntries, "_positions", lambda _, newest, known=-1: counting(newest, known))
        for entry_id in range(500):
            _add(columns, run(1, entry_id))
            view = columns.view(1)
            assert view is not None
            self.assertIsNotNone(view.find(entry_id))
        self.assertEqual(walked[0], 500)


class MixedEntriesTests(SynchronousTestCase):
    """What is added, and what is not."""

    def test_ascending(self) -> None:
        """An entry at or below another of its ledger is left, and with it all that follow it."""
        columns = _added(run(1, 5), run(2, 5))
        self.assertEqual(_add(columns, run(1, 5), run(2, 6), run(1, 9), run(2, 7)), [(1, 5), (1, 9)])
        self.assertEqual([columns.ranges(ledger) for ledger in (1, 2)], [[(5, 5)], [(5, 7)]])
        self.assertEqual((columns.last(1), columns.last(2), columns.last(3)), (5, 7, -1))

    def test_beside_runs(self) -> None:
        """Entries are taken above the runs of their ledger alone."""
        columns, runs = MixedEntries(), RunList()
        runs.insert(run(1, 3, 4))
        self.assertEqual(_add(columns, run(1, 6), run(2, 1), run(1, 7), runs=runs), [(1, 6), (1, 7)])
        self.assertEqual(_add(columns, run(1, 7), runs=runs), [])
        self.assertEqual((1 in columns, 3 in columns, columns.ranges(1)), (True, False, [(7, 7)]))

    def test_in_order(self) -> None:
        """All entries by ledger and id; those of some ledgers, and those that were not added, can be left out."""
        columns = _added(run(3, 1), run(1, 8, 2), run(2, 4), run(3, 2), run(1, 11))
        (whole,) = columns.in_order()
        self.assertEqual(list(zip(whole.ledger_ids, whole.entry_ids, strict=True)), [
            (1, 8), (1, 9), (1, 11), (2, 4), (3, 1), (3, 2),
        ])  # fmt: skip
        self.assertEqual([(r.ledger_id, r.first, r.count) for r in whole.runs()], [
            (1, 8, 2), (1, 11, 1), (2, 4, 1), (3, 1, 2),
        ])  # fmt: skip
        _add(columns, run(2, 4, salt=1))
        columns.take_out(1)
        (part,) = columns.in_order(but={3})
        self.assertEqual((*part.ledger_ids, *part.entries), (2, entry(2, 4)))
        self.assertEqual(list(columns.in_order(but={2, 3})), [])
        self.assertEqual(list(MixedEntries().in_order()), [])

    def test_many_in_order(self) -> None:
        """Some thousand entries at a time, whole ledgers but for one that has more; each once and in order."""
        self.patch(mixed_entries, "PART", 8)
        ledger_ids = random.Random(1).sample(range(1000), 60)
        columns = _added(*[run(ledger_id, first, 2) for first in (0, 5) for ledger_id in ledger_ids], run(500, 9, 40))
        parts = list(columns.in_order())
        self.assertLess(max(map(len, parts)), 17)
        found = [pair for part in parts for pair in zip(part.ledger_ids, part.entry_ids, strict=True)]
        expected = [(ledger_id, entry_id) for ledger_id in ledger_ids for entry_id in (0, 1, 5, 6)]
        self.assertEqual(found, sorted([*expected, *[(500, entry_id) for entry_id in range(9, 49)]]))
        short = [part for part in parts if 500 not in part.ledger_ids]
        self.assertEqual({len(part) % 4 for part in short}, {0})

    def test_sorted_by_parts(self) -> None:
        """Ids of any number are sorted."""
        self.patch(mixed_entries, "PART", 8)
        for count in (0, 1, 8, 9, 100, 129):
            drawn = random.Random(count).sample(range(1 << 50), count)
            self.assertEqual(ascending(drawn), sorted(drawn))


class SortedEntriesTests(SynchronousTestCase):
    """Entries cut into parts."""

    def test_parts(self) -> None:
        """Parts are as large as there is room, and end with a run if one fits; a longer entry is a part."""
        runs = [run(1, 0, 3), run(2, 0, 2), run(2, 9), run(3, 0, 8), run(4, 0, 1, 500), run(5, 0)]
        (whole,) = _added(*runs).in_order()
        for room, expected in (
            (4 * 56, [3, 3, 4, 4, 1, 1]),
            (3 * 56, [3, 3, 3, 3, 2, 1, 1]),
            (1, [1] * 16),
            (1 << 20, [16]),
        ):
            parts, begin = [], 0
            while begin < len(whole):
                parts.append(whole.part(begin, room))
                begin += len(parts[-1])
            self.assertEqual([len(part) for part in parts], expected)
            self.assertEqual([data for part in parts for data in part.entries], [*whole.entries])
            self.assertEqual(sum(part.total for part in parts), whole.total)
            for part in parts:
                again = SortedEntries(part.ledger_ids, part.entry_ids, part.entries)
                self.assertEqual(list(part.starts), list(again.starts))

    def test_sizes(self) -> None:
        """The size of a record is that of its entry and of its size word."""
        (whole,) = _added(run(1, 0, 1, 30), run(2, 0)).in_order()
        self.assertEqual([whole.size(0), whole.size(1), whole.total], [66, 56, 122])
        self.assertEqual(mixed_entries._starts([1], [5]), [0])
