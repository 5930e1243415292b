"""A candidacy for the auditor's office on ZooKeeper.

A vote is an ephemeral sequence node; the lowest number is in office, and each of the others watches the next lower
one.  Unlike Apache's, a candidate in office watches its own vote as well.  The office is lost at once when the session
expires, and when there is no connection for the time after which the server may have ended the session.
"""

import re
from collections.abc import Callable, Iterable

from twisted.logger import Logger

from ...codec.metadata_formats import encode_vote
from .interfaces import NewNode, NodeMissingError, NotConnectedError, Watch
from .watch_loop import WatchLoop
from .znodes import ANY, Znodes

_PREFIX = "V_"
_VOTE = re.compile(rf"{_PREFIX}(\d+)")


def lowest_first(names: Iterable[str]) -> list[str]:
    """Return the names of votes in the order of their numbers.

    :param names: of all children of the election's node; other children are left out.
    """
    votes = [match for match in map(_VOTE.fullmatch, names) if match]
    return [match[0] for match in sorted(votes, key=lambda match: int(match[1]))]


class ZooKeeperCandidacy:
    """The candidacy of one process.

    :ivar name: of the candidate.
    :param path: of the election's node.
    :param listener: called with True when the office is won, with False when it is lost.
    """

    _log = Logger()

    def __init__(self, znodes: Znodes, path: str, name: str, listener: Callable[[bool], None]) -> None:
        self.name = name
        self._znodes = znodes
        self._path = path
        self._listener = listener
        self._vote = ""
        self._in_office = False
        self._stopped = False
        self._loop = WatchLoop(znodes.session, "the election of the auditor", self._look)

    def start(self) -> None:
        """Begin to vote and to watch."""
        self._loop.start()

    def stop(self) -> None:
        """End all work; the vote stays."""
        self._stopped = True
        self._in_office = False
        self._loop.stop()

    def lose(self) -> None:
        """Take the office as lost."""
        self._is_elected(False)

    async def remove_votes(self) -> None:
        """Remove the votes of this session."""
        try:
            for name in await self._own(lowest_first(await self._znodes.fresh_children(self._path))):
                await self._remove(name)
        except NodeMissingError:
            pass  # no vote was ever cast

    async def _look(self, watch: Watch) -> bool:
        """Look at the votes; watch the own one, and the one below it."""
        try:
            votes = lowest_first(await self._fresh_votes())
            if self._vote not in votes:
                await self._cast(votes)
                votes = lowest_first({*await self._fresh_votes(), self._vote})  # others may have voted before
            place = votes.index(self._vote)
            present = [await self._znodes.exists(f"{self._path}/{name}", watch) for name in votes[place - 1 : place]]
            own = await self._znodes.exists(f"{self._path}/{self._vote}", watch)
            if own is None or None in present:
                watch(True)  # gone since the votes were listed
            elif not place and not self._in_office:
                await self._announce()
            self._is_elected(not place and own is not None)
        except NotConnectedError:
            self.lose()
            raise
        return not self._stopped

    async def _fresh_votes(self) -> list[str]:
        try:
            return await self._znodes.fresh_children(self._path)
        except NodeMissingError:
            await self._znodes.ensure(self._path)
            return []

    async def _cast(self, votes: list[str]) -> None:
        """Vote, unless a vote of this session is there, of which the answer was lost."""
        self.lose()
        own = await self._own(votes)
        if not own:
            node = NewNode(f"{self._path}/{_PREFIX}", encode_vote(self.name), ephemeral=True, sequence=True)
            path = await self._znodes.session.zookeeper.create(node)  # not repeated: that might vote twice
            own = [path.rpartition("/")[2]]
        for name in own[1:]:
            await self._remove(name)
        self._vote = own[0]

    async def _own(self, votes: list[str]) -> list[str]:
        stats = [(name, await self._znodes.exists(f"{self._path}/{name}")) for name in votes]
        session_id = self._znodes.session.zookeeper.session_id
        return [name for name, stat in stats if stat is not None and stat.owner == session_id]

    async def _remove(self, name: str) -> None:
        try:
            await self._znodes.delete(f"{self._path}/{name}")
        except NodeMissingError:
            pass

    async def _announce(self) -> None:
        """Write the winner into the election's node, for people and Apache's tools to read."""
        await self._znodes.set(self._path, encode_vote(self.name), ANY)

    def _is_elected(self, elected: bool) -> None:
        if self._stopped or elected is self._in_office:
            return
        self._in_office = elected
        try:
            self._listener(elected)
        except Exception:
            self._log.failure("a listener for the auditor's office failed")
