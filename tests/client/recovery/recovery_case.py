"""Ledgers whose writer died somewhere, for the tests of recovery."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.context import ClientContext
from bookkeeper_twisted.client.recovery.ledger_recovery import LedgerRecovery
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.sealing import sealed

LEDGER = 5
SIZE = 10
"""Bytes of each payload."""


def payload(entry_id: int) -> bytes:
    """What the writer appended."""
    return b"%09d|" % entry_id


class RecoveryTestCase(SynchronousTestCase):
    """Bookies in memory that hold what their writer left there."""

    quorums = (3, 3, 2)
    spares = 1
    config = ClientConfig()

    def setUp(self) -> None:
        """Registers the bookies and creates the ledger."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.driver: Any = MemoryStore().driver(self.clock)
        self.do(self.driver.open())
        self.names = tuple(f"b{i}" for i in range(self.quorums[0]))
        self.digester = Digester(DigestType.CRC32C, b"")
        for i in range(self.quorums[0] + self.spares):
            self.do(self.driver.registration.register_bookie(f"b{i}", False, BookieServiceInfo()))
        watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(1)))
        self.context = ClientContext(self.clock, self.bookies, self.driver.ledgers, watcher, Random(1), self.config)
        self.create((Segment(0, self.names),))

    # ---- what the writer left ------------------------------------------------------------------------

    def create(self, segments: tuple[Segment, ...], ledger_id: int = LEDGER) -> None:
        """Stores an open ledger."""
        metadata = LedgerMetadata(*self.quorums, segments)
        self.do(self.driver.ledgers.create(ledger_id, metadata))

    def leave(self, entry_id: int, lac: int, positions: Iterable[int] | None = None) -> None:
        """An entry at positions of the last ensemble, by default at all that are to keep it."""
        schedule = Schedule(*self.quorums)
        ensemble = self.stored().segments[-1].bookies
        stored = sealed(self.digester, LEDGER, entry_id, lac, entry_id * SIZE, [payload(entry_id)])
        for position in schedule.write_set(entry_id) if positions is None else positions:
            bookie = self.bookies[ensemble[position]]
            bookie.keys[LEDGER] = self.digester.master_key
            bookie.entries.setdefault(LEDGER, {})[entry_id] = stored.entry(entry_id)

    def leave_range(self, first: int, last: int) -> None:
        """Entries at all their bookies, each written when the one before was acknowledged."""
        for entry_id in range(first, last + 1):
            self.leave(entry_id, entry_id - 1)

    # ---- recovering ----------------------------------------------------------------------------------

    def recovery(self, rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules) -> LedgerRecovery:
        """A recovery that has not begun."""
        return LedgerRecovery(self.context, LEDGER, self.digester, rules)

    def start(self, recovery: LedgerRecovery | None = None) -> "Deferred[Versioned[LedgerMetadata]]":
        """Begins a recovery."""
        known = self.do(self.driver.ledgers.read(LEDGER))
        return Deferred.fromCoroutine((recovery or self.recovery()).run(known))

    def recover(self, recovery: LedgerRecovery | None = None) -> LedgerMetadata:
        """A recovery from beginning to end."""
        recovered: Versioned[LedgerMetadata] = self.successResultOf(self.finished(self.start(recovery)))
        return recovered.value

    def finished(self, work: "Deferred[Any]") -> "Deferred[Any]":
        """With all the time it takes."""
        for _ in range(1000):
            if work.called:
                break
            self.clock.advance(0.05)
        return work

    def settle(self) -> None:
        """Everything goes its way."""
        for _ in range(60):
            self.clock.advance(0)

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(deferred)

    def stored(self) -> LedgerMetadata:
        """The metadata as stored."""
        stored: Versioned[LedgerMetadata] = self.do(self.driver.ledgers.read(LEDGER))
        return stored.value

    def held(self, entry_id: int) -> list[str]:
        """Which bookies have an entry, with the payload it was written with."""
        names = [f"b{i}" for i in range(self.quorums[0] + self.spares)]
        found = [n for n in names if entry_id in self.bookies[n].entries.get(LEDGER, {})]
        for name in found:
            entry = self.digester.entry(LEDGER, entry_id, self.bookies[name].entries[LEDGER][entry_id])
            self.assertEqual(entry.data, payload(entry_id))
        return found
