"""Lanes that are threads."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, gatherResults

from bookkeeper_twisted.bookie.executor import ThreadExecutor
from bookkeeper_twisted.testing.contracts import executor_contract

from ..bounds import until


class QueueReactor:
    """The part of a reactor that threads call, run by the test."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[..., object], tuple[object, ...]]] = SimpleQueue()

    def callFromThread(self, function: Callable[..., object], *args: object) -> None:
        self._calls.put((function, args))

    def run_until(self, waited: "Deferred[Any]") -> None:
        """Runs what threads hand over until a Deferred has fired."""
        for _ in until(lambda: waited.called):
            function, args = self._calls.get(timeout=10)
            function(*args)


class ThreadExecutorTests(executor_contract.ExecutorContract):
    """The contract on threads."""

    def make(self) -> ThreadExecutor:
        self.reactor = QueueReactor()
        return ThreadExecutor(self.reactor, read_threads=2)  # type: ignore[arg-type]

    def settle(self, executor: Any) -> None:
        stopped = executor.stop
        lanes = [executor.submit(lane, int) for lane in ("flush", "journal-0")]
        ended = gatherResults(lanes, consumeErrors=True).addErrback(lambda _: stopped())
        self.reactor.run_until(ended)
        for _ in range(10):
            if isinstance(ended.result, Deferred):
                self.reactor.run_until(ended.result)
        self.assertNotIsInstance(ended.result, Deferred)

    def tearDown(self) -> None:
        self.reactor.run_until(self.executor.stop())

    def test_lanes_run_beside_each_other(self) -> None:
        """Work that waits on one lane does not keep another lane, or a second reader, from running."""
        released = threading.Event()

        def wait() -> str:
            return "waited" if released.wait(10) else "left alone"

        waiting = [self.executor.submit(lane, wait) for lane in ("flush", "read")]
        self.reactor.run_until(gatherResults([self.executor.submit(lane, int) for lane in ("journal-0", "read")]))
        self.assertFalse(any(d.called for d in waiting))
        released.set()
        both = gatherResults(waiting)
        self.reactor.run_until(both)
        self.assertEqual(self.successResultOf(both), ["waited", "waited"])

    def test_join_waits_for_cancelled_work(self) -> None:
        """Work that was cancelled after it had begun is waited for: it may still use what it was given."""
        begun, released = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            released.wait(10)

        waiting = self.executor.submit("read", wait)
        self.assertTrue(begun.wait(10))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        joined = self.executor.join()
        self.reactor.run_until(self.executor.submit("flush", int))
        self.assertNoResult(joined)
        released.set()
        self.reactor.run_until(joined)
        self.successResultOf(joined)

    def test_threads_are_made_on_first_use(self) -> None:
        """An executor that was never used has nothing to stop."""
        self.successResultOf(ThreadExecutor(self.reactor).stop())  # type: ignore[arg-type]
