"""Auditors over a metadata store in memory: bookies come and go, ledgers are only metadata."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.autorecovery.auditing.auditor import Auditor, AuditorElection, AuditorParts
from bookkeeper_twisted.autorecovery.auditing.auditor_metrics import AuditorMetrics
from bookkeeper_twisted.autorecovery.auditing.ledger_scan import TOGETHER_SECONDS
from bookkeeper_twisted.autorecovery.interfaces import ILedgerChecker
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, MetadataError, NoSuchLedgerError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.ledger.findings import CheckReport, FragmentReport, Inconclusive, LossKind, ReplicaLoss
from bookkeeper_twisted.ledger.fragments import fragments_of
from bookkeeper_twisted.ledger.placement import Adherence
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import BookieServiceInfo, LedgerMetadata, LedgerState, Segment

NO_CHECKS = {"auditor_periodic_bookie_check_interval": 0, "auditor_periodic_check_interval": 0}


@implementer(ILedgerChecker)
class FakeChecker:
    """Finds what a test has put there.

    :ivar losses: ledger to the bookies that lack its entries, and why.
    :ivar unsure: ledger to how many checks of it are inconclusive.
    :ivar hold: if set, checks wait for it.
    :ivar silent: the bookies that answer no request.
    """

    def __init__(self) -> None:
        self.losses: dict[int, dict[str, LossKind]] = {}
        self.unsure: dict[int, int] = {}
        self.checked: list[int] = []
        self.hold: Deferred[None] | None = None
        self.cancelled = 0
        self.silent: set[str] = set()

    def unanswering(self) -> Collection[str]:
        return self.silent

    async def check(
        self, ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (),
        before: CheckReport | None = None,
    ) -> CheckReport:  # fmt: skip
        self.checked.append(ledger_id)
        if self.hold is not None:
            waiter: Deferred[None] = Deferred(self._cancel)
            self.hold.addCallback(lambda _: None if waiter.called else waiter.callback(None))
            await waiter
        losses = tuple(
            ReplicaLoss(0, bookie_id, kind, ((0, 0),)) for bookie_id, kind in self.losses.get(ledger_id, {}).items()
        )
        unsure: tuple[Inconclusive, ...] = ()
        if self.unsure.get(ledger_id, 0) > 0:
            self.unsure[ledger_id] -= 1
            unsure = (Inconclusive(0, "b0:1", "too many requests"),)
        (fragment, *_) = fragments_of(ledger_id, metadata, -1)
        return CheckReport(ledger_id, (FragmentReport(fragment, losses, unsure),))

    def _cancel(self, _: object) -> None:
        self.cancelled += 1


class FakePolicy:
    """Dislikes some ensembles."""

    def __init__(self) -> None:
        self.bad: set[tuple[str, ...]] = set()

    async def prepare(self, bookies: Collection[str]) -> None:
        pass

    def adherence(self, ensemble: Any, write_quorum: int) -> Adherence:
        return Adherence.FAIL if tuple(ensemble) in self.bad else Adherence.STRICT


class FakeBookies:
    """Lists what a test has put there; a bookie that isn't named has nothing, None cannot be reached."""

    def __init__(self) -> None:
        self.entries: dict[str, list[tuple[int, int]] | None] = {}

    async def list_entries(self, bookie_id: str, ledger_id: int) -> list[tuple[int, int]]:
        found = self.entries.get(bookie_id, [])
        if found is None:
            raise BookieHandleNotAvailableError(bookie_id)
        if not found:
            raise NoSuchLedgerError(ledger_id)
        return found


class FaultySession(MemorySession):
    """A session whose calls fail by name, and that counts, by ledger, reads of metadata and writes of marks."""

    def __init__(self, shared: MemoryStore, failing: set[str], requests: Counter[tuple[str, int]]) -> None:
        super().__init__(shared)
        self._failing = failing
        self._requests = requests

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._failing:
            return self._fail
        return super().__getattribute__(name)

    def read_ledger(self, ledger_id: int) -> Versioned[bytes]:
        self._requests["read", ledger_id] += 1
        return super().read_ledger(ledger_id)

    def write_mark(self, ledger_id: int, data: bytes, version: int | None) -> int:
        self._requests["mark", ledger_id] += 1
        return super().write_mark(ledger_id, data, version)

    def _fail(self, *args: object) -> None:
        raise MetadataError("the store fails")


