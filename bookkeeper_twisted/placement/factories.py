"""Finds placement policies and rack resolvers among Twisted plugins, and defines the plugins of this package."""

from collections.abc import Iterable

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.plugin import IPlugin, getPlugins
from zope.interface import implementer

from ..config.client import ClientConfig
from ..ledger.placement import Chance
from ..masking import without_credentials
from ..metadata.interfaces import IMetadataDriver, IRackStore
from .interfaces import IPlacementPolicy, IPlacementPolicyFactory, IRackResolverFactory
from .rack_aware import RackAwarePlacement
from .racks import BookieRacks, IRackResolver, NoRacks
from .random_placement import RandomPlacement
from .stored_racks import StoredRacks

_JAVA = "org.apache.bookkeeper.client."


def create_placement(chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
    """Make the placement policy that the key ``ensemblePlacementPolicy`` names.

    :param chance: random numbers for choices; with the same seed, the policy makes the same choices.
    :param racks: the racks of bookies, which a policy may use.
    :raises bookkeeper_twisted.errors.ConfigError: no plugin has this name.
    """
    factories: Iterable[IPlacementPolicyFactory] = getPlugins(IPlacementPolicyFactory)
    return config.chosen("ensemble_placement_policy", factories, "policy").create(chance, config, racks)


def create_rack_resolver(clock: IReactorTime, config: ClientConfig, driver: IMetadataDriver) -> IRackResolver:
    """Make the rack resolver that the key ``reppDnsResolverClass`` names.

    :param clock: the reactor, for time and for processes.
    :param driver: the open metadata driver of the cluster.
    :raises bookkeeper_twisted.errors.ConfigError: no plugin has this name.
    """
    factories: Iterable[IRackResolverFactory] = getPlugins(IRackResolverFactory)
    return config.chosen("repp_dns_resolver_class", factories, "resolver of racks").create(clock, config, driver)


@implementer(IPlugin, IPlacementPolicyFactory)
class RandomPlacementFactory:
    """The plugin that makes the placement policy :class:`.RandomPlacement`, which ignores racks."""

    names = frozenset({"random", _JAVA + "DefaultEnsemblePlacementPolicy"})

    def create(self, chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
        """Return a placement policy that chooses bookies at random.

        See :meth:`.IPlacementPolicyFactory.create` for parameters and errors.
        """
        return RandomPlacement(chance, config.bookie_max_multiple_for_weight_based_placement)


@implementer(IPlugin, IPlacementPolicyFactory)
class RackAwarePlacementFactory:
    """The plugin that makes the placement policy :class:`.RackAwarePlacement`, which places copies on several racks."""

    names = frozenset({"rack-aware", _JAVA + "RackawareEnsemblePlacementPolicy"})

    def create(self, chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
        """Return a placement policy that places the copies of an entry on several racks.

        See :meth:`.IPlacementPolicyFactory.create` for parameters and errors.
        """
        return RackAwarePlacement(
            chance, racks, config.min_num_racks_per_write_quorum, config.enforce_min_num_racks_per_write_quorum,
            config.bookie_max_multiple_for_weight_based_placement,
        )  # fmt: skip


@implementer(IPlugin, IRackResolverFactory)
class PulsarRacksFactory:
    """The plugin that makes rack resolvers for the racks that Pulsar's tools write to the metadata store."""

    names = frozenset(
        {"pulsar", "org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping"}
        | {"org.apache.pulsar.bookie.rackawareness.BookieRackAffinityMapping"}
    )
    _log = Logger()

    def create(self, clock: IReactorTime, config: ClientConfig, driver: IMetadataDriver) -> IRackResolver:
        """Return a resolver that reads the racks of bookies from the metadata store, where Pulsar's tools store them.

        See :meth:`.IRackResolverFactory.create` for parameters and errors.

        If the metadata driver cannot read such racks, all bookies are in the default rack.
        """
        store = IRackStore(driver, None)
        if store is None:
            self._log.warn(
                "NO RACKS: reppDnsResolverClass = {name}, {origin}, reads them from ZooKeeper, and {uri} is another "
                "store. Ledgers are placed and repaired as if all bookies were in one rack; "
                "networkTopologyMappingFileName can name a file with the racks",
                name=config.repp_dns_resolver_class, origin=config.origin("repp_dns_resolver_class"),
                uri=without_credentials(driver.uri),
            )  # fmt: skip
            return NoRacks()
        racks = StoredRacks(clock)
        store.watch_racks(racks.changed)
        return racks
