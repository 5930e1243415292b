"""The ledgers that audits had to leave out, as their metadata could not be read, and the repeated audit of them alone.

An audit goes on past a ledger whose metadata cannot be decoded, or may not be read.  Such a ledger may have lost
replicas, so it is read again after growing pauses until an audit has judged it or it is deleted.
"""

from collections.abc import Callable

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...metadata.interfaces import IRegistration
from ...metadata.registered import registered_bookies
from ..switch import Switch
from .auditor_metrics import AuditorMetrics
from .bookie_audit import BookieAudit
from .repeating import until_done

FIRST_PAUSE = 10.0
"""Seconds from an audit that has left out ledgers until they are read again; each further pause is twice as long."""

LONGEST_PAUSE = 320.0
"""Maximum number of seconds between two reads of ledgers that audits have left out."""


@attrs.define
class LeftOutAudits:
    """The repeated audit of the ledgers that audits have left out.

    These ledgers are those of ``audit.left_out``.  After each complete audit of all ledgers, the pauses begin anew with
    the shortest one.

    :ivar is_expected: tests whether a bookie that is not registered does not count as lost, as for
        :meth:`.BookieAudit.run`.
    """

    _log = Logger()

    clock: IReactorTime
    registration: IRegistration
    switch: Switch
    audit: BookieAudit
    is_expected: Callable[[str], bool]
    metrics: AuditorMetrics
    _pause: float = FIRST_PAUSE
    _timer: IDelayedCall | None = None
    _running: Deferred[None] | None = None
    _is_on: bool = False

    def start(self) -> None:
        """Begin to audit ledgers again that are left out from now on."""
        self._is_on = True
        self.audit.left_out.watch(self._changed)

    def stop(self) -> None:
        """End all work; no ledger is marked after this call."""
        self._is_on = False
        self.audit.left_out.watch(lambda is_audit_over: None)
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if self._running is not None:
            self._running.cancel()
        self.metrics.findings.left_out = 0

    def _changed(self, is_audit_over: bool) -> None:
        self.metrics.findings.left_out = len(self.audit.left_out.ids)
        if is_audit_over:
            self._pause = FIRST_PAUSE
            if self._timer is not None:
                self._timer.reset(self._pause)
        self._schedule()

    def _schedule(self) -> None:
        if self._is_on and self.audit.left_out.ids and self._running is None and self._timer is None:
            self._timer = self.clock.callLater(self._pause, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        work = until_done(self.clock, "audit of ledgers that were left out", self._audit_once, self._count_failure)
        self._running = Deferred.fromCoroutine(work)
        self._running.addErrback(self._failed).addCallback(self._ended)

    async def _audit_once(self) -> None:
        await self.switch.wait()
        left_out, begun = self.audit.left_out, self.audit.left_out.noted
        ledger_ids = sorted(left_out.ids)
        registered = await registered_bookies(self.registration)
        marked = await self.audit.run_again(ledger_ids, registered, self.is_expected, begun)
        judged = len(set(ledger_ids) - left_out.ids.keys())
        if judged:
            self._log.info(
                "{judged} of {count} ledgers that audits had left out were read or are deleted, {marked} marked",
                judged=judged, count=len(ledger_ids), marked=marked,
            )  # fmt: skip

    def _count_failure(self) -> None:
        self.metrics.failed.value += 1

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the audit of ledgers that were left out has failed", failure)

    def _ended(self, _: None) -> None:
        self._running = None
        self._changed(False)
