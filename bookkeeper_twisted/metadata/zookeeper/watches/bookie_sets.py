"""The sets of registered bookies on ZooKeeper: the children of the nodes ``available`` and ``available/readonly``."""

from collections.abc import Awaitable, Callable

from twisted.logger import Logger

from ....errors import IncorrectParameterError, NotInitializedError
from ....model import check_bookie_id
from ..interfaces import NodeMissingError, Stat, Watch
from ..znodes import Znodes
from .watch_loop import WatchLoop

AVAILABLE = "available"
READ_ONLY = "readonly"

Listener = Callable[[frozenset[str], frozenset[str]], None]

_log = Logger()


def bookie_ids(names: list[str]) -> frozenset[str]:
    """Return the bookie ids among the ``names`` of child nodes; log and ignore names that are not bookie ids.
    """
    found = []
    for name in names:
        if name != READ_ONLY:
            try:
                found.append(check_bookie_id(name))
            except IncorrectParameterError as error:
                _log.warn("registered is what cannot be a bookie: {error}", error=error)
    return frozenset(found)


class BookieSet:
    """The set of the writable bookies, or the set of the read-only bookies.

    :ivar ids: the bookie ids that the last :meth:`look` has read; None before.
    """

    def __init__(self, znodes: Znodes, read_only: bool) -> None:
        self.ids: frozenset[str] | None = None
        self._znodes = znodes
        self._path = znodes.path(AVAILABLE, *([READ_ONLY] if read_only else []))
        self._read_only = read_only
        self._seen = (-1, -1)

    async def read(self) -> frozenset[str]:
        """Read the set of bookies, including all changes made before this call.

        :raises NotInitializedError: the store holds no cluster.
        """
        await self._znodes.sync(self._path)
        return bookie_ids((await self._children(None))[0])

    async def look(self, watch: Watch) -> bool:
        """Read the set of bookies, and set a ``watch`` for its next change.

        After a reconnect, a server that lags behind may return an older set than the last one read; ignore such a set.

        :returns: whether :attr:`ids` has changed.
        """
        names, stat = await self._children(watch)
        seen = (stat.czxid, stat.cversion) if stat else (-1, 0)
        if seen <= self._seen:
            return False
        self._seen = seen
        before, self.ids = self.ids, bookie_ids(names)
        return self.ids != before

    async def _children(self, watch: Watch | None) -> tuple[list[str], Stat | None]:
        try:
            return await self._znodes.children(self._path, watch)
        except NodeMissingError:
            if not self._read_only:
                raise NotInitializedError(f"{self._path} does not exist") from None
        # Without read-only bookies, the node may be missing: set the watch that fires when the node is created.
        return ([], None) if await self._znodes.exists(self._path, watch) is None else await self._children(watch)


class BookieSets:
    """The sets of writable and of read-only bookies, and the listeners for changes of these sets."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._listeners: list[Listener] = []
        self._loops: list[WatchLoop] = []
        self._sets: list[BookieSet] = []

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(writable, read_only)`` with two sets of bookie ids: now, and again after each change.

        :returns: a function that ends the watch.
        :raises MetadataError: the session is not open.
        """
        self._znodes.session.check_open()
        self._listeners.append(listener)
        if not self._loops:
            self._start()
        elif self._known is not None:
            self._znodes.session.clock.callLater(0, self._tell_one, listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
            if not self._listeners:
                self.stop()

        return end

    def stop(self) -> None:
        """End all watches."""
        self._listeners.clear()
        for loop in self._loops:
            loop.stop()
        self._loops.clear()

    def _start(self) -> None:
        self._sets = [BookieSet(self._znodes, False), BookieSet(self._znodes, True)]
        for bookies in self._sets:
            self._loops.append(WatchLoop(self._znodes.session, "bookies", self._looking_at(bookies)))
        for loop in list(self._loops):
            loop.start()

    def _looking_at(self, bookies: BookieSet) -> Callable[[Watch], Awaitable[bool]]:
        async def look(watch: Watch) -> bool:
            if await bookies.look(watch) and self._known is not None:
                for listener in list(self._listeners):
                    self._tell_one(listener)
            return True

        return look

    @property
    def _known(self) -> tuple[frozenset[str], frozenset[str]] | None:
        writable, read_only = (bookies.ids for bookies in self._sets)
        return None if writable is None or read_only is None else (writable, read_only)

    def _tell_one(self, listener: Listener) -> None:
        known = self._known
        if known is None or listener not in self._listeners:
            return
        try:
            listener(*known)
        except Exception:
            _log.failure("metadata watch: a listener failed")
