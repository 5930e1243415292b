"""The interfaces of placement policies, and of the Twisted plugins that make policies and rack resolvers.

Twisted imports this module whenever it lists plugins, even for ``twist --help``, so it imports almost nothing.
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
    """A policy that chooses the bookies of ensembles; users may write their own.

    Only :meth:`prepare` may do I/O.  The other methods use only their arguments, and the facts about bookies that
    :meth:`prepare` has stored.
    """

    async def prepare(bookies: Collection[str]) -> None:
        """Look up facts about ``bookies``, for example their racks, and store them for later choices."""

    def new_ensemble(
        size: int, write_quorum: int, candidates: Candidates, custom_metadata: Mapping[str, bytes] | None = None
    ) -> Sequence[str]:
        """Choose the bookies of a new ledger's ensemble, all different.

        :param size: number of bookies in the ensemble.
        :param candidates: the bookies to choose from; :meth:`prepare` was called for them.
        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :returns: ids of the bookies, in the order of their positions in the ensemble.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: fewer than ``size`` bookies can be chosen.
        """

    def replace_bookie(
        position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """Choose a bookie for one position of an ensemble, never a member of the ensemble.

        :param position: index in the ensemble, from 0.
        :param ensemble: ids of the bookies of the ensemble, in order; the bookie to replace is still at its position.
        :param candidates: the bookies to choose from; :meth:`prepare` was called for them.
        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can be chosen.
        """

    def adherence(ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Return how well an ensemble follows the rules of the policy.

        :param ensemble: ids of the bookies of the ensemble, in order; :meth:`prepare` was called for them.
        """


class IPlacementPolicyFactory(Interface):
    """A plugin that makes placement policies."""

    names: frozenset[str] = Attribute("Values of ``ensemblePlacementPolicy`` it answers to.")

    def create(chance: Chance, config: "ClientConfig", racks: "BookieRacks") -> IPlacementPolicy:
        """Make a placement policy.

        :param chance: random numbers for choices; with the same seed, the policy makes the same choices.
        :param racks: the racks of bookies, which a policy may use.
        :raises bookkeeper_twisted.errors.ConfigError: the policy cannot work with this configuration.
        """


class IRackResolverFactory(Interface):
    """A plugin that makes rack resolvers, which map hosts of bookies to racks."""

    names: frozenset[str] = Attribute("Values of ``reppDnsResolverClass`` it answers to.")

    def create(clock: "IReactorTime", config: "ClientConfig", driver: "IMetadataDriver") -> "IRackResolver":
        """Make a rack resolver.

        :param clock: the reactor, for time and for processes.
        :param driver: the open metadata driver of the cluster.  When the client is closed, it closes the driver, which
            ends all watches that the resolver has begun.
        :raises bookkeeper_twisted.errors.ConfigError: the resolver cannot work with this configuration.
        """
