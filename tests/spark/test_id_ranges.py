"""Sets of ledger ids."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.model import MAX_LEDGER_ID
from bookkeeper_twisted.spark.id_ranges import ALL_IDS, IdRanges


class IdRangesTests(SynchronousTestCase):
    """Ranges stand for the ids in them."""

    @given(st.lists(st.sets(st.integers(0, 60)), max_size=8))
    def test_ranges(self, parts: list[set[int]]) -> None:
        """A set of ranges has what was put into it, in the fewest ranges."""
        ranges = IdRanges()
        for part in parts:
            ranges = ranges.union(part)
        wanted = set[int]().union(*parts)
        self.assertEqual(list(ranges), sorted(wanted))
        self.assertEqual([n for n in range(62) if n in ranges], sorted(wanted))
        self.assertEqual(len(ranges.ranges), sum(n + 1 not in wanted for n in wanted))
        self.assertEqual(IdRanges.from_text(ranges.to_text()), ranges)
        self.assertEqual(IdRanges.of(wanted), ranges)

    @given(*[st.sets(st.integers(0, 60))] * 2)
    def test_sets(self, one: set[int], other: set[int]) -> None:
        """Sets of ranges intersect and have complements as sets of ids do."""
        ranges, others = IdRanges.of(one), IdRanges.of(other)
        self.assertEqual(ranges.intersection(others), IdRanges.of(one & other))
        self.assertEqual(bool(ranges), bool(one))
        rest = ranges.complement()
        self.assertEqual([n for n in range(62) if n in rest], [n for n in range(62) if n not in one])
        self.assertEqual((MAX_LEDGER_ID in rest, MAX_LEDGER_ID + 1 in rest), (True, False))
        self.assertEqual(rest.complement(), ranges)

    def test_ends_of_ids(self) -> None:
        """A set may have the highest id, and touching or overlapping ranges are one."""
        highest = IdRanges.of([MAX_LEDGER_ID])
        self.assertEqual(highest.complement().ranges, ((0, MAX_LEDGER_ID - 1),))
        self.assertEqual(highest.complement().complement(), highest)
        self.assertEqual(ALL_IDS.complement(), IdRanges())
        self.assertEqual(IdRanges.of_ranges([(7, 9), (1, 3), (4, 5), (2, 2)]).ranges, ((1, 5), (7, 9)))
