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


class ExamplesTests(TestCase):
    """Each of them as a process of its own, warnings being errors."""

    timeout = 120

    def setUp(self) -> None:
        self.directory = str(Path(self.mktemp()).absolute())

    async def run_example(self, name: str, *arguments: str) -> str:
        """Runs an example to its end; returns what it printed."""
        command = ["-W", "error", str(ROOT / "examples" / name), *arguments]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        out, err, status = await getProcessOutputAndValue(sys.executable, command, environ, str(ROOT), _reactor)
        self.assertEqual((status, err), (0, b""), err.decode())
        text: str = out.decode()
        return text

    def test_all_are_here(self) -> None:
        """No example is without a test."""
        names = {path.name for path in (ROOT / "examples").glob("*.py")} - {"bookie_process.py", "spark_pipeline.py"}
        expected = "asyncio_client embedded_bookie many_ledgers recover_ledger roundtrip standalone_cluster tail_ledger"
        self.assertEqual(names, {f"{name}.py" for name in (*expected.split(), "threaded_producers", "write_read")})

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
        """All ledgers share one socket to each bookie; one that has asked nothing alone is no flow of its own there."""
        lines = (await self.run_example("many_ledgers.py", self.directory, "30")).splitlines()
        self.assertRegex(lines[0], r"^30 open ledgers, \d+\.\d KiB of memory for each that is idle$")
        self.assertRegex(lines[1], r"^\d+ entries/s, one from each ledger at a time$")
        sockets, flows = ([int(line.split()[-1]) for line in part] for part in (lines[2:5], lines[5:]))
        self.assertEqual(sockets, [1, 1, 1])
        self.assertTrue(all(0 < count <= 31 + 1 for count in flows), flows)
        self.assertEqual({line.partition("{")[0] for line in lines[5:]}, {"bookkeeper_client_flows"})

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
