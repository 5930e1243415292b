"""``twistd bookie`` as a real process: it serves, it ends, it refuses."""

import json
import signal
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import free_port
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.errors import NotInitializedError
from examples.bookie_process import BookieProcess

_reactor: Any = reactor
_LOCAL = ("--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--bookiePort=0")
_HTTP = ("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0")


class _ProcessCase(TestCase):
    """Starts bookies and leaves none behind."""

    timeout = 60

    def setUp(self) -> None:
        self.data = str(Path(self.mktemp()).absolute())

    def start(self, *options: str, bookie_id: str = "b") -> BookieProcess:
        process = BookieProcess.start(_reactor, self.data, *_LOCAL, f"--bookieId={bookie_id}", *options)
        process.serving.addErrback(lambda failure: None)  # the tests look at status and output
        self.addCleanup(process.end)
        return process

    async def serve(self, *options: str) -> BookieProcess:
        process = self.start(*options)
        await process.serving
        self.assertIsNone(process.status, process.output.decode())
        return process

    def assertRefused(self, process: BookieProcess, *words: str) -> None:
        """The process has ended with status 1, has said why, and has shown no traceback."""
        text = process.output.decode()
        self.assertEqual(process.status, 1, text)
        for word in words:
            self.assertIn(word, text)
        self.assertNotIn("Traceback", text)


