"""A candidacy for auditor by the vote nodes of Apache BookKeeper's election.

A vote is an ephemeral sequential node.  The candidate with the lowest number is the auditor, and each other candidate
watches the next lower vote.  Unlike Apache's auditor, the auditor here also watches its own vote.  It gives up its role
when its session expires, and also when it has been disconnected for so long that the session may have expired.
"""

import re
from collections.abc import Callable, Iterable

from ....codec.metadata_formats import encode_vote
from ..interfaces import NewNode, NodeMissingError, Watch
from ..znodes import ANY, Znodes
from .candidacy import Candidacy

_PREFIX = "V_"
_VOTE = re.compile(rf"{_PREFIX}(\d+)")


def lowest_first(names: Iterable[str]) -> list[str]:
    """Return the names of the vote nodes in the order of their numbers.

    :param names: the names of all children of the election's node; names that are not votes are ignored.
    """
    votes = [match for match in map(_VOTE.fullmatch, names) if match]
    return [match[0] for match in sorted(votes, key=lambda match: int(match[1]))]


class VoteCandidacy(Candidacy):
    """A candidate for auditor with a vote node; it does not become the auditor while Pulsar's leader node exists."""

    def __init__(
        self, znodes: Znodes, path: str, other: str, name: str, listener: Callable[[bool], None]
    ) -> None:  # fmt: skip
        super().__init__(znodes, path, other, name, listener)
        self._vote = ""

    async def remove(self) -> None:
        try:
            for name in await self._own(lowest_first(await self._znodes.fresh_children(self._path))):
                await self._delete(f"{self._path}/{name}")
        except NodeMissingError:
            pass  # the parent node of the votes does not exist before the first vote

    async def _stand(self, watch: Watch) -> None:
        """Read the votes, and decide whether this candidate is the auditor.

        Set ``watch`` on all nodes on which this depends: this session's vote, the next lower vote, and the leader node
        of Pulsar's election.
        """
        votes = lowest_first(await self._fresh_votes())
        if self._vote not in votes:
            await self._cast(votes)
            # list the votes again, because other candidates may have voted meanwhile
            votes = lowest_first({*await self._fresh_votes(), self._vote})
        position = votes.index(self._vote)
        present = [await self._znodes.exists(f"{self._path}/{name}", watch) for name in votes[position - 1 : position]]
        own = await self._znodes.exists(f"{self._path}/{self._vote}", watch)
        leader = await self._znodes.exists(self._other, watch)
        is_elected = not position and own is not None and leader is None
        if own is None or None in present:
            watch(True)  # a vote was removed after the list of votes was read: read the list again
        elif is_elected and not self._in_office:
            await self._announce()
        self._is_elected(is_elected)
        self._waits_for_other(leader is not None)

    async def _fresh_votes(self) -> list[str]:
        try:
            return await self._znodes.fresh_children(self._path)
        except NodeMissingError:
            await self._znodes.ensure(self._path)
            return []

    async def _cast(self, votes: list[str]) -> None:
        """Create this candidate's vote, unless an earlier call whose reply was lost has created it."""
        self.lose()
        own = await self._own(votes)
        if not own:
            node = NewNode(f"{self._path}/{_PREFIX}", encode_vote(self.name), ephemeral=True, sequence=True)
            # if the reply is lost, do not repeat the call, because a repeated call could create a second vote
            path = await self._znodes.session.zookeeper.create(node)
            own = [path.rpartition("/")[2]]
        for name in own[1:]:
            await self._delete(f"{self._path}/{name}")
        self._vote = own[0]

    async def _own(self, votes: list[str]) -> list[str]:
        stats = [(name, await self._znodes.exists(f"{self._path}/{name}")) for name in votes]
        return [name for name, stat in stats if stat is not None and self._owns(stat.owner)]

    async def _announce(self) -> None:
        """Write the name of the elected auditor into the node of the election, for people and for Apache's tools."""
        await self._znodes.set(self._path, encode_vote(self.name), ANY)
