"""What a process reports to the service manager that started it."""

import os
import socket
import tempfile

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.condition import Condition
from bookkeeper_twisted.cli.process.service_manager import EXTENSION, ServiceManager

EXTENDED = f"EXTEND_TIMEOUT_USEC={EXTENSION}000000"


class _Case(SynchronousTestCase):
    """A process with one service, which is watched with a limit of thirty seconds."""

    watchdog = 30.0

    def setUp(self) -> None:
        self.clock = Clock()
        self.sent: list[list[str]] = []
        self.errors: list[OSError] = []
        self.condition = Condition("starting")
        self.manager = ServiceManager(self._send, self.clock, self.watchdog)
        self.manager.watch(lambda: [("bookie b", self.condition)])

    def _send(self, data: bytes) -> None:
        if self.errors:
            raise self.errors[0]
        self.sent.append(data.decode().split("\n"))

    def taken(self) -> list[list[str]]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent

    def serve(self) -> None:
        """Start, and forget what was sent."""
        self.condition = Condition("serving")
        self.manager.ready()
        self.taken()

    def pass_time(self, seconds: int) -> None:
        """Let seconds pass one by one."""
        for _ in range(seconds):
            self.clock.advance(1)


class StatusTests(_Case):
    """The states of a process, and the line for an operator."""

    def test_life(self) -> None:
        """A process starts, is ready once, stops once, and reports nothing after its end."""
        self.assertEqual(self.taken(), [["STATUS=bookie b: starting"]])
        self.condition = Condition("serving")
        self.manager.ready()
        self.assertEqual(self.taken(), [["READY=1", "STATUS=bookie b: serving"]])
        self.manager.stopping()
        self.manager.stopping("twice")
        self.assertEqual(self.taken(), [["STOPPING=1", "STATUS=stopping"]])
        self.manager.stopped()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_changes(self) -> None:
        """A condition is reported within a second when it has changed, and then not again."""
        self.serve()
        self.condition = Condition("read-only: a disk is full")
        self.pass_time(3)
        self.assertEqual(self.taken(), [["STATUS=bookie b: read-only: a disk is full"]])

    def test_one_line(self) -> None:
        """A reason with several lines is one line, since a line of its own would be a message of its own."""
        self.manager.stopping("does not start:\nREADY=1")
        self.assertEqual(self.taken()[1:], [["STOPPING=1", "STATUS=does not start: READY=1"]])

    def test_progress(self) -> None:
        """A start asks for more time as long as it makes progress, and not when it is ready."""
        self.taken()
        for progress in (5, 5, 9):
            self.condition = Condition("replaying", progress)
            self.pass_time(1)
        self.assertEqual(self.taken(), [["STATUS=bookie b: replaying", EXTENDED], [EXTENDED]])
        self.manager.ready()
        self.taken()
        self.condition = Condition("replaying", 10)
        self.pass_time(1)
        self.assertEqual(self.taken(), [])


class ReloadTests(_Case):
    """SIGHUP."""

    def test_reload(self) -> None:
        """Its begin is reported with the time of the monotonic clock, then its end."""
        self.serve()
        self.manager.reload(lambda: self.sent.append(["read"]))
        (begin, clock), *rest = self.taken()
        self.assertEqual((begin, rest), ("RELOADING=1", [["read"], ["READY=1"]]))
        self.assertRegex(clock, r"^MONOTONIC_USEC=\d+$")

    def test_failure(self) -> None:
        """A reload that fails has ended all the same."""
        self.serve()
        self.assertRaises(ZeroDivisionError, self.manager.reload, lambda: 1 // 0)
        self.assertEqual(self.taken()[-1], ["READY=1"])

    def test_too_early(self) -> None:
        """A process that starts is not ready because of a SIGHUP, nor is one that stops."""
        self.taken()
        self.manager.reload(lambda: self.sent.append(["read"]))
        self.assertEqual(self.taken(), [["read"]])
        self.serve()
        self.manager.stopping()
        self.taken()
        self.manager.reload(lambda: self.sent.append(["read"]))
        self.assertEqual(self.taken(), [["read"]])


class WatchdogTests(_Case):
    """Signs of life."""

    def test_half(self) -> None:
        """There is one at each half of the time, from the start of the service on."""
        self.taken()
        self.pass_time(60)
        self.assertEqual(self.taken(), [])
        self.serve()
        self.pass_time(14)
        self.assertEqual(self.taken(), [])
        self.pass_time(1)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]])
        self.pass_time(60)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]] * 4)

    def test_stuck_journal(self) -> None:
        """There is none while a write of a journal takes longer than that; one line says so."""
        self.serve()
        self.condition = Condition("serving", blocked=29.9)
        self.pass_time(15)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]])
        self.condition = Condition("serving", blocked=30.0)
        with capturedLogs() as events:
            self.pass_time(60)
        self.assertEqual(self.taken(), [])
        said = [formatEvent(event) for event in events if event["log_level"] is LogLevel.critical]
        self.assertEqual(said, ["bookie b: a write of its journal has lasted 30.0 s: the service manager gets no sign "
                                "of life until it ends"])  # fmt: skip
        self.condition = Condition("serving")
        self.pass_time(1)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]])

    def test_stopping(self) -> None:
        """A long stop gives signs of life, too."""
        self.serve()
        self.manager.stopping()
        self.taken()
        self.pass_time(15)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]])


