"""The program that knows the racks."""

from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.placement.rack_script import PATIENCE, RackScript


class _Processes(Clock):
    """A reactor whose processes do what the test tells them.

    :ivar commands: what was started.
    :ivar signals: what was sent to the last one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[list[str]] = []
        self.signals: list[str] = []
        self.missing = False
        self.gone = False

    def spawnProcess(self, protocol: Any, executable: str, arguments: list[str], env: object) -> None:
        """Starts one."""
        if self.missing:
            raise FileNotFoundError(2, "No such file or directory")
        self.commands.append(arguments)
        self.protocol = protocol
        protocol.makeConnection(self)

    def signalProcess(self, name: str) -> None:
        """A process as its protocol sees it."""
        if self.gone:
            raise ProcessExitedAlready
        self.signals.append(name)
        self.end(ProcessTerminated(signal=9))

    def end(self, reason: Exception) -> None:
        """The process ends."""
        self.protocol.processEnded(Failure(reason))


class RackScriptTests(SynchronousTestCase):
    """Runs of a program."""

    def setUp(self) -> None:
        """Nothing runs."""
        self.processes = _Processes()
        self.script = RackScript(self.processes, "/etc/racks.sh")

    def tearDown(self) -> None:
        """No timer is left in any case."""
        self.assertEqual(self.processes.getDelayedCalls(), [])

    def test_output(self) -> None:
        """It gets the hosts as arguments; what it prints is the answer."""
        answer = self.script.run(["a", "b"])
        self.assertEqual(self.processes.commands, [["/etc/racks.sh", "a", "b"]])
        self.processes.protocol.outReceived(b"/r1 ")
        self.processes.protocol.outReceived(b"/r2\n")
        self.processes.end(ProcessDone(0))
        self.assertEqual(self.successResultOf(answer), b"/r1 /r2\n")

    def test_failure(self) -> None:
        """A status other than 0 is an error that says what the program said."""
        answer = self.script.run(["a"])
        self.processes.protocol.outReceived(b"/r1")
        self.processes.protocol.errReceived(b"no table\n")
        self.processes.end(ProcessTerminated(exitCode=2))
        self.assertIn("no table", str(self.failureResultOf(answer, ConfigError).value))

    def test_missing(self) -> None:
        """A program that is not there is an error."""
        self.processes.missing = True
        error = self.failureResultOf(self.script.run(["a"]), ConfigError).value
        self.assertEqual(str(error), "rack script /etc/racks.sh: No such file or directory")

    def test_patience(self) -> None:
        """One that takes too long is killed."""
        answer = self.script.run(["a"])
        self.processes.advance(PATIENCE - 0.1)
        self.assertNoResult(answer)
        self.processes.advance(0.1)
        self.assertEqual(self.processes.signals, ["KILL"])
        self.failureResultOf(answer, ConfigError)

    def test_cancel(self) -> None:
        """So is one that was cancelled, unless it has ended by itself."""
        answer = self.script.run(["a"])
        answer.cancel()
        self.assertEqual(self.processes.signals, ["KILL"])
        self.failureResultOf(answer, ConfigError)
        self.processes.gone = True
        late = self.script.run(["a"])
        late.cancel()
        self.failureResultOf(late)
