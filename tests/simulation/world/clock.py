"""Virtual time: one heap of calls, which jumps from event to event.

Equal times are ordered by a seeded draw, because no code may count on their order.  Every call belongs to
a :class:`Life`, one incarnation of a node: the calls of a dead life never happen, those of a paused
one happen when it goes on, in their order.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from heapq import heappop, heappush
from struct import Struct
from typing import Any, Protocol

from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

START = 1_000_000.0
"""Seconds on the clock when a simulation begins."""

_EVENT = Struct("<dQ")
_TIE_BITS = 24
_APART = 1e-9
"""Seconds between events that keep their order."""


class Generator(Protocol):
    """The part of ``random.Random`` a clock draws from."""

    def getrandbits(self, k: int, /) -> int:
        """``k`` random bits."""


class Life:
    """One incarnation of a node, from its start to its end.

    :ivar name: of the node.
    """

    __slots__ = ("name", "alive", "_paused", "_held", "_sim")

    def __init__(self, sim: "SimClock", name: str) -> None:
        self.name = name
        self.alive = True
        self._paused = False
        self._held: list[SimCall] = []
        self._sim = sim

    def end(self) -> None:
        """Nothing of it happens any more."""
        self.alive = False
        self._held.clear()

    @property
    def paused(self) -> bool:
        """Whether what should happen waits."""
        return self._paused

    def pause(self) -> None:
        """Holds every call that becomes due."""
        self._paused = True

    def resume(self) -> None:
        """What was held happens now in the order in which it became due, timers before everything else: a reactor
        makes the calls that are late before it reads its sockets."""
        self._paused = False
        held, self._held = self._held, []
        now = self._sim.seconds()
        for number, call in enumerate(held):
            if not call.is_timer:
                call.move(now + number * _APART)
            self._sim.push(call)

    def admits(self, call: "SimCall") -> bool:
        """Whether a call that is due happens now."""
        if self._paused and self.alive:
            self._held.append(call)
            return False
        return self.alive


@implementer(IDelayedCall)
class SimCall:
    """A call in the future.

    :ivar is_timer: whether it is a scheduled call of a node; else it is an event, as bytes that arrive.
    """

    __slots__ = ("life", "is_timer", "_sim", "_time", "function", "args", "kwargs", "called", "cancelled")

    def __init__(
        self, sim: "SimClock", life: Life, time: float, function: Callable[..., Any], args: Sequence[Any], kwargs: Any,
        is_timer: bool = False,
    ) -> None:  # fmt: skip
        self.is_timer = is_timer
        self.life = life
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.called = False
        self.cancelled = False
        self._sim = sim
        self._time = time

    def getTime(self) -> float:
        return self._time

    def active(self) -> bool:
        return not (self.called or self.cancelled)

    def move(self, time: float) -> None:
        """Makes it due at another time; it is in no heap."""
        self._time = time

    def cancel(self) -> None:
        self._check()
        self.cancelled = True

    def delay(self, secondsLater: float) -> None:
        self._check()
        self._time += secondsLater
        self._sim.push(self)

    def reset(self, secondsFromNow: float) -> None:
        self._check()
        self._time = self._sim.seconds() + secondsFromNow
        self._sim.push(self)

    def _check(self) -> None:
        if self.cancelled:
            raise AlreadyCancelled
        if self.called:
            raise AlreadyCalled


class SimClock:
    """The time of a whole simulation.

    :param chance: orders calls of one time.
    :ivar events: calls that happened.
    """

    _log = Logger()

    def __init__(self, chance: Generator, start: float = START) -> None:
        self.events = 0
        self._chance = chance
        self._now = start
        self._heap: list[tuple[float, int, int, SimCall]] = []
        self._pushed = 0
        self._trace = blake2b(digest_size=8)

    def seconds(self) -> float:
        """The time now."""
        return self._now

    def call_at(self, life: Life, time: float, function: Callable[..., Any], *args: Any) -> SimCall:
        """Calls a function when the time has come."""
        call = SimCall(self, life, time, function, args, None)
        self.push(call)
        return call

    def push(self, call: SimCall) -> None:
        """Takes a call into the heap, once more where its time has changed."""
        self._pushed += 1
        heappush(self._heap, (call.getTime(), self._chance.getrandbits(_TIE_BITS), self._pushed, call))

    def run_until(self, end: float, max_events: int = 1 << 62) -> bool:
        """Lets time pass.

        :returns: False if it stopped before ``end`` because there were ``max_events``.
        """
        heap = self._heap
        last = self.events + max_events
        while heap and heap[0][0] <= end:
            if self.events >= last:
                return False
            time, _, number, call = heappop(heap)
            if call.cancelled or call.called or time != call.getTime():
                continue
            if time > self._now:
                self._now = time
            if call.life.admits(call):
                self.events += 1
                self._trace.update(_EVENT.pack(self._now, number))
                self._happen(call)
        self._now = max(self._now, end)
        return True

    def _happen(self, call: SimCall) -> None:
        call.called = True
        try:
            call.function(*call.args, **(call.kwargs or {}))
        except Exception:
            self._log.failure("a call on {node} failed", node=call.life.name)

    # -- the trace --

    def note(self, data: bytes) -> None:
        """Makes something part of the trace, beside the times and numbers of the events."""
        self._trace.update(data)

    def trace(self) -> str:
        """A hash over everything that happened, in its order."""
        return self._trace.hexdigest()


@implementer(IReactorTime)
class NodeClock:
    """The clock of one life of a node."""

    def __init__(self, sim: SimClock, life: Life) -> None:
        self._sim = sim
        self._life = life

    def seconds(self) -> float:
        return self._sim.seconds()

    def callLater(self, delay: float, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> IDelayedCall:
        call = SimCall(self._sim, self._life, self._sim.seconds() + delay, callable, args, kwargs, True)
        if self._life.alive:  # the garbage of a dead life must leave no trace
            self._sim.push(call)
        return call

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        return [entry[3] for entry in self._sim._heap if entry[3].life is self._life and entry[3].active()]
