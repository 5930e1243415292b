"""Processes that are held up for longer than their peers may take."""

import signal
import threading
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from examples.bookie_process import BookieProcess

_OPTIONS = (
    *("--bookieId=b", "--bookiePort=0", "--advertisedAddress=127.0.0.1", "--allowLoopback=true"),
    *("--journalMaxSizeMB=1", "--journalPreAllocSizeMB=1", "--minUsableSizeForEntryLogCreation=0"),
)
_TIMEOUT = 0.4


class HeldUpTests(TestCase):
    """A client in this process, a bookie in another; requests may take 0.4 s."""

    timeout = 60

    async def _start(self) -> BookieProcess:
        data = str(Path(self.mktemp()).absolute())
        process = BookieProcess.start(reactor, data, *_OPTIONS)
        self.addCleanup(process.end)
        await process.serving
        config = ClientConfig(
            add_entry_timeout_sec=_TIMEOUT, read_entry_timeout_sec=_TIMEOUT, connection_keepalive_sec=_TIMEOUT
        )
        self.client = await BookKeeper.connect(reactor, f"sqlite:///{data}/ledgers/metadata.db", config)
        self.addCleanup(self.client.close)
        return process

    def _hold_up(self) -> None:
        """Blocks the reactor."""
        threading.Event().wait(3 * _TIMEOUT)

    async def test_reactor_blocked(self) -> None:
        """Appends, whether sent or not when the reactor is blocked, succeed; so do reads; the ledger goes on."""
        await self._start()
        writer = await self.client.create_ledger(1, 1, 1)
        unsent = [writer.append(b"unsent") for _ in range(10)]
        self._hold_up()
        self.assertEqual(await gatherResults(unsent), list(range(10)))
        sent = [writer.append(b"sent") for _ in range(21)]
        await deferLater(reactor, 0, lambda: None)
        self._hold_up()
        self.assertEqual(await gatherResults(sent), list(range(10, 31)))
        reader = await self.client.open_ledger(writer.ledger_id, recover=False)
        reading = reader.read(0, 9)
        self._hold_up()
        self.assertEqual(len(await reading), 10)
        await writer.close()

    async def test_bookie_stopped(self) -> None:
        """A bookie that was stopped and goes on is still registered and serves the connections that it has."""
        process = await self._start()
        writer = await self.client.create_ledger(1, 1, 1)
        await writer.append(b"before")
        process.transport.signalProcess(signal.SIGSTOP)
        await deferLater(reactor, _TIMEOUT / 2, lambda: None)
        appending = writer.append(b"meanwhile")
        process.transport.signalProcess(signal.SIGCONT)
        self.assertEqual(await appending, 1)
        await writer.close()
