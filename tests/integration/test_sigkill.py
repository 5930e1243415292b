"""S1 on real processes: a bookie is killed under load, again and again, and loses nothing it acknowledged."""

import contextlib
import signal
from functools import partial
from hashlib import sha256
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.errors import BookKeeperError
from examples.bookie_process import BookieProcess

ROUNDS = 30
IN_FLIGHT = 1000
# Small files and frequent checkpoints, so that the kills fall into rotations, flushes and log marks as well.
_OPTIONS = (
    *("--bookieId=b", "--bookiePort=0", "--advertisedAddress=127.0.0.1", "--allowLoopback=true"),
    *("--journalMaxSizeMB=1", "--journalPreAllocSizeMB=1", "--flushInterval=100"),
    *("--logSizeLimit=4194304", "--minUsableSizeForEntryLogCreation=0"),
)


def _payload(ledger_id: int, entry_id: int) -> bytes:
    """Bytes that no other entry has, of a size that varies."""
    return sha256(b"%d/%d" % (ledger_id, entry_id)).digest() * (1 + entry_id % 40)


class _Load:
    """Appends with many in flight, until the first failure.

    :ivar acked: how many appends were acknowledged; ids are in order, so these are the ids below it.
    :ivar enough: fires when ``goal`` are.
    """

    def __init__(self, ledger: LedgerWriter, goal: int) -> None:
        self.ledger = ledger
        self.acked = 0
        self.failed = False
        self.enough: Deferred[None] = Deferred()
        self._goal = goal
        self._sent = 0
        self._pending: list[Deferred[None]] = []

    def start(self) -> None:
        for _ in range(IN_FLIGHT):
            self._append()

    def _append(self) -> None:
        entry_id, self._sent = self._sent, self._sent + 1
        appended = self.ledger.append(_payload(self.ledger.ledger_id, entry_id))
        self._pending.append(appended.addCallbacks(partial(self._appended, entry_id), self._not_appended))

    def _appended(self, expected: int, entry_id: int) -> None:
        assert entry_id == expected == self.acked, "adds succeed in the order of their ids (S13)"
        self.acked += 1
        if self.acked == self._goal:
            self.enough.callback(None)
        if not self.failed:
            self._append()

    def _not_appended(self, failure: Failure) -> None:
        failure.trap(BookKeeperError)
        self.failed = True

    async def settled(self) -> None:
        """Waits until every append has succeeded or failed."""
        await DeferredList(self._pending)


class SigkillTests(TestCase):
    """Thirty lives of one bookie."""

    timeout = 240

    def setUp(self) -> None:
        self.data = str(Path(self.mktemp()).absolute())

    async def _serve(self) -> BookieProcess:
        process = BookieProcess.start(reactor, self.data, *_OPTIONS)
        self.addCleanup(process.end)
        return await process.serving

    async def _check(self, client: BookKeeper, ledger_id: int, acked: int) -> None:
        """Every acknowledged entry is there, with its bytes."""
        reader = await client.open_ledger(ledger_id)
        entry_id = 0
        async for batch in reader.batches():
            for data in batch.payloads:
                self.assertEqual(data, _payload(ledger_id, entry_id), f"entry {entry_id} of ledger {ledger_id}")
                entry_id += 1
        self.assertGreaterEqual(entry_id, acked, f"ledger {ledger_id} lost acknowledged entries")

    async def test_nothing_acknowledged_is_lost(self) -> None:
        """Killed thirty times under load, the bookie gives back every acknowledged entry (S1)."""
        process = await self._serve()
        client = await BookKeeper.connect(reactor, f"sqlite:///{self.data}/ledgers/metadata.db")
        self.addCleanup(client.close)
        acked: dict[int, int] = {}
        for number in range(ROUNDS):
            load = _Load(await client.create_ledger(1, 1, 1), goal=1 + 211 * number)
            load.start()
            await load.enough
            await process.end(signal.SIGKILL)
            await load.settled()
            process = await self._serve()
            # The close says that appends failed; the ledger ends at the last acknowledged one all the same.
            with contextlib.suppress(BookKeeperError):
                await load.ledger.close()
            acked[load.ledger.ledger_id] = load.acked
            await self._check(client, load.ledger.ledger_id, load.acked)
        for ledger_id, count in acked.items():
            await self._check(client, ledger_id, count)
        self.assertEqual(await process.end(signal.SIGTERM), 0)
