"""The threads of bookies on virtual time: each piece of work takes a drawn time, and only then is its result seen.

As with threads, the work of one thread happens in order, ``"read"`` has two threads, and whatever they
hand to the reactor arrives in the order in which they handed it over.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_twisted.bookie.executor import Unfinished, Work, refused
from bookkeeper_twisted.bookie.interfaces import IStorageExecutor
from bookkeeper_twisted.crc32c import Buffer
from bookkeeper_twisted.storage.interfaces import IFile
from bookkeeper_twisted.testing.streams import Random

from .clock import Life, SimClock

T = TypeVar("T")

_USUAL = 0.001
_WAKE = 0.0002


class DiskSpeed:
    """How long work takes; shared by all lives of a node.

    :ivar scale: factor of all times.
    :ivar stalled_until: nothing begins before this time.
    """

    def __init__(self) -> None:
        self.scale = 1.0
        self.stalled_until = 0.0


@implementer(IStorageExecutor)
class SimExecutor:
    """The threads of one life of a bookie."""

    def __init__(self, sim: SimClock, life: Life, chance: Random, speed: DiskSpeed) -> None:
        self._sim = sim
        self._life = life
        self._chance = chance
        self._speed = speed
        self._threads: dict[str, deque[Work]] = {}
        self._busy: dict[str, int] = {}
        self._deliveries: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._unfinished = Unfinished()
        self._stopped: Deferred[None] | None = None

    def submit(self, thread: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        if self._stopped is not None:
            return refused()
        item, result = Work.with_result(work, args)
        self._add(thread, item)
        return result

    def _add(self, thread: str, item: Work) -> None:
        self._unfinished.add(item)
        self._threads.setdefault(thread, deque()).append(item)
        self._begin(thread)

    def _begin(self, thread: str) -> None:
        busy = self._busy.get(thread, 0)
        if busy < (2 if thread == "read" else 1) and self._threads[thread] and self._life.alive:
            self._busy[thread] = busy + 1
            self._sim.call_at(self._life, self._when(), self._run, thread, self._threads[thread].popleft())

    def _when(self) -> float:
        begin = max(self._sim.seconds(), self._speed.stalled_until)
        return begin + self._chance.expovariate(1 / _USUAL) * self._speed.scale

    def _run(self, thread: str, item: Work) -> None:
        self._busy[thread] -= 1
        if item.cancelled:
            self._unfinished.ended(item)
        else:
            self.notify(self._unfinished.ended, item, item.run())
        self._begin(thread)
        self._check_end()

    def write(
        self, thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Callable[[Failure | None], object]
    ) -> bool:
        if self._stopped is not None:
            return False
        self._add(thread, Work(file.pwritev, (parts, offset, True), done))
        return True

    def notify(self, function: Callable[..., None], *args: Any) -> None:
        self._deliveries.append((function, args))
        if self._life.alive:
            wake = self._sim.seconds() + self._chance.random() * _WAKE
            self._sim.call_at(self._life, wake, self._deliver)

    def _deliver(self) -> None:
        for _ in range(len(self._deliveries)):
            if not self._life.alive:
                return
            function, args = self._deliveries.popleft()
            function(*args)
        self._check_end()

    def join(self) -> "Deferred[None]":
        return self._unfinished.join()

    def stop(self) -> "Deferred[None]":
        if self._stopped is None:
            self._stopped = Deferred()
            self._check_end()
        if self._stopped.called:
            return succeed(None)
        waiter: Deferred[None] = Deferred()
        self._stopped.chainDeferred(waiter)
        return waiter

    def _check_end(self) -> None:
        ended = self._stopped is not None and not self._stopped.called
        if ended and not self._deliveries and not any(self._threads.values()) and not any(self._busy.values()):
            assert self._stopped is not None
            self._stopped.callback(None)
