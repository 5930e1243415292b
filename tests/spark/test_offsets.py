"""Offsets of streams."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.model import MAX_LEDGER_ID
from bookkeeper_twisted.spark.offsets import ALL_IDS, Admission, IdRanges, StreamOffset


class AdmissionTests(SynchronousTestCase):
    """What goes into one micro-batch."""

    def test_large_entries(self) -> None:
        """One entry above the limit goes in, the first of all; those of the other ledgers wait."""
        admission = Admission(None, 10)
        self.assertEqual([admission.admitted(5, 100), admission.admitted(5, 100), admission.admitted(5, 1)], [1, 0, 0])


class OffsetTests(SynchronousTestCase):
    """One query."""

    def test_advance(self) -> None:
        """Ledgers move on, and leave the table when they are done."""
        offset = StreamOffset().advanced({3: 10, 4: 5}, {7})
        self.assertEqual([offset.position(n) for n in (3, 4, 7, 8)], [10, 5, None, 0])
        offset = offset.advanced({4: 6}, {3})
        self.assertEqual([offset.position(n) for n in (3, 4)], [None, 6])

    def test_round_trip(self) -> None:
        """What Spark stores as JSON comes back as it was."""
        offset = StreamOffset({30_000: 7}).advanced({}, {25_001, 25_002, 25_009}, {25_003})
        stored = json.loads(json.dumps(offset.to_json()))
        self.assertEqual(StreamOffset.from_json(stored), offset)
        self.assertEqual((stored["done"], stored["finished"]), ("25001-25003,25009", "25001-25002,25009"))

    def test_low_ids(self) -> None:
        """An id that was never seen is that of a new ledger, however far below the highest it is."""
        offset = StreamOffset().advanced({}, set(range(5, 100_000)))
        self.assertEqual([offset.position(n) for n in (4, 5, 99_999, 100_000)], [0, None, None, 0])
        self.assertEqual(offset.to_json()["done"], "5-99999")

    def test_finished_in_this_step(self) -> None:
        """An offset names the ledgers that were read to their end in its step, not in earlier ones, and no others."""
        before = StreamOffset().advanced({3: 1}, {1}, {2})
        after = before.advanced({}, {3}, {9})
        self.assertEqual((list(after.finished), list(after.done)), ([3], [1, 2, 3, 9]))

    def test_nothing_new(self) -> None:
        """Without progress the offset stays the same, so that Spark makes no micro-batch."""
        offset = StreamOffset().advanced({3: 1}, {1})
        self.assertIs(offset.advanced({3: 1}, set()), offset)

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

    def test_another_version(self) -> None:
        """The checkpoint of another version is refused."""
        self.assertRaises(ConfigError, StreamOffset.from_json, {"version": 1})