@attrs.define
class Node:
    """One process that stands for the office.

    :ivar failing: methods of its store that fail.
    :ivar requests: how often it read the metadata of a ledger, and wrote the mark of one.
    """

    driver: EmbeddedDriver
    checker: FakeChecker
    metrics: AuditorMetrics
    instruments: Instruments
    failing: set[str]
    requests: Counter[tuple[str, int]]
    election: AuditorElection

    @property
    def reads(self) -> dict[int, int]:
        """Reads of metadata, by ledger."""
        return {ledger_id: count for (what, ledger_id), count in self.requests.items() if what == "read"}

    @property
    def writes(self) -> dict[int, int]:
        """Writes of marks, by ledger."""
        return {ledger_id: count for (what, ledger_id), count in self.requests.items() if what == "mark"}


class AuditorCase(SynchronousTestCase):
    """Three bookies and ledgers 0..4 on them."""

    def setUp(self) -> None:
        """Registers the bookies and makes the ledgers."""
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.store = MemoryStore()
        self.policy, self.bookie_client = FakePolicy(), FakeBookies()
        self.cluster: Any = self.store.driver(self.clock)
        self.do(self.cluster.open())
        for number in range(3):
            self.bookie(f"b{number}:1")
        for ledger_id in range(5):
            self.ledger(ledger_id, f"b{ledger_id % 3}:1", f"b{(ledger_id + 1) % 3}:1")

    # -- what happens --

    def bookie(self, bookie_id: str, read_only: bool = False) -> None:
        """A bookie comes, with its cookie."""
        if bookie_id not in self.do(self.cluster.registration.all_bookies()):
            self.do(self.cluster.registration.write_cookie(bookie_id, b"", None))
        self.do(self.cluster.registration.register_bookie(bookie_id, read_only, BookieServiceInfo()))

    def kill(self, *bookie_ids: str) -> None:
        """Bookies go."""
        for bookie_id in bookie_ids:
            self.do(self.cluster.registration.unregister_bookie(bookie_id))

    def ledger(self, ledger_id: int, *bookies: str, closed: bool = True) -> None:
        """A ledger of ten entries."""
        metadata = LedgerMetadata(len(bookies), len(bookies), 1, (Segment(0, bookies),))
        if closed:
            metadata = attrs.evolve(metadata, state=LedgerState.CLOSED, length=100, last_entry_id=9)
        self.do(self.cluster.ledgers.create(ledger_id, metadata))

    def node(self, name: str = "a:1", seconds: float = TOGETHER_SECONDS, **config: Any) -> Node:
        """A process that stands for the office, some seconds later: by default the first shared walk has ended."""
        failing: set[str] = set()
        requests = Counter[tuple[str, int]]()
        driver = EmbeddedDriver(self.clock, "memory:", FaultySession(self.store, failing, requests), InlineWorker())
        self.do(driver.open())
        instruments, checker = Instruments(), FakeChecker()
        metrics, throttles = AuditorMetrics(instruments), Throttles(self.clock)
        bookies: Any = self.bookie_client
        policy: Any = self.policy
        parts = AuditorParts(
            self.clock, self.now_ms, driver, checker, bookies, policy, throttles, metrics,
            AutorecoveryConfig(**{**NO_CHECKS, **config}),
        )  # fmt: skip
        auditing: Any = driver.auditing
        election = AuditorElection(auditing, name, lambda: Auditor(parts), metrics)
        election.start()
        self.settle(seconds)
        return Node(driver, checker, metrics, instruments, failing, requests, election)

    # -- time --

    def now_ms(self) -> int:
        """The time in ms since the epoch."""
        return int(self.clock.seconds() * 1000)

    def settle(self, seconds: float = 0.0) -> None:
        """Let time pass, and everything go its way."""
        for _ in range(10):
            self.clock.advance(0)
        if seconds:
            self.clock.advance(seconds)
            self.settle()

    def walk_after(self, seconds: float) -> None:
        """Let time pass, and a shared walk begin that is due then."""
        self.settle(seconds)
        self.settle(TOGETHER_SECONDS)

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        deferred = Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(deferred)

    # -- what is found --

    def marks(self) -> dict[int, tuple[str, ...]]:
        """Marked ledgers, and the bookies in their marks."""

        async def read() -> dict[int, tuple[str, ...]]:
            marks = self.cluster.underreplication
            return {i: (await marks.read_mark(i)).value.replicas async for i in marks.marked_ledgers()}

        found: dict[int, tuple[str, ...]] = self.do(read())
        return found


def held_back(method, held):
    """The method, which waits first."""

    async def wait(*args):
        waiter = Deferred()  # type: ignore[var-annotated]
        if held.called:
            return await method(*args)
        held.addCallback(lambda _: None if waiter.called else waiter.callback(None))
        await waiter
        return await method(*args)

    return wait
