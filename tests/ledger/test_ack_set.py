"""Which entries have their ack quorum, and which cannot have it any more."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.ack_set import AckSet
from bookkeeper_twisted.ledger.schedule import Schedule

FAST = settings(max_examples=100, deadline=None, derandomize=True)
ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 19), st.integers(1, 20), st.booleans()), max_size=25)


class AckSetTests(SynchronousTestCase):
    """One run of entries."""

    def test_whole_runs(self) -> None:
        """A run is complete at the ack quorum, in one answer each."""
        acks = AckSet(100, 50, Schedule(3, 3, 2))
        acks.add(1, 100, 50)
        self.assertEqual(acks.acked, 0)
        acks.add(0, 100, 50)
        self.assertEqual(acks.acked, 50)

    def test_prefix(self) -> None:
        """Only what is acknowledged without a gap counts."""
        acks = AckSet(0, 10, Schedule(2, 2, 2))
        acks.add(0, 0, 10)
        acks.add(1, 5, 5)
        self.assertEqual(acks.acked, 0)
        acks.add(1, 0, 3)
        self.assertEqual(acks.acked, 3)
        acks.add(1, 3, 2)
        self.assertEqual(acks.acked, 10)

    def test_doubled_answers(self) -> None:
        """A bookie that answers twice counts once."""
        acks = AckSet(0, 4, Schedule(3, 3, 2))
        acks.add(0, 0, 4)
        acks.add(0, 0, 4)
        self.assertEqual(acks.acked, 0)

    def test_failures(self) -> None:
        """An entry is lost once more than Wq - Aq bookies failed it."""
        acks = AckSet(0, 10, Schedule(3, 3, 2))
        acks.fail(0, 0, 10)
        self.assertIsNone(acks.first_unreachable)
        acks.fail(2, 4, 2)
        self.assertEqual(acks.first_unreachable, 4)

    def test_quorum_of_a_range(self) -> None:
        """Whether some entries have their quorum does not depend on those before them."""
        acks = AckSet(10, 6, Schedule(2, 2, 2))
        acks.add(0, 10, 6)
        acks.add(1, 13, 2)
        self.assertTrue(acks.has_quorum(13, 2))
        self.assertFalse(acks.has_quorum(13, 3))
        self.assertFalse(acks.has_quorum(12, 2))

    def test_forget(self) -> None:
        """A position forgets its acks from an entry on, and all its failures; the others keep theirs."""
        acks = AckSet(10, 6, Schedule(3, 3, 2))
        acks.add(0, 10, 6)
        acks.add(1, 10, 4)
        acks.fail(1, 14, 2)
        acks.fail(2, 15, 1)
        self.assertEqual((acks.failed_positions, acks.first_unreachable), ([1, 2], 5))
        acks.forget(1, 12)
        self.assertEqual((acks.acked, acks.failed_positions, acks.first_unreachable), (2, [2], None))
        acks.add(1, 12, 4)
        self.assertEqual(acks.acked, 6)

    @FAST
    @given(st.sampled_from([(5, 5, 3), (5, 3, 2), (5, 2, 2), (5, 5, 1), (5, 5, 5)]), ANSWERS)
    def test_model(self, quorums: tuple[int, int, int], answers: list[tuple[int, int, int, bool]]) -> None:
        """For any answers the outcome is that of counting positions entry by entry."""
        first, count = 7, 20
        acks = AckSet(first, count, Schedule(*quorums))
        good: list[set[int]] = [set() for _ in range(count)]
        bad: list[set[int]] = [set() for _ in range(count)]
        for position, start, n, success in answers:
            n = min(n, count - start)
            (acks.add if success else acks.fail)(position, first + start, n)
            for index in range(start, start + n):
                (good if success else bad)[index].add(position)
        complete = [len(g) >= quorums[2] for g in good] + [False]
        lost = [i for i, b in enumerate(bad) if len(b) > quorums[1] - quorums[2]]
        self.assertEqual(acks.acked, complete.index(False))
        self.assertEqual(acks.first_unreachable, lost[0] if lost else None)
