"""A watch of all underreplicated marks and replication locks on ZooKeeper.

The underreplicated marks are in a tree with four levels of group nodes, each for four digits of the ledger id.  The
watch covers the node of the locks, the root of the marks, and the group nodes of the upper three levels.  Usually a new
mark comes with a new group node of the lowest level, so the watch on the parent of this group node fires.

But a mark may also be created in a lowest group node that exists and is empty.  After each call of the listener, the
replication worker lists all marks.  The listing passes each empty group node that it finds to
:meth:`TreeWatch.wait_for`, which watches this node, too.  A group node usually becomes empty when a worker removes the
last mark and then its lock on the ledger; the removal of the lock calls the listener, so the node is found.  If
somebody removes a mark by hand, without a lock, the empty node is not found.  Therefore the listener is also called
every :data:`REMINDER_SECONDS`.
"""

import re
from collections.abc import Awaitable, Callable

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ..interfaces import NodeMissingError, Watch
from ..znodes import Znodes
from .watch_loop import WatchLoop

GROUPS = 4
GROUP = re.compile(r"[0-9a-f]{4}")

REMINDER_SECONDS = 60.0
GATHERING_SECONDS = 0.1
"""Seconds from a change to the call of the listener, so that one call reports several changes."""


class TreeWatch:
    """The watch of all underreplicated marks and replication locks, for one listener."""

    _log = Logger()

    def __init__(self, znodes: Znodes, marks: str, locks: str, listener: Callable[[], None]) -> None:
        self._znodes = znodes
        self._marks = marks
        self._locks = locks
        self._listener = listener
        self._loops: dict[str, WatchLoop] = {}
        self._timer: IDelayedCall | None = None
        self._due = 0.0
        self._stopped = False

    def start(self) -> None:
        """Begin to watch the nodes of underreplicated marks and replication locks."""
        self._add(self._locks, self._look_at(self._locks, None))
        self._add(self._marks, self._look_at(self._marks, 0))
        self._call_in(0)

    def stop(self) -> None:
        """End the watch; the listener is not called any more."""
        self._stopped = True
        for loop in self._loops.values():
            loop.stop()
        self._loops.clear()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def wait_for(self, path: str) -> None:
        """Watch the empty group node at ``path``, and call the listener when an underreplicated mark is created in it.

        The watch ends when it has found a mark, or when the node is removed.
        """
        if path not in self._loops and not self._stopped:
            self._add(path, self._look_into(path))

    def _look_into(self, path: str) -> Callable[[Watch], Awaitable[bool]]:
        async def look(watch: Watch) -> bool:
            try:
                names, _ = await self._znodes.children(path, watch)
            except NodeMissingError:
                pass
            else:
                if not names:
                    return not self._stopped
                self._call_in(GATHERING_SECONDS)
            self._loops.pop(path, None)
            return False

        return look

    def _add(self, path: str, look: Callable[[Watch], Awaitable[bool]]) -> None:
        loop = self._loops[path] = WatchLoop(self._znodes.session, path, look)
        loop.start()

    def _look_at(self, path: str, level: int | None) -> Callable[[Watch], Awaitable[bool]]:
        """Return a function that reads the children of one node and sets a watch on them.

        :param level: depth of the node in the tree of marks; 0 for the root of the marks, None for the node of the
            locks.
        """

        async def look(watch: Watch) -> bool:
            try:
                names, _ = await self._znodes.children(path, watch)
            except NodeMissingError:
                if level:
                    # the node was removed; if it is created again, the watch on its parent fires
                    self._loops.pop(path, None)
                    return False
                if await self._znodes.exists(path, watch) is not None:
                    return await look(watch)
                names = []
            self._call_in(GATHERING_SECONDS)
            if level is not None and level < GROUPS - 1:
                self._descend(path, level + 1, names)
            return not self._stopped

        return look

    def _descend(self, path: str, level: int, names: list[str]) -> None:
        for name in names:
            below = f"{path}/{name}"
            if GROUP.fullmatch(name) and below not in self._loops and not self._stopped:
                self._add(below, self._look_at(below, level))

    def _call_in(self, seconds: float) -> None:
        if self._stopped:
            return
        clock = self._znodes.session.clock
        due = clock.seconds() + seconds
        if self._timer is not None and self._timer.active():
            if self._due <= due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = clock.callLater(seconds, self._call)

    def _call(self) -> None:
        self._call_in(REMINDER_SECONDS)
        try:
            self._listener()
        except Exception:
            self._log.failure("metadata watch of marks: a listener failed")
