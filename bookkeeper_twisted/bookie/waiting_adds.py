"""A queue of adds that wait for room in the write cache or the journal's queue, with limits on bytes and time."""

import math
from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..entries.interfaces import Entries
from ..errors import BookKeeperError, TooManyRequestsError
from ..metrics import BookieMetrics
from .interfaces import AddDone

AddArguments = tuple[Entries, bytes, bool, bool, bool, AddDone]


class WaitingAdds:
    """A queue of adds that wait for room in the write cache or the journal's queue, in the order of arrival.

    :param admit: called with the arguments of an add when there is room for it; it stores the entries of the add.
    :param max_wait: seconds after which a waiting add fails with TooManyRequestsError.
    :param max_bytes: maximum number of bytes of entries in the queue; further adds are refused immediately.
    :ivar ended_at: the last time at which an add stopped waiting, in seconds of the reactor's clock.
    """

    def __init__(
        self, clock: IReactorTime, admit: Callable[..., None], flush: Callable[[], None], metrics: BookieMetrics,
        max_wait: float, max_bytes: int,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._admit = admit
        self._flush = flush
        self._metrics = metrics
        self._max_wait = max_wait
        self._max_bytes = max_bytes
        self.ended_at = -math.inf
        self._bytes = 0
        self._adds: deque[tuple[float, AddArguments]] = deque()
        self._timer: IDelayedCall | None = None

    def __bool__(self) -> bool:
        return bool(self._adds)

    @property
    def seconds(self) -> float:
        """Return for how long the oldest add has waited; 0 if none waits."""
        return self._clock.seconds() - self._adds[0][0] if self._adds else 0.0

    def put(self, add: AddArguments) -> None:
        """Queue an add, or refuse it with TooManyRequestsError if the queue is full.

        :param add: the arguments of :meth:`~.interfaces.IBookie.add`, in their order.
        """
        entries, done = add[0], add[-1]
        if self._bytes + entries.size > self._max_bytes and self._adds:
            self._refuse(entries, done)
            return
        self._bytes += entries.size
        self._adds.append((self._clock.seconds(), add))
        if self._timer is None:
            self._timer = self._clock.callLater(self._max_wait, self._expire)

    def resume(self, has_room: Callable[[Entries], bool]) -> None:
        """Admit the waiting adds, oldest first, until there is no room for one of them.

        :param has_room: tests whether there is room for the entries of an add.
        """
        while self._adds and has_room(self._adds[0][1][0]):
            since, add = self._pop()
            self._metrics.throttled_write.success.record((self._clock.seconds() - since) * 1000, add[0].count)
            self._admit(*add)
        if not self._adds:
            self._stop_timer()

    def fail_all(self, error: BookKeeperError) -> None:
        """Fail all waiting adds with ``error``."""
        self._stop_timer()
        while self._adds:
            _, add = self._pop()
            add[-1](add[0], error)
        self._flush()

    def _pop(self) -> tuple[float, AddArguments]:
        item, self.ended_at = self._adds.popleft(), self._clock.seconds()
        self._bytes -= item[1][0].size
        return item

    def _refuse(self, entries: Entries, done: AddDone) -> None:
        self._metrics.rejected_write_requests.value += entries.count
        done(entries, TooManyRequestsError(detail="the write cache is full"))

    def _expire(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        while self._adds and now - self._adds[0][0] >= self._max_wait:
            since, add = self._pop()
            self._metrics.throttled_write.failure.record((now - since) * 1000, add[0].count)
            self._refuse(add[0], add[-1])
        if self._adds:
            self._timer = self._clock.callLater(self._adds[0][0] + self._max_wait - now, self._expire)
        self._flush()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
