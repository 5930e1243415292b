"""A quorum writer whose bookies answer when they are told to, for tests of every order of answers."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.client.placement.random_placement import RandomPlacement
from bookkeeper_twisted.client.writing.ensemble_change import StoredEnsembleChange
from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.client.writing.pending_run import RunSealer
from bookkeeper_twisted.client.writing.quorum_writer import AddRules, QuorumWriter
from bookkeeper_twisted.client.writing.sealed_adds import SealedAdds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata, Segment

LEDGER = 7

Done = Callable[[str, int, int, Exception | None], None]


@attrs.define(eq=False)
class Request:
    """Adds that a bookie has not answered."""

    bookie_id: str
    adds: SealedAdds
    done: Done

    def answer(self, error: Exception | None = None) -> None:
        """Answers all of it."""
        self.done(self.bookie_id, self.adds.first, self.adds.count, error)


class PuppetBookies:
    """Takes adds; the test answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.sent: list[bytes] = []
        self.at_once: dict[str, Callable[[], Exception | None]] = {}

    def add(self, bookie_id: str, adds: SealedAdds, done: Done) -> None:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add`."""
        request = Request(bookie_id, adds, done)
        self.sent.append(adds.requests(2, 0))
        outcome = self.at_once.get(bookie_id)
        if outcome is not None:
            request.answer(outcome())
        else:
            self.requests.append(request)

    def take(self, bookie_id: str) -> list[Request]:
        """What a bookie was asked, which nobody else will get."""
        taken = [request for request in self.requests if request.bookie_id == bookie_id]
        self.requests = [request for request in self.requests if request.bookie_id != bookie_id]
        return taken

    def answer(self, bookie_id: str, error: Exception | None = None) -> None:
        """Answers everything a bookie was asked."""
        for request in self.take(bookie_id):
            request.answer(error)

    def asked(self, bookie_id: str) -> list[tuple[int, int]]:
        """First id and count of what a bookie was asked and has not answered."""
        return [(request.adds.first, request.adds.count) for request in self.requests if request.bookie_id == bookie_id]


class GatedLedgers:
    """A ledger manager whose writes wait until they are let through.

    ``gate`` holds what is waiting; ``open()`` lets the first one through, ``lose(applied)`` loses its answer.
    """

    def __init__(self, ledgers: Any, closed: bool = True) -> None:
        self._ledgers = ledgers
        self.closed = closed
        self.gate: list[Deferred[Exception | None]] = []
        self.losing: list[tuple[bool, Exception]] = []

    async def read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        """Reads what is stored."""
        found: Versioned[LedgerMetadata] = await self._ledgers.read(ledger_id)
        return found

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Waits at the gate, then writes, or not, and answers, or not."""
        if self.closed:
            waiting: Deferred[Exception | None] = Deferred()
            self.gate.append(waiting)
            await waiting
        if self.losing:
            applied, error = self.losing.pop(0)
            if applied:
                await self._ledgers.write(ledger_id, metadata, version)
            raise error
        written: Versioned[LedgerMetadata] = await self._ledgers.write(ledger_id, metadata, version)
        return written

    def open(self) -> None:
        """Lets one write through."""
        self.gate.pop(0).callback(None)


class QuorumTestCase(SynchronousTestCase):
    """A quorum writer on puppets: b0, b1 ... in the ensemble, s0, s1 ... to spare."""

    quorums = (3, 3, 2)
    spares = 2
    rules = AddRules()
    gated = False

    def setUp(self) -> None:
        """Creates the ledger."""
        self.clock = Clock()
        self.bookies = PuppetBookies()
        self.driver: Any = MemoryStore().driver(self.clock)
        self.do(self.driver.open())
        self.names = tuple(f"b{i}" for i in range(self.quorums[0]))
        for name in (*self.names, *(f"s{i}" for i in range(self.spares))):
            self.register(name)
        self.watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(3)))
        metadata = LedgerMetadata(*self.quorums, (Segment(0, self.names),))
        created = self.do(self.driver.ledgers.create(LEDGER, metadata))
        self.ledgers = GatedLedgers(self.driver.ledgers, self.gated)
        manager: Any = self.ledgers
        self.changes = StoredEnsembleChange(LEDGER, manager, created, self.watcher, 100)
        self.schedule = Schedule(*self.quorums)
        self.digester = Digester(DigestType.CRC32C, b"")
        self.completed: list[int] = []
        self.ends: list[Exception] = []
        shape = V2Shape(LEDGER, self.digester.size, self.digester.master_key)
        self.sealer = RunSealer(LEDGER, shape, self.digester, self.schedule)
        self.log = ExclusiveLog.unbounded(shape, TermPool(1024))
        self.writer = self.make()

    def make(self, kind: type[QuorumWriter] = QuorumWriter) -> QuorumWriter:
        """The writer under test."""
        bookies: Any = self.bookies
        return kind(
            self.clock, bookies, self.schedule, self.names, self.changes, self.rules,
            lambda: self.completed.append(self.writer.completed), self.ends.append,
        )  # fmt: skip

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def register(self, name: str, read_only: bool = False) -> None:
        """Makes a bookie known."""
        self.do(self.driver.registration.register_bookie(name, read_only, BookieServiceInfo()))

    def unregister(self, name: str) -> None:
        """Takes a bookie away."""
        self.do(self.driver.registration.unregister_bookie(name))

    def send(self, count: int = 1, payloads: Sequence[bytes] | None = None) -> None:
        """Sends entries, as one run unless they fill a term."""
        self.log.offer_many(list(payloads or [b"x"] * count))
        while (run := self.sealer.take(self.log, 1 << 20, self.writer.completed)) is not None:
            self.writer.send(run)

    def stored(self) -> LedgerMetadata:
        """The metadata as stored."""
        found: Versioned[LedgerMetadata] = self.do(self.driver.ledgers.read(LEDGER))
        return found.value

    def segments(self) -> list[tuple[int, tuple[str, ...]]]:
        """The segments as stored."""
        return [(segment.first_entry_id, segment.bookies) for segment in self.stored().segments]
