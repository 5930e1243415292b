"""Ensembles over racks: the rule holds wherever it can."""

from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import NotEnoughBookiesError
from bookkeeper_twisted.ledger.placement import Adherence, Candidates, can_span
from bookkeeper_twisted.placement.interfaces import IPlacementPolicy
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, MappingResolver

FAST = settings(max_examples=80)
CLUSTERS = st.lists(st.integers(1, 3), min_size=1, max_size=4)
"""How many bookies each rack has."""


async def _host(bookie_id: str) -> str:
    return bookie_id


def _bookies(cluster: list[int]) -> list[str]:
    return [f"r{rack}-b{i}" for rack, count in enumerate(cluster) for i in range(count)]


def _rack(bookie_id: str) -> str:
    return "/" + bookie_id.partition("-")[0]


def _placement(
    bookies: list[str], min_racks: int = 2, enforce: bool = False, local: str = "", seed: int = 1
) -> RackAwarePlacement:
    """A policy that knows the racks of bookies whose names begin with ``r``."""
    table = "\n".join(f"{b} {_rack(b)}" for b in [*bookies, *([local] if local else [])] if b.startswith("r"))
    racks = BookieRacks(Clock(), MappingResolver(lambda: table), _host, local)
    placement = RackAwarePlacement(Random(seed), racks, min_racks, enforce)
    Deferred.fromCoroutine(placement.prepare(bookies))
    return placement


def _spans(racks: list[str], write_quorum: int) -> int:
    """The fewest racks of any write set, counted the plain way."""
    size = len(racks)
    return min(len({racks[(n + i) % size] for i in range(write_quorum)}) for n in range(size))


def _best(cluster: list[int], size: int, write_quorum: int) -> int:
    """The most racks any ensemble could have in its worst write set, by trying all."""
    names = [f"/r{i}" for i in range(len(cluster))]
    options = (
        list(racks)
        for racks in product(names, repeat=size)
        if all(racks.count(name) <= count for name, count in zip(names, cluster, strict=True))
    )
    return max((_spans(racks, write_quorum) for racks in options), default=0)


class NewEnsembleTests(SynchronousTestCase):
    """Ensembles for new ledgers."""

    def test_interface(self) -> None:
        """It is a policy."""
        self.assertTrue(verifyObject(IPlacementPolicy, _placement([])))

    @FAST
    @given(CLUSTERS, st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.integers(0, 1000))
    def test_every_write_set_spans_the_racks(
        self, cluster: list[int], size: int, quorum: int, min_racks: int, seed: int
    ) -> None:
        """Every write set spans the wanted racks if any ensemble could, else as many as can be."""
        size, quorum = max(size, quorum), min(size, quorum)
        bookies = _bookies(cluster)
        if len(bookies) < size:
            return
        placement = _placement(bookies, min_racks, seed=seed)
        ensemble = placement.new_ensemble(size, quorum, Candidates(bookies))
        self.assertEqual(len(set(ensemble)), size)
        wanted = min(quorum, min_racks)
        spans = _spans([_rack(b) for b in ensemble], quorum)
        self.assertGreaterEqual(spans, min(wanted, _best(cluster, size, quorum)))
        strict = placement.adherence(ensemble, quorum) is Adherence.STRICT
        self.assertEqual(strict, spans >= wanted)

    @FAST
    @given(CLUSTERS, st.integers(1, 4), st.integers(1, 4), st.integers(0, 1000))
    def test_enforced(self, cluster: list[int], size: int, quorum: int, seed: int) -> None:
        """Enforced, there is an ensemble that keeps the rule or there is none."""
        size, quorum = max(size, quorum), min(size, quorum)
        bookies = _bookies(cluster)
        placement = _placement(bookies, 2, True, seed=seed)
        wanted = min(quorum, 2)
        if _best(cluster, size, quorum) < wanted:
            self.assertRaises(NotEnoughBookiesError, placement.new_ensemble, size, quorum, Candidates(bookies))
        else:
            ensemble = placement.new_ensemble(size, quorum, Candidates(bookies))
            self.assertGreaterEqual(_spans([_rack(b) for b in ensemble], quorum), wanted)

    def test_local_rack_first(self) -> None:
        """The first bookie is of this machine's rack; the next is not."""
        bookies = _bookies([2, 2, 2])
        for seed in range(10):
            ensemble = _placement(bookies, local="r1-here", seed=seed).new_ensemble(3, 2, Candidates(bookies))
            self.assertEqual(_rack(ensemble[0]), "/r1")
            self.assertEqual(len(set(map(_rack, ensemble))), 3)

    def test_one_rack(self) -> None:
        """On one rack any bookies are taken, and the report says so."""
        placement = _placement(["x", "y", "z"])
        ensemble = placement.new_ensemble(2, 2, Candidates(["x", "y", "z"]))
        self.assertEqual(len(set(ensemble)), 2)
        self.assertIs(placement.adherence(ensemble, 2), Adherence.FAIL)

    def test_default_rack_is_not_enforced_on(self) -> None:
        """Enforced, bookies of the default rack are not chosen."""
        bookies = [*_bookies([2, 2]), "x", "y"]
        for seed in range(10):
            ensemble = _placement(bookies, 2, True, seed=seed).new_ensemble(4, 2, Candidates(bookies))
            self.assertNotIn("x", ensemble)
            self.assertNotIn("y", ensemble)

    def test_excluded(self) -> None:
        """Excluded bookies are not chosen; too few are an error."""
        bookies = _bookies([2, 2])
        placement = _placement(bookies)
        ensemble = placement.new_ensemble(3, 2, Candidates(bookies, {"r0-b0"}))
        self.assertEqual(set(ensemble), {"r0-b1", "r1-b0", "r1-b1"})
        candidates = Candidates(bookies, {"r0-b0", "r0-b1"})
        self.assertRaises(NotEnoughBookiesError, placement.new_ensemble, 3, 2, candidates)

    def test_weight(self) -> None:
        """Within a rack, and among racks, free space decides how often a bookie is drawn."""
        bookies = _bookies([2, 2])
        candidates = Candidates(bookies, (), {"r0-b0": 300, "r0-b1": 1, "r1-b0": 150, "r1-b1": 150})
        placement = _placement(bookies)
        drawn = [placement.new_ensemble(2, 2, candidates) for _ in range(200)]
        self.assertGreater(sum("r0-b0" in ensemble for ensemble in drawn), 180)

    def test_large(self) -> None:
        """Large ensembles on many racks are found at once."""
        bookies = _bookies([4] * 40)
        ensemble = _placement(bookies, 5).new_ensemble(50, 7, Candidates(bookies))
        self.assertGreaterEqual(_spans([_rack(b) for b in ensemble], 7), 5)


