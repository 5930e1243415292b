"""Counts the ledgers that are marked as underreplicated, for the metrics of the auditor."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from ...metadata.interfaces import IUnderreplication
from .auditor_metrics import CheckResults

COUNT_SECONDS = 60.0


class MarkCount:
    """A count of the ledgers with an underreplicated mark, which is repeated every minute.

    :param findings: the numbers that the metrics export.  Each count sets ``findings.marked``; :meth:`stop` sets it
        to 0.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, underreplication: IUnderreplication, findings: CheckResults) -> None:
        self._clock = clock
        self._underreplication = underreplication
        self._findings = findings
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        """Count the ledgers with an underreplicated mark now, and every minute from now on."""
        self._running = Deferred.fromCoroutine(self._repeat())
        self._running.addErrback(self._ended)

    def stop(self) -> None:
        """Stop counting, because another process may be the auditor now."""
        if self._running is not None:
            self._running.cancel()
        self._findings.marked = 0

    async def _repeat(self) -> None:
        while True:
            try:
                self._findings.marked = await self._count()
            except BookKeeperError as error:
                # Keep the last number: if the metadata store fails, an alert that depends on the number must not end.
                self._log.debug("underreplicated ledgers are not counted: {error}", error=error)
            await deferLater(self._clock, COUNT_SECONDS)

    async def _count(self) -> int:
        count = 0
        async for _ in self._underreplication.marked_ledgers():
            count += 1
        return count

    def _ended(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the count of underreplicated ledgers has ended", failure)
