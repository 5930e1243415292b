"""The test suite for executors, which run storage work in threads that have names, one for each kind of work.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...bookie.interfaces import IStorageExecutor
from ...errors import StorageFailedError


class ExecutorContract(SynchronousTestCase):
    """The tests that each executor passes; a subclass makes the executor, and defines how to wait for its work."""

    def make(self) -> Any:
        """Return a new executor to test; each subclass defines this method."""
        raise NotImplementedError

    def settle(self, executor: Any) -> None:
        """Wait until all submitted work has ended and its results were delivered."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.executor = self.make()
        self.addCleanup(self.executor.stop)

    def test_interface(self) -> None:
        """The executor provides all methods of ``IStorageExecutor``."""
        verifyObject(IStorageExecutor, self.executor)

    def test_result(self) -> None:
        """Work is called with its arguments, and the submitter gets its result."""
        submitted = self.executor.submit("flush", lambda a, b: a + b, 1, 2)
        self.settle(self.executor)
        self.assertEqual(self.successResultOf(submitted), 3)

    def test_failure(self) -> None:
        """An exception in a piece of work fails its Deferred, and its thread runs the next piece of work."""
        failing = self.executor.submit("flush", lambda: 1 // 0)
        following = self.executor.submit("flush", lambda: "still here")
        self.settle(self.executor)
        self.failureResultOf(failing, ZeroDivisionError)
        self.assertEqual(self.successResultOf(following), "still here")

    def test_any_failure(self) -> None:
        """A thread runs the next piece of work even after a ``BaseException``."""

        def leave() -> None:
            raise SystemExit

        failing = self.executor.submit("flush", leave)
        following = self.executor.submit("flush", int)
        self.settle(self.executor)
        self.failureResultOf(failing, SystemExit)
        self.assertEqual(self.successResultOf(following), 0)

    def test_order_in_a_thread(self) -> None:
        """Work for one thread runs in the order of its submission, and results are delivered in this order."""
        ran: list[int] = []
        delivered: list[int] = []

        def work(number: int) -> int:
            ran.append(number)
            return number

        for number in range(50):
            self.executor.submit("journal-0", work, number).addCallback(delivered.append)
        self.settle(self.executor)
        self.assertEqual((ran, delivered), (list(range(50)), list(range(50))))

    def test_notifications_come_before_the_result(self) -> None:
        """Notifications that a piece of work sends are delivered in order, before its result."""
        seen: list[object] = []

        def work() -> str:
            for number in range(3):
                self.executor.notify(seen.append, number)
            return "result"

        self.executor.submit("journal-0", work).addCallback(seen.append)
        self.settle(self.executor)
        self.assertEqual(seen, [0, 1, 2, "result"])

    def test_cancel(self) -> None:
        """Cancelled work that has not begun never runs."""
        ran: list[str] = []
        gate = _Latch()
        first = self.executor.submit("flush", gate.wait, ran)
        second = self.executor.submit("flush", ran.append, "second")
        second.cancel()
        self.failureResultOf(second, CancelledError)
        gate.open()
        self.settle(self.executor)
        self.assertEqual(ran, ["first"])
        self.successResultOf(first)

    def test_join(self) -> None:
        """A join waits for all submitted work; the executor can be used afterwards."""
        self.successResultOf(self.executor.join())
        ran: list[str] = []
        gate = _Latch()
        self.executor.submit("flush", gate.wait, ran)
        late = self.executor.submit("flush", ran.append, "late")
        late.cancel()
        self.failureResultOf(late, CancelledError)
        joined = [self.executor.join(), self.executor.join()]
        self.assertNoResult(joined[0])
        joined[1].addCallback(lambda _: self.assertEqual(ran, ["first"]))
        gate.open()
        self.settle(self.executor)
        for each in joined:
            self.successResultOf(each)
        self.successResultOf(self.executor.join())

    def test_join_of_later_work(self) -> None:
        """A join also waits for work that a callback of earlier work submits during the join."""
        ran: list[str] = []
        gate = _Latch()
        first = self.executor.submit("flush", gate.wait, ran)
        first.addCallback(lambda _: self.executor.submit("journal-0", ran.append, "caused"))
        joined = self.executor.join()
        joined.addCallback(lambda _: self.assertEqual(ran, ["first", "caused"]))
        gate.open()
        for _ in range(2):
            self.settle(self.executor)
        self.successResultOf(joined)

    def test_write(self) -> None:
        """An executor makes a durable write completely, or refuses it and writes nothing.

        If it makes the write, the callback and ``join()`` wait until the write has ended.
        """
        file, outcomes = _File(), list[Failure | None]()
        if not self.executor.write("journal-0", file, [b"a", b"b"], 512, outcomes.append):
            self.settle(self.executor)
            self.assertEqual((file.written, outcomes), ([], []))
            return
        joined = self.executor.join()
        self.assertNoResult(joined)
        self.assertEqual(outcomes, [])
        self.settle(self.executor)
        self.assertEqual(outcomes, [None])
        self.successResultOf(joined)
        self.assertEqual(file.written, [(b"ab", 512, True)])

    def test_failed_write(self) -> None:
        """The callback of a write gets its error."""
        error, outcomes = OSError(5, "Input/output error"), list[Failure | None]()
        is_begun = self.executor.write("journal-0", _File(error), [b"a"], 0, outcomes.append)
        self.settle(self.executor)
        self.assertEqual([outcome.value for outcome in outcomes if outcome is not None], [error] if is_begun else [])

    def test_broken_callback(self) -> None:
        """An error that the callback of a write raises is logged, and later work is done."""
        def broken(outcome: Failure | None) -> None:
            raise ValueError("a broken callback")

        ran: list[int] = []
        is_begun = self.executor.write("journal-0", _File(), [b"a"], 0, broken)
        self.settle(self.executor)
        self.executor.submit("journal-0", ran.append, 1)
        self.settle(self.executor)
        self.assertEqual(ran, [1])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1 if is_begun else 0)
        self.successResultOf(self.executor.join())

    def test_stop(self) -> None:
        """A stop waits for submitted work and refuses later work."""
        ran: list[int] = []
        for number in range(5):
            self.executor.submit("flush", ran.append, number)
        stopped = self.executor.stop()
        self.settle(self.executor)
        self.successResultOf(stopped)
        self.assertEqual(ran, [0, 1, 2, 3, 4])
        self.failureResultOf(self.executor.submit("flush", ran.append, 5), StorageFailedError)
        self.assertFalse(self.executor.write("journal-0", _File(), [b"a"], 0, ran.append))
        self.successResultOf(self.executor.stop())


class _File:
    """A file that only remembers what is written, or fails."""

    path = "/journal"
    direct_descriptor = None

    def __init__(self, error: OSError | None = None) -> None:
        self.written: list[tuple[bytes, int, bool]] = []
        self._error = error

    def pwritev(self, parts: Sequence[bytes], offset: int, durable: bool = False) -> None:
        if self._error is not None:
            raise self._error
        self.written.append((b"".join(parts), offset, durable))


class _Latch:
    """A latch on which a thread of the executor waits until the test opens it.

    An executor without threads runs the work only after the latch was opened.
    """

    def __init__(self) -> None:
        self._opened = False

    def open(self) -> None:
        self._opened = True

    def wait(self, ran: list[str]) -> None:
        while not self._opened:
            pass
        ran.append("first")
