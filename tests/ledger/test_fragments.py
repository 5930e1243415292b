"""Fragments of ledgers and the samples that checks read."""

from random import Random

import attrs
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.fragments import LedgerFragment, Moves, fragments_of
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment

from .test_schedule import FAST, QUORUMS

OLD, NEW = ("a", "b", "c"), ("a", "d", "c")


def metadata(*starts: int, last: int | None = None, quorums: tuple[int, int, int] = (3, 2, 2)) -> LedgerMetadata:
    """A ledger with segments from some ids on, closed if it has a last entry."""
    segments = tuple(Segment(start, NEW if number % 2 else OLD) for number, start in enumerate(starts))
    if last is None:
        return LedgerMetadata(*quorums, segments)
    return LedgerMetadata(*quorums, segments, LedgerState.CLOSED, 100, last)


class FragmentTests(SynchronousTestCase):
    """One fragment for each ensemble."""

    def ranges(self, stored: LedgerMetadata, lac: int = -1) -> list[tuple[int, int, bool]]:
        """First and last ids, and whether they are final."""
        return [(one.first, one.last, one.closed) for one in fragments_of(7, stored, lac)]

    def test_closed_ledger(self) -> None:
        """All fragments of a closed ledger are final, the last one ends with it, whatever LAC is known."""
        self.assertEqual(self.ranges(metadata(0, 10, last=14), 3), [(0, 9, True), (10, 14, True)])
        self.assertEqual([one.ensemble for one in fragments_of(7, metadata(0, 10, last=14), 3)], [OLD, NEW])

    def test_empty_ledgers(self) -> None:
        """Fragments without entries are there, since their ensembles name bookies."""
        self.assertEqual(self.ranges(metadata(0, last=-1)), [(0, -1, True)])
        self.assertEqual(self.ranges(metadata(0, 10, last=9)), [(0, 9, True), (10, 9, True)])
        (one,) = fragments_of(7, metadata(0, last=-1), -1)
        self.assertEqual((one.count, one.ends(0), one.sample(0, 100, Random(1))), (0, None, []))

    def test_open_ledger(self) -> None:
        """The newest fragment of an open ledger belongs to its writer and is known up to the LAC."""
        self.assertEqual(self.ranges(metadata(0), 4), [(0, 4, False)])
        self.assertEqual(self.ranges(metadata(0, 10), 12), [(0, 9, True), (10, 12, False)])
        self.assertEqual(self.ranges(metadata(0, 10), 9), [(0, 9, True), (10, 9, False)])

    def test_reader_behind(self) -> None:
        """As long as the LAC is below the newest ensemble, nothing of an open ledger counts as final."""
        self.assertEqual(self.ranges(metadata(0, 5, 10), 8), [(0, 4, False), (5, 9, False), (10, 9, False)])

    def test_in_recovery(self) -> None:
        """A ledger in recovery is not closed: the recovery may write to its newest ensemble."""
        stored = LedgerMetadata(3, 2, 2, (Segment(0, OLD), Segment(10, NEW)), LedgerState.IN_RECOVERY)
        self.assertEqual(self.ranges(stored, 12), [(0, 9, True), (10, 12, False)])


class SampleTests(SynchronousTestCase):
    """The entries that a check reads at a position."""

    @given(QUORUMS, st.integers(0, 40), st.integers(0, 40), st.integers(0, 100))
    @FAST
    def test_ends(self, quorums: list[int], first: int, count: int, percentage: int) -> None:
        """Ends and samples are of the entries that the position keeps; the ends are in every sample."""
        schedule = Schedule(*quorums)
        one = LedgerFragment(7, first, first + count - 1, ("x",) * quorums[0], schedule, True)
        for position in range(quorums[0]):
            kept = [n for n in range(first, first + count) if position in schedule.write_set(n)]
            self.assertEqual(one.ends(position), (kept[0], kept[-1]) if kept else None)
            sample = one.sample(position, percentage, Random(percentage))
            if sample is None:
                self.assertGreaterEqual(len(kept), 1)
                continue
            self.assertLessEqual(set(sample), set(kept))
            self.assertEqual(sample, sorted(set(sample)))
            self.assertEqual(sample[:1] + sample[-1:], kept[:1] + kept[-1:])

    def test_percentages(self) -> None:
        """None: first and last; all: every entry; some: about so many, one in each of equal parts."""
        one = LedgerFragment(7, 0, 999, OLD, Schedule(3, 3, 2), True)
        self.assertEqual(one.sample(0, 0, Random(1)), [0, 999])
        self.assertIsNone(one.sample(0, 100, Random(1)))
        some = one.sample(0, 10, Random(1))
        assert some is not None
        self.assertTrue(100 <= len(some) <= 102, len(some))
        self.assertEqual(sorted({n // 10 for n in some}), list(range(100)))

    def test_one_entry(self) -> None:
        """Of one entry, or two, every sample is all of them."""
        for last in (5, 6):
            few = LedgerFragment(7, 5, last, OLD, Schedule(3, 3, 2), True)
            self.assertEqual([few.sample(0, percentage, Random(1)) for percentage in (0, 100)], [None, None])


class MovesTests(SynchronousTestCase):
    """Other bookies in metadata."""

    def test_of_a_fragment(self) -> None:
        """Bookies that were there before are no change."""
        one = LedgerFragment(7, 5, 9, OLD, Schedule(3, 3, 2), True)
        self.assertEqual(one.moves({0: OLD[0], 1: "x"}), Moves(5, {1: (OLD[1], "x")}))

    def test_only_what_was_copied(self) -> None:
        """Only the fragment's positions change, and only where the old bookie is still named."""
        stored = metadata(0, 10, last=14)
        moves = Moves(0, {1: ("b", "x"), 2: ("other", "y")})
        self.assertTrue(moves.are_needed(stored))
        changed = moves.apply(stored)
        self.assertEqual([s.bookies for s in changed.segments], [("a", "x", "c"), NEW])
        self.assertEqual(attrs.evolve(changed, segments=stored.segments), stored)
        self.assertFalse(moves.are_needed(changed))

    def test_never_twice(self) -> None:
        """A bookie that the ensemble has already is not named a second time."""
        self.assertFalse(Moves(0, {1: ("b", "c")}).are_needed(metadata(0, last=3)))

    def test_newest_of_a_writer(self) -> None:
        """The newest ensemble of a ledger that is not closed is left to its writer, older ones are not."""
        self.assertFalse(Moves(10, {0: ("a", "x")}).are_needed(metadata(0, 10)))
        self.assertEqual(Moves(0, {0: ("a", "x")}).apply(metadata(0, 10)).segments[0].bookies, ("x", "b", "c"))
