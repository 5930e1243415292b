"""How a twistd process ends."""

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.process.exit_status import ExitStatus

_LATE_SIGNALS = """
import os, signal
from twisted.internet import reactor
from bookkeeper_twisted.cli.process.exit_status import ExitStatus

class Late:
    def __del__(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(os.getpid(), number)
        os.write(1, b"late")

late = Late()
ExitStatus(reactor)
reactor.callWhenRunning(reactor.stop)
reactor.run()
"""
"""A process that gets signals when the interpreter frees its modules, after the functions for its end have run."""


class _Reactor(MemoryReactorClock):
    """Runs until it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stops = 0
        self.interrupts = 0

    def stop(self) -> None:
        """As the real one, it goes on running for a while and must not be stopped again."""
        if self.stops:
            raise ReactorNotRunning
        self.stops += 1

    def sig_int(self, number: int, frame: object) -> None:
        self.interrupts += 1
        self.callFromThread(self.stop)

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        self.callLater(0, callable, *args, **kwargs)


class ExitStatusTests(SynchronousTestCase):
    """Requests, failures, and the status they lead to."""

    def setUp(self) -> None:
        self.reactor = _Reactor()
        self.at_exit: list[Callable[[], None]] = []
        self.left: list[int] = []
        self.signals: dict[int, Callable[[int, object], None]] = {signal.SIGINT: self.reactor.sig_int}
        self.status = ExitStatus(self.reactor, self.at_exit.append, self.left.append, self._on_signal)
        for call, args, kwargs in self.reactor.whenRunningHooks:
            call(*args, **kwargs)

    def _on_signal(self, number: int, handler: Callable[[int, object], None]) -> Any:
        before = self.signals.get(number)
        self.signals[number] = handler
        return before

    def _exit(self) -> list[int]:
        for call in self.at_exit:
            call()
        return self.left

    def test_orderly(self) -> None:
        """Without a failure the interpreter ends as it would."""
        self.assertEqual(self._exit(), [])

    def test_reload(self) -> None:
        """SIGHUP calls on the reactor's thread what reads the configuration again."""
        calls: list[str] = []
        self.status.on_hangup = lambda: calls.append("read")
        self.signals[signal.SIGHUP](signal.SIGHUP, None)
        self.assertEqual(calls, [])
        self.reactor.advance(0)
        self.assertEqual((calls, self.reactor.stops), (["read"], 0))

    def test_reloads(self) -> None:
        """Signals that come faster than the configuration is read are one."""
        calls: list[str] = []
        self.status.on_hangup = lambda: calls.append("read")
        for number in range(1, 3):
            for _ in range(100):
                self.signals[signal.SIGHUP](signal.SIGHUP, None)
            self.reactor.advance(0)
            self.assertEqual(calls, ["read"] * number)

    def test_sighup(self) -> None:
        """SIGHUP is logged where there is no configuration yet, and the process goes on."""
        logged: list[Any] = []
        globalLogPublisher.addObserver(logged.append)  # type: ignore[arg-type]
        self.addCleanup(globalLogPublisher.removeObserver, logged.append)  # type: ignore[arg-type]
        self.signals[signal.SIGHUP](signal.SIGHUP, None)
        self.reactor.advance(0)
        self.assertEqual((self.reactor.stops, self._exit()), (0, []))
        self.assertTrue(any("SIGHUP" in str(event["log_format"]) for event in logged))

    def test_failure(self) -> None:
        """A failure stops the reactor and ends the process with 1, not before the interpreter ends."""
        self.status.fail()
        self.assertEqual((self.reactor.stops, self.left), (1, []))
        self.assertEqual(self._exit(), [1])

    def test_failure_during_shutdown(self) -> None:
        """A failure while the reactor stops does not stop it again, and counts."""
        self.reactor.stop()
        self.status.fail()
        self.assertEqual(self.reactor.stops, 1)
        self.assertEqual(self._exit(), [1])

    def test_sigterm(self) -> None:
        """SIGTERM is logged, stops the reactor from its own thread and is a success, also if it comes twice."""
        for _ in range(2):
            self.signals[signal.SIGTERM](signal.SIGTERM, None)
        self.assertEqual(self.reactor.stops, 0)
        with capturedLogs() as events:
            self.reactor.advance(0)
        self.assertEqual([formatEvent(event) for event in events], ["Received SIGTERM, shutting down."])
        self.assertEqual(self.reactor.stops, 1)
        self.assertEqual(self._exit(), [])

    def test_sigint(self) -> None:
        """The reactor gets the first interrupt, which it needs for the status, and no other."""
        for _ in range(3):
            self.signals[signal.SIGINT](signal.SIGINT, None)
        self.reactor.advance(0)
        self.assertEqual((self.reactor.interrupts, self.reactor.stops), (1, 1))

    def test_sigint_ignored(self) -> None:
        """An interrupt that the parent of the process ignores, as a shell does for a background job, stays ignored."""
        self.signals[signal.SIGINT] = signal.SIG_IGN  # type: ignore[assignment]
        reactor = _Reactor()
        ExitStatus(reactor, self.at_exit.append, self.left.append, self._on_signal)
        for call, args, kwargs in reactor.whenRunningHooks:
            call(*args, **kwargs)
        self.assertIs(self.signals[signal.SIGINT], signal.SIG_IGN)

    def test_sigint_while_ending(self) -> None:
        """An interrupt of a process that ends already changes nothing."""
        self.signals[signal.SIGTERM](signal.SIGTERM, None)
        self.signals[signal.SIGINT](signal.SIGINT, None)
        self.reactor.advance(0)
        self.assertEqual((self.reactor.interrupts, self.reactor.stops), (0, 1))

    def test_signals_at_the_end(self) -> None:
        """Signals to a process whose functions for its end have run do not change its status."""
        ended = subprocess.run([sys.executable, "-c", _LATE_SIGNALS], stdout=subprocess.PIPE, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (0, b"late"))
