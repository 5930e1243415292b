"""The detection of lost bookies: it watches which bookies are registered, and starts audits of lost bookies.

The delay between a loss and its audit is stored in the metadata store.  The detection watches this delay, too, because
administrators can change it.
Detection goes on while an audit or a periodic check runs, so a new loss is noticed immediately.  If a bookie is lost
during an audit, another audit follows.

An outage of the metadata store may end the sessions of all bookies, which are then unregistered although they run.  So
after each connection to the store, the detection gives missing bookies the time to register (``zkTimeout``) before it
takes them for lost.
"""

from collections.abc import Callable, Collection

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from ...metadata.interfaces import IAuditing, IRegistration, IStoreConnection
from ...metadata.registered import registered_bookies
from ..switch import Switch
from .auditor_metrics import AuditorMetrics
from .bookie_audit import BookieAudit
from .loss_log import LossLog
from .lost_bookies import Action, Detection, LostBookies
from .repeating import until_done

_MANY = 2
"""If this number of bookies is lost, and each of them is in an ensemble, the audit begins without a delay."""


class LostBookieDetector:
    """The part of an elected auditor that notices when bookies are lost, and starts audits of their ledgers.

    :param initial_delay: the delay in seconds between the loss of a bookie and the audit.  It is stored if the metadata
        store has no delay yet.
    :param connection: knows whether bookies may still have to register again after an outage of the metadata store;
        None for a store whose outages end no session.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, registration: IRegistration, auditing: IAuditing, switch: Switch, audit: BookieAudit,
        metrics: AuditorMetrics, initial_delay: int, connection: IStoreConnection | None = None,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._registration = registration
        self._auditing = auditing
        self._switch = switch
        self._audit = audit
        self._metrics = metrics
        self._initial_delay = initial_delay
        self._connection = connection
        self._bookies = LostBookies(set(), initial_delay)
        self._losses = LossLog(clock, audit)
        self._available: frozenset[str] | None = None
        self._is_delay_known = False
        self._ends: list[Callable[[], None]] = []
        self._timer: IDelayedCall | None = None
        self._considering: Deferred[None] | None = None
        self._back: set[str] = set()
        self._auditing_now: Deferred[None] | None = None
        self._audit_again = False
        self._waiting: dict[Deferred[None], Callable[[], bool]] = {}

    async def start(self) -> None:
        """Read the stored delay of audits; from now on, watch this delay and the registrations of bookies.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """
        delay = await self._auditing.lost_bookie_delay()
        if delay is None:
            delay = self._initial_delay
            await self._auditing.set_lost_bookie_delay(delay)
        self._bookies.delay = delay
        self._bookies.known.update(await self._registration.all_bookies())
        self._ends.append(self._auditing.watch_lost_bookie_delay(self._delay_is))
        self._ends.append(self._registration.watch_bookies(self._bookies_are))

    def stop(self) -> None:
        """End all work, including a running audit; no ledger is marked after this call."""
        while self._ends:
            self._ends.pop()()
        self._losses.stop()
        self._cancel_timer()
        for running in (self._considering, self._auditing_now):
            if running is not None:
                running.cancel()

    def is_expected(self, bookie_id: str) -> bool:
        """Test whether ``bookie_id`` is registered, or lost so recently that the auditor still waits for its return."""
        return bookie_id in self._bookies.known or bookie_id in self._bookies.pending

    @property
    def is_waiting(self) -> bool:
        """Test whether a bookie is lost and the delay before the audit of its ledgers is still running."""
        return self._bookies.state is Detection.WAITING

    def when_looked(self) -> "Deferred[None]":
        """Wait until the detector knows the registered bookies, and has decided which missing bookies are lost."""
        return self._wait(self._has_looked)

    def when_calm(self) -> "Deferred[None]":
        """Wait until the registered bookies are known, and neither the delay of a lost bookie nor an audit is running.
        """
        return self._wait(lambda: self._has_looked() and not self.is_waiting and self._auditing_now is None)

    def _has_looked(self) -> bool:
        return self._available is not None and self._considering is None

    def _wait(self, condition: Callable[[], bool]) -> "Deferred[None]":
        if condition():
            return succeed(None)
        waiter: Deferred[None] = Deferred(self._waiting.__delitem__)
        self._waiting[waiter] = condition
        return waiter

    # -- news --

    def _bookies_are(self, writable: frozenset[str], read_only: frozenset[str]) -> None:
        self._available = writable | read_only
        self._back |= self._available
        self._losses.bookies_are(self._missing(), self._available)
        if self._considering is None:
            self._considering = Deferred.fromCoroutine(self._consider())
            self._considering.addCallback(self._decide).addErrback(self._ended)

    def _delay_is(self, seconds: int | None) -> None:
        if seconds is None:
            return
        if self._is_delay_known:
            self._act(self._bookies.delay_is(seconds))
        else:
            # A later write of the delay may be an operator's request for an audit.  But this first call only reports
            # the delay that was stored before.
            self._is_delay_known = True
            self._bookies.delay = seconds

    async def _consider(self) -> None:
        """Find the lost bookies that are in no ensemble of any ledger; from now on, they do not count as lost.

        Before the search, missing bookies get the time to register again after an outage of the store.  The search
        waits until autorecovery is switched on.  It is repeated if further bookies are lost meanwhile, so that at least
        two lost bookies remain that may be in an ensemble.  A bookie that returns during the search is not in the
        result.
        """
        await self._switch.wait()
        await self._until_settled()
        unnamed: frozenset[str] = frozenset()
        while self._bookies.delay and len(lost := self._missing() - unnamed) >= _MANY:
            self._back.clear()
            try:
                named = await self._audit.named(lost, _MANY)
            except BookKeeperError as error:
                self._log.warn("what ledgers name {bookies} is not known: {error}", bookies=sorted(lost), error=error)
                break
            if len(named) >= _MANY:
                break
            unnamed = (unnamed | (lost - named)) - self._back
        await self._until_settled()  # an outage may have begun during the search
        if unnamed:
            self._log.info("lost bookies that no ledger names: {bookies}", bookies=sorted(unnamed))
            self._bookies.leave_out(unnamed)

    async def _until_settled(self) -> None:
        while await self._may_return(self._missing()):
            pass  # the watch of the registrations has reported meanwhile which bookies have returned

    async def _may_return(self, missing: Collection[str]) -> bool:
        """Wait while ``missing`` bookies may have to register again after an outage of the store.

        :returns: True if there was such a wait: the registered bookies may be others now, and there may have been
            another outage.
        """
        connection = self._connection
        left = 0.0 if connection is None or not missing else connection.unsettled()
        if connection is None or left <= 0:
            return False
        if not connection.outage():  # the driver itself logs an outage, once
            self._log.info(
                "{n} bookies are not registered, such as {example}: they have {left:.0f} s to register, because the "
                "connection to the metadata store is new",
                n=len(missing), example=min(missing), left=left,
            )  # fmt: skip
        await deferLater(self._clock, left)
        return True

    def _missing(self) -> frozenset[str]:
        return self._bookies.missing(self._available or frozenset())

    def _decide(self, _: None) -> None:
        self._considering = None
        lost = self._missing()
        action = self._bookies.bookies_are(self._available or frozenset())
        self._losses.lost(lost, 0 if action is Action.AUDIT else self._bookies.delay)
        self._act(action)

    def _act(self, action: Action) -> None:
        if action is Action.SCHEDULE:
            if self._timer is None:
                self._metrics.delayed.value += 1
            self._cancel_timer()
            self._timer = self._clock.callLater(self._bookies.delay, self._delay_is_over)
            for bookie_id in self._bookies.pending:
                # At most one bookie is pending: the loss of two bookies starts an audit without a delay.
                self._losses.wait(bookie_id, self._clock.seconds() + self._bookies.delay)
        elif action is Action.CANCEL:
            self._losses.stop()
            self._cancel_timer()
            self._metrics.cancelled.value += 1
        elif action is Action.AUDIT:
            self._losses.stop()
            self._cancel_timer()
            self._start_audit()
        self._fire_waiting()

    def _fire_waiting(self) -> None:
        for waiter in [waiter for waiter, condition in self._waiting.items() if condition()]:
            del self._waiting[waiter]
            waiter.callback(None)

    def _delay_is_over(self) -> None:
        self._timer = None
        self._act(self._bookies.expired())

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    # -- audits --

    def _start_audit(self) -> None:
        if self._auditing_now is not None:
            self._audit_again = True
            return
        self._auditing_now = Deferred.fromCoroutine(self._audit_all())
        self._auditing_now.addErrback(self._ended).addCallback(self._audited)

    async def _audit_all(self) -> None:
        self._audit_again = True
        while self._audit_again:
            self._audit_again = False
            await until_done(self._clock, "audit of lost bookies", self._audit_once, self._count_failure)

    def _audited(self, _: None) -> None:
        self._auditing_now = None
        self._fire_waiting()

    async def _audit_once(self) -> None:
        await self._switch.wait()
        registered = await registered_bookies(self._registration)
        # An outage may have begun after the loss of the bookie for which this audit was started.
        while await self._may_return(self._bookies.missing(registered)):
            registered = await registered_bookies(self._registration)
        self._bookies.look_into(registered)
        self._cancel_timer()
        await self._audit.run(registered, self.is_expected)

    def _count_failure(self) -> None:
        self._metrics.failed.value += 1

    def _ended(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("detection of lost bookies failed", failure)
