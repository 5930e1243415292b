"""A bookie that restarts under a writer of a ledger of its own."""

import signal
from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, NotEnoughBookiesError
from examples.bookie_process import BookieProcess

from .zookeeper import free_port


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
