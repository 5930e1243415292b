"""Claims on bookie ids: a bookie is registered by an ephemeral node, which only one ZooKeeper session can own.

So two processes never serve under one bookie id (safety rule S6).

The parent of the node says whether the bookie is writable or read-only.
"""

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ...errors import BookieRegisteredError, NotInitializedError
from .interfaces import NewNode, NodeExistsError, NodeMissingError, Stat, Watch
from .watches.bookie_sets import AVAILABLE, READ_ONLY
from .znodes import Znodes


class Claims:
    """The bookie ids that one ZooKeeper session has claimed, that is registered for itself."""

    _log = Logger()

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._session = znodes.session

    async def register(self, bookie_id: str, read_only: bool, data: bytes) -> None:
        """Claim a bookie id as writable or as read-only, then remove this session's claim in the other mode.

        :raises BookieRegisteredError: another session has claimed the id, and its node still exists after the time in
            which ZooKeeper removes the nodes of a dead session.
        """
        new, old = self._path(bookie_id, read_only), self._path(bookie_id, not read_only)
        await self._until_free(bookie_id, old)
        try:
            if read_only:
                await self._znodes.ensure(self._znodes.path(AVAILABLE, READ_ONLY))
            await self._claim(bookie_id, NewNode(new, data, ephemeral=True))
        except NodeMissingError as error:
            raise NotInitializedError(f"{self._znodes.root} holds no cluster") from error
        await self._give_up(old)

    async def withdraw(self, bookie_id: str) -> None:
        """Remove this session's registrations of ``bookie_id`` in both modes, but no other session's registrations."""
        for read_only in (False, True):
            await self._give_up(self._path(bookie_id, read_only))

    def _path(self, bookie_id: str, read_only: bool) -> str:
        return self._znodes.path(AVAILABLE, *([READ_ONLY] if read_only else []), bookie_id)

    def _owns(self, stat: Stat) -> bool:
        return stat.owner == self._session.zookeeper.session_id

    async def _claim(self, bookie_id: str, node: NewNode) -> None:
        while await self._until_free(bookie_id, node.path) is None:
            try:
                await self._znodes.create(node, lambda data, stat: self._owns(stat))
                return
            except NodeExistsError:
                pass  # another client created the node first: wait until its node is removed
        await self._refresh(node)

    async def _refresh(self, node: NewNode) -> None:
        data, stat = await self._znodes.get(node.path)
        if data != node.data:
            await self._znodes.set(node.path, node.data, stat.version)

    async def _until_free(self, bookie_id: str, path: str) -> Stat | None:
        """Wait until no other session owns the registration node of a bookie id.

        Return the node's state if this session owns it, else None.
        """
        options = self._session.options
        wait = options.session_timeout if options.stale_wait is None else options.stale_wait
        deadline = self._session.clock.seconds() + wait
        is_waiting = False
        while True:
            event: Deferred[bool] = Deferred()
            stat = await self._znodes.exists(path, _firing(event))
            if stat is None or self._owns(stat):
                return stat
            left = deadline - self._session.clock.seconds()
            if left > 0 and not is_waiting:
                self._log.info(
                    "bookie {bookie_id}: waiting for the former registration ({seconds:.0f} s at most)",
                    bookie_id=bookie_id, seconds=left,
                )  # fmt: skip
                is_waiting = True
            if left <= 0:
                raise BookieRegisteredError(f"bookie {bookie_id} is registered by another session ({path})")
            await self._session.wait_for(event, left)

    async def _give_up(self, path: str) -> None:
        try:
            stat = await self._znodes.exists(path)
            if stat is not None and self._owns(stat):
                await self._znodes.delete(path)
        except NodeMissingError:
            pass  # the session that owned the registration node has ended


def _firing(event: "Deferred[bool]") -> Watch:
    """Return a watch that fires the Deferred ``event``, but only once, because kazoo may call a watch twice."""

    def fire(has_changed: bool) -> None:
        if not event.called:
            event.callback(has_changed)

    return fire
