"""The time limit for the ack quorum (``addEntryQuorumTimeoutSec``), with one timer for all batches of a writer."""

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ...limits.attended_time import AttendedTime

_CHECKS = 4
"""How often the timer checks a batch of unacknowledged adds before the time limit for their acknowledgements.

If a check comes late, this process did not run for some time, for example because it was suspended.  Such time does not
count, because the process could not receive answers.
"""

Item = TypeVar("Item")


class QuorumTimeout(Generic[Item]):
    """A time limit for waiting items (batches); one timer checks the oldest item.

    The clock must be monotonic.

    :param waits: tests whether an item still waits.
    :param expired: called when an item has waited for ``seconds``; time in which this process did not run does not
        count.
    """

    def __init__(
        self, clock: IReactorTime, seconds: float, waits: Callable[[Item], bool], expired: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._waits = waits
        self._expired = expired
        self._call: IDelayedCall | None = None
        self._time = AttendedTime(clock.seconds)
        self._begun: dict[Item, float] = {}

    def watch(self, item: Item) -> None:
        """Start the time limit of an ``item`` (a batch)."""
        self._begun = {each: time for each, time in self._begun.items() if self._waits(each)}
        self._begun[item] = self._time.seconds()
        if self._call is None:
            self._look_after(self._seconds / _CHECKS)

    def _look_after(self, delay: float) -> None:
        self._time.scheduled(delay)
        self._call = self._clock.callLater(delay, self._look)

    def _look(self) -> None:
        self._call = None
        self._time.arrived()
        began = next((time for item, time in self._begun.items() if self._waits(item)), None)
        if began is None:
            return
        left = began + self._seconds - self._time.seconds()
        if left <= 0:
            self._expired()
        else:
            self._look_after(min(left, self._seconds / _CHECKS))

    def stop(self) -> None:
        """Stop the timer, if it runs."""
        self._begun.clear()
        if self._call is not None:
            self._call.cancel()
            self._call = None
