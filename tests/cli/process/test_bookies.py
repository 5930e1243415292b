"""The service behind ``twistd bookie``."""

import os
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import LogLevel, capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.condition import Condition
from bookkeeper_twisted.cli.process.bookies import PATIENCE, Bookies
from bookkeeper_twisted.cli.process.clock_steps import ClockSteps
from bookkeeper_twisted.cli.process.service_manager import ServiceManager
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import InvalidCookieError, StorageFailedError


class _Bookie:
    """Starts and stops when told."""

    role = "bookie"
    http_port = 0

    def __init__(self, name: str, calls: list[str]) -> None:
        self.bookie_id = name
        self.port = 3181
        self.started: Deferred[None] = Deferred()
        self.stopped: Deferred[None] = Deferred()
        self._calls = calls

    @property
    def config(self) -> BookieConfig:
        return BookieConfig()

    def take(self, config: BookieConfig) -> None:
        self._calls.append(f"configure {self.bookie_id}")

    def condition(self) -> Condition:
        return Condition("serving" if self.started.called else "starting")

    def start(self) -> "Deferred[None]":
        self._calls.append(f"start {self.bookie_id}")
        return self.started

    def stop(self) -> "Deferred[None]":
        self._calls.append(f"stop {self.bookie_id}")
        return self.stopped