class ReplaceTests(SynchronousTestCase):
    """A bookie for one position."""

    ensemble = ("r0-b0", "r1-b0", "r2-b0")

    def _replaced(self, cluster: list[int], excluded: tuple[str, ...] = (), enforce: bool = False) -> set[str]:
        bookies = _bookies(cluster)
        candidates = Candidates(bookies, excluded)
        return {
            _placement(bookies, 2, enforce, seed=seed).replace_bookie(1, self.ensemble, 2, candidates)
            for seed in range(20)
        }

    def test_same_rack_first(self) -> None:
        """The rack of the lost bookie comes first."""
        self.assertEqual(self._replaced([2, 2, 2, 2]), {"r1-b1"})

    def test_then_a_rack_of_its_own(self) -> None:
        """Then a rack that no other bookie of the ensemble is in."""
        self.assertEqual(self._replaced([2, 1, 2, 2]), {"r3-b0", "r3-b1"})

    def test_then_any(self) -> None:
        """Then any rack, unless the rule is enforced."""
        self.assertEqual(self._replaced([2, 1, 2]), {"r0-b1", "r2-b1"})
        self.assertRaises(NotEnoughBookiesError, self._replaced, [2, 1, 2], (), True)

    def test_nobody(self) -> None:
        """No bookie outside the ensemble is left."""
        self.assertRaises(NotEnoughBookiesError, self._replaced, [1, 2, 1], ("r1-b1",))

    @FAST
    @given(CLUSTERS, st.integers(2, 4), st.integers(2, 4), st.integers(0, 3), st.integers(0, 1000))
    def test_rule(self, cluster: list[int], size: int, quorum: int, position: int, seed: int) -> None:
        """A replacement keeps the rule if any bookie would."""
        size, quorum = max(size, quorum), min(size, quorum)
        bookies = _bookies(cluster)
        if len(bookies) <= size:
            return
        position %= size
        placement = _placement(bookies, seed=seed)
        ensemble = list(placement.new_ensemble(size, quorum, Candidates(bookies)))

        def strict(bookie_id: str) -> bool:
            tried = [*ensemble[:position], bookie_id, *ensemble[position + 1 :]]
            racks: list[str | None] = [_rack(b) for b in tried]
            return can_span(racks, quorum, position, 2)

        chosen = placement.replace_bookie(position, ensemble, quorum, Candidates(bookies))
        self.assertNotIn(chosen, ensemble)
        possible = any(strict(b) for b in bookies if b not in ensemble)
        self.assertEqual(strict(chosen), possible)


class AdherenceTests(SynchronousTestCase):
    """The report on an ensemble."""

    def test_windows(self) -> None:
        """One write set on one rack is enough to fail, also the one around the end."""
        placement = _placement(_bookies([3, 3, 3]))
        self.assertIs(placement.adherence(("r0-b0", "r1-b0", "r0-b1", "r1-b1"), 2), Adherence.STRICT)
        self.assertIs(placement.adherence(("r0-b0", "r1-b0", "r2-b1", "r0-b1"), 2), Adherence.FAIL)

    def test_unknown(self) -> None:
        """A bookie that was never looked up stands in no rack."""
        placement = _placement(_bookies([1, 1]))
        self.assertIs(placement.adherence(("r0-b0", "stranger"), 2), Adherence.FAIL)

    def test_one_copy(self) -> None:
        """One copy cannot be on two racks and need not."""
        placement = _placement(_bookies([1]))
        self.assertIs(placement.adherence(("r0-b0",), 1), Adherence.STRICT)
