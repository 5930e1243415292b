"""Marks damaged ledgers as underreplicated, so that autorecovery writes their damaged entries again.

An underreplicated mark is a record in the metadata store, and contains the id of this bookie.  So autorecovery checks
all entries of the ledger on this bookie, and writes the damaged entries again: to this bookie if it is writable,
otherwise to another bookie.  After a restart, all ledgers with known damage are marked again, because the previous
process may have ended before it marked them.  If a ledger has already been repaired, autorecovery only checks it once
more.
"""

from collections.abc import Iterable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from ...limits.throttle import Throttle
from ...metrics import ScrubMetrics
from ...storage.maintenance.scrub import NO_LEDGER, DamagedEntries
from .ledger_collector import Cluster

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0


class DamagedLedgerMarker:
    """Marks the damaged ledgers of a queue as underreplicated, one by one; a failed request is tried again.

    :param operations: the speed limit of requests to the metadata store.
    """

    _log = Logger()

    def __init__(self, cluster: Cluster, clock: IReactorTime, operations: Throttle, metrics: ScrubMetrics) -> None:
        self._cluster = cluster
        self._clock = clock
        self._operations = operations
        self._metrics = metrics
        self._pending: dict[int, None] = {}
        self._working: Deferred[None] | None = None

    def found(self, findings: Iterable[DamagedEntries]) -> None:
        """Queue the ledgers of all ``findings`` (ranges of damaged entries), each ledger only one time.

        Damage of a journal belongs to no ledger.  It needs no underreplicated mark, because the entries of damaged
        journal records are still in memory, and are written to entry logs.
        """
        ledger_ids = [finding.ledger_id for finding in findings if finding.ledger_id != NO_LEDGER]
        self._pending.update(dict.fromkeys(ledger_ids))
        if self._pending and self._working is None:
            working = self._working = Deferred.fromCoroutine(self._work())
            working.addBoth(self._ended)

    def stop(self) -> None:
        """Stop marking ledgers; after the next start, all ledgers with known damage are marked again."""
        self._pending.clear()
        if self._working is not None:
            self._working.cancel()

    async def _work(self) -> None:
        pause = _FIRST_PAUSE
        while self._pending:
            ledger_id = next(iter(self._pending))
            try:
                await self._operations.acquire(user="marks of damaged ledgers")
                ctime = int(self._clock.seconds() * 1000)
                await self._cluster.locks.mark(ledger_id, (self._cluster.bookie_id,), ctime)
            except BookKeeperError as error:
                self._log.warn("damage of ledger {ledger_id} is not marked, again in {pause:.0f} s: {error}",
                               ledger_id=ledger_id, pause=pause, error=error)  # fmt: skip
                await deferLater(self._clock, pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            self._pending.pop(ledger_id, None)
            self._metrics.marked.value += 1
            pause = _FIRST_PAUSE

    def _ended(self, result: object) -> None:
        self._working = None
        if isinstance(result, Failure) and not result.check(CancelledError):
            self._log.failure("marking damage ended", result)
