"""Command lines of the load programs, and what is taken from them."""

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared.certificates import TlsFiles
from benchmarks.shared.loads import Generator, Ledgers, measure
from benchmarks.shared.processes import ROOT, Bookie, family, python_of
from benchmarks.shared.workloads import Workload

_WORK = Workload("", "add", 100, 10, 5, 50, bookies=2, acks=1)


class GeneratorTests(SynchronousTestCase):
    """Our generator and an external one."""

    def setUp(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        assert self.process.stdin is not None
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.stdin.close)
        self.bookies = [Bookie("a", self.process, 31), Bookie("b", self.process, 32)]

    def words(self, command: list[str]) -> dict[str, str]:
        at = command.index("add") + 1
        return dict(zip(command[at::2], command[at + 1 :: 2], strict=True))

    def test_ours(self) -> None:
        """Ours gets ports, and a number of ledgers from the first on."""
        words = self.words(Generator().add(_WORK, self.bookies, 3, range(7, 9)))
        expected = {
            "--ports": "31,32",
            "--ledger": "7",
            "--ledgers": "2",
            "--wire": "3",
            "--acks": "1",
            "--count": "50",
        }
        self.assertLessEqual(expected.items(), words.items())

    def test_tls(self) -> None:
        """Within TLS it gets the authority of the bookie, and offers one suite."""
        command = Generator(tls=TlsFiles(Path("/files"))).add(_WORK, self.bookies[:1], 3, range(7, 8))
        self.assertEqual(command[:2], ["env", "OPENSSL_CONF=/files/openssl.cnf"])
        self.assertEqual(self.words(command)["--trusted"], "/files/trust.pem")

    def test_external(self) -> None:
        """An external one gets addresses, and the ids of all ledgers."""
        command = Generator(Path("/bin/raw")).add(_WORK, self.bookies, 3, range(7, 9))
        expected = {"--targets": "127.0.0.1:31,127.0.0.1:32", "--ledgers": "7,8", "--proto": "3", "--aq": "1"}
        self.assertEqual(command[:2], ["/bin/raw", "add"])
        self.assertLessEqual(expected.items(), self.words(command).items())

    def run_program(self, result: str, status: int = 0) -> dict[str, float]:
        program = f"print('MEASURE'); print('''{result}'''); raise SystemExit({status})"
        return measure([sys.executable, "-c", program], self.bookies[:1])

    def test_measure(self) -> None:
        """The figures of the program are kept, and the CPU of a bookie that did nothing counts as one tick."""
        figures = self.run_program(
            '{"entries": 1000000, "rate": 5, "p50_ms": 1, "p99_ms": 2, "errors": 0, "mode": "x"}'
        )
        self.assertEqual(figures, {"rate": 5, "p50_ms": 1, "p99_ms": 2, "cpu": 0.01})

    def test_begun(self) -> None:
        """What is to go on beside the load begins with its measured part."""
        begun: list[int] = []
        result = '{"entries": 10, "rate": 5, "p50_ms": 1, "p99_ms": 2, "errors": 0}'
        measure([sys.executable, "-c", f"print('MEASURE'); print('{result}')"], [], begun=lambda: begun.append(1))
        self.assertEqual(begun, [1])

    def test_errors(self) -> None:
        """A program that saw an error, read nothing, or failed, has no figures."""
        for entries, errors, status in ((10, 1, 0), (0, 0, 0), (10, 0, 3)):
            result = f'{{"entries": {entries}, "rate": 5, "p50_ms": 1, "p99_ms": 2, "errors": {errors}}}'
            self.assertRaises(RuntimeError, self.run_program, result, status)

    def test_family(self) -> None:
        """A process has itself and its descendants for a family."""
        self.assertEqual(family(self.process.pid), [self.process.pid])
        self.assertIn(self.process.pid, family(os.getpid()))


class LedgersTests(SynchronousTestCase):
    """Who may use which ledger."""

    def test_fresh(self) -> None:
        """No ledger is given twice."""
        ledgers = Ledgers()
        first, second = ledgers.fresh(3), ledgers.fresh()
        self.assertEqual((len(first), len(second)), (3, 1))
        self.assertNotIn(second.start, first)

    def test_entries(self) -> None:
        """A trial reads less, but never less than what is in flight."""
        self.assertEqual(Ledgers(0.5).entries(1024), 100_000)
        self.assertGreaterEqual(Ledgers(0.0001).entries(1024), 1000)


class PythonTests(SynchronousTestCase):
    """The Python that runs a tree."""

    def test_other(self) -> None:
        """It is that of another tree's ``.venv``, so that two builds of Python can be compared."""
        tree = Path(self.mktemp())
        python = tree / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
        self.assertEqual(python_of(tree), str(python))

    def test_none(self) -> None:
        """It is the present one for a tree without any, and for this tree, whatever its ``.venv`` is."""
        self.assertEqual((python_of(Path(self.mktemp())), python_of(ROOT)), (sys.executable, sys.executable))
