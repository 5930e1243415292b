"""Sends bookies the last add confirmed when no entry follows that would carry it (BP-7's explicit LAC)."""

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import ClientClosedError
from ...model import INVALID_ENTRY_ID
from .context import OpenLedger


class ExplicitLac:
    """Writes the LAC of a writer that falls idle; off where ``explicitLacInterval`` is 0.

    There is a timer only while bookies may not know the LAC.

    :ivar piggybacked: the LAC that entries carried to the bookies.
    """

    _log = Logger()

    def __init__(self, ledger: OpenLedger, confirmed: Callable[[], int], ensemble: Callable[[], Sequence[str]]) -> None:
        """
        :param confirmed: the LAC of the writer.
        :param ensemble: the bookies of its newest entries.
        """
        self.piggybacked = INVALID_ENTRY_ID
        self._ledger = ledger
        self._confirmed = confirmed
        self._ensemble = ensemble
        self._told = INVALID_ENTRY_ID
        self._loop: LoopingCall | None = None
        self._interval = ledger.context.config.explicit_lac_interval / 1000

    def moved(self) -> None:
        """The LAC of the writer has grown."""
        if self._interval > 0 and (self._loop is None or not self._loop.running):
            self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self._tick()))
            self._loop.clock = self._ledger.context.clock
            self._loop.start(self._interval, now=False).addErrback(self._failed)

    async def _tick(self) -> None:
        lac = self._confirmed()
        if self.piggybacked > self._told:
            self._told = self.piggybacked
        elif lac == self._told or await self._write(lac):
            self._told = lac
            if lac == self._confirmed():
                self._end_loop()

    async def _write(self, lac: int) -> bool:
        """:returns: whether an ack quorum took it; otherwise the next tick tries again."""
        ledger, ensemble, bookies = self._ledger, self._ensemble(), self._ledger.bookies
        body = ledger.digester.seal_lac(ledger.ledger_id, lac)
        writes = [
            bookies.write_lac(ensemble[position], ledger.ledger_id, ledger.digester.master_key, lac, body)
            for position in ledger.schedule.write_set(lac)
        ]
        for written in writes:
            written.addErrback(self._not_taken)
        outcomes = await DeferredList(writes, consumeErrors=True)
        return sum(success for success, _ in outcomes) >= ledger.schedule.ack_quorum

    def _not_taken(self, failure: Failure) -> Failure:
        self._log.debug("ledger {id}: explicit LAC: {error}", id=self._ledger.ledger_id, error=failure.value)
        if failure.check(ClientClosedError):
            self.stop()
        return failure

    def _failed(self, failure: Failure) -> None:
        self._log.failure("explicit LACs of ledger {ledger_id} end", failure, ledger_id=self._ledger.ledger_id)

    def stop(self) -> None:
        """Writes no more."""
        self._interval = 0.0
        self._end_loop()

    def _end_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and loop.running:
            loop.stop()
