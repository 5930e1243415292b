"""Signals where no command takes them, and output that nobody reads or that cannot be written."""

import io
import os
import signal
import subprocess
import sys
from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.ending import ended_by_signal
from bookkeeper_twisted.cli.entry import main

_INTERRUPTED_IMPORT = """
import runpy, signal, sys

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupted())
{program}
"""


_INTERRUPTED_CALLBACK = """
import signal, sys

class Freed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == "bookkeeper_twisted.cli.main":
            Freed()

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:] = ["shell", "help"]
import bookkeeper_twisted.cli.entry
sys.meta_path.insert(0, Interrupted())
bookkeeper_twisted.cli.entry.main()
"""

_HANGUP = """
import signal, sys
from twisted.plugins.bookkeeper_twisted_bookie import {name}

class HungUp:
    def find_spec(self, name, path, target=None):
        if name == "bookkeeper_twisted.cli.{module}":
            signal.raise_signal(signal.SIGHUP)

sys.meta_path.insert(0, HungUp())
{name}.options
from twisted.internet import reactor
from bookkeeper_twisted.cli.process.exit_status import ExitStatus
status = ExitStatus(reactor)
status.on_hangup = lambda: (print("read again"), reactor.stop())
reactor.callLater(5, reactor.stop)  # without the signal
reactor.run()
"""


class EndTests(SynchronousTestCase):
    """Processes that end by the signal, without a word."""

    def _ended(self, program: str, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, **options)

    def _interrupted(self, program: str, module: str) -> None:
        text = _INTERRUPTED_IMPORT.format(module=module, program=program)
        ended = self._ended(text)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (-signal.SIGINT, b"", b""))

    def test_shell(self) -> None:
        """While the modules of the shell are imported."""
        for module in ("bookkeeper_twisted.cli.main", "bookkeeper_twisted.cli.shell"):
            with self.subTest(module):
                self._interrupted("runpy.run_module('bookkeeper_twisted', run_name='__main__')", module)

    def test_reactor(self) -> None:
        """Between a command's beginning and that of the reactor, which has a handler of its own."""
        self._interrupted(
            "sys.argv[1:] = ['shell', 'help']; from bookkeeper_twisted.cli.entry import main; main()",
            "twisted.internet.reactor",
        )

    def test_services(self) -> None:
        """While ``twistd`` imports a service."""
        for name, module in (("bookie", "tap"), ("autorecovery", "autorecovery_tap")):
            with self.subTest(name):
                program = f"from twisted.plugins.bookkeeper_twisted_bookie import {name}; {name}.options"
                self._interrupted(program, f"bookkeeper_twisted.cli.{module}")

    def test_callback(self) -> None:
        """While a finaliser runs, which would swallow an exception."""
        ended = self._ended(_INTERRUPTED_CALLBACK)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (-signal.SIGINT, b"", b""))

    def test_ignored(self) -> None:
        """Ctrl-C that the parent of the process ignores stays ignored."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.patch(sys, "argv", ["bookkeeper-twisted", "--version"])
        self.patch(sys, "stdout", io.StringIO())
        self.assertEqual(self.assertRaises(SystemExit, main).code, 0)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.SIG_IGN)

    def test_hangup(self) -> None:
        """SIGHUP during the import of a service waits, and the configuration is read again when the reactor runs."""
        for name, module in (("bookie", "tap"), ("autorecovery", "autorecovery_tap")):
            with self.subTest(name):
                ended = self._ended(_HANGUP.format(name=name, module=module))
                self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, b"read again\n", b""))

    def test_unwritable_output(self) -> None:
        """Where the output cannot be written: one line, status 1."""
        shell = "from bookkeeper_twisted.cli.entry import main; main()"
        service = "from twisted.plugins.bookkeeper_twisted_bookie import bookie; bookie.options().parseOptions()"
        full, closed = "No space left on device", "it is closed"
        for reason, program, *arguments in (
            (full, shell, "shell", "help"), (full, shell, "probe", "--help"), (full, service, "--help"),
            (full, shell, "--help"), (full, service, "--version"), (closed, shell, "shell", "help"),
        ):  # fmt: skip
            for unbuffered in ("", "1"):
                with self.subTest(arguments=arguments, reason=reason), open("/dev/full", "wb") as output:
                    command = [sys.executable, "-c", f"import sys; {program}", *arguments]
                    ended = subprocess.run(
                        command, stdout=output, stderr=subprocess.PIPE, timeout=60,
                        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
                        preexec_fn=partial(os.close, 1) if reason is closed else None,
                    )  # fmt: skip
                    said = f"the standard output cannot be written: {reason}\n"
                    self.assertEqual((ended.returncode, ended.stderr.decode()), (1, said))

    def test_closed_pipe(self) -> None:
        """Where nobody reads the output; what is left in the buffer is no error either."""
        service = "from twisted.plugins.bookkeeper_twisted_bookie import {0}; {0}.options().parseOptions()"
        shell = "from bookkeeper_twisted.cli.entry import main; main()"
        spark = "from bookkeeper_twisted.spark.main import main; sys.exit(main())"
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        for program, *arguments in (
            (service.format("bookie"), "--help"), (service.format("autorecovery"), "--help"), (shell, "--help"),
            (shell, "shell", "help"), (spark, "--help"),
        ):  # fmt: skip
            with self.subTest(program=program, arguments=arguments):
                read, write = os.pipe()
                os.close(read)
                command = [sys.executable, "-c", f"import sys; {program}", *arguments]
                ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=60, env=buffered)
                os.close(write)
                self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGPIPE, b""))

    def test_others(self) -> None:
        """What ends in another way, ends as it did."""

        def left_by(error: BaseException) -> None:
            with ended_by_signal():
                raise error

        for error in (SystemExit(3), ValueError("wrong")):
            self.assertIs(self.assertRaises(type(error), left_by, error), error)
