"""A loop that reads watched nodes again whenever ZooKeeper reports that they may have changed."""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ....errors import MetadataError, MetadataUnavailableError
from ..interfaces import Watch
from ..session import Session

RELOOK_SECONDS = 0.2
"""Seconds before the next read, if the last read has failed or the connection was lost."""


class WatchLoop:
    """The loop of one watch: it reads the watched nodes after each event.

    :param what: name of the watched nodes, for the log.
    :param look: a function that reads the nodes and registers the given watch on them; it returns False to end the
        loop.
    """

    _log = Logger()

    def __init__(self, session: Session, what: str, look: Callable[[Watch], Awaitable[bool]]) -> None:
        self._session = session
        self._what = what
        self._look = look
        self._event: Deferred[bool] = Deferred()
        self._running: Deferred[None] | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the loop with an immediate read."""
        self._running = Deferred.fromCoroutine(self._run())
        self._running.addErrback(self._ended)

    def stop(self) -> None:
        """Stop the loop; ``look`` and the functions that ``look`` calls may call this method."""
        self._stopped = True
        if self._running is not None:
            self._running.cancel()

    async def _run(self) -> None:
        failing = False
        while self._session.is_open:
            event: Deferred[bool] = Deferred()
            self._event = event
            try:
                if not await self._look(self._changed) or self._stopped:
                    return
            except MetadataError as error:
                if not failing and not isinstance(error, MetadataUnavailableError):
                    # a lost connection is not logged here, because the session logs it for all watches
                    self._log.warn("{what}: {error}; trying again", what=self._what, error=error)
                failing = True
                self._changed(False)
            else:
                failing = False
            if not await event:
                await self._session.pause(RELOOK_SECONDS)

    def _changed(self, has_changed: bool) -> None:
        """Make the loop read the watched nodes again.

        Each read sets this function as its watch, so ZooKeeper calls it after a change.  ZooKeeper may also call it for
        the watch of an earlier read.

        :param has_changed: whether a node has changed; False after an error or a lost watch, to pause before the read.
        """
        if not self._event.called:
            self._event.callback(has_changed)

    def _ended(self, failure: Failure) -> None:
        if self._session.is_open and not failure.check(CancelledError):
            self._log.failure("{what}: the watch has ended", failure, what=self._what)
