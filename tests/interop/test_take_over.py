"""One set of directories, Apache's bookie and ours in turn: neither serves what the other has written since."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from benchmarks.shared.java import java_command
from benchmarks.shared.zookeeper import free_port, shared_zookeeper
from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.errors import BookKeeperError, LedgerFencedError
from examples.bookie_process import BookieProcess

from ..storage.apache.test_rocksdb import need_rocksdict
from .cluster import APACHE_OPTIONS, APACHE_VALUES, properties
from .java_client import JavaClient

_COUNT = 10
_ENTRIES = [b"%d" % number for number in range(_COUNT)]
_ROOT = Path(__file__).resolve().parent.parent.parent
_SECONDS = 60


class TakeOverTests(TestCase):
    """A cluster of one bookie on ZooKeeper."""

    timeout = 240

    def setUp(self) -> None:
        server = shared_zookeeper()
        self.uri = server.uri(server.new_root())
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        java = JavaClient(self.uri, self.folder / "client.log")
        self.addCleanup(java.stop)
        assert java.call_now("initialize")["made"]
        self.for_apache: dict[str, object] = {}
        self.values: dict[str, object] = {
            "metadataServiceUri": self.uri,
            "bookiePort": free_port(),
            "advertisedAddress": "127.0.0.1",
            "allowLoopback": "true",
            "journalDirectories": self.folder / "journal",
            "ledgerDirectories": self.folder / "ledgers",
        }

    # -- the two bookies --

    def _ours(self, *more: str) -> BookieProcess:
        options = [f"--{key}={value}" for key, value in self.values.items()]
        process = BookieProcess.start(reactor, str(self.folder), *options, "--journalPreAllocSizeMB=1", *more)
        process.serving.addErrback(lambda failure: None)
        self.addCleanup(process.end)
        return process

    def _apache(self) -> subprocess.Popen[bytes]:
        conf = self.folder / "apache.conf"
        conf.write_text(properties({**APACHE_VALUES, **self.values, **self.for_apache}))
        options = (*APACHE_OPTIONS, f"-Djava.io.tmpdir={self.folder}")
        command = java_command("org.apache.bookkeeper.server.Main", "--conf", str(conf), options=options)
        with open(self.folder / "apache.log", "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    async def _apache_refuses(self) -> None:
        process = self._apache()
        status = await deferToThread(process.wait, _SECONDS)
        self.assertNotEqual(status, 0)
        self.assertIn("ookie", (self.folder / "apache.log").read_text())

    async def _until_gone(self, client: BookKeeper) -> None:
        """The registration of a bookie that was killed ends with its session."""
        gone: Deferred[None] = Deferred()

        def look(writable: frozenset[str], read_only: frozenset[str]) -> None:
            if not writable and not gone.called:
                gone.callback(None)

        registration: Any = client.metadata.registration
        stop = registration.watch_bookies(look)
        await gone
        stop()

    # -- a client --

    async def _write(self, client: BookKeeper) -> int:
        writer = await client.create_ledger(1, 1, 1)
        await writer.append_many(_ENTRIES)
        await writer.close()
        return writer.ledger_id

    async def _entries(self, client: BookKeeper, ledger_id: int) -> Sequence[bytes]:
        reader = await client.open_ledger(ledger_id)
        return [entry.data for entry in await reader.read(0, _COUNT - 1)]

    async def _convert(self) -> str:
        """Runs ``convert-to-db-storage``.

        :returns: what it printed.
        """
        conf = self.folder / "ours.conf"
        conf.write_text(properties({**self.values, "journalPreAllocSizeMB": 1}))
        command = [sys.executable, "-m", "bookkeeper_twisted", "shell", "-conf", str(conf), "convert-to-db-storage"]
        done = await deferToThread(lambda: subprocess.run(command, cwd=_ROOT, capture_output=True, text=True))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    async def _serves(self, process: BookieProcess) -> None:
        await process.serving
        self.assertIsNone(process.status, process.output.decode())

    async def test_back_to_apache(self) -> None:
        """After a clean stop of ours Apache's bookie refuses the directories.  After ``convert-to-db-storage`` it has
        every entry, is fenced where ours was, takes adds where not, and ours refuses; then ours takes all that over."""
        need_rocksdict()
        process = self._ours()
        await process.serving
        async with await BookKeeper.connect(reactor, self.uri) as client:
            ledger_ids = [await self._write(client) for _ in range(3)]
            fenced, going_on = [await client.create_ledger(1, 1, 1) for _ in range(2)]
            await fenced.append(b"before")
            await going_on.append_many(_ENTRIES)
            await client.open_ledger(fenced.ledger_id)
            self.assertEqual(await process.end(signal.SIGTERM), 0)
            await self._apache_refuses()
            self.assertIn("Done Converting", await self._convert())
            apache = self._apache()
            await self._until_registered()
            for ledger_id in ledger_ids:
                self.assertEqual(await self._entries(client, ledger_id), _ENTRIES)
            await going_on.append_many([b"added there"] * _COUNT)
            await self._is_refused(fenced)
            apache.terminate()
            await deferToThread(apache.wait, _SECONDS)
            refused = self._ours()
            await refused.ended()
            self.assertIn("rebuildIndex=true", refused.output.decode())
            await self._serves(self._ours("--rebuildIndex=true"))
            await going_on.append(b"and here")
            await self._is_refused(fenced)
            await going_on.close()
            reader = await client.open_ledger(going_on.ledger_id)
            found = [entry.data for entry in await reader.read(0, 2 * _COUNT)]
            self.assertEqual(found, [*_ENTRIES, *[b"added there"] * _COUNT, b"and here"])
            for ledger_id in ledger_ids:
                self.assertEqual(await self._entries(client, ledger_id), _ENTRIES)

    async def _is_refused(self, writer: LedgerWriter) -> None:
        try:
            await writer.append(b"after")
        except BookKeeperError as error:
            self.assertIsInstance(error, LedgerFencedError)
        else:
            self.fail("an add to a fenced ledger succeeded")

    async def test_after_kill(self) -> None:
        """After SIGKILL what is in the journals only is converted as well."""
        need_rocksdict()
        process = self._ours("--flushInterval=1000000", "--zkTimeout=2000")
        await process.serving
        async with await BookKeeper.connect(reactor, self.uri) as client:
            ledger_id = await self._write(client)
            await process.end(signal.SIGKILL)
            self.assertIn(f"entries={_COUNT}", await self._convert())
            await self._until_gone(client)
            self._apache()
            await self._until_registered()
            self.assertEqual(await self._entries(client, ledger_id), _ENTRIES)

    async def test_from_apache(self) -> None:
        """Ours refuses Apache's directories until it is to take them over; then it has all entries, takes adds to
        ledgers that are not fenced, and Apache's bookie refuses."""
        need_rocksdict()
        apache = self._apache()
        async with await BookKeeper.connect(reactor, self.uri) as client:
            await self._until_registered()
            ledger_id = await self._write(client)
            going_on = await client.create_ledger(1, 1, 1)
            await going_on.append_many(_ENTRIES)
            apache.terminate()
            await deferToThread(apache.wait, _SECONDS)
            refused = self._ours()
            await refused.ended()
            self.assertIn("rebuildIndex=true", refused.output.decode())
            process = self._ours("--rebuildIndex=true")
            await self._serves(process)
            self.assertEqual(await self._entries(client, ledger_id), _ENTRIES)
            await going_on.append(b"added here")
            self.assertEqual(await process.end(signal.SIGTERM), 0)
            await self._apache_refuses()
            await self._ours().serving
            self.assertEqual(await self._entries(client, ledger_id), _ENTRIES)

    async def test_from_sorted(self) -> None:
        """Ours takes sorted storage of two directories over, all entries of ledgers that both hold, and goes on."""
        self.values["ledgerDirectories"] = f"{self.folder / 'ledgers0'},{self.folder / 'ledgers1'}"
        self.values["ledgerStorageClass"] = "org.apache.bookkeeper.bookie.SortedLedgerStorage"
        self.for_apache = {"logSizeLimit": 1 << 20, "skipListSizeLimit": 1 << 20}
        apache = self._apache()
        data: list[bytes] = []
        async with await BookKeeper.connect(reactor, self.uri) as client:
            await self._until_registered()
            writers = [await client.create_ledger(1, 1, 1) for _ in range(5)]
            while len(data) < 60 or not self._both_have_logs():  # a new log is in either of them, by chance
                self.assertLess(len(data), 1200, "one directory only was written to")
                fresh = [bytes([number % 256]) * 10_000 for number in range(len(data), len(data) + 20)]
                for writer in writers:
                    await writer.append_many(fresh)
                data += fresh
            apache.terminate()
            await deferToThread(apache.wait, _SECONDS)
            process = self._ours("--rebuildIndex=true")
            await self._serves(process)
            for writer in writers:
                await writer.append(b"added here")
                await writer.close()
            self.assertEqual(await process.end(signal.SIGTERM), 0)
            await self._apache_refuses()
            await self._serves(self._ours())
            for writer in writers:
                reader = await client.open_ledger(writer.ledger_id)
                found = [entry.data for entry in await reader.read(0, len(data))]
                self.assertEqual(found, [*data, b"added here"])

    def _both_have_logs(self) -> bool:
        return all([*(self.folder / name / "current").glob("*.log")] for name in ("ledgers0", "ledgers1"))

    async def test_running_apache(self) -> None:
        """Directories whose bookie is Apache's and runs are not taken over."""
        need_rocksdict()
        self._apache()
        await self._until_registered()
        same_id = f"--bookieId=127.0.0.1:{self.values['bookiePort']}"
        refused = self._ours("--rebuildIndex=true", f"--bookiePort={free_port()}", same_id)
        await refused.ended()
        self.assertIn("is in use by another process", refused.output.decode())
        self.assertTrue((self.folder / "ledgers" / "current" / "VERSION").exists())

    async def _until_registered(self) -> None:
        java = JavaClient(self.uri, self.folder / "await.log")
        self.addCleanup(java.stop)
        await deferToThread(java.call_now, "await", client="reader", wire=3, count=1)
