"""The worker's log lines about ledgers that it could not repair: a few for each cause, however many the ledgers are."""

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from .lock_reasons import kind_of

INTERVAL = 60.0
"""Seconds from the first failed repair to the lines that say for how many more ledgers the same was found."""

MAX_CAUSES = 16
"""Maximum number of different causes that are logged in an interval; further causes count as one."""

_OTHERS = ""


@attrs.define(eq=False)
class _Failures:
    """The failed repairs of one cause in the present interval.

    :ivar first: id of the ledger that was logged.
    :ivar more: ids of the other ledgers.
    :ivar example: the last of them, and why it was not repaired.
    """

    first: int
    more: set[int] = attrs.field(factory=set)
    example: tuple[int, str] = (-1, "")


class FailureLog:
    """The log of failed repairs of one worker.

    The first failure of a cause is logged at once.  The other ledgers that fail for the same cause within
    :data:`INTERVAL` are counted, and one line at its end says how many they are and names one.  The cause is the reason
    without what differs from ledger to ledger, so the loss of the same bookies is the same cause.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._causes: dict[str, _Failures] = {}
        self._began = 0.0
        self._timer: IDelayedCall | None = None

    def failed(self, ledger_id: int, pause: float, reason: str) -> None:
        """Log that a ledger was not repaired, or count it if this cause was logged in the present interval.

        :param pause: seconds until the next attempt.
        :param reason: why the ledger was not repaired.
        """
        cause = kind_of(reason)
        if cause not in self._causes and len(self._causes) >= MAX_CAUSES:
            cause = _OTHERS
        failures = self._causes.get(cause)
        if failures is not None:
            if ledger_id != failures.first:
                failures.more.add(ledger_id)
                failures.example = ledger_id, reason
            return
        self._causes[cause] = _Failures(ledger_id)
        if self._timer is None:
            self._began = self._clock.seconds()
            self._timer = self._clock.callLater(INTERVAL, self.flush)
        self._log.warn(
            "ledger {ledger_id} is not repaired, again in {pause:.0f} s: {reason}",
            ledger_id=ledger_id, pause=pause, reason=reason,
        )  # fmt: skip

    def flush(self) -> None:
        """Log how many more ledgers failed for each cause, and end the interval; also call this at the end of the work.
        """
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
        causes, self._causes = self._causes, {}
        for cause, failures in causes.items():
            if failures.more:
                ledger_id, reason = failures.example
                self._log.warn(
                    "{n} more ledgers were not repaired at an attempt in the last {seconds:.0f} s, {why}, such as "
                    "ledger {ledger_id}: {reason}",
                    n=len(failures.more), seconds=self._clock.seconds() - self._began, ledger_id=ledger_id,
                    why="for further reasons" if cause == _OTHERS else "for the same reason", reason=reason,
                )  # fmt: skip