class ShortWatchdogTests(_Case):
    """A limit below the interval at which conditions are looked at."""

    watchdog = 0.5

    def test_half(self) -> None:
        """Signs of life come at half of the limit, too."""
        self.serve()
        for _ in range(4):
            self.clock.advance(0.25)
        self.assertEqual(self.taken(), [["WATCHDOG=1"]] * 4)


class NoWatchdogTests(_Case):
    """A service manager that watches nothing."""

    watchdog = 0.0

    def test_none(self) -> None:
        """There are no signs of life."""
        self.serve()
        self.pass_time(60)
        self.assertEqual(self.taken(), [])


class FailureTests(_Case):
    """A service manager that does not read, or is gone."""

    def test_full(self) -> None:
        """What it has no room for is sent later, in order."""
        self.taken()
        self.errors.append(BlockingIOError())
        self.serve()
        self.manager.reload(lambda: None)
        self.errors.clear()
        self.pass_time(1)
        self.assertEqual([lines[0] for lines in self.taken()], ["READY=1", "RELOADING=1", "READY=1"])

    def test_gone(self) -> None:
        """One line says that it is gone; the process goes on, and it gets signs of life again when it is back."""
        self.errors.append(ConnectionRefusedError(111, "Connection refused"))
        with capturedLogs() as events:
            self.serve()
            self.manager.reload(lambda: None)
            self.pass_time(60)
            self.manager.stopping()
        said = [formatEvent(event) for event in events]
        self.assertEqual(said, ["the service manager cannot be reached: [Errno 111] Connection refused"])
        self.errors.clear()
        self.taken()
        self.pass_time(60)
        self.assertIn(["WATCHDOG=1"], self.taken())


class EnvironmentTests(SynchronousTestCase):
    """Where a service manager is found."""

    def _received(self, address: str, name: str, **environ: str) -> list[str]:
        """What a service manager at an address receives until the process is ready, and fifteen seconds later."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(address)
            receiver.setblocking(False)
            clock = Clock()
            manager = ServiceManager.of_process({"NOTIFY_SOCKET": name, **environ}, clock)
            manager.watch(lambda: [("bookie b", Condition("serving"))])
            manager.ready()
            clock.pump([1] * 15)
            found = []
            while True:
                try:
                    found.append(receiver.recv(4096).decode())
                except BlockingIOError:
                    return found

    def test_path(self) -> None:
        """It may be a path, and need no signs of life."""
        with tempfile.TemporaryDirectory() as directory:  # whose path is short enough for a socket
            path = f"{directory}/notify"
            self.assertEqual(self._received(path, path), ["STATUS=bookie b: serving", "READY=1"])

    def test_abstract(self) -> None:
        """It may be a name in the abstract namespace, and need them for this process."""
        name = f"bookkeeper-{os.getpid()}"
        found = self._received(f"\0{name}", f"@{name}", WATCHDOG_USEC="30000000", WATCHDOG_PID=str(os.getpid()))
        self.assertEqual(found, ["STATUS=bookie b: serving", "READY=1", "WATCHDOG=1"])

    def test_other_process(self) -> None:
        """One that watches another process gets no signs of life of this one."""
        name = f"bookkeeper-{os.getpid()}"
        found = self._received(f"\0{name}", f"@{name}", WATCHDOG_USEC="30000000", WATCHDOG_PID="1")
        self.assertEqual(found, ["STATUS=bookie b: serving", "READY=1"])

    def test_nonsense(self) -> None:
        """A time or an address that cannot be one is as good as none, and one line says so, not too long a line."""
        name = f"bookkeeper-{os.getpid()}"
        for text in ("9" * 400, "9" * 5000, "-1", "1.5", "soon", "\u0663", "1", ""):
            with self.subTest(watchdog=text[:9]), capturedLogs() as events:
                found = self._received(f"\0{name}", f"@{name}", WATCHDOG_USEC=text)
                self.assertEqual(found, ["STATUS=bookie b: serving", "READY=1"])
                (said,) = [formatEvent(event) for event in events]
                self.assertRegex(said, r"^WATCHDOG_USEC = '.{0,100}' is ignored: ")
        for address in ("notify", "/", "@", "/" * 108, "/\udcff" * 60):
            with self.subTest(address=address[:9]), capturedLogs() as events:
                ServiceManager.of_process({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "x"}, Clock()).ready()
                (said,) = [formatEvent(event) for event in events]
                self.assertRegex(said, r"^NOTIFY_SOCKET = .{0,602} is ignored: it is no UNIX socket$")

    def test_undecodable_reason(self) -> None:
        """A reason with a name of a file that is no UTF-8 is reported, too."""
        sent: list[bytes] = []
        ServiceManager(sent.append, Clock()).stopping("/a\udcff: no such file")
        self.assertEqual(sent, [b"STOPPING=1\nSTATUS=/a\\udcff: no such file"])

    def test_none(self) -> None:
        """Without one nothing is reported, and no call is scheduled."""
        clock = Clock()
        for environ in ({}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}):
            manager = ServiceManager.of_process(environ, clock)
            manager.watch(lambda: self.fail("looked at"))
            manager.reload(lambda: None)
            manager.stopping()
            manager.stopped()
        self.assertEqual(clock.getDelayedCalls(), [])