class BookiesTests(SynchronousTestCase):
    """Two bookies in one process."""

    def setUp(self) -> None:
        self.calls: list[str] = []
        self.a, self.b = _Bookie("a", self.calls), _Bookie("b", self.calls)
        self.failures = 0
        self.sent: list[str] = []
        manager = ServiceManager(lambda data: self.sent.append(data.decode()), Clock())
        self.reactor = MemoryReactorClock()
        steps = ClockSteps(self.reactor, opened=lambda: os.eventfd(0))
        self.addCleanup(steps.stop)
        self.service = Bookies(self._make, self._fail, manager, steps, self.reactor)

    def _make(self, on_failure: Callable[[Failure], None]) -> list[_Bookie]:
        self.on_failure = on_failure
        return [self.a, self.b]

    def _fail(self) -> None:
        self.failures += 1

    def _logged(self, action: Callable[[], object], level: LogLevel) -> list[str]:
        with capturedLogs() as events:
            action()
        return [e["log_format"].format(**e) for e in events if e["log_level"] is level]

    def test_start_in_order(self) -> None:
        """The second starts when the first serves; when all do, one line says so."""
        self.service.startService()
        self.assertEqual(self.calls, ["start a"])
        self.a.started.callback(None)
        self.assertEqual(self.calls, ["start a", "start b"])
        self.b.http_port = 8080
        ready = self._logged(lambda: self.b.started.callback(None), LogLevel.info)
        self.assertEqual(ready, ["ready: bookie a on port 3181; bookie b on port 3181, HTTP on port 8080"])

    def test_service_manager(self) -> None:
        """The service manager is told that the process is ready when all serve, and of the stop at its begin."""
        self.service.startService()
        self.a.started.callback(None)
        self.assertEqual(self.sent, ["STATUS=bookie a: starting; bookie b: starting"])
        self.b.started.callback(None)
        self.assertEqual(self.sent[1:], ["READY=1\nSTATUS=bookie a: serving; bookie b: serving"])
        self.service.stopService()
        self.assertEqual(self.sent[2:], ["STOPPING=1\nSTATUS=stopping"])

    def test_service_manager_failure(self) -> None:
        """The service manager is told why a process ends, and of one that does not start not that it is ready."""
        self.service.startService()
        self.a.started.errback(OSError(28, "No space left on device"))
        self.service.stopService()
        self.assertEqual(
            self.sent[1:], ["STOPPING=1\nSTATUS=the bookie does not start: [Errno 28] No space left on device"]
        )

    def test_reason_on_one_line(self) -> None:
        """The reason is one printable line with an end, even if it repeats what is in a damaged file."""
        with capturedLogs() as events:
            self.service.startService()
            self.a.started.errback(InvalidCookieError("damaged:\n\0\x1b" + "x" * 5000))
            self.service.stopService()
        (reason,) = (event["reason"] for event in events if event["log_level"] is LogLevel.critical)
        self.assertEqual(reason, "damaged:\\n\\x00\\x1b" + "x" * 1982 + "...")
        self.assertEqual(self.sent[1:], [f"STOPPING=1\nSTATUS=the bookie does not start: {reason}"])

    def test_stop_in_reverse(self) -> None:
        """Each stops when the one after it has ended; the service has stopped when all have."""
        self.service.startService()
        self.a.started.callback(None)
        self.b.started.callback(None)
        stopped = self.service.stopService()
        self.assertEqual(self.calls[2:], ["stop b"])
        self.b.stopped.callback(None)
        self.assertEqual(self.calls[2:], ["stop b", "stop a"])
        self.assertNoResult(stopped)
        self.assertEqual(len(self.reactor.getReaders()), 1)
        self.a.stopped.callback(None)
        self.successResultOf(stopped)
        self.assertEqual(self.reactor.getReaders(), [], "the clock is still watched")

    def test_slow_stop(self) -> None:
        """One that does not end in time keeps no other from its stop, but all are waited for."""
        self.service.startService()
        self.a.started.callback(None)
        self.b.started.callback(None)
        stopped = self.service.stopService()
        self.reactor.advance(PATIENCE - 0.1)
        self.assertEqual(self.calls[2:], ["stop b"])
        self.reactor.advance(0.2)
        self.assertEqual(self.calls[2:], ["stop b", "stop a"])
        self.a.stopped.callback(None)
        self.assertNoResult(stopped)
        self.b.stopped.callback(None)
        self.successResultOf(stopped)

    def test_failing_stop(self) -> None:
        """One that fails to stop is logged, and the others are waited for."""
        self.service.startService()
        self.a.started.callback(None)
        self.b.started.callback(None)
        stopped = self.service.stopService()
        self.b.stopped.errback(ValueError("no"))
        self.assertNoResult(stopped)
        self.a.stopped.callback(None)
        self.successResultOf(stopped)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_foreseen_failure(self) -> None:
        """What an operator can mend is one line without a traceback, and ends the process."""
        for error in (InvalidCookieError("/d: another bookie"), CannotListenError("", 1, OSError(98, "in use"))):
            with self.subTest(error):
                self.setUp()
                self.service.startService()
                with capturedLogs() as events:
                    self.a.started.errback(error)
                self.assertEqual(self.failures, 1)
                (event,) = events
                self.assertEqual(event["reason"], str(error))
                self.assertNotIn("log_failure", event)

    def test_unforeseen_failure(self) -> None:
        """An error of ours is logged whole, and ends the process."""
        self.service.startService()
        self.a.started.errback(ZeroDivisionError())
        self.assertEqual(self.failures, 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_others_stop_after_a_failure(self) -> None:
        """When the second cannot start, the first is stopped in order."""
        self.service.startService()
        self.a.started.callback(None)
        self.b.started.errback(OSError(28, "No space left on device"))
        self.service.stopService()
        self.b.stopped.callback(None)
        self.assertEqual(self.calls[2:], ["stop b", "stop a"])

    def test_stop_while_starting(self) -> None:
        """A stop ends a start that is under way; that is no failure."""
        self.service.startService()
        stopped = self.service.stopService()
        self.a.stopped.callback(None)
        self.successResultOf(stopped)
        self.assertEqual((self.calls, self.failures), (["start a", "stop a"], 0))

    def test_failure_while_serving(self) -> None:
        """A journal that fails later ends the process (S10)."""
        reported = self._logged(lambda: self.on_failure(Failure(StorageFailedError("EIO"))), LogLevel.critical)
        self.assertEqual(reported, ["the bookie has failed and stops: EIO"])
        self.assertEqual(self.failures, 1)

    def test_error_in_making(self) -> None:
        """What cannot even be made is the caller's to report."""

        def make(on_failure: Any) -> list[_Bookie]:
            raise InvalidCookieError("no")

        others = ServiceManager(None, Clock()), ClockSteps(self.reactor), self.reactor
        self.assertRaises(InvalidCookieError, Bookies, make, self._fail, *others)
