"""Blocks of appends that wait a little for more, in fewer and larger writes."""

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime

from .append_tracker import AppendTracker
from .block_writer import BlockWriter
from .traffic import Traffic
from .write_queue import MAX_BLOCK

_AT_ONCE = float("-inf")
_RESOLUTION = 1e-6
"""Seconds; the time of a scheduled call is rounded."""


class LingeringWriter(BlockWriter):
    """A block leaves at the end of the turn in which it has as many appends as are to be expected, or 256 KiB, or
    anything that is not an append; otherwise when its oldest append has waited long enough.

    There is one scheduled call at a time, for the end of the turn or for a later time.  A block that leaves before
    the later time does not cancel it.  What is tracked is taken in when the call comes, not with each append.
    """

    def __init__(self, clock: IReactorTime, traffic: Traffic, wrote: Callable[[int, int], None], linger: float) -> None:
        """:param linger: seconds that an append may wait."""
        super().__init__(clock, traffic, wrote)
        self._linger = linger
        self._tracker = AppendTracker(linger, clock.seconds())
        self._count = self._size = 0  # of the appends that the tracker has not been told yet
        self._expected = 0
        self._leaves_at = _AT_ONCE  # at the latest, what is queued
        self._scheduled_later = False

    def stop(self) -> None:
        super().stop()
        self._scheduled_later = False

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        super().put(flow_id, frames, events)
        self._leaves_at = _AT_ONCE
        self._hasten()

    def append(self, flow_id: int, frames: bytes, events: int) -> None:
        queue = self._queue
        if not queue:
            self._leaves_at = self._clock.seconds() + self._linger
            self._hasten()
        self._count += events
        self._size += len(frames)
        super().append(flow_id, frames, events)
        if self._scheduled_later and (queue.events >= self._expected or queue.size >= MAX_BLOCK):
            self._hasten()

    def answered(self) -> None:
        if self._scheduled_later and self._traffic.unacknowledged <= self._queue.size:  # nothing is on its way
            self._hasten()

    def _hasten(self) -> None:
        """The scheduled call comes at the end of this turn."""
        if self._scheduled_later:
            self._scheduled_later = False
            self._flush_call.reset(0)

    def _flush(self) -> None:
        now, queue, unacknowledged = self._clock.seconds(), self._queue, self._traffic.unacknowledged
        if self._count:
            self._tracker.record(now, self._count, self._size, unacknowledged)
            self._count = self._size = 0
        self._expected = self._tracker.block(queue.events, unacknowledged - queue.size)
        left = self._leaves_at - now
        if left > _RESOLUTION and queue.events < self._expected and queue.size < MAX_BLOCK:
            self._scheduled_later = True
            self._flush_call = self._clock.callLater(left, self._flush)
        else:
            self._scheduled_later = False
            super()._flush()


def writer_of(clock: IReactorTime, traffic: Traffic, wrote: Callable[[int, int], None], linger: float) -> BlockWriter:
    """The writer of a connection whose appends may wait so many seconds, 0 for not at all."""
    return LingeringWriter(clock, traffic, wrote, linger) if linger else BlockWriter(clock, traffic, wrote)
