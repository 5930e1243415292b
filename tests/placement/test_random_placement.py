"""Random ensembles."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import NotEnoughBookiesError
from bookkeeper_twisted.ledger.placement import Adherence, Candidates
from bookkeeper_twisted.placement.random_placement import RandomPlacement


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
        """Where no bookie has free space all are equal."""
        drawn = RandomPlacement(Random(1)).new_ensemble(2, 2, Candidates(("a", "b"), (), {"a": 0, "b": 0}))
        self.assertEqual(set(drawn), {"a", "b"})
