"""Claim logs over small memory blocks, and what a bookie would read of their frames."""

import sys
import threading
from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import ClaimLog
from bookkeeper_twisted.client.claims.frames import FrameLayout
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.producer import WhenFull
from bookkeeper_twisted.client.claims.threads import Threads
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.model import DigestType

LEDGER = 7
DIGESTER = Digester(DigestType.CRC32C, b"password")
OVERHEAD = 64
"""Bytes of a frame beside the payload."""


def layout() -> FrameLayout:
    """Frames of the ledger."""
    return FrameLayout(DIGESTER.size)


def switch_often(test: SynchronousTestCase) -> None:
    """Has the interpreter switch between threads all the time, until the test ends."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    test.addCleanup(sys.setswitchinterval, interval)


def threads(alive: bool = True, on_reactor: bool = False) -> Threads:
    """Real locks; the rest is as the test says."""
    return Threads(
        lambda: on_reactor, lambda: lambda: alive, threading.Lock, threading.Event, lambda what: what(), threading.local
    )


class Shared:
    """A claim log, and how often its sender was woken."""

    def __init__(
        self, block_size: int = 1024, when_full: WhenFull = WhenFull.CODE, window: int | None = None,
        seen: Threads | None = None, patience: float | None = None, start: int = 0,
    ) -> None:  # fmt: skip
        self.wakes = 0
        self.log = ClaimLog(LEDGER, layout(), MemoryPool(block_size), seen or threads(), self._wake, window, start)
        self.producer = partial(self.log.producer, when_full, patience)

    def _wake(self) -> None:
        self.wakes += 1


class OneThread(ClaimLog):
    """A claim log that is filled by one thread."""

    def __init__(self, block_size: int = 1024, window: int | None = None, start: int = 0) -> None:
        super().__init__(LEDGER, layout(), MemoryPool(block_size), threads(), lambda: None, window, start)
        self._one = self.producer()

    def offer(self, payload: bytes) -> int:
        """See :meth:`~bookkeeper_twisted.client.claims.producer.Producer.offer`."""
        return self._one.offer(payload)

    def offer_many(self, payloads: list[bytes]) -> int:
        """Offers one after the other, and says how many found room."""
        return sum(self.offer(payload) > 0 for payload in payloads)


class Sender:
    """Takes and seals frames; :attr:`sent` is what went out."""

    def __init__(self, log: ClaimLog) -> None:
        self.log = log
        self.sent = b""
        self.entries = 0
        self.length = 0

    def send(self, limit: int = 1 << 20) -> int:
        """Sends what is there; returns the position up to which that was."""
        while (frames := self.log.take(limit)) is not None:
            adds, lengths = frames.seal(DIGESTER, LEDGER, self.entries, -1, self.length)
            self.sent += adds.frames
            self.entries += len(adds)
            self.length = lengths[-1]
        return self.log.taken

    def acknowledge(self) -> None:
        """Sends, and has all of it acknowledged."""
        self.log.acknowledge(self.send())

    def payloads(self) -> list[bytes]:
        """What was sent; ids and digests are checked."""
        return payloads(self.sent)


def payloads(sent: bytes, first: int = 0) -> list[bytes]:
    """The payloads of adds with ids from ``first`` on."""
    found: list[bytes] = []
    for run in runs(sent):
        assert run.first == first + len(found) and run.ledger_id == LEDGER
        DIGESTER.verify(run)
        found += DIGESTER.payloads(run)
    return found


def runs(sent: bytes) -> list[EntryRun]:
    """What a bookie reads."""
    decoder = ServerDecoder()
    items = decoder.receive(sent)
    assert decoder.error is None
    found: list[EntryRun] = []
    for item in items:
        if isinstance(item, AddRun):
            found += item.entries.runs()
    return found
