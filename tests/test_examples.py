"""Every example runs, as a reader would run it."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase

from examples.bookie_process import ROOT, BookieProcess

_reactor: Any = reactor

EXAMPLES = (
    "asyncio_client.py", "embedded_bookie.py", "many_ledgers.py", "recover_ledger.py", "roundtrip.py",
    "spark_pipeline.py", "standalone_cluster.py", "tail_ledger.py", "threaded_producers.py", "write_read.py",
)  # fmt: skip


class ExamplesTests(TestCase):
    """Each of them as a process of its own, warnings being errors."""

    timeout = 300

    def setUp(self) -> None:
        self.directory = str(Path(self.mktemp()).absolute())

    async def outcome(self, name: str, *arguments: str, **environ: str) -> tuple[str, str, int]:
        """Run an example to its end; return what it printed, what it complained of, and its status."""
        command = ["-W", "error", str(ROOT / "examples" / name), *arguments]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
        out, err, status = await getProcessOutputAndValue(sys.executable, command, environ, str(ROOT), _reactor)
        return out.decode(), err.decode(), status

    async def run_example(self, name: str, *arguments: str) -> str:
        """Runs an example to its end; returns what it printed."""
        out, err, status = await self.outcome(name, *arguments)
        self.assertEqual((status, err), (0, ""))
        return out

    async def run_alone(self, name: str, lacks: str) -> list[str]:
        """Run an example without arguments; return the lines it printed but the one that says what it lacked."""
        first, *lines = (await self.run_example(name)).splitlines()
        self.assertRegex(first, f"^no {lacks} is given, so this run makes its own: ")
        made = first.rpartition(": ")[2].removeprefix("sqlite://").removesuffix("/metadata.db")
        self.assertFalse(Path(made).exists(), made)
        return lines

    def test_all_are_here(self) -> None:
        """No example is without a test."""
        names = {path.name for path in (ROOT / "examples").glob("*.py")} - {"bookie_process.py", "command_line.py"}
        self.assertEqual(names, set(EXAMPLES))

    async def test_wrong_option(self) -> None:
        """An option that no example has is answered by a usage line, and by no traceback."""
        for name in EXAMPLES:
            out, err, status = await self.outcome(name, "--frobnicate")
            self.assertEqual((status, out), (2, ""), err)
            self.assertRegex(err, rf"^usage: {name} .*\n{name}: error: unrecognized arguments: --frobnicate\n$")

    async def test_wrong_argument(self) -> None:
        """So are a URI of no driver, one of no cluster, and a number that is none."""
        for arguments, reason in (
            (("nonsense",), "no metadata driver for 'nonsense'"),
            ((f"sqlite:///{self.directory}/none.db",), "none.db does not exist"),
            (("memory:", "many"), "argument ledger: invalid int value: 'many'"),
        ):
            out, err, status = await self.outcome("recover_ledger.py", *arguments)
            self.assertEqual((status, out), (2, ""), err)
            self.assertRegex(err, r"^usage: recover_ledger.py .*\nrecover_ledger.py: error: ")
            self.assertIn(reason, err)

    async def test_wrong_uri_in_asyncio(self) -> None:
        """So is a URI of no driver in the example for asyncio."""
        _, err, status = await self.outcome("asyncio_client.py", "nonsense")
        self.assertEqual((status, "Traceback" in err), (2, False), err)

    async def test_without_java(self) -> None:
        """The pipeline says that Java is missing."""
        environ = {"PATH": self.mktemp(), "JAVA_HOME": ""}
        _, err, status = await self.outcome("spark_pipeline.py", **environ)
        self.assertEqual(status, 1)
        self.assertIn("Java is missing: Spark needs Java 17 or later", err)

    async def test_alone(self) -> None:
        """Without arguments each makes what it lacks, and takes it away again."""
        self.assertEqual(await self.run_alone("asyncio_client.py", "URI"), ["0 entry 0", "1 entry 1", "2 entry 2"])
        self.assertEqual((await self.run_alone("write_read.py", "URI"))[-3:], ["0 hello", "1 some", "2 more"])
        self.assertEqual((await self.run_alone("recover_ledger.py", "URI"))[-1:], ["0 last words"])
        self.assertEqual((await self.run_alone("tail_ledger.py", "URI"))[-1:], ["the ledger is closed"])
        self.assertEqual(
            (await self.run_alone("threaded_producers.py", "URI"))[-1:],
            ["400000 entries came back, those of each thread in its order"],
        )
        self.assertEqual(await self.run_alone("embedded_bookie.py", "DIRECTORY"), ["ledger 0: 1 entries, 24 bytes"])
        self.assertEqual(
            await self.run_alone("standalone_cluster.py", "DIRECTORY"), ["on three bookies, read with 2 of them up"]
        )
        self.assertIn("1000 open ledgers", (await self.run_alone("many_ledgers.py", "DIRECTORY"))[0])

    async def run_with_bookie(self, name: str, *arguments: str) -> list[str]:
        """Runs an example that is given the metadata of a bookie; returns the lines it printed."""
        options = ("--bookieId=b", "--bookiePort=0", "--allowLoopback=true", "--advertisedAddress=127.0.0.1")
        process = BookieProcess.start(_reactor, self.directory, *options)
        self.addCleanup(process.end)
        await process.serving
        text = await self.run_example(name, f"sqlite:///{self.directory}/ledgers/metadata.db", *arguments)
        await process.end(signal.SIGTERM)
        return text.splitlines()

    async def test_write_read(self) -> None:
        """Three entries, written to a bookie and read back."""
        lines = await self.run_with_bookie("write_read.py")
        self.assertEqual(lines[-3:], ["0 hello", "1 some", "2 more"])

    async def test_asyncio_client(self) -> None:
        """Entries appended by tasks of asyncio are read back."""
        lines = await self.run_with_bookie("asyncio_client.py")
        self.assertEqual(lines, ["0 entry 0", "1 entry 1", "2 entry 2"])

    async def test_recover_ledger(self) -> None:
        """What a lost writer acknowledged is there."""
        lines = await self.run_with_bookie("recover_ledger.py")
        self.assertEqual(lines, ["ledger 0 is closed, its last entry is 0", "0 last words"])

    async def test_tail_ledger(self) -> None:
        """Entries arrive while the ledger is written, and the end when it is closed."""
        lines = await self.run_with_bookie("tail_ledger.py")
        self.assertEqual(lines, ["0 news 0", "1 news 1", "2 news 2", "the ledger is closed"])

    async def test_threaded_producers(self) -> None:
        """What four threads offered comes back, in the order of each."""
        lines = await self.run_with_bookie("threaded_producers.py", "300")
        self.assertRegex(lines[0], r"^\d+ entries/s of 4 threads, all on disk$")
        self.assertRegex(lines[1], r"^a flush took \d+\.\d ms, the longest \d+\.\d ms$")
        self.assertEqual(lines[2:], ["1200 entries came back, those of each thread in its order"])

    async def test_embedded_bookie(self) -> None:
        """The second run finds the ledger of the first."""
        await self.run_example("embedded_bookie.py", self.directory)
        text = await self.run_example("embedded_bookie.py", self.directory)
        expected = ["ledger 0: 1 entries, 24 bytes", "ledger 1: 1 entries, 24 bytes"]
        self.assertEqual(text.splitlines(), expected)

    async def test_standalone_cluster(self) -> None:
        """Written to three bookies, read from two."""
        text = await self.run_example("standalone_cluster.py", self.directory)
        self.assertEqual(text, "on three bookies, read with 2 of them up\n")

    async def test_many_ledgers(self) -> None:
        """All ledgers share one socket to each bookie for adds, and one for what V2 lacks: notices of idle writers."""
        lines = (await self.run_example("many_ledgers.py", self.directory, "30")).splitlines()
        self.assertRegex(lines[0], r"^30 open ledgers, \d+\.\d KiB of memory for each that is idle$")
        self.assertRegex(lines[1], r"^\d+ entries/s, one from each ledger at a time$")
        counts: dict[str, list[int]] = {}
        for line in lines[2:]:
            counts.setdefault(line.partition("{")[0], []).append(int(line.split()[-1]))
        sockets = counts.pop("per_channel_bookie_client_ACTIVE_NON_TLS_CHANNEL_COUNTER")
        self.assertIn(sockets, ([1] * bookies for bookies in range(3, 7)))
        self.assertEqual(list(counts), ["bookkeeper_client_flows"])
        self.assertTrue(all(0 < count <= 31 + 1 for count in counts["bookkeeper_client_flows"]), counts)

    async def test_roundtrip(self) -> None:
        """A file of odd size comes back whole from a bookie that was killed."""
        path = Path(self.mktemp()).absolute()
        path.write_bytes(os.urandom(1_000_003))
        text = await self.run_example("roundtrip.py", str(path))
        self.assertIn("every byte came back", text)
        self.assertRegex(text, r"entries +977\n")

    async def test_roundtrip_of_a_missing_file(self) -> None:
        """A file that is not there is one message and a status that is not 0."""
        command = [str(ROOT / "examples" / "roundtrip.py"), "/no/such/file"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        _, err, status = await getProcessOutputAndValue(sys.executable, command, environ, str(ROOT), _reactor)
        self.assertEqual(status, 1)
        self.assertEqual(err.decode(), "FAILED: [Errno 2] No such file or directory: '/no/such/file'\n")
