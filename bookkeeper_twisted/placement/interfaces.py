"""The interfaces of placement: policies, and the plugins that make them.

Twisted imports this module whenever it reads its list of plugins, in ``twist --help`` too: it imports next to nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

from ..ledger.placement import Adherence, Candidates, Chance

if TYPE_CHECKING:
    from twisted.internet.interfaces import IReactorTime

    from ..config.client import ClientConfig
    from ..metadata.interfaces import IMetadataDriver
    from .racks import BookieRacks, IRackResolver


class IPlacementPolicy(Interface):
    """A policy that chooses the bookies of ensembles from arguments and prepared facts; a choice does no I/O."""

    async def prepare(bookies: Collection[str]) -> None:
        """Look up the facts about ``bookies`` that the policy needs before it can choose them, for example racks."""

    def new_ensemble(
        size: int, write_quorum: int, candidates: Candidates, custom_metadata: Mapping[str, bytes] | None = None
    ) -> Sequence[str]:
        """Choose different bookies for a new ledger.

        :param size: number of bookies.
        :param candidates: the bookies that may be chosen, prepared.
        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :returns: ids by position.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: fewer than ``size`` can be chosen.
        """

    def replace_bookie(
        position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """Choose a bookie for one position of an ensemble, never a member of the ensemble.

        :param position: index in the ensemble, from 0.
        :param ensemble: the ensemble, with the replaced bookie still in its place.
        :param candidates: the bookies that may be chosen, prepared.
        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can be chosen.
        """

    def adherence(ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Return how well an ensemble keeps the rules of the policy.

        :param ensemble: ids of bookies that were prepared.
        """


class IPlacementPolicyFactory(Interface):
    """A plugin that makes placement policies."""

    names: frozenset[str] = Attribute("Values of ``ensemblePlacementPolicy`` it answers to.")

    def create(chance: Chance, config: "ClientConfig", racks: "BookieRacks") -> IPlacementPolicy:
        """Make a policy.

        :param chance: the source of randomness for draws; with the same seed the policy makes the same choices.
        :param racks: the racks of bookies, which a policy may use.
        :raises bookkeeper_twisted.errors.ConfigError: the configuration does not fit the policy.
        """


class IRackResolverFactory(Interface):
    """A plugin that makes resolvers of racks."""

    names: frozenset[str] = Attribute("Values of ``reppDnsResolverClass`` it answers to.")

    def create(clock: "IReactorTime", config: "ClientConfig", driver: "IMetadataDriver") -> "IRackResolver":
        """Make a resolver.

        :param clock: the reactor.
        :param driver: the open metadata driver of the cluster; it is closed with the client, which ends its watches.
        :raises bookkeeper_twisted.errors.ConfigError: the configuration does not fit the resolver.
        """
