"""A cluster in memory in which replicas get lost, with a client and the parts of autorecovery over it."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_twisted.autorecovery.limits import (
    CHECKER_READ,
    REPLICATION_METADATA,
    REPLICATION_READ,
    REPLICATION_WRITE,
)
from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics, ReplicationMetrics
from bookkeeper_twisted.autorecovery.presence import Presence
from bookkeeper_twisted.autorecovery.replication.checker import CheckerSettings, LedgerChecker
from bookkeeper_twisted.autorecovery.replication.copying import CopyLimits, CopySettings, LatencyProbe
from bookkeeper_twisted.autorecovery.replication.fragment_replicator import FragmentReplicator
from bookkeeper_twisted.autorecovery.retries import Retries
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.ledger.findings import CheckReport
from bookkeeper_twisted.ledger.fragments import fragments_of
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerMetadata

from ..client.cluster_case import ClusterCase

RETRIES = Retries(attempts=3, first_pause=1.0, longest_pause=2.0)


class RecoveryCase(ClusterCase):
    """Four bookies, all registered."""

    def setUp(self) -> None:
        """Makes the limiters."""
        super().setUp()
        self.throttles = Throttles(self.clock)
        self.instruments = Instruments()
        self.replication_metrics = ReplicationMetrics(self.instruments)
        self.checker_metrics = CheckerMetrics(self.instruments)

    # ---- ledgers -------------------------------------------------------------------------------------

    def write(self, payloads: Sequence[bytes], sizes: tuple[int, int, int] = (3, 3, 2), **options: Any) -> int:
        """A closed ledger with some entries."""
        writer = self.do(self.bk.create_ledger(*sizes, **options))
        if payloads:
            self.do(writer.append_many(payloads))
        self.do(writer.close())
        return int(writer.ledger_id)

    def metadata(self, ledger_id: int) -> LedgerMetadata:
        """What is stored of a ledger."""
        stored: LedgerMetadata = self.do(self.bk.ledger_metadata(ledger_id))
        return stored

    def bookie(self, ledger_id: int, position: int, segment: int = 0) -> Any:
        """The bookie at a position."""
        return self.bookies[self.metadata(ledger_id).segments[segment].bookies[position]]

    def payloads(self, count: int) -> list[bytes]:
        """Different payloads of different sizes."""
        return [b"%d" % n * (1 + n % 5) for n in range(count)]

    # ---- bookies -------------------------------------------------------------------------------------

    def kill(self, bookie_id: str) -> None:
        """A bookie is gone."""
        self.bookies[bookie_id].up = False
        self.do(self.cluster.registration.unregister_bookie(bookie_id))

    def revive(self, bookie_id: str) -> None:
        """A bookie is back, with the entries it had."""
        self.bookies[bookie_id].up = True
        self.do(self.cluster.registration.register_bookie(bookie_id, False, self.service_info()))
        self.clock.advance(2)

    def service_info(self) -> BookieServiceInfo:
        """What a bookie says of itself."""
        return BookieServiceInfo()

    def start(self, work: Any) -> "Deferred[Any]":
        """A coroutine under way, whose end does not matter."""
        return Deferred.fromCoroutine(work).addErrback(lambda failure: failure.trap(CancelledError) and None)

    def finish(self, work: Any, seconds: float = 60.0) -> Any:
        """The result of a coroutine that may wait for the clock."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        done: list[Any] = []
        deferred.addBoth(done.append)
        for _ in range(int(seconds * 10)):
            if done:
                break
            self.clock.advance(0.1)
            self.settle()
        self.assertTrue(done, "it did not end")
        if hasattr(done[0], "raiseException"):
            done[0].raiseException()
        return done[0]

    # ---- checks --------------------------------------------------------------------------------------

    def presence(self) -> Presence:
        """Which bookies are registered."""
        throttle = self.throttles.get(REPLICATION_METADATA)
        return Presence(self.clock, self.bk.context.watcher, self.cluster.registration, throttle)

    def checker(self, **settings: Any) -> LedgerChecker:
        """A checker with a client of its own."""
        wanted = CheckerSettings(**{"retries": RETRIES, **settings})
        reads = self.throttles.get(CHECKER_READ)
        return LedgerChecker(self.bk.context, self.presence(), reads, self.checker_metrics, wanted)

    def check(self, ledger_id: int, suspects: Sequence[str] = (), **settings: Any) -> CheckReport:
        """A report on a ledger."""
        checker = self.checker(**settings)
        report: CheckReport = self.finish(checker.check(ledger_id, self.metadata(ledger_id), suspects))
        return report

    # ---- copies --------------------------------------------------------------------------------------

    def replicator(
        self, never: Sequence[str] = (), probe: LatencyProbe | None = None, **settings: Any
    ) -> FragmentReplicator:
        """A replicator over the client."""
        limits = CopyLimits(self.throttles.get(REPLICATION_READ), self.throttles.get(REPLICATION_WRITE))
        return FragmentReplicator(
            self.bk.context, self.presence(), limits, self.throttles.get(REPLICATION_METADATA),
            self.replication_metrics, CopySettings(**{"retries": RETRIES, **settings}), never, probe,
        )  # fmt: skip

    def repair(self, ledger_id: int, suspects: Sequence[str] = (), **settings: Any) -> None:
        """Check a ledger and repair what the check found, fragment by fragment."""
        replicator = self.replicator(**settings)
        for report in self.check(ledger_id, suspects).damaged:
            stored = self.do(self.bk.context.ledgers.read(ledger_id))
            self.finish(replicator.repair(stored, report))

    def contents(self, ledger_id: int) -> list[dict[int, set[int]]]:
        """For each segment the entries of its range that each position has."""
        metadata = self.metadata(ledger_id)
        found = []
        for one in fragments_of(ledger_id, metadata, metadata.last_entry_id):
            ids = range(one.first, one.last + 1)
            found.append({
                position: {n for n in self.bookies[b].entries.get(ledger_id, {}) if n in ids}
                for position, b in enumerate(one.ensemble)
            })  # fmt: skip
        return found

    def assert_complete(self, ledger_id: int, payloads: Sequence[bytes]) -> None:
        """Every entry is on its write set, on registered bookies, and all can be read."""
        metadata = self.metadata(ledger_id)
        one = next(fragments_of(ledger_id, metadata, metadata.last_entry_id))
        self.assertTrue(self.check(ledger_id, percentage=100).is_whole, one)
        reader = self.do(self.bk.open_ledger(ledger_id, None))
        entries = self.finish(reader.read(0, metadata.last_entry_id)) if payloads else []
        self.assertEqual([entry.data for entry in entries], list(payloads))

    def losses(self, report: CheckReport) -> list[tuple[int, str, tuple[tuple[int, int], ...]]]:
        """Position, kind and ranges of each loss."""
        return [(loss.position, loss.kind.value, loss.ranges) for loss in report.losses()]


DIGESTS = tuple(DigestType)
