"""Policies by name."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import IRackStore
from bookkeeper_twisted.placement.factories import (
    PulsarRacksFactory,
    RackAwarePlacementFactory,
    RandomPlacementFactory,
    create_placement,
    create_rack_resolver,
)
from bookkeeper_twisted.placement.interfaces import IPlacementPolicyFactory, IRackResolverFactory
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, NoRacks
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.placement.stored_racks import StoredRacks


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


@implementer(IRackStore)
class _Store:
    """A driver that has racks."""

    uri = "zk://h:1/ledgers"

    def watch_racks(self, listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        listener({"a:1": "/r1"})
        return lambda: None


class CreateRackResolverTests(SynchronousTestCase):
    """From the configuration to the resolver of racks."""

    def _created(self, name: str, driver: Any) -> Any:
        config = ClientConfig(repp_dns_resolver_class=name, origins={"repp_dns_resolver_class": "bk.conf:7"})
        return create_rack_resolver(Clock(), config, driver)

    def test_interface(self) -> None:
        """The factory is a plugin."""
        self.assertTrue(verifyObject(IRackResolverFactory, PulsarRacksFactory()))
        self.assertTrue(IPlugin.providedBy(PulsarRacksFactory()))

    def test_pulsar(self) -> None:
        """Both of Pulsar's names, and ours, give the racks that the store says."""
        for name in (
            "pulsar", "org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping",
            "org.apache.pulsar.bookie.rackawareness.BookieRackAffinityMapping",
        ):  # fmt: skip
            resolver = self._created(name, _Store())
            self.assertIsInstance(resolver, StoredRacks)
            self.assertEqual(self.successResultOf(Deferred.fromCoroutine(resolver.racks(["a:1"]))), {"a:1": "/r1"})

    def test_no_store_of_racks(self) -> None:
        """Where the store has no racks a warning with key and origin says what follows and what helps."""
        driver = MemoryStore("m").driver(Clock(), "memory:m")
        with capturedLogs() as events:
            self.assertIsInstance(self._created("pulsar", driver), NoRacks)
        (event,) = events
        self.assertEqual(event["log_level"], LogLevel.warn)
        text = formatEvent(event)
        self.assertTrue(text.startswith("NO RACKS: reppDnsResolverClass = pulsar, bk.conf:7, reads them from"), text)
        self.assertIn("memory:m is another store", text)
        self.assertIn("networkTopologyMappingFileName", text)

    def test_unknown(self) -> None:
        """An unknown name is refused, with the names that are known."""
        error = str(self.assertRaises(ConfigError, self._created, "org.example.Racks", _Store()))
        self.assertIn("reppDnsResolverClass = 'org.example.Racks', bk.conf:7: no such resolver", error)
        self.assertIn("pulsar", error)
