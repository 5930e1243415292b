"""Placement policies by name, through Twisted plugins; ours among them."""

from twisted.plugin import IPlugin, getPlugins
from zope.interface import implementer

from ..config.client import ClientConfig
from ..errors import ConfigError
from ..ledger.placement import Chance
from .interfaces import IPlacementPolicy, IPlacementPolicyFactory
from .rack_aware import RackAwarePlacement
from .racks import BookieRacks
from .random_placement import RandomPlacement

_JAVA = "org.apache.bookkeeper.client."


def create_placement(chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
    """Make the policy that ``ensemblePlacementPolicy`` names.

    :param chance: as of :meth:`.IPlacementPolicyFactory.create`, as is ``racks``.
    :raises bookkeeper_twisted.errors.ConfigError: no plugin answers to the name.
    """
    name = config.ensemble_placement_policy
    factories = list(getPlugins(IPlacementPolicyFactory))
    for factory in factories:
        if name in factory.names:
            return factory.create(chance, config, racks)
    known = ", ".join(sorted(known for factory in factories for known in factory.names))
    origin = config.origin("ensemble_placement_policy")
    raise ConfigError(f"ensemblePlacementPolicy = {name!r}, {origin}: no such policy; known are {known}")


@implementer(IPlugin, IPlacementPolicyFactory)
class RandomPlacementFactory:
    """Makes the policy that takes any bookies."""

    names = frozenset({"random", _JAVA + "DefaultEnsemblePlacementPolicy"})

    def create(self, chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
        """See :meth:`.IPlacementPolicyFactory.create`."""
        return RandomPlacement(chance, config.bookie_max_multiple_for_weight_based_placement)


@implementer(IPlugin, IPlacementPolicyFactory)
class RackAwarePlacementFactory:
    """Copies on several racks."""

    names = frozenset({"rack-aware", _JAVA + "RackawareEnsemblePlacementPolicy"})

    def create(self, chance: Chance, config: ClientConfig, racks: BookieRacks) -> IPlacementPolicy:
        """See :meth:`.IPlacementPolicyFactory.create`."""
        return RackAwarePlacement(
            chance, racks, config.min_num_racks_per_write_quorum, config.enforce_min_num_racks_per_write_quorum,
            config.bookie_max_multiple_for_weight_based_placement,
        )  # fmt: skip
