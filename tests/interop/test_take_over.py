"""One set of directories, Apache's bookie and ours in turn: neither serves what the other has written since."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from examples.bookie_process import BookieProcess

from ..integration.java import java_command
from ..integration.zookeeper import free_port, shared_zookeeper
from .cluster import APACHE_OPTIONS, APACHE_VALUES, properties
from .java_client import JavaClient

_COUNT = 10
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
        self.values = {
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
        conf.write_text(properties({**APACHE_VALUES, **self.values}))
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

    # -- a client --

    async def _write(self, client: BookKeeper) -> int:
        writer = await client.create_ledger(1, 1, 1)
        await writer.append_many([b"%d" % number for number in range(_COUNT)])
        await writer.close()
        return writer.ledger_id

    async def _entries(self, client: BookKeeper, ledger_id: int) -> Sequence[bytes]:
        reader = await client.open_ledger(ledger_id)
        return [entry.data for entry in await reader.read(0, _COUNT - 1)]

    async def test_back_to_apache(self) -> None:
        """After a clean stop of ours Apache's bookie refuses the directories, and ours goes on with them."""
        process = self._ours()
        await process.serving
        async with await BookKeeper.connect(reactor, self.uri) as client:
            ledger_id = await self._write(client)
            self.assertEqual(await process.end(signal.SIGTERM), 0)
            await self._apache_refuses()
            await self._ours().serving
            self.assertEqual(await self._entries(client, ledger_id), [b"%d" % n for n in range(_COUNT)])

    async def test_from_apache(self) -> None:
        """Ours refuses Apache's directories until it is to take them over; then it has all entries, and Apache's
        bookie refuses them."""
        apache = self._apache()
        async with await BookKeeper.connect(reactor, self.uri) as client:
            await self._until_there(client)
            ledger_id = await self._write(client)
            apache.terminate()
            await deferToThread(apache.wait, _SECONDS)
            refused = self._ours()
            await refused.ended()
            self.assertIn("rebuildIndex=true", refused.output.decode())
            process = self._ours("--rebuildIndex=true")
            await process.serving
            self.assertIsNone(process.status, process.output.decode())
            self.assertEqual(await self._entries(client, ledger_id), [b"%d" % n for n in range(_COUNT)])
            self.assertEqual(await process.end(signal.SIGTERM), 0)
            await self._apache_refuses()
            await self._ours().serving
            self.assertEqual(await self._entries(client, ledger_id), [b"%d" % n for n in range(_COUNT)])

    async def _until_there(self, client: BookKeeper) -> None:
        java = JavaClient(self.uri, self.folder / "await.log")
        self.addCleanup(java.stop)
        await deferToThread(java.call_now, "await", client="reader", wire=3, count=1)
