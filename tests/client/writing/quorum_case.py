"""A quorum writer whose bookies answer when they are told to, for tests of every order of answers."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.appends import ByteBudget, Source
from bookkeeper_twisted.client.writing.batchers import Batchers
from bookkeeper_twisted.client.writing.ensemble_change import StoredEnsembleChange
from bookkeeper_twisted.client.writing.failed_bookies import AddRules
from bookkeeper_twisted.client.writing.lac_notices import LacNotices
from bookkeeper_twisted.client.writing.quorum_writer import QuorumWriter
from bookkeeper_twisted.codec.adds import Adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement

LEDGER = 7

Done = Callable[[str, Sequence[int], Exception | None], None]


@attrs.define(eq=False)
class Request:
    """Adds that a bookie has not answered."""

    bookie_id: str
    adds: Adds
    done: Done

    def answer(self, error: Exception | None = None) -> None:
        """Answers all of it."""
        self.done(self.bookie_id, range(len(self.adds)), error)

    @property
    def first(self) -> int:
        """Id of the first entry."""
        return self.adds.entry_ids[0]


class PuppetBookies:
    """Takes adds; the test answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.sent: list[bytes] = []
        self.at_once: dict[str, Callable[[], Exception | None]] = {}

    def add(self, bookie_id: str, adds: Adds, done: Done, fresh: bool = False) -> None:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add`."""
        request = Request(bookie_id, adds, done)
        self.sent.append(adds.frames)
        outcome = self.at_once.get(bookie_id)
        if outcome is not None:
            request.answer(outcome())
        else:
            self.requests.append(request)

    def take(self, bookie_id: str) -> list[Request]:
        """Take the requests to a bookie; no other caller gets them."""
        taken = [request for request in self.requests if request.bookie_id == bookie_id]
        self.requests = [request for request in self.requests if request.bookie_id != bookie_id]
        return taken

    def answer(self, bookie_id: str, error: Exception | None = None) -> None:
        """Answers everything a bookie was asked."""
        for request in self.take(bookie_id):
            request.answer(error)

    def asked(self, bookie_id: str) -> list[tuple[int, int]]:
        """First id and count of what a bookie was asked and has not answered."""
        return [(request.first, len(request.adds)) for request in self.requests if request.bookie_id == bookie_id]


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
        self.writer = self.make()

    def make_batcher(self) -> None:
        """The batcher, from which nothing was sent yet."""
        bookies: Any = self.bookies
        self.budget = ByteBudget(1 << 30)
        limit = -1.0 if self.rules.quorum_timeout is None else self.rules.quorum_timeout
        config = ClientConfig(max_connections_per_bookie=0, add_entry_quorum_timeout_sec=limit)
        batchers = Batchers(self.clock, bookies, self.budget, LacNotices(self.clock, 0), config)
        self.batcher = batchers.batcher(bookies, self.digester, self.schedule)
        self.last_sent, self.length_sent = -1, 0

    def make(self, kind: type[QuorumWriter] = QuorumWriter) -> QuorumWriter:
        """The writer under test, on a batcher of its own."""
        self.make_batcher()
        writer = kind(
            self.clock, LEDGER, self.schedule, self.names, self.changes, self.rules,
            Source(), self.advanced, lambda error, waiters: self.ends.append(error),
        )  # fmt: skip
        writer.watch()
        return writer

    def advanced(self) -> bool:
        """Notes what has completed."""
        if not self.completed or self.completed[-1] != self.writer.completed:
            self.completed.append(self.writer.completed)
        return True

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
        """Sends entries, as one batch, unless the writer has ended."""
        if self.writer.failure is not None:
            return
        payloads = list(payloads or [b"x"] * count)
        self.batcher.join_many(self.writer, self.last_sent + 1, self.length_sent, payloads, None)
        self.last_sent += len(payloads)
        self.length_sent += sum(map(len, payloads))
        self.clock.advance(0)

    def stored(self) -> LedgerMetadata:
        """The metadata as stored."""
        found: Versioned[LedgerMetadata] = self.do(self.driver.ledgers.read(LEDGER))
        return found.value

    def segments(self) -> list[tuple[int, tuple[str, ...]]]:
        """The segments as stored."""
        return [(segment.first_entry_id, segment.bookies) for segment in self.stored().segments]
