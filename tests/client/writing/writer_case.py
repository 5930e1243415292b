"""A writer on bookies in memory, for the tests of writers."""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.threads import system_threads
from bookkeeper_twisted.client.context import ClientContext
from bookkeeper_twisted.client.writing.context import OpenLedger
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata, Segment, WriteFlag
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.testing.bookies import MemoryBookies

from ...bounds import until

LEDGER = 5


class WriterTestCase(SynchronousTestCase):
    """A writer on bookies in memory: those of its ensemble are b0, b1 ..., others s0, s1 ..."""

    quorums = (3, 3, 2)
    spares = 0
    config = ClientConfig()
    write_flags = WriteFlag.NONE

    def setUp(self) -> None:
        """Creates the ledger and its writer."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        store = MemoryStore()
        self.driver: Any = store.driver(self.clock)
        self.do(self.driver.open())
        self.names = tuple(f"b{i}" for i in range(self.quorums[0]))
        for name in (*self.names, *(f"s{i}" for i in range(self.spares))):
            self.register(name)
        self.watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(1)))
        self.calls: deque[Callable[[], None]] = deque()
        self.threads = attrs.evolve(system_threads(None), call=self.calls.append)
        self.digester = Digester(DigestType.CRC32C, b"")
        self.writer = self.make(self.config)

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def register(self, name: str, read_only: bool = False) -> None:
        """Makes a bookie known to the cluster."""
        self.do(self.driver.registration.register_bookie(name, read_only, BookieServiceInfo()))

    def open(self, config: ClientConfig, ledger_id: int = LEDGER) -> OpenLedger:
        """A new ledger."""
        metadata = LedgerMetadata(*self.quorums, (Segment(0, self.names),), password=b"")
        stored = self.do(self.driver.ledgers.create(ledger_id, metadata))
        return OpenLedger(
            context=ClientContext(
                self.clock, self.bookies, self.driver.ledgers, self.watcher, Random(2), config, threads=self.threads
            ),
            digester=self.digester, ledger_id=ledger_id, metadata=stored, write_flags=self.write_flags,
        )  # fmt: skip

    def make(self, config: ClientConfig, ledger_id: int = LEDGER) -> LedgerWriter:
        """A writer of a new ledger."""
        return LedgerWriter(self.open(config, ledger_id))

    def stored(self, ledger_id: int = LEDGER) -> LedgerMetadata:
        """The metadata as stored."""
        found: Versioned[LedgerMetadata] = self.do(self.driver.ledgers.read(ledger_id))
        return found.value

    def store(self, **changes: Any) -> None:
        """Change the metadata as another client does."""
        found = self.do(self.driver.ledgers.read(LEDGER))
        self.do(self.driver.ledgers.write(LEDGER, attrs.evolve(found.value, **changes), found.version))

    def settle(self) -> None:
        """Lets requests go out and answers come."""
        for _ in range(8):
            for _ in until(lambda: not self.calls):
                self.calls.popleft()()
            self.clock.advance(0)

    def held(self, position: int) -> list[int]:
        """Ids of the entries of the ledger at a bookie of the first ensemble."""
        return self.held_by(self.names[position])

    def held_by(self, name: str) -> list[int]:
        """Ids of the entries of the ledger at a bookie."""
        return sorted(self.bookies[name].entries.get(LEDGER, {}))
