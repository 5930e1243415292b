"""The registration of a bookie as writable or read-only."""

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import MetadataError, MetadataUnavailableError
from ...metadata.interfaces import IRegistration
from ...model import BookieServiceInfo
from ...shared_result import ended_within, result_of
from ..bookie import WriteMode

RETRY_SECONDS = 5.0
FIRST_WAIT = 1.0
"""Seconds for which a stop waits for the withdrawal of the registration before it closes the port."""

WITHDRAWAL_SECONDS = 5.0
"""Seconds after which a stop gives up the withdrawal of the registration."""

_LOG_INTERVAL = 60.0
"""Seconds after which a repeated failure is logged again."""


class BookieRegistration:
    """The registration of a bookie in the metadata store, as writable or read-only.

    The write mode changes first, then the registration, one change at a time.  So a bookie refuses adds before it is
    registered as read-only, and accepts adds before it is registered as writable.

    :ivar mode: the write mode, by which the bookie accepts or refuses adds.
    :ivar on_change: called when the reasons to be read-only have changed.
    :ivar registered: whether the bookie is registered in the metadata store.
    """

    _log = Logger()

    def __init__(self, mode: WriteMode, registration: IRegistration, bookie_id: str, clock: IReactorTime) -> None:
        self.registered = False
        self.on_change: Callable[[], None] | None = None
        self.mode = mode
        self._registration = registration
        self._bookie_id = bookie_id
        self._info = BookieServiceInfo(())
        self._clock = clock
        self._reasons: dict[str, float] = {}
        self._began_before: set[str] = set()
        self._has_registered = False
        self._registered_as: bool | None = None
        self._telling: Deferred[None] | None = None
        self._first: Deferred[None] | None = None
        self._following: Deferred[None] | None = None
        self._withdrawing: Deferred[None] | None = None
        self._withdrawn_at = 0.0
        self._retry: IDelayedCall | None = None
        self._withdrawn = False
        self._logged_at: float | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons why the bookie is read-only; empty if it is writable."""
        return tuple(self._reasons)

    @property
    def since(self) -> tuple[float, ...]:
        """Return, for each of the :attr:`reasons`, the time since which it applies, in seconds since the epoch."""
        return tuple(self._reasons.values())

    @property
    def began_before(self) -> frozenset[str]:
        """Return those of the :attr:`reasons` that may have applied before the bookie started: :attr:`since` is the
        time at which this process noticed them.
        """
        return frozenset(self._began_before)

    def set_read_only(self, reason: str, holds: bool, since: float | None = None, kind: str = "") -> None:
        """Add or remove a reason to be read-only; without any reason, the bookie is writable.

        :param reason: a text for administrators, which also identifies the reason.
        :param holds: True to add the reason, False to remove it.
        :param since: when a new reason began, in seconds since the epoch; None if it begins now, or, before the first
            registration, if nobody knows when it began.
        :param kind: reasons that begin with this text are one whose text changes: a new one began when the earlier one
            did.
        """
        before, was_read_only = self.reasons, self.mode.read_only
        if holds:
            earlier = [each for each in before if kind and each.startswith(kind) and reason.startswith(kind)]
            if earlier and since is None:
                since = self._reasons[earlier[0]]
                if earlier[0] in self._began_before:
                    self._began_before.add(reason)
            if reason not in self._reasons and since is None and not self._has_registered:
                self._began_before.add(reason)
            self._reasons.setdefault(reason, self._clock.seconds() if since is None else since)
        else:
            self._reasons.pop(reason, None)
            self._began_before.discard(reason)
        if self.reasons == before:
            return
        read_only = self.mode.read_only = bool(self._reasons)
        self._log_change(reason, was_read_only)
        if self.on_change is not None:
            self.on_change()
        if self.registered and read_only is not was_read_only:
            self._tell_soon()

    def _log_change(self, reason: str, was_read_only: bool) -> None:
        """Log that a ``reason`` to be read-only was added or removed, even if the mode stays the same."""
        others = [each for each in self._reasons if each != reason]
        if not was_read_only:
            self._log.warn("the bookie is read-only now: {reason}", reason=reason, is_change=True)
        elif not self._reasons:
            text = "the bookie is writable again; it was read-only because {reason}"
            self._log.info(text, reason=reason, is_change=True)
        else:
            holds = "is one more reason" if reason in self._reasons else "is no reason any more"
            self._log.info(
                "the bookie stays read-only: {others}; {reason} {holds}", others=", ".join(others), reason=reason,
                holds=holds,
            )  # fmt: skip

    def set_high_priority(self, accepted: bool, reason: str) -> None:
        """Set whether the bookie accepts adds of high priority, such as those of a recovery, while it is read-only.

        :param accepted: whether the bookie accepts adds of high priority.
        :param reason: why the bookie refuses them, for the log; not used if ``accepted`` is True.
        """
        if accepted is self.mode.high_priority:
            return
        self.mode.high_priority = accepted
        if accepted:
            self._log.info("recovery adds are accepted again, also while the bookie is read-only")
        else:
            self._log.warn("recovery adds are refused while the bookie is read-only: {reason}", reason=reason)

    async def register(self, info: BookieServiceInfo) -> None:
        """Register the bookie for the first time.

        :param info: the information to publish, now and with every later change between writable and read-only.
        :raises BookieRegisteredError: another bookie is registered under the id.
        :raises CancelledError: :meth:`abandon` was called.
        """
        self._info = info
        self._first = Deferred.fromCoroutine(self._tell())
        await self._first
        self.registered = self._has_registered = True
        if self._registered_as is not self.mode.read_only:
            self._tell_soon()

    def abandon(self) -> None:
        """Cancel the first registration if it is in progress: it may wait long until the former one has ended."""
        if self._first is not None:
            self._first.cancel()

    async def withdraw(self) -> None:
        """Begin to withdraw the registration, and wait for the metadata store, but for :data:`FIRST_WAIT` at most.

        A stop calls this before it closes the port, because clients should find no bookie registered that refuses
        their connections.  If the store does not answer, this reason is gone: clients could not learn of the stop for
        as long as the outage lasts, and the bookie would accept entries meanwhile.  So the stop goes on while the
        withdrawal does, and calls :meth:`end_withdrawal` behind its checkpoint.
        """
        self._withdrawn, self._withdrawn_at = True, self._clock.seconds()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._withdrawing = Deferred.fromCoroutine(self._withdraw())
        if not await ended_within(self._withdrawing, self._clock, FIRST_WAIT):
            self._log.warn(
                "the metadata store has not withdrawn the registration of the bookie within {seconds:g} s: the bookie "
                "stops nevertheless, and clients may try to connect to it", seconds=FIRST_WAIT,
            )  # fmt: skip

    async def end_withdrawal(self) -> None:
        """Wait for the withdrawal that :meth:`withdraw` has begun, until :data:`WITHDRAWAL_SECONDS` after its begin.

        Then cancel it, together with a change of mode in progress.

        :raises MetadataError: the store failed, or has not answered in time.  It removes the registration when the
            session of this process ends.
        """
        withdrawing = self._withdrawing
        if withdrawing is None:
            return
        left = self._withdrawn_at + WITHDRAWAL_SECONDS - self._clock.seconds()
        if not await ended_within(withdrawing, self._clock, max(0.0, left)):
            withdrawing.addErrback(_ignore_cancellation).cancel()
            if self._following is not None:
                self._following.cancel()
            raise MetadataUnavailableError(
                f"the metadata store has not answered within {WITHDRAWAL_SECONDS:g} s; it removes the registration by "
                "itself when the session of this process ends"
            )
        await result_of(withdrawing)

    async def _withdraw(self) -> None:
        if self._telling is not None:
            waiter: Deferred[None] = Deferred()
            self._telling.chainDeferred(waiter)
            await waiter
        if self.registered:
            self.registered = False
            await self._registration.unregister_bookie(self._bookie_id)

    async def _tell(self) -> None:
        read_only = self.mode.read_only
        await self._registration.register_bookie(self._bookie_id, read_only, self._info)
        if self._logged_at is not None:
            mode = "read-only" if read_only else "writable"
            self._log.info("the metadata store has the change of mode now: {mode}", mode=mode)
        self._registered_as, self._logged_at = read_only, None

    def _tell_soon(self) -> None:
        if self._telling is None and self._retry is None and not self._withdrawn:
            self._telling = Deferred()
            self._following = Deferred.fromCoroutine(self._follow()).addErrback(_ignore_cancellation)

    async def _follow(self) -> None:
        """Change the registration until it agrees with the bookie's write mode; if the store fails, retry later."""
        try:
            while self._registered_as is not self.mode.read_only and not self._withdrawn:
                await self._tell()
        except MetadataError as error:
            now = self._clock.seconds()
            if self._logged_at is None or now - self._logged_at >= _LOG_INTERVAL:
                self._logged_at = now
                text = "the metadata store did not take the change of mode; trying again: {error}"
                self._log.error(text, error=error)
            if not self._withdrawn:
                self._retry = self._clock.callLater(RETRY_SECONDS, self._try_again)
        finally:
            telling, self._telling = self._telling, None
            if telling is not None:
                telling.callback(None)

    def _try_again(self) -> None:
        self._retry = None
        self._tell_soon()


def _ignore_cancellation(failure: Failure) -> None:
    failure.trap(CancelledError)
