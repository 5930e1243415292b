"""The program around the shell: its signals, its files, its arguments."""

import io
import signal
import subprocess
import sys

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import __version__
from bookkeeper_twisted.cli.main import DiskFiles, interrupt, main


class InterruptTests(SynchronousTestCase):
    """A command while its process is told to end."""

    def test_cancelled(self) -> None:
        """It is cancelled, and the process waits until it has ended."""
        released: Deferred[None] = Deferred()

        async def command() -> None:
            try:
                await Deferred[None]()
            except CancelledError:
                await released

        running = Deferred.fromCoroutine(command())
        waiting = interrupt(running)
        assert waiting is not None
        self.assertNoResult(waiting)
        released.callback(None)
        self.successResultOf(waiting)
        self.successResultOf(running)

    def test_ended(self) -> None:
        """One that has ended holds nothing up."""
        self.assertIsNone(interrupt(succeed(None)))


# Programs begin with it: what runs the tests may ignore signals, as nohup(1) and the background jobs of a shell do.
_IGNORING_NONE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
"""

_BUSY = _IGNORING_NONE + """
import sys
from twisted.internet import reactor
from twisted.internet.task import deferLater, react
from bookkeeper_twisted.cli import main

async def command():
    try:
        print("busy", flush=True)
        while signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
            pass
        print("told", flush=True)
        while True:
            pass
    except KeyboardInterrupt:
        raise SystemExit(130)

async def later():
    await deferLater(reactor, 0)
    await command()

react(lambda _: main.begin(reactor, later(), int(sys.argv[1])))
"""


class BusyTests(SynchronousTestCase):
    """Signals while a command does not let the reactor run."""

    def _ended(self, patience: int, *signals: int) -> int:
        command = [sys.executable, "-c", _BUSY, str(patience)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as busy:
            try:
                assert busy.stdout is not None
                for number, state in zip(signals, (b"busy\n", b"told\n"), strict=False):
                    self.assertEqual(busy.stdout.readline(), state)
                    busy.send_signal(number)
                return busy.wait(20)
            finally:
                busy.kill()

    def test_first_signal(self) -> None:
        """The command is interrupted after some seconds, and its own status ends the process."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self._ended(1, number), 130)

    def test_second_signal(self) -> None:
        """A second Ctrl-C ends the process at once."""
        self.assertEqual(self._ended(60, signal.SIGTERM, signal.SIGINT), -signal.SIGINT)


_TOLD = _IGNORING_NONE + """
import sys
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater, react
from bookkeeper_twisted.cli import main

number, when, *ignored = [signal.Signals[name] if name.startswith("SIG") else name for name in sys.argv[1:]]
for each in ignored:
    signal.signal(each, signal.SIG_IGN)

async def command():
    print("begun", flush=True)
    if when in ("work", "wait"):
        signal.raise_signal(number)
    if when == "wait":
        signal.raise_signal(signal.SIGALRM)  # as after PATIENCE
    try:
        await (Deferred() if when == "work" and not ignored else deferLater(reactor, 0))
    except CancelledError:
        print("cancelled", flush=True)
        raise SystemExit(3)
    print("done", flush=True)

if when in ("before", "during"):
    reactor.addSystemEventTrigger(when, "startup", signal.raise_signal, number)
react(lambda _: main.begin(reactor, command()))
"""


class SignalTests(SynchronousTestCase):
    """Signals at a moment of a command's life."""

    def _ended(self, *arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-W", "error", "-c", _TOLD, *arguments]
        ended = subprocess.run(command, capture_output=True, timeout=60, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    def test_while_the_reactor_starts(self) -> None:
        """The command does not begin, whatever the reactor does just then; the status says that it was interrupted."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            for when in ("before", "during"):
                with self.subTest(name=name, when=when):
                    self.assertEqual(self._ended(name, when), (130, "", ""))

    def test_while_the_command_runs(self) -> None:
        """The command is cancelled, and the status says that it was interrupted."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with self.subTest(name):
                self.assertEqual(self._ended(name, "work"), (130, "begun\ncancelled\n", ""))

    def test_while_the_command_waits(self) -> None:
        """A command that blocks the reactor, as by a pipe that nobody writes to, is interrupted silently."""
        self.assertEqual(self._ended("SIGINT", "wait"), (130, "begun\n", ""))

    def test_ignored(self) -> None:
        """What the parent of the process ignores, as nohup(1) does, stays ignored."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            for when in ("before", "work"):
                with self.subTest(name=name, when=when):
                    self.assertEqual(self._ended(name, when, name), (0, "begun\ndone\n", ""))


class FilesTests(SynchronousTestCase):
    """Files of this machine."""

    def test_round_trip(self) -> None:
        """What is written is read."""
        name = self.mktemp()
        DiskFiles().write(name, b"data")
        self.assertEqual(DiskFiles().read(name), b"data")
        self.assertRaises(FileNotFoundError, DiskFiles().read, name + "x")

    def test_endless(self) -> None:
        """A file without an end is refused."""
        error = self.assertRaises(OSError, DiskFiles().read, "/dev/zero")
        self.assertEqual((error.filename, error.strerror), ("/dev/zero", "File too large"))


class MainTests(SynchronousTestCase):
    """The word before the command."""

    def test_usage(self) -> None:
        """Anything but ``shell`` is answered with the usage."""
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        for arguments, status in (([], 255), (["sell"], 255), (["--help"], 0)):
            stopped = self.assertRaises(SystemExit, main, arguments)
            self.assertEqual(stopped.code, status)
        self.assertEqual(output.getvalue().count("Usage: bookkeeper-twisted shell"), 3)
        for named in ("twistd bookie", "twistd autorecovery", "bookkeeper-spark", "Example", "docs/"):
            self.assertIn(named, output.getvalue())

    def test_version(self) -> None:
        """``--version`` is answered with the version."""
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        self.assertEqual(self.assertRaises(SystemExit, main, ["--version"]).code, 0)
        self.assertEqual(output.getvalue(), f"bookkeeper-twisted {__version__}\n")
