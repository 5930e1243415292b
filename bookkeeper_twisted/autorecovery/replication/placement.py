"""The choice of replicas that must move to other bookies, so that an ensemble complies with the placement policy."""

from collections.abc import Collection, Sequence
from itertools import combinations

from ...errors import NotEnoughBookiesError
from ...ledger.findings import FragmentReport, LossKind, ReplicaLoss
from ...ledger.fragments import LedgerFragment
from ...ledger.placement import Adherence
from ...model import LedgerMetadata
from ...placement.bookie_watcher import BookieWatcher

_MAX_TRIED = 1000
"""Maximum number of combinations of ensemble positions that are tested to find out which bookies must be replaced."""


class Placement:
    """A search for the fewest replicas that must move so that an ensemble complies with the placement policy.

    :param watcher: chooses writable bookies by the placement policy.
    """

    def __init__(self, watcher: BookieWatcher) -> None:
        self._watcher = watcher

    async def misplaced(self, fragment: LedgerFragment, metadata: LedgerMetadata) -> FragmentReport:
        """Report the replicas of a fragment that must move to other bookies, so that the placement policy is satisfied.

        In the report, each of these replicas is a loss of the kind ``LEAVING``: it is stored, but must be moved.

        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no choice of bookies was found that satisfies the
            policy.
        """
        if await self._adheres(fragment.ensemble, metadata.write_quorum_size):
            return FragmentReport(fragment)
        losses = []
        for position in await self._positions(fragment.ensemble, metadata):
            ends = fragment.ends(position)
            ranges = () if ends is None else (ends,)
            losses.append(ReplicaLoss(position, fragment.ensemble[position], LossKind.LEAVING, ranges))
        return FragmentReport(fragment, tuple(losses))

    async def _adheres(self, ensemble: Sequence[str], write_quorum: int) -> bool:
        policy = self._watcher.placement
        await policy.prepare(ensemble)
        return policy.adherence(ensemble, write_quorum) is not Adherence.FAIL

    async def _positions(self, ensemble: Sequence[str], metadata: LedgerMetadata) -> Sequence[int]:
        """Find the fewest positions of the ensemble that must get new bookies to make it satisfy the policy."""
        sets = (some for count in range(len(ensemble)) for some in combinations(range(len(ensemble)), count + 1))
        for _, positions in zip(range(_MAX_TRIED), sets, strict=False):
            if await self._helps(positions, ensemble, metadata):
                return positions
        raise NotEnoughBookiesError("no bookies in the place of others make it keep to the placement policy")

    async def _helps(self, positions: Collection[int], before: Sequence[str], metadata: LedgerMetadata) -> bool:
        """Test whether an ensemble satisfies the policy if the bookies at ``positions`` are replaced.

        The policy itself chooses the new bookies.

        :param positions: indexes in the ensemble.
        :param before: the present ensemble.
        :param metadata: the metadata of the ledger.
        """
        ensemble = list(before)
        try:
            for position in positions:
                ensemble[position] = await self._watcher.replace_bookie(
                    position, ensemble, metadata.write_quorum_size, before, metadata.custom_metadata
                )
        except NotEnoughBookiesError:
            return False
        return await self._adheres(ensemble, metadata.write_quorum_size)
