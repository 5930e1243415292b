"""Write sets, stretches, coverage, random ensembles."""

from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.interfaces import Adherence, Candidates
from bookkeeper_twisted.client.placement import RandomPlacement, Schedule, schedule_of
from bookkeeper_twisted.errors import IncorrectParameterError, NotEnoughBookiesError

QUORUMS = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7)).map(lambda t: sorted(t, reverse=True))
FAST = settings(max_examples=60, deadline=None, derandomize=True)


class ScheduleTests(SynchronousTestCase):
    """The round-robin distribution."""

    def test_shared(self) -> None:
        """Ledgers of the same sizes share a schedule, which is that of the sizes."""
        self.assertIs(schedule_of(5, 3, 2), schedule_of(5, 3, 2))
        self.assertEqual(schedule_of(5, 3, 2), Schedule(5, 3, 2))
        self.assertNotEqual(schedule_of(5, 3, 2), schedule_of(5, 2, 2))

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
                self.assertTrue(all(schedule.is_covered(heard) for heard in combinations(positions, needed)))
                self.assertFalse(any(schedule.is_covered(heard) for heard in combinations(positions, needed - 1)))

    def test_coverage_by_write_set(self) -> None:
        """With 5, 3, 3 three answers always suffice, two in five of ten cases."""
        schedule = Schedule(5, 3, 3)
        self.assertTrue(all(schedule.is_covered(heard) for heard in combinations(range(5), 3)))
        self.assertEqual(sum(schedule.is_covered(heard) for heard in combinations(range(5), 2)), 5)


class RandomPlacementTests(SynchronousTestCase):
    """Any bookies."""

    bookies = frozenset(f"b{i}:3181" for i in range(6))

    def test_ensemble(self) -> None:
        """An ensemble has different bookies, none of them excluded."""
        placement = RandomPlacement(Random(1))
        for _ in range(50):
            chosen = placement.new_ensemble(3, 2, Candidates(self.bookies, {"b0:3181"}))
            self.assertEqual(len(set(chosen)), 3)
            self.assertNotIn("b0:3181", chosen)

    def test_every_bookie_is_drawn(self) -> None:
        """All bookies get ledgers."""
        placement = RandomPlacement(Random(1))
        drawn = {b for _ in range(50) for b in placement.new_ensemble(2, 2, Candidates(self.bookies))}
        self.assertEqual(drawn, self.bookies)

    def test_same_seed(self) -> None:
        """One seed gives one sequence, whatever the order of the sets."""
        one, two = RandomPlacement(Random(5)), RandomPlacement(Random(5))
        for _ in range(5):
            self.assertEqual(
                one.new_ensemble(3, 2, Candidates(sorted(self.bookies))),
                two.new_ensemble(3, 2, Candidates(sorted(self.bookies, reverse=True))),
            )

    def test_too_few(self) -> None:
        """Fewer bookies than needed are an error that says how many there are."""
        draw = RandomPlacement(Random(1)).new_ensemble
        error = self.assertRaises(NotEnoughBookiesError, draw, 3, 2, Candidates({"a", "b"}))
        self.assertIn("2 are available", str(error))

    def test_replacement(self) -> None:
        """A replacement is neither in the ensemble nor excluded."""
        placement = RandomPlacement(Random(1))
        ensemble = ("b0:3181", "b1:3181", "b2:3181")
        candidates = Candidates(self.bookies, {"b3:3181"})
        drawn = {placement.replace_bookie(1, ensemble, 2, candidates) for _ in range(50)}
        self.assertEqual(drawn, {"b4:3181", "b5:3181"})

    def test_no_replacement(self) -> None:
        """Nothing is chosen where all bookies are in the ensemble or excluded."""
        replace = RandomPlacement(Random(1)).replace_bookie
        self.assertRaises(NotEnoughBookiesError, replace, 0, ("a", "b"), 2, Candidates({"a", "b", "c"}, {"c"}))

    def test_adherence(self) -> None:
        """There are no rules, so every ensemble keeps them."""
        self.assertIs(RandomPlacement(Random(1)).adherence(("a", "b"), 2), Adherence.STRICT)

    def test_weights(self) -> None:
        """Bookies are drawn in proportion to their free space, up to the limit of medians."""
        placement = RandomPlacement(Random(1), 3.0)
        free = {"a": 100, "b": 100, "c": 100_000, "d": 0}
        drawn = [placement.new_ensemble(1, 1, Candidates(free, (), free))[0] for _ in range(1200)]
        # weights 100, 100, 300 and 100 (the smallest that is not 0)
        self.assertTrue(520 < drawn.count("c") < 680, drawn.count("c"))
        for bookie_id in "abd":
            self.assertTrue(140 < drawn.count(bookie_id) < 260, drawn.count(bookie_id))

    def test_unlimited_weights(self) -> None:
        """Without a limit the free space decides alone."""
        placement = RandomPlacement(Random(1), 0)
        free = {"a": 1, "b": 1, "c": 1_000_000}
        drawn = [placement.new_ensemble(1, 1, Candidates(free, (), free))[0] for _ in range(100)]
        self.assertEqual(set(drawn), {"c"})

    def test_all_full(self) -> None:
        """Where nobody has free space all are equal."""
        drawn = RandomPlacement(Random(1)).new_ensemble(2, 2, Candidates(("a", "b"), (), {"a": 0, "b": 0}))
        self.assertEqual(set(drawn), {"a", "b"})
