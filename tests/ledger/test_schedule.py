"""Write sets, stretches, coverage."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import IncorrectParameterError
from bookkeeper_twisted.ledger.schedule import Schedule, schedule_of
from bookkeeper_twisted.model import LedgerMetadata

QUORUMS = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7)).map(lambda t: sorted(t, reverse=True))
FAST = settings(max_examples=60)


class ScheduleTests(SynchronousTestCase):
    """The round-robin distribution."""

    def test_shared(self) -> None:
        """Ledgers of the same sizes share a schedule, which is that of the sizes."""
        first, second, other = (LedgerMetadata(5, size, 2, ()) for size in (3, 3, 2))
        self.assertIs(schedule_of(first), schedule_of(second))
        self.assertEqual(schedule_of(first), Schedule(5, 3, 2))
        self.assertNotEqual(schedule_of(first), schedule_of(other))

    def test_write_sets(self) -> None:
        """Write sets begin at the id modulo the ensemble and are in that order."""
        table: dict[tuple[int, int, int], dict[int, tuple[int, ...]]] = {
            (3, 3, 2): {0: (0, 1, 2), 3: (0, 1, 2), 7: (1, 2, 0), 8: (2, 0, 1)},
            (3, 2, 2): {0: (0, 1), 3: (0, 1), 7: (1, 2), 8: (2, 0)},
            (5, 3, 2): {0: (0, 1, 2), 3: (3, 4, 0), 7: (2, 3, 4), 8: (3, 4, 0)},
        }
        for quorums, sets in table.items():
            for entry_id, positions in sets.items():
                self.assertEqual(Schedule(*quorums).write_set(entry_id), positions)

    def test_large_ids(self) -> None:
        """Ids have 64 bits: the pattern goes on beyond 2^31 and 2^32."""
        schedule = Schedule(3, 2, 2)
        for entry_id in (1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1):
            start = entry_id % 3
            self.assertEqual(schedule.write_set(entry_id), (start, (start + 1) % 3))

    def test_wrong_sizes(self) -> None:
        """Sizes that do not shrink from ensemble to ack quorum, or reach 0, are refused."""
        for sizes in ((2, 3, 2), (3, 2, 3), (3, 2, 0), (0, 0, 0), (1, 1, -1)):
            self.assertRaises(IncorrectParameterError, Schedule, *sizes)

    @FAST
    @given(QUORUMS, st.integers(0, 1 << 40), st.integers(1, 60))
    def test_stretches(self, quorums: list[int], first: int, count: int) -> None:
        """The stretches of a position are exactly the entries whose write set has it, as long as can be."""
        schedule = Schedule(*quorums)
        last = first + count - 1
        for position in range(quorums[0]):
            stretches = list(schedule.stretches(position, first, last))
            ids = [e for start, n in stretches for e in range(start, start + n)]
            self.assertEqual(ids, [e for e in range(first, last + 1) if position in schedule.write_set(e)])
            self.assertEqual(schedule.count(position, first, last), len(ids))
            self.assertEqual(schedule.count(position, first, first - 1), 0)
            ends = [start + n for start, n in stretches]
            self.assertTrue(all(end < start for end, (start, _) in zip(ends, stretches[1:], strict=False)))

    def test_coverage(self) -> None:
        """Covered is when no write set has an ack quorum of unheard positions (S17)."""
        table = {
            (3, 3, 3): 1, (3, 3, 2): 2, (3, 2, 2): 2, (3, 3, 1): 3, (2, 2, 1): 2, (4, 2, 1): 4, (5, 3, 2): 4,
        }  # fmt: skip
        for quorums, needed in table.items():
            schedule, positions = Schedule(*quorums), range(quorums[0])
            with self.subTest(quorums):
                self.assertTrue(all(schedule.is_covered(answered) for answered in combinations(positions, needed)))
                self.assertFalse(any(schedule.is_covered(answered) for answered in combinations(positions, needed - 1)))

    def test_coverage_by_write_set(self) -> None:
        """With 5, 3, 3 three answers always suffice, two in five of ten cases."""
        schedule = Schedule(5, 3, 3)
        self.assertTrue(all(schedule.is_covered(answered) for answered in combinations(range(5), 3)))
        self.assertEqual(sum(schedule.is_covered(answered) for answered in combinations(range(5), 2)), 5)
