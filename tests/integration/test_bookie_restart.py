"""A bookie that restarts under a writer of a ledger of its own."""

import re
import signal
from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import free_port
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, NotEnoughBookiesError
from examples.bookie_process import BookieProcess


class RestartTests(TestCase):
    """One bookie, one writer."""

    timeout = 60

    def setUp(self) -> None:
        self.data = str(Path(self.mktemp()).absolute())
        self.port = free_port()

    async def _serve(self) -> BookieProcess:
        process = BookieProcess.start(
            reactor, self.data, f"--bookiePort={self.port}", "--bookieId=b", "--advertisedAddress=127.0.0.1",
            "--allowLoopback=true", "--journalPreAllocSizeMB=1",
        )  # fmt: skip
        self.addCleanup(process.end)
        return await process.serving

    async def _connect(self, config: ClientConfig) -> BookKeeper:
        client = await BookKeeper.connect(reactor, f"sqlite:///{self.data}/ledgers/metadata.db", config)
        self.addCleanup(client.close)
        return client

    async def test_waits(self) -> None:
        """With ``waitForBookiesSec`` what was appended while the bookie was away is acknowledged when it is back."""
        process = await self._serve()
        client = await self._connect(ClientConfig(wait_for_bookies_sec=30.0))
        writer = await client.create_ledger(1, 1, 1)
        await writer.append(b"before")
        await process.end(signal.SIGKILL)
        meanwhile = [writer.append(b"%d" % number) for number in range(10)]
        await self._serve()
        self.assertEqual([await one for one in meanwhile], list(range(1, 11)))
        await writer.close()
        reader = await client.open_ledger(writer.ledger_id)
        self.assertEqual([entry.data for entry in await reader.read(1, 10)], [b"%d" % n for n in range(10)])

    async def test_does_not_wait(self) -> None:
        """Without it the ledger ends at once, and the error says that the connection was lost."""
        process = await self._serve()
        client = await self._connect(ClientConfig())
        writer = await client.create_ledger(1, 1, 1)
        await writer.append(b"before")
        await process.end(signal.SIGKILL)
        with self.assertRaises(NotEnoughBookiesError) as caught:
            await writer.append(b"x")
        self.assertIsInstance(caught.exception.__cause__, BookieHandleNotAvailableError)
        self.assertIn("b: ", str(caught.exception))


class SmallClusterTests(TestCase):
    """Three bookies and ledgers of 3, 3, 2: none to spare."""

    timeout = 120

    def setUp(self) -> None:
        self.folder = str(Path(self.mktemp()).absolute())
        self.uri = f"sqlite:///{self.folder}/metadata.db"
        self.ports = [free_port() for _ in range(3)]

    async def _serve(self, number: int) -> BookieProcess:
        process = BookieProcess.start(
            reactor, f"{self.folder}/{number}", f"--bookiePort={self.ports[number]}", f"--bookieId=b{number}",
            "--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--journalPreAllocSizeMB=1",
            f"--metadataServiceUri={self.uri}",
        )  # fmt: skip
        self.addCleanup(process.end)
        return await process.serving

    async def _connect(self, config: ClientConfig) -> BookKeeper:
        client = await BookKeeper.connect(reactor, self.uri, config)
        self.addCleanup(client.close)
        return client

    async def test_one_after_the_other(self) -> None:
        """Writers go on without a bookie, by default; with ``waitForBookiesSec`` also if the next one goes before the
        first has been heard again.  With two lost a writer ends, and names both."""
        bookies = [await self._serve(number) for number in range(3)]
        clients = [await self._connect(ClientConfig(wait_for_bookies_sec=seconds)) for seconds in (0.0, 60.0)]
        plain, patient = [await client.create_ledger(3, 3, 2) for client in clients]
        await bookies[0].end(signal.SIGKILL)
        for number in range(50):
            self.assertEqual((await plain.append(b"x"), await patient.append(b"x")), (number, number))
        await plain.close()
        self.assertEqual(len((await clients[0].open_ledger(plain.ledger_id)).metadata.segments), 1)
        await self._serve(0)
        await bookies[1].end(signal.SIGKILL)
        self.assertEqual(await patient.append(b"x"), 50)
        lost = await clients[0].open_ledger(patient.ledger_id, recover=False)
        self.assertEqual(len(await lost.read(0, 49)), 50)
        await bookies[2].end(signal.SIGKILL)
        back = patient.append(b"y")
        await self._serve(1)
        self.assertEqual(await back, 51)
        await patient.close()

    async def test_two_lost(self) -> None:
        """An append that can have no ack quorum fails, with the names of the bookies and their errors."""
        bookies = [await self._serve(number) for number in range(3)]
        client = await self._connect(ClientConfig())
        writer = await client.create_ledger(3, 3, 2)
        await writer.append(b"x")
        for bookie in bookies[:2]:
            await bookie.end(signal.SIGKILL)
        with self.assertRaises(NotEnoughBookiesError) as caught:
            await writer.append(b"y")
        reasons = str(caught.exception).split("; ")
        for name in ("b0", "b1"):
            self.assertTrue([each for each in reasons if re.search(rf"\b{name}\b.*: ", each)], caught.exception)
