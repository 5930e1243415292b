"""The test suites for placement policies and for rack resolvers.

Test modules should import this module and not its classes: a test runner would run an imported class as a test case.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...errors import NotEnoughBookiesError
from ...ledger.placement import Adherence, Candidates
from ...placement.interfaces import IPlacementPolicy
from ...placement.racks import IRackResolver

BOOKIES = tuple(f"bookie-{i}:3181" for i in range(6))


class PlacementContract(SynchronousTestCase):
    """The tests that each placement policy passes; a subclass makes a policy that may choose any of :data:`BOOKIES`."""

    def make(self) -> Any:
        """Return a new placement policy to test; each subclass defines this method."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.policy = self.make()
        self.prepare(BOOKIES)

    def prepare(self, bookies: Sequence[str]) -> None:
        """Wait until the policy has looked up the properties of ``bookies`` that it needs, such as their racks."""
        preparing: Deferred[None] = Deferred.fromCoroutine(self.policy.prepare(bookies))
        self.successResultOf(preparing)

    def test_interface(self) -> None:
        """The policy provides all methods of ``IPlacementPolicy``."""
        verifyObject(IPlacementPolicy, self.policy)

    def test_new_ensemble(self) -> None:
        """An ensemble has the requested size and no bookie twice; the policy can say how well the ensemble complies."""
        for size in range(1, len(BOOKIES) + 1):
            ensemble = self.policy.new_ensemble(size, min(2, size), Candidates(BOOKIES))
            self.assertEqual((len(ensemble), len(set(ensemble))), (size, size))
            self.assertLessEqual(set(ensemble), set(BOOKIES))
            self.assertIsInstance(self.policy.adherence(ensemble, min(2, size)), Adherence)

    def test_excluded(self) -> None:
        """An excluded bookie is never chosen."""
        excluded = BOOKIES[:3]
        for _ in range(20):
            ensemble = self.policy.new_ensemble(3, 2, Candidates(BOOKIES, excluded))
            self.assertEqual(set(ensemble), set(BOOKIES[3:]))

    def test_not_enough(self) -> None:
        """If there are too few bookies, the choice fails; the policy never returns a smaller ensemble."""
        self.assertRaises(NotEnoughBookiesError, self.policy.new_ensemble, 7, 2, Candidates(BOOKIES))
        self.assertRaises(NotEnoughBookiesError, self.policy.new_ensemble, 4, 2, Candidates(BOOKIES, BOOKIES[:3]))
        self.assertRaises(NotEnoughBookiesError, self.policy.new_ensemble, 1, 1, Candidates(()))

    def test_replace(self) -> None:
        """A substitute is neither a member of the ensemble nor an excluded bookie."""
        ensemble = BOOKIES[:3]
        for _ in range(20):
            for position in range(3):
                substitute = self.policy.replace_bookie(position, ensemble, 2, Candidates(BOOKIES, BOOKIES[3:4]))
                self.assertIn(substitute, BOOKIES[4:])

    def test_nobody_to_replace(self) -> None:
        """If the ensemble contains all bookies, none of its bookies can be replaced."""
        self.assertRaises(NotEnoughBookiesError, self.policy.replace_bookie, 0, BOOKIES, 2, Candidates(BOOKIES))

    def test_newcomers(self) -> None:
        """Bookies that are new can be chosen after :meth:`prepare` was called for them."""
        self.prepare(("new-1:3181", "new-2:3181"))
        ensemble = self.policy.new_ensemble(2, 2, Candidates(("new-1:3181", "new-2:3181")))
        self.assertEqual(set(ensemble), {"new-1:3181", "new-2:3181"})

    def test_spread(self) -> None:
        """Among the ensembles of many ledgers, each bookie occurs."""
        chosen = {bookie for _ in range(100) for bookie in self.policy.new_ensemble(2, 2, Candidates(BOOKIES))}
        self.assertEqual(chosen, set(BOOKIES))


class RackResolverContract(SynchronousTestCase):
    """The tests that each rack resolver passes.

    A subclass makes a resolver that knows the racks of :data:`BOOKIES` by their ids.
    """

    def make(self) -> Any:
        """Return a new rack resolver to test; each subclass defines this method."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.resolver = self.make()

    def _racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        asked: Deferred[Mapping[str, str]] = Deferred.fromCoroutine(self.resolver.racks(hosts))
        return self.successResultOf(asked)

    def test_interface(self) -> None:
        """The resolver provides all names of ``IRackResolver``."""
        verifyObject(IRackResolver, self.resolver)

    def test_racks(self) -> None:
        """A resolver returns the rack of each requested bookie, and the same racks until its version changes."""
        before = self.resolver.version
        racks = self._racks(BOOKIES[:2])
        self.assertEqual(set(racks), set(BOOKIES[:2]))
        for rack in racks.values():
            self.assertRegex(rack, "^/.")
        if self.resolver.version == before:
            self.assertEqual(self._racks(BOOKIES[:2]), racks)

    def test_nobody(self) -> None:
        """A request without bookies returns no racks."""
        self.assertEqual(self._racks(()), {})
