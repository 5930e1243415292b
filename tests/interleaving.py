"""Threads that run one at a time and change places where a test says: every order of a few pre-emptions.

Theory of operation.  Each worker is a real thread with a trace function.  Where a line of a watched module begins,
a *step* is counted if another thread could go on; at the steps of the schedule the thread hands over to that one,
and waits for its turn.  Locks and signals of :class:`Turns` hand over instead of blocking.  A run is thus a function
of its schedule, and :func:`explore` tries all schedules of up to two hand-overs: one of them loses the wake-up that
a wrong order of two lines can lose.  Where all threads wait, each of them raises :class:`Deadlock`.

What CPython does not split (see :mod:`bookkeeper_twisted.client.claims.producer`) has to be in one line to stay whole.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

MAX_STEPS = 20_000
"""A run with more has a loop that does not end."""

_PATIENCE = 30.0
"""Seconds after which a thread that never hands over is given up."""


class Deadlock(AssertionError):
    """All threads wait."""


class _Worker:
    """A thread.

    :ivar baton: released when its turn comes.
    :ivar waits: whether it cannot go on yet.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.baton = threading.Semaphore(0)
        self.waits: Callable[[], bool] = lambda: False
        self.ended = False


class Turns:
    """One run of threads under a schedule.

    :ivar steps: how many have been counted.
    """

    def __init__(self, *watched: ModuleType, schedule: tuple[int, ...] = (), first: int = 0) -> None:
        """
        :param watched: modules whose lines are steps.
        :param schedule: the steps at which another thread goes on.
        :param first: index of the thread that begins.
        """
        self.steps = 0
        self._files = {module.__file__ for module in watched}
        self._schedule = frozenset(schedule)
        self._current = first
        self._workers: list[_Worker] = []
        self._dead = False
        self._errors: list[BaseException] = []

    def run(self, *work: Callable[[], object]) -> int:
        """Runs functions, each in a thread, to their ends.

        :returns: the number of steps.
        :raises Deadlock: all that had not ended waited.
        """
        self._workers = [_Worker(each) for each in work]
        threads = [threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in self._workers]
        for thread in threads:
            thread.start()
        self._workers[self._current].baton.release()
        for thread in threads:
            thread.join(_PATIENCE)
            assert not thread.is_alive(), "a thread does not hand over"
        self._workers = []
        for error in self._errors:
            raise error
        return self.steps

    def wait(self, waits: Callable[[], bool]) -> None:
        """Has other threads go on as long as a condition holds.

        :raises Deadlock: it will hold for ever.
        """
        if not self._workers:  # nothing runs yet, or nothing any more
            assert not waits(), "nothing will change that"
            return
        if self._dead:
            raise Deadlock
        worker = self._workers[self._current]
        worker.waits = waits
        while waits():
            if (other := self._next()) is None:
                self._give_up()
                raise Deadlock
            self._hand_over(other)
        worker.waits = lambda: False

    def lock(self) -> "TurnLock":
        """See :attr:`bookkeeper_twisted.client.claims.threads.Threads.lock`."""
        return TurnLock(self)

    def signal(self) -> "TurnSignal":
        """See :attr:`bookkeeper_twisted.client.claims.threads.Threads.signal`."""
        return TurnSignal(self)

    def _run(self, worker: _Worker) -> None:
        worker.baton.acquire()
        sys.settrace(self._trace)
        try:
            worker.work()
        except BaseException as error:
            self._errors.append(error)
        finally:
            sys.settrace(None)
            worker.ended = True
            if (other := self._next()) is not None:
                self._hand_over(other)
            elif not self._dead:
                self._give_up()

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        if event == "line" and not self._dead and (other := self._next()) is not None:
            self.steps += 1
            assert self.steps < MAX_STEPS, "a loop does not end"
            if self.steps in self._schedule:
                self._hand_over(other)
        return self._trace

    def _next(self) -> int | None:
        """The next thread that can go on instead of this one."""
        count = len(self._workers)
        for index in [(self._current + distance) % count for distance in range(1, count)]:
            worker = self._workers[index]
            if not worker.ended and not worker.waits():
                return index
        return None

    def _hand_over(self, index: int) -> None:
        """Lets another thread go on, and waits for the turn to come back."""
        here = self._workers[self._current]
        self._current = index
        self._workers[index].baton.release()
        if not here.ended:
            here.baton.acquire()
            if self._dead:
                raise Deadlock

    def _give_up(self) -> None:
        """Ends the threads that wait for what will not come."""
        self._dead = True
        for worker in self._workers:
            worker.baton.release()


class TurnLock:
    """A lock whose waiters hand over."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._held = False

    def __enter__(self) -> None:
        self._turns.wait(lambda: self._held)
        self._held = True

    def __exit__(self, *exception: object) -> None:
        self._held = False


class TurnSignal:
    """An event whose waiters hand over."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_set = False

    def set(self) -> None:
        """Lets the thread go on that waits."""
        self._is_set = True

    def wait(self, timeout: float | None = None) -> bool:
        """Waits without a limit."""
        self._turns.wait(lambda: not self._is_set)
        return True


def explore(run: Callable[[tuple[int, ...], int], int], threads: int = 2) -> int:
    """Runs every schedule of up to two hand-overs, with each of the threads in front.

    :param run: makes everything anew, runs it under a schedule with a first thread, and gives the number of steps.
    :returns: how many schedules there were.
    :raises AssertionError: what a run raised, and under which schedule.
    """
    tried = 0

    def steps(first: int, *schedule: int) -> int:
        nonlocal tried
        tried += 1
        try:
            return run(schedule, first)
        except BaseException as error:
            raise AssertionError(f"thread {first} first, hand-overs at steps {schedule}: {error!r}") from error

    for first in range(threads):
        for one in range(1, steps(first) + 1):
            for two in range(one + 1, steps(first, one) + 1):
                steps(first, one, two)
    return tried
