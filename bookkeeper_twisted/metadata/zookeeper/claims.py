"""Registrations of bookies as ephemeral nodes on ZooKeeper.

Only one ZooKeeper session can own the node of a bookie id, so two processes never serve under the same bookie id.  The
parent of the node says whether the bookie is writable or read-only.
"""

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ...errors import BookieRegisteredError, NotInitializedError
from .interfaces import NewNode, NodeExistsError, NodeMissingError, Stat, Watch
from .watches.bookie_sets import AVAILABLE, READ_ONLY
from .znodes import Znodes


class Claims:
    """The registrations of one driver: it creates, replaces and removes the ephemeral nodes of its bookies."""

    _log = Logger()

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._session = znodes.session

    async def register(self, bookie_id: str, read_only: bool, data: bytes) -> None:
        """Register a bookie as writable or as read-only; then remove this session's registration in the other mode.

        If another session has registered the bookie, its process may be dead.  So wait until the node is removed, but
        at most for the session timeout: after this time, ZooKeeper has removed the node of a dead process.

        :raises BookieRegisteredError: the registration of the other session still exists after the wait.
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
        """Remove this session's registrations of ``bookie_id``, but keep registrations by other sessions."""
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
                pass  # another session created the node first: wait again until it is removed
        await self._refresh(node)

    async def _refresh(self, node: NewNode) -> None:
        data, stat = await self._znodes.get(node.path)
        if data != node.data:
            await self._znodes.set(node.path, node.data, stat.version)

    async def _until_free(self, bookie_id: str, path: str) -> Stat | None:
        """Wait until no other session owns the registration node of a bookie id.

        :returns: the state of the node if this session owns it; None if the node does not exist.
        :raises BookieRegisteredError: another session still owns the node after the maximum wait.
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
            pass  # the node was removed when the session that owned it ended


def _firing(event: "Deferred[bool]") -> Watch:
    """Return a ZooKeeper watch that fires the Deferred ``event``; ignore a second call, which kazoo may make."""

    def fire(has_changed: bool) -> None:
        if not event.called:
            event.callback(has_changed)

    return fire