class ServingTests(_ProcessCase):
    """A bookie from its start to its end."""

    async def test_serves_http(self) -> None:
        """``/heartbeat`` and ``/metrics`` answer as soon as the bookie says that it serves."""
        process = await self.serve(*_HTTP)
        self.assertEqual((await process.get("/heartbeat")).strip(), "OK")
        self.assertEqual((await process.metrics())["bookie_SERVER_STATUS"], 1)

    async def test_metrics_alone(self) -> None:
        """With Apache's Prometheus provider and no HTTP server there are metrics; no second bookie has their port."""
        port = free_port()
        options = (
            "--statsProviderClass=org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
            f"--prometheusStatsHttpPort={port}", "--prometheusStatsHttpAddress=127.0.0.1",
        )  # fmt: skip
        process = await self.serve(*options)
        process.http_port = port
        self.assertEqual((await process.metrics())["bookie_SERVER_STATUS"], 1)
        self.assertIn(f"metrics are at 127.0.0.1:{port}/metrics, for this machine alone", process.output.decode())
        other = BookieProcess.start(_reactor, f"{self.data}-other", *_LOCAL, "--bookieId=other", *options)
        other.serving.addErrback(lambda failure: None)
        self.addCleanup(other.end)
        await other.ended()
        self.assertRefused(other, f"prometheusStatsHttpPort = {port}", "Address already in use")

    async def test_serves_bookie_port(self) -> None:
        """The port it names accepts connections."""
        process = await self.serve()
        protocol: Any = await connectProtocol(TCP4ClientEndpoint(_reactor, "127.0.0.1", process.port), Protocol())
        protocol.transport.abortConnection()

    async def test_endpoint(self) -> None:
        """A bookie that listens at an endpoint string stores and is found like any other."""
        await self.serve("--listenEndpoint=tcp:0:interface=127.0.0.1")
        async with await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/ledgers/metadata.db") as client:
            async with await client.create_ledger(1, 1, 1) as ledger:
                await ledger.append(b"x")
            reader = await client.open_ledger(ledger.ledger_id)
            self.assertEqual([entry.data for entry in await reader.read(0, 0)], [b"x"])

    async def test_sigterm(self) -> None:
        """SIGTERM is an orderly end with status 0."""
        process = await self.serve()
        self.assertEqual(await process.end(signal.SIGTERM), 0)
        self.assertNotIn("Traceback", process.output.decode())

    async def test_impatience(self) -> None:
        """Signals that come again while it ends are not worth a line."""
        for number, status in ((signal.SIGTERM, 0), (signal.SIGINT, -signal.SIGINT)):
            process = await self.serve()
            process.transport.signalProcess(number)
            # One that arrives when the reactor has ended already ends the process.
            self.assertIn(await process.end(number), (status, -number))
            self.assertNotIn("Traceback", process.output.decode())

    async def test_http_paths(self) -> None:
        """What HTTP says of the bookie, its cluster and its ledgers is what a client sees."""
        process = await self.serve(*_HTTP)
        self.assertTrue(json.loads(await process.get("/api/v1/bookie/state"))["running"])
        self.assertEqual(list(json.loads(await process.get("/api/v1/bookie/list_bookies?type=rw"))), ["b"])
        self.assertEqual(json.loads(await process.get("/api/v1/bookie/sanity")), {"passed": True, "readOnly": False})
        self.assertEqual(json.loads(await process.get("/api/v1/bookie/gc")), {"is_in_force_gc": "false"})
        (journals,) = json.loads(await process.get("/api/v1/bookie/list_disk_file?file_type=journal")).values()
        self.assertRegex(journals, r"^([0-9a-f]+\.txn\t)+$")
        async with await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/ledgers/metadata.db") as client:
            async with await client.create_ledger(1, 1, 1, b"secret") as ledger:
                await ledger.append(b"x")
            path = f"/api/v1/ledger/read?ledger_id={ledger.ledger_id}"
            self.assertEqual(json.loads(await process.get(path)), {"0": "x"})
        self.assertEqual(await process.end(signal.SIGTERM), 0)

    async def test_quiet_log(self) -> None:
        """Connections, scrapes and requests leave no line in the log, and no line names what only the code knows."""
        process = await self.serve(*_HTTP)
        before = process.output
        for _ in range(3):
            await process.metrics()
            protocol: Any = await connectProtocol(TCP4ClientEndpoint(_reactor, "127.0.0.1", process.port), Protocol())
            protocol.transport.abortConnection()
        client = await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/ledgers/metadata.db")
        async with client, await client.create_ledger(1, 1, 1) as ledger:
            await ledger.append(b"x")
        self.assertEqual(process.output, before)
        self.assertNotIn("_Gate", before.decode())
        self.assertIn("the port of the bookie starting on", before.decode())

    async def test_sighup(self) -> None:
        """SIGHUP does not end a bookie."""
        process = await self.serve(*_HTTP)
        process.transport.signalProcess("HUP")
        self.assertEqual((await process.get("/heartbeat")).strip(), "OK")
        self.assertIn("SIGHUP, the configuration was read again: nothing has changed", process.output.decode())

    async def test_client_of_nothing(self) -> None:
        """A client with a mistyped URI says what is wrong and makes nothing."""
        path = Path(self.data) / "mistyped" / "metadata.db"
        with self.assertRaisesRegex(NotInitializedError, "initnewcluster"):
            await BookKeeper.connect(_reactor, f"sqlite:///{path}")
        self.assertFalse(Path(self.data).exists())

    async def test_starts_again(self) -> None:
        """A bookie that was stopped, and one that was killed, start again on their data."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            await (await self.serve()).end(number)
        await self.serve()

    async def test_unknown_key(self) -> None:
        """An unknown key in the file is warned about in the log; an unused one is mentioned."""
        path = Path(self.mktemp())
        path.write_text("bookiePrt=1\npageSize=1\n")
        process = await self.serve("--conf", str(path.absolute()))
        text = process.output.decode()
        self.assertIn("bookiePrt", text)
        self.assertIn("pageSize", text)

    async def test_standalone(self) -> None:
        """One process serves a ledger on three bookies."""
        process = BookieProcess.start(_reactor, self.data, "--standalone=3", "--bookiePort=0")
        self.addCleanup(process.end)
        await process.serving
        client = await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/metadata.db")
        self.addCleanup(client.close)
        ledger = await client.create_ledger(3, 3, 2)
        self.assertEqual(await ledger.append(b"x"), 0)
        await ledger.close()
        self.assertEqual(await process.end(signal.SIGTERM), 0)


class RefusalTests(_ProcessCase):
    """One message, status 1."""

    async def test_bad_value(self) -> None:
        """A bad value names key, origin and reason."""
        process = self.start("--flushInterval=soon")
        await process.ended()
        self.assertRefused(process, "flushInterval = 'soon', option --flushInterval: expected an integer")

    async def test_bad_metadata_uri(self) -> None:
        """An unknown metadata store is named."""
        process = self.start("--metadataServiceUri=carrier-pigeon://loft")
        await process.ended()
        self.assertRefused(process, "carrier-pigeon")

    async def test_occupied_port(self) -> None:
        """A port that is taken is named."""
        port: Any = _reactor.listenTCP(0, Factory.forProtocol(Protocol), interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        number = port.getHost().port
        process = self.start(f"--bookiePort={number}")
        await process.ended()
        self.assertRefused(process, str(number), "in use")
        self.assertEqual([path.name for path in Path(self.data).rglob("*") if "metadata" in path.name], [])
        self.assertEqual([path.name for path in Path(self.data).rglob("IDENTITY")], [])
        await self.serve()

    async def test_locked_directory(self) -> None:
        """Two processes never serve one directory (S6)."""
        await self.serve()
        process = self.start()
        await process.ended()
        self.assertRefused(process, self.data)

    async def test_wrong_cookie(self) -> None:
        """Directories of one bookie are not served as another (S6)."""
        await (await self.serve()).end(signal.SIGTERM)
        process = self.start(bookie_id="another")
        await process.ended()
        self.assertRefused(process, "another")

    async def test_lost_directory(self) -> None:
        """An empty journal directory under a known identity is data loss, not a first start (S6)."""
        await (await self.serve()).end(signal.SIGTERM)
        (Path(self.data) / "journal").rename(Path(self.data) / "lost")
        process = self.start()
        await process.ended()
        self.assertRefused(process, f"{self.data}/journal")

    async def test_damaged_journal(self) -> None:
        """A journal that has lost what was durable is refused, with file and offset (safety: no silent end)."""
        process = await self.serve()
        client = await BookKeeper.connect(_reactor, f"sqlite:///{self.data}/ledgers/metadata.db")
        self.addCleanup(client.close)
        ledger = await client.create_ledger(1, 1, 1)
        for payload in (b"the first", b"the second", b"the third"):
            await ledger.append(payload)  # each is a journal group of its own
        await process.end(signal.SIGKILL)
        (journal,) = [f for f in Path(self.data, "journal", "current").glob("*.txn") if b"the first" in f.read_bytes()]
        journal.write_bytes(journal.read_bytes().replace(b"the first", b"the worst"))
        process = self.start()
        await process.ended()
        self.assertRefused(process, str(journal), "offset")
