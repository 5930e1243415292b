"""Policies by name."""

from random import Random

from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.config.bookie import ClientConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.placement.factories import (
    RackAwarePlacementFactory,
    RandomPlacementFactory,
    create_placement,
)
from bookkeeper_twisted.placement.interfaces import IPlacementPolicyFactory
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, NoRacks
from bookkeeper_twisted.placement.random_placement import RandomPlacement


class CreatePlacementTests(SynchronousTestCase):
    """From the configuration to the policy."""

    def _created(self, name: str) -> object:
        async def host(bookie_id: str) -> str:
            return bookie_id

        racks = BookieRacks(Clock(), NoRacks(), host)
        return create_placement(Random(1), ClientConfig(ensemble_placement_policy=name), racks)

    def test_interfaces(self) -> None:
        """The factories are plugins."""
        for factory in (RandomPlacementFactory(), RackAwarePlacementFactory()):
            self.assertTrue(verifyObject(IPlacementPolicyFactory, factory))
            self.assertTrue(IPlugin.providedBy(factory))

    def test_names(self) -> None:
        """Ours and Apache's names are found, and rack-aware is the default."""
        for name, policy in (
            ("random", RandomPlacement),
            ("org.apache.bookkeeper.client.DefaultEnsemblePlacementPolicy", RandomPlacement),
            ("rack-aware", RackAwarePlacement),
            ("org.apache.bookkeeper.client.RackawareEnsemblePlacementPolicy", RackAwarePlacement),
            (ClientConfig().ensemble_placement_policy, RackAwarePlacement),
        ):
            self.assertIsInstance(self._created(name), policy)

    def test_unknown(self) -> None:
        """An unknown name is refused, with the names that are known."""
        error = self.assertRaises(ConfigError, self._created, "astrology")
        self.assertRegex(str(error), "'astrology'.*rack-aware, random")
