"""A client as a service of an application: it connects when the service starts, and retries until it succeeds."""

from collections.abc import Callable
from typing import Any, cast

from twisted.application.internet import backoffPolicy
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..arguments import check_type
from ..config.client import ClientConfig
from ..errors import ClientClosedError, MetadataError
from ..masking import without_credentials
from .bookkeeper import BookKeeper

_LONGEST_PAUSE = 30.0

Connect = Callable[[], "Deferred[BookKeeper]"]


class BookKeeperService(Service):
    """A service that connects a client when it starts, and closes the client when it stops.

    Add it to an application's ``MultiService``.  While the metadata store cannot be reached, the service tries to
    connect again after growing pauses.  A connected client restores lost connections by itself.
    """

    _log = Logger()

    def __init__(
        self, reactor: Any, uri: str, config: ClientConfig | None = None, connect: Connect | None = None,
        pause_after: Callable[[int], float] | None = None,
    ) -> None:  # fmt: skip
        """
        :param connect: a function to call instead of :meth:`.BookKeeper.connect`, with the arguments ``reactor``,
            ``uri`` and ``config``.
        :param pause_after: a function that returns the seconds until the next attempt; its argument is the number of
            failed attempts so far.
        """
        self._reactor = reactor
        self._uri = without_credentials(check_type("uri", uri, str, "str"))
        self._connect = connect or (lambda: BookKeeper.connect(reactor, uri, config))
        self._pause_after = pause_after or backoffPolicy(maxDelay=_LONGEST_PAUSE)
        self._client: BookKeeper | None = None
        self._error: BaseException | None = None
        self._connecting: Deferred[None] | None = None
        self._waiting: list[Deferred[BookKeeper]] = []

    def when_connected(self) -> "Deferred[BookKeeper]":
        """Return the client, now or as soon as it is connected.

        :raises bookkeeper_twisted.errors.ClientClosedError: the service is not running, or is stopped before it has
            connected.
        :raises Exception: connecting failed with this error, and cannot succeed later; for example, no plugin has the
            configured placement policy.
        """
        if self._client is not None:
            return succeed(self._client)
        if self._error is not None:
            return fail(self._error)
        if not self.running:
            return fail(ClientClosedError("the service does not run: it was not started, or was stopped"))
        waiter: Deferred[BookKeeper] = Deferred(self._waiting.remove)
        self._waiting.append(waiter)
        return waiter

    def __repr__(self) -> str:
        state = "connecting" if self.running else "not running"
        if self._client is not None:
            state = f"connected, {self._client!r}"
        elif self._error is not None:
            state = f"failed: {type(self._error).__name__}: {self._error}"
        return f"<BookKeeperService {self._uri} {state}>"

    def startService(self) -> None:
        """Start the service, which begins to connect."""
        super().startService()
        self._error = None
        self._connecting = Deferred.fromCoroutine(self._connect_until_done())
        self._connecting.addErrback(self._gave_up)

    async def _connect_until_done(self) -> None:
        failures = 0
        while self._client is None:
            try:
                self._client = await self._connect()
            except MetadataError as error:
                failures += 1
                pause = self._pause_after(failures)
                message = "no connection to the cluster, again in {pause:.1f} s: {error}"
                self._log.warn(message, pause=pause, error=error)
                await deferLater(self._reactor, pause)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(self._client)

    def _gave_up(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the client cannot be made", failure)
            self._error = error = cast(BaseException, failure.value)
            self._fail_waiting(error)

    def _fail_waiting(self, error: BaseException) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.errback(error)

    def stopService(self) -> "Deferred[None]":
        """Close the client; the result fires when the client is closed."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        self._fail_waiting(ClientClosedError("the service was stopped"))
        client, self._client = self._client, None
        if client is not None:
            await client.close()
