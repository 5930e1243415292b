"""The reactor and a journal thread meet at the queue in every order of two hand-overs: no item is left behind."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie import group_commit
from bookkeeper_twisted.bookie.executor import Work
from bookkeeper_twisted.bookie.group_commit import GroupCommit
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import JournalMetrics

from ..bounds import until
from ..interleaving import Turns, explore
from .group_commit_case import ListJournal

_MOST = 50


class SteppedThread:
    """An executor with one thread, which runs step by step, and the reactor that gets what it hands over."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._work: deque[Work] = deque()
        self._delivered: deque[Callable[[], object]] = deque()
        self._ended = False

    def submit(self, thread: str, work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
        """See :class:`~bookkeeper_twisted.bookie.interfaces.IStorageExecutor`."""
        item, result = Work.with_result(work, args)
        self._work.append(item)
        return result

    def write(
        self, thread: str, file: Any, parts: Sequence[bytes], offset: int, done: Callable[[Failure | None], object]
    ) -> bool:
        """See :class:`~bookkeeper_twisted.bookie.interfaces.IStorageExecutor`.

        The kernel makes the write at once: no order is as much before that of what the thread has on its way.
        """
        item = Work(file.pwritev, (parts, offset, True), done)
        self._delivered.appendleft(partial(item.deliver, item.run()))
        return True

    def notify(self, function: Callable[..., None], *args: Any) -> None:
        """See :class:`~bookkeeper_twisted.bookie.interfaces.IStorageExecutor`."""
        self._delivered.append(partial(function, *args))

    def serve(self) -> None:
        """Run the work of the journal thread."""
        for _ in until(lambda: False, _MOST):
            self._turns.wait(lambda: not self._work and not self._ended)
            if not self._work:
                return
            item = self._work.popleft()
            self._delivered.append(partial(item.deliver, item.run()))

    def react(self, finished: Callable[[], bool]) -> None:
        """The reactor's thread, until something is so."""
        for _ in until(finished, _MOST):
            self._turns.wait(lambda: not self._delivered)
            self._delivered.popleft()()
        self._ended = True


class InterleavingTests(SynchronousTestCase):
    """Items are queued while the journal thread is at work, or about to end."""

    begins, least = False, 100

    def _meet(self, syncs: tuple[bool, ...], schedule: tuple[int, ...], first: int) -> int:
        turns = Turns(group_commit, schedule=schedule, first=first)
        thread, journal, failures = SteppedThread(turns), ListJournal(), list[Failure]()
        journal.begins = self.begins
        executor: Any = thread
        clock = Clock()
        commit = GroupCommit(
            journal, "journal-0", executor, clock, lambda: None, failures.append, JournalMetrics(Instruments(), 0)
        )
        done: list[int] = []

        def completed(number: int, error: Exception | None) -> None:
            self.assertIsNone(error)
            if syncs[number]:
                self.assertGreater(journal.durable.offset, number)
            done.append(number)

        def work() -> None:
            for number, sync in enumerate(syncs):
                commit.append(b"x", 1, partial(completed, number), sync)
                clock.advance(0)  # each in a turn of its own
            thread.react(lambda: len(done) == len(syncs))

        steps = turns.run(work, thread.serve)
        self.assertEqual((done, journal.position.offset, failures), ([*range(len(syncs))], len(syncs), []))
        return steps

    def test_synced(self) -> None:
        """S1: each is written once and complete behind its sync, in order."""
        self.assertGreater(explore(partial(self._meet, (True, True))), self.least)

    def test_mixed(self) -> None:
        """The same where one waits for the write alone."""
        self.assertGreater(explore(partial(self._meet, (False, True))), self.least)


class KernelWritesTests(InterleavingTests):
    """The same where the reactor begins what it may, and its writes end before the journal thread's results arrive."""

    begins, least = True, 10
