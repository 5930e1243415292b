"""A candidacy for auditor at the leader node of Pulsar's metadata driver.

The candidate that creates the leader node is the auditor as long as the node exists.  The node is ephemeral and
contains the name of the candidate.  All other candidates watch the node, and try to create it when it was removed.
"""

from ....codec.metadata_formats import encode_leader
from ..interfaces import NewNode, NodeExistsError, NodeMissingError, Watch
from .candidacy import Candidacy
from .votes import lowest_first


class LeaderCandidacy(Candidacy):
    """A candidate for auditor in Pulsar's election: the candidate that creates the leader node is the auditor.

    While BookKeeper's own election has votes, this candidate removes the leader node that it has created.
    """

    async def remove(self) -> None:
        stat = await self._znodes.exists(self._path)
        if stat is not None and self._owns(stat.owner):
            await self._delete(self._path)

    async def _stand(self, watch: Watch) -> None:
        votes = await self._votes(watch)
        stat = await self._znodes.exists(self._path, watch)
        leads = stat is not None and self._owns(stat.owner)
        self._is_elected(leads and not votes)
        self._waits_for_other(bool(votes))
        if votes and leads:
            await self._delete(self._path)
        elif stat is None and not votes:
            # after the create, the watch on the node fires, so this method is called again and sees the new node
            await self._take()

    async def _take(self) -> None:
        node = NewNode(self._path, encode_leader(self.name), ephemeral=True)
        try:
            await self._znodes.create_below(node, lambda data, stat: self._owns(stat.owner))
        except NodeExistsError:
            pass  # another candidate created the leader node first

    async def _votes(self, watch: Watch) -> list[str]:
        try:
            names, _ = await self._znodes.children(self._other, watch)
            return lowest_first(names)
        except NodeMissingError:
            if await self._znodes.exists(self._other, watch) is not None:
                watch(True)  # the node was created after the first read: make the loop read again
            return []
