"""Watches of single nodes: a listener is called with the decoded data of a node, at the start and after every write."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.logger import Logger

from ..interfaces import NodeMissingError, Stat, Watch
from ..znodes import Znodes
from .watch_loop import WatchLoop

T = TypeVar("T")

_log = Logger()
_UNSEEN = -1, -1


class NodeWatches:
    """A driver's watches of single ZooKeeper nodes."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._loops: list[WatchLoop] = []

    def watch(
        self, path: str, decode: Callable[[bytes | None], T], listener: Callable[[T], None]
    ) -> Callable[[], None]:
        """Call the listener at once, and after the node was created, written (even with equal data) or removed.

        :param decode: makes the listener's argument from the node's data, or from None if the node does not exist.  If
            it raises an error, the error is logged.
        :returns: a function that ends the watch.
        """
        self._znodes.session.check_open()
        loop = WatchLoop(self._znodes.session, path, _Looking(self._znodes, path, decode, listener))
        self._loops.append(loop)
        loop.start()

        def end() -> None:
            loop.stop()
            if loop in self._loops:
                self._loops.remove(loop)

        return end

    def stop(self) -> None:
        """End all watches."""
        while self._loops:
            self._loops.pop().stop()


class _Looking:
    """A function that reads one watched node, and calls the listener if the node has changed since the last read."""

    def __init__(
        self, znodes: Znodes, path: str, decode: Callable[[bytes | None], Any], listener: Callable[[Any], None]
    ) -> None:
        self._znodes = znodes
        self._path = path
        self._decode = decode
        self._listener = listener
        self._seen: tuple[int, int] | None = _UNSEEN

    async def __call__(self, watch: Watch) -> bool:
        data, stat = await self._read(watch)
        seen = None if stat is None else (stat.czxid, stat.version)
        if seen != self._seen and not self._is_older(seen):
            self._seen = seen
            try:
                self._listener(self._decode(data))
            except Exception:
                _log.failure("metadata watch of {path}: a listener failed", path=self._path)
        return True

    def _is_older(self, seen: tuple[int, int] | None) -> bool:
        """Test whether ``seen`` is older than the last state read; a server that lags behind may return such a state.
        """
        return seen is not None and self._seen is not None and seen < self._seen

    async def _read(self, watch: Watch) -> tuple[bytes | None, Stat | None]:
        while True:
            try:
                return await self._znodes.get(self._path, watch)
            except NodeMissingError:
                if await self._znodes.exists(self._path, watch) is None:
                    return None, None
