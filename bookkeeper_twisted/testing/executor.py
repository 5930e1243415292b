"""An executor of storage work without threads: a test says when each piece of work runs."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from ..bookie.executor import Unfinished, Work, refused
from ..bookie.interfaces import IStorageExecutor
from ..crc32c import Buffer
from ..storage.interfaces import IFile

T = TypeVar("T")

MOST_STEPS = 100_000
"""Maximum number of steps of :meth:`StepExecutor.drain`, because work may submit new work endlessly."""


@implementer(IStorageExecutor)
class StepExecutor:
    """An executor that runs one piece of submitted work when the test calls :meth:`step` or :meth:`run_one`.

    The result and the notifications of a piece of work wait in :attr:`deliveries` until :meth:`deliver` is called, as
    in the queue of a reactor.

    :param clock: the clock that the tested code uses as its reactor, if this code delays work with ``callLater(0)``.
        Before the executor runs or lists work, it makes the delayed calls that are due (:meth:`end_turn`).  None if the
        tested code delays nothing.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self.queued: deque[tuple[str, Work]] = deque()
        self.deliveries: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._unfinished = Unfinished()
        self._stopped = False

    def submit(self, thread: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        if self._stopped:
            return refused()
        item, result = Work.with_result(work, args)
        self._add(thread, item)
        return result

    def write(
        self, thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Callable[[Failure | None], object]
    ) -> bool:
        if self._stopped:
            return False
        self._add(thread, Work(file.pwritev, (parts, offset, True), done))
        return True

    def _add(self, thread: str, item: Work) -> None:
        self._unfinished.add(item)
        self.queued.append((thread, item))

    def notify(self, function: Callable[..., None], *args: Any) -> None:
        self.deliveries.append((function, args))

    def end_turn(self) -> bool:
        """Make the delayed calls that are due now, but not the calls that these schedule.

        :returns: whether a call was due.
        """
        clock = self._clock
        due = [call for call in clock.calls if call.getTime() <= clock.seconds()] if clock is not None else []
        for call in due:
            if clock is not None and call.active():
                clock.calls.remove(call)
                call.called = 1
                call.func(*call.args, **call.kw)
        return bool(due)

    def busy_threads(self) -> list[str]:
        """Return, for each queued piece of work, the name of the thread it is for, oldest first."""
        self.end_turn()
        return [thread for thread, _ in self.queued]

    def run_one(self, thread: str | None = None) -> bool:
        """Run the oldest piece of work; its result waits until :meth:`deliver` is called.

        :param thread: name of the thread whose oldest work is run; None for any thread.
        :returns: whether a piece of work was waiting.
        """
        self.end_turn()
        for position, (name, item) in enumerate(self.queued):
            if thread is None or name == thread:
                del self.queued[position]
                outcome = None if item.cancelled else item.run()
                self.deliveries.append((self._unfinished.ended, (item, outcome)))
                return True
        return False

    def deliver(self) -> None:
        """Deliver all waiting results and notifications in order, including those that are added during this call."""
        while self.deliveries:
            function, args = self.deliveries.popleft()
            function(*args)

    def step(self, thread: str | None = None) -> bool:
        """Run the oldest piece of work, and deliver its result and notifications.

        :param thread: name of the thread whose oldest work is run; None for any thread.
        """
        ran = self.run_one(thread)
        self.deliver()
        return ran

    def drain(self) -> None:
        """Run all work, deliver its results, and make the delayed calls that are due, until nothing is left to do.

        :raises AssertionError: there is still something to do after :data:`MOST_STEPS` steps.
        """
        self.deliver()
        for _ in range(MOST_STEPS):
            if not self.step() and not self.end_turn():
                return
        raise AssertionError(f"work without an end: {self.busy_threads()[:10]}")

    def join(self) -> "Deferred[None]":
        return self._unfinished.join()

    def stop(self) -> "Deferred[None]":
        self._stopped = True
        self.drain()
        return succeed(None)
