"""Many writers of one client, and bookies that answer together for what they were sent together."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.threads import system_threads
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.client.connections.flow import Flow
from bookkeeper_twisted.client.context import ClientContext
from bookkeeper_twisted.client.writing.context import OpenLedger
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.codec.adds import Adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.entries.entry_run import ENTRY_HEADER_SIZE
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, BookieIOError, RequestTimeoutError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata, Segment, WriteFlag
from bookkeeper_twisted.placement.bookie_watcher import BookieWatcher
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.protocol.client.sent_adds import AddsDone
from bookkeeper_twisted.testing.bookies import TIMEOUT, MemoryBookies
from bookkeeper_twisted.testing.memory_bookie import MemoryBookie
from bookkeeper_twisted.testing.ungrouped import split_frames

from ..cluster_case import RealClusterCase

NEVER = 1e9
Answer = Callable[[list[int], Exception | None], None]


@attrs.define(eq=False)
class Request:
    """Adds that were sent to a bookie together.

    :ivar fresh: whether they were sent for the first time.
    :ivar left: the indexes of those that are not answered.
    """

    bookie_id: str
    fresh: bool
    ledger_ids: Sequence[int]
    entry_ids: Sequence[int]
    frames: list[bytes]
    _bookie: MemoryBookie
    _done: Answer
    left: list[int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.left = list(range(len(self.frames)))

    @property
    def keys(self) -> list[tuple[int, int]]:
        """Ledger and entry of each."""
        return list(zip(self.ledger_ids, self.entry_ids, strict=True))

    def answer(self, *ledger_ids: int, error: Exception | None = None) -> None:
        """The bookie keeps, or fails, what is left of some ledgers, all if none is named; those that succeed are
        answered together, before those that fail."""
        indexes = [index for index in self.left if not ledger_ids or self.ledger_ids[index] in ledger_ids]
        self.left = [index for index in self.left if index not in indexes]
        outcomes: list[tuple[int, Exception | None]] = [
            (index, error or self._bookie.add_all(self.frames[index])[0]) for index in indexes
        ]
        outcomes.sort(key=lambda outcome: "" if outcome[1] is None else str(type(outcome[1])))
        done = self._done
        if not self.left:
            self._done = _nobody  # whoever keeps the request keeps nothing of the writers
        for _, group in groupby(outcomes, lambda outcome: type(outcome[1])):
            some = list(group)
            done([index for index, _ in some], some[0][1])

    def answer_indexes(self, *indexes: int, error: Exception | None = None) -> None:
        """The bookie keeps, or fails, the entries with these indexes."""
        self.left = [index for index in self.left if index not in indexes]
        for index in indexes if error is None else ():
            self._bookie.add_all(self.frames[index])
        self._done(list(indexes), error)


def _nobody(indexes: list[int], error: Exception | None) -> None:
    assert not indexes, "answered twice"


class RecordingBookies(MemoryBookies):
    """Bookies that answer for what is sent together with one call.

    :ivar sent: everything they were sent, in order.
    :ivar held: those that answer when they are told to.
    :ivar at_once: those that answer within the call.
    :ivar watch: shown every request when it is made.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.sent: list[Request] = []
        self.held: set[str] = set()
        self.at_once: set[str] = set()
        self.watch: Callable[[Request], None] = lambda request: None

    def add(self, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool = False) -> None:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add`."""
        data, _ = (V3 if adds.deferred_sync else V2).encode_adds(adds, 0)
        frames, tell = split_frames(data), partial(done, bookie_id)
        self._take(Request(bookie_id, fresh, adds.ledger_ids, adds.entry_ids, frames, self[bookie_id], tell))

    def _take(self, request: Request) -> None:
        self.sent.append(request)
        self.watch(request)
        bookie, error, delay = self[request.bookie_id], self.end, 0.0
        if error is None and not bookie.up:
            error = BookieHandleNotAvailableError(f"no connection to {request.bookie_id}")
        elif error is None and bookie.silent:
            error, delay = RequestTimeoutError("no reply in time"), TIMEOUT
        elif error is None:
            delay = NEVER if request.bookie_id in self.held else bookie.delay
        if request.bookie_id in self.at_once:
            request.answer(error=error)
            return
        self._after(delay).addCallbacks(
            lambda _: request.answer(error=error), lambda failure: request.answer(error=failure.value)
        )

    def requests(self, bookie_id: str, left: bool = False) -> list[Request]:
        """What a bookie was sent.

        :param left: whether those that are answered are left out.
        """
        return [each for each in self.sent if each.bookie_id == bookie_id and (each.left or not left)]

    def answer(self, bookie_id: str, *ledger_ids: int, error: Exception | None = None) -> None:
        """A bookie answers all it was sent; see :meth:`Request.answer`."""
        for request in self.requests(bookie_id, left=True):
            request.answer(*ledger_ids, error=error)


class BatchCase(SynchronousTestCase):
    """Writers of ledgers 1, 2, ... on bookies b0, b1, ...; there may be spare ones, s0, s1, ..."""

    quorums = (3, 3, 2)
    writers_count = 3
    spares = 0
    config = ClientConfig()

    def setUp(self) -> None:
        """Creates the ledgers."""
        self.clock = Clock()
        self.bookies = RecordingBookies(self.clock)
        self.driver: Any = MemoryStore().driver(self.clock)
        self.do(self.driver.open())
        self.names = tuple(f"b{i}" for i in range(self.quorums[0]))
        for name in (*self.names, *(f"s{i}" for i in range(self.spares))):
            self.do(self.driver.registration.register_bookie(name, False, BookieServiceInfo()))
        self.watcher = BookieWatcher(self.driver.registration, RandomPlacement(Random(1)))
        self.digester = Digester(DigestType.CRC32C, b"")
        self.context = self.client()
        self.writers = [self.open(n + 1) for n in range(self.writers_count)]

    def client(self, **config: Any) -> ClientContext:
        """Another client, whose configuration differs."""
        threads = attrs.evolve(system_threads(None), call=self._call)
        return ClientContext(
            self.clock, self.bookies, self.driver.ledgers, self.watcher, Random(2),
            attrs.evolve(self.config, **config), threads=threads,
        )  # fmt: skip

    def _call(self, call: Callable[[], None]) -> None:
        self.clock.callLater(0, call)

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def ledger(
        self, ledger_id: int, names: Sequence[str] | None = None, quorums: tuple[int, int, int] | None = None,
        digester: Digester | None = None, context: ClientContext | None = None, flags: WriteFlag = WriteFlag.NONE,
    ) -> OpenLedger:  # fmt: skip
        """A new ledger."""
        segments = (Segment(0, tuple(names or self.names)),)
        metadata = LedgerMetadata(*(quorums or self.quorums), segments, password=b"")
        stored = self.do(self.driver.ledgers.create(ledger_id, metadata))
        return OpenLedger(
            context=context or self.context, digester=digester or self.digester, ledger_id=ledger_id,
            metadata=stored, write_flags=flags,
        )  # fmt: skip

    def open(self, ledger_id: int, *args: Any, **kwargs: Any) -> LedgerWriter:
        """The writer of a new ledger; see :meth:`ledger`."""
        return LedgerWriter(self.ledger(ledger_id, *args, **kwargs))

    def append(self, payload: bytes = b"x") -> list["Deferred[int]"]:
        """One append of each writer."""
        return [writer.append(payload) for writer in self.writers]

    def turn(self) -> None:
        """The turn ends: what was appended is sent."""
        self.clock.advance(0)

    def settle(self) -> None:
        """Lets requests go out and answers come."""
        for _ in range(8):
            self.clock.advance(0)

    def hold(self, *names: str) -> None:
        """These bookies, or all, answer only when they are told to."""
        self.bookies.held.update(names or self.names)

    def results(self, waiters: Sequence["Deferred[Any]"]) -> list[Any]:
        """The results of waiters, all of which have one."""
        return [self.successResultOf(waiter) for waiter in waiters]

    def asked(self, bookie_id: str) -> list[list[tuple[int, int]]]:
        """What a bookie was sent: the keys of each request."""
        return [request.keys for request in self.bookies.requests(bookie_id)]

    def metadata(self, ledger_id: int) -> LedgerMetadata:
        """As stored."""
        found: LedgerMetadata = self.do(self.driver.ledgers.read(ledger_id)).value
        return found

    def header(self, bookie_id: str, ledger_id: int, entry_id: int) -> tuple[int, int, bytes]:
        """LAC, length and payload of an entry that a bookie keeps, once its digest is verified."""
        stored = self.bookies[bookie_id].entries[ledger_id][entry_id]
        entry = self.digester.entry(ledger_id, entry_id, stored)
        assert len(stored) == ENTRY_HEADER_SIZE + self.digester.size + len(entry.data)
        return entry.last_add_confirmed, entry.length, entry.data

    def assert_quiet(self, context: ClientContext | None = None) -> None:
        """Nothing is on its way."""
        self.assertEqual((context or self.context).budget.used, 0)
        for writer in self.writers:
            self.assertTrue(writer._quorum.idle)


class HeldCase(BatchCase):
    """Bookies that answer when they are told to."""

    def setUp(self) -> None:
        super().setUp()
        self.hold(*self.names, *(f"s{i}" for i in range(self.spares)))

    def sent(self) -> list["Deferred[int]"]:
        """One append of each writer, sent as a mixed run."""
        waiters = self.append()
        self.turn()
        self.assertEqual([len(self.bookies.requests(name, left=True)) for name in self.names], [1, 1, 1])
        return waiters

    def fired(self, waiters: "list[Deferred[int]]") -> list[int]:
        """Who of them has an id."""
        return [n for n, waiter in enumerate(waiters, 1) if waiter.called]

    def fail_with(self, name: str, *ledger_ids: int, error: Exception | None = None) -> None:
        """A bookie fails what it was sent of some ledgers."""
        self.bookies.answer(name, *ledger_ids, error=error or BookieIOError())

    def finish(self) -> None:
        """All bookies answer for all."""
        self.bookies.held.clear()
        for _ in range(4):
            for request in list(self.bookies.sent):
                request.answer()
            self.settle()


class _RecordingFlow(Flow):
    """A flow that notes what it is sent."""

    __slots__ = ("_sent",)

    def __init__(self, client: "RecordingClient") -> None:
        super().__init__(client.pool, None)
        self._sent = client.sent

    def add(self, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool = False) -> None:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add`."""
        self._sent.append((bookie_id, adds))
        super().add(bookie_id, adds, done, fresh)


class RecordingClient(NetworkBookieClient):
    """The real client.

    :ivar sent: bookie and adds of every request.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sent: list[tuple[str, Adds]] = []

    def open_flow(self) -> Any:
        """See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.open_flow`."""
        return _RecordingFlow(self)


class RealBatchCase(RealClusterCase):
    """A whole client, and real bookies."""

    def make_bookies(self) -> Any:
        """Starts four bookies."""
        super().make_bookies()
        addresses = BookieAddresses(self.cluster.registration, self.network.endpoint)
        return RecordingClient(self.clock, addresses.resolve, ClientConfig(wire_protocol=self.wire_protocol))
