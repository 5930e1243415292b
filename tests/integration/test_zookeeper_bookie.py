"""``twistd bookie`` on a real ZooKeeper."""

import signal
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.admin import cluster_admin
from bookkeeper_twisted.codec.metadata_formats import Cookie, decode_service_info
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.model import Endpoint
from examples.bookie_process import BookieProcess

_reactor: Any = reactor


class ZooKeeperBookieTests(TestCase):
    """A bookie in a process of its own, in a cluster of its own."""

    timeout = 60

    def setUp(self) -> None:
        server = shared_zookeeper()
        self.root = server.new_root()
        self.uri = server.uri(self.root)
        self.data = Path(self.mktemp()).absolute()
        self.zookeeper: Any = KazooClient(server.hosts)
        self.zookeeper.start()
        self.addCleanup(self.zookeeper.close)
        self.addCleanup(self.zookeeper.stop)

    def start(self) -> BookieProcess:
        process = BookieProcess.start(
            _reactor, str(self.data), f"--metadataServiceUri={self.uri}", "--bookiePort=0", "--allowLoopback=true",
            "--advertisedAddress=127.0.0.1",
        )  # fmt: skip
        process.serving.addErrback(lambda failure: None)
        self.addCleanup(process.end)
        return process

    async def test_serves(self) -> None:
        """It registers as Java's bookies do, a client finds it and writes, and its end is seen at once."""
        async with cluster_admin(_reactor, self.uri, ClientConfig()) as admin:
            self.assertTrue(await admin.initialize())
            instance_id = await admin.instance_id()
        process = self.start()
        await process.serving
        self.assertIsNone(process.status, process.output.decode())
        bookie_id = f"127.0.0.1:{process.port}"
        info, stat = self.zookeeper.get(f"{self.root}/available/{bookie_id}")
        self.assertNotEqual(stat.ephemeralOwner, 0)
        endpoint = Endpoint("bookie", "127.0.0.1", process.port, "bookie-rpc")
        self.assertEqual(decode_service_info(info, bookie_id).endpoints, (endpoint,))
        cookie = Cookie.parse(self.zookeeper.get(f"{self.root}/cookies/{bookie_id}")[0])
        expected = Cookie(bookie_id, f"{self.data}/journal", (f"{self.data}/ledgers",), None, instance_id)
        self.assertEqual(cookie, expected)
        await self._write_and_read()
        self.assertEqual(await process.end(signal.SIGTERM), 0)
        self.assertEqual(self.zookeeper.get_children(f"{self.root}/available"), ["readonly"])

    async def _write_and_read(self) -> None:
        client = await BookKeeper.connect(_reactor, self.uri)
        try:
            ledger = await client.create_ledger(1, 1, 1)
            self.assertEqual(await ledger.append(b"x"), 0)
            await ledger.close()
            reader = await client.open_ledger(ledger.ledger_id)
            self.assertEqual([entry.data for entry in await reader.read(0, 0)], [b"x"])
        finally:
            await client.close()

    async def test_no_cluster(self) -> None:
        """Without a cluster the bookie says so, and makes nothing."""
        process = self.start()
        await process.ended()
        self.assertEqual(process.status, 1)
        self.assertIn(f"there is no cluster at {self.root}", process.output.decode())
        self.assertIsNone(self.zookeeper.exists(self.root))
