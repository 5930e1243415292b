"""Ctrl-C where no command takes it, and output that nobody reads."""

import os
import signal
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.entry import ended_by_signal

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


class EndTests(SynchronousTestCase):
    """Processes that end by the signal, without a word."""

    def _interrupted(self, program: str, module: str) -> None:
        text = _INTERRUPTED_IMPORT.format(module=module, program=program)
        ended = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=60)
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
