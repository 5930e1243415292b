"""Quarantine: bookies that fail too often get no new ledgers for a while.

The client checks its bookies at regular intervals.  If too many requests to a bookie have failed since the last check,
the client quarantines the bookie with a configured probability, so that not all clients avoid the same bookie at the
same time.  A bookie leaves the quarantine after a configured time, or when all requests to it have succeeded since the
last check.
"""

from collections import Counter

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..config.client import ClientConfig
from ..errors import (
    BookieHandleNotAvailableError,
    ClientClosedError,
    LedgerExistsError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    WriteOnReadOnlyBookieError,
)
from ..ledger.placement import Chance

_NO_FAULT_OF_A_BOOKIE = (
    CancelledError,
    ClientClosedError,
    LedgerExistsError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    WriteOnReadOnlyBookieError,
)


@attrs.define
class Quarantine:
    """The bookies in quarantine: new ledgers should avoid them because requests to them have failed.

    :ivar until: for each bookie id, the time at which the bookie leaves the quarantine at the latest, in seconds of the
        clock.
    """

    _log = Logger()

    _clock: IReactorTime
    _chance: Chance
    _config: ClientConfig
    until: dict[str, float] = attrs.field(factory=dict)
    _failures: Counter[str] = attrs.field(factory=Counter)
    _successes: set[str] = attrs.field(factory=set)
    _looks: LoopingCall | None = None

    def answered(self, bookie_id: str, error: Exception | None) -> None:
        """Count the result of a request to a bookie.

        :param error: the error of the request, None if it succeeded.
        """
        if error is None or isinstance(error, _NO_FAULT_OF_A_BOOKIE):
            self._successes.add(bookie_id)
        elif (
            not isinstance(error, BookieHandleNotAvailableError)
            or self._config.bookie_connection_error_quarantine_enabled
        ):
            self._failures[bookie_id] += 1

    @property
    def bookies(self) -> frozenset[str]:
        """The ids of the bookies that new ledgers should avoid now."""
        now = self._clock.seconds()
        return frozenset([bookie_id for bookie_id, until in self.until.items() if until > now])

    def start(self) -> None:
        """Start to check regularly which bookies have failed requests."""
        if self._looks is None:
            self._looks = LoopingCall(self._look)
            self._looks.clock = self._clock
            running: Deferred[LoopingCall] = self._looks.start(
                self._config.bookie_health_check_interval_seconds, now=False
            )
            running.addErrback(self._broken)

    def stop(self) -> None:
        """Stop the regular checks of bookies."""
        if self._looks is not None and self._looks.running:
            self._looks.stop()

    def _look(self) -> None:
        failures, self._failures = self._failures, Counter()
        successes, self._successes = self._successes, set()
        now = self._clock.seconds()
        for bookie_id, until in list(self.until.items()):
            if until <= now or (bookie_id in successes and not failures[bookie_id]):
                del self.until[bookie_id]
                self._log.info("bookie {bookie_id} may have new ledgers again", bookie_id=bookie_id)
        for bookie_id, count in failures.items():
            if count < self._config.bookie_error_threshold_per_interval or bookie_id in self.until:
                continue
            if self._chance.random() >= self._config.bookie_quarantine_ratio:
                continue
            self.until[bookie_id] = now + self._config.bookie_quarantine_time_seconds
            self._log.warn(
                "bookie {bookie_id} gets no new ledgers: {count} failures since the last look",
                bookie_id=bookie_id, count=count,
            )  # fmt: skip

    def _broken(self, failure: Failure) -> None:
        self._log.failure("the health of bookies is not watched any more", failure)
