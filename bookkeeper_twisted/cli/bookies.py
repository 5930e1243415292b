"""The service of ``twistd bookie``, which starts bookies, logs their start, and ends the process if a bookie fails."""

from collections.abc import Callable, Iterable
from typing import Protocol

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import CannotListenError
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import BookKeeperError

_REASONS = (BookKeeperError, CannotListenError, OSError)
"""Errors that an operator can fix: they are printed in one line."""


class Startable(Protocol):
    """The methods of a bookie's service, or of autorecovery, that this module calls.

    :ivar role: name of its kind, for the log.
    """

    role: str
    bookie_id: str
    port: int
    http_port: int

    def start(self) -> "Deferred[None]":
        """Start the service; the result fires when the service is ready."""

    def stop(self) -> "Deferred[None]":
        """Stop the service; the result fires when all work has ended."""


class Bookies(Service):
    """The bookies of one process, started one after another and stopped in reverse.

    :param make: makes all of them; called with a function that each calls when it fails later (S10).
    :param fail: ends the process with status 1.
    :param what: runs here, for the log.
    """

    _log = Logger()

    def __init__(
        self, make: Callable[[Callable[[Failure], None]], Iterable[Startable]], fail: Callable[[], None],
        what: str = "the bookie",
    ) -> None:  # fmt: skip
        self._what = what
        self._bookies = list(make(self._has_failed))
        self._fail = fail
        self._started: list[Startable] = []
        self._starting: Deferred[None] | None = None

    def startService(self) -> None:
        """Begin to start the bookies; one log line names all of them once they serve."""
        super().startService()
        self._starting = Deferred.fromCoroutine(self._start())
        self._starting.addErrback(self._did_not_start)

    async def _start(self) -> None:
        for bookie in self._bookies:
            self._started.append(bookie)
            await bookie.start()
        self._log.info("ready: {bookies}", bookies="; ".join(map(_describe, self._bookies)))

    def _did_not_start(self, failure: Failure) -> None:
        if not failure.check(CancelledError):  # a start that is cancelled was stopped on purpose, which is no failure
            self._report(f"{self._what} does not start", failure)

    def _has_failed(self, failure: Failure) -> None:
        self._report(f"{self._what} has failed and stops", failure)

    def _report(self, what: str, failure: Failure) -> None:
        if failure.check(*_REASONS):
            self._log.critical("{what}: {reason}", what=what, reason=failure.getErrorMessage())
        else:
            self._log.failure(what, failure)
        self._fail()

    def stopService(self) -> "Deferred[None]":
        """Stop all bookies; the result fires when all bookies have ended."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        while self._started:
            await self._started.pop().stop()


def _describe(bookie: Startable) -> str:
    http = f", HTTP on port {bookie.http_port}" if bookie.http_port else ""
    port = f" on port {bookie.port}" if bookie.port else ""
    return f"{bookie.role} {bookie.bookie_id}{port}{http}"
