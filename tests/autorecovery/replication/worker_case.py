"""A cluster in memory with replication workers."""

from collections.abc import Sequence
from typing import Any

from bookkeeper_twisted.autorecovery.interfaces import LedgerStatus
from bookkeeper_twisted.autorecovery.limits import (
    CHECKER_READ,
    REPLICATION_METADATA,
    REPLICATION_READ,
    REPLICATION_WRITE,
)
from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics, ReplicationMetrics, WorkerMetrics
from bookkeeper_twisted.autorecovery.presence import Presence
from bookkeeper_twisted.autorecovery.replication.checker import CheckerSettings, LedgerChecker
from bookkeeper_twisted.autorecovery.replication.copying import CopyLimits, CopySettings
from bookkeeper_twisted.autorecovery.replication.fragment_replicator import FragmentReplicator
from bookkeeper_twisted.autorecovery.replication.repair import LedgerRepair
from bookkeeper_twisted.autorecovery.replication.worker import ReplicationWorker, WorkerSettings
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.errors import TooManyRequestsError
from bookkeeper_twisted.instruments import Instruments, render
from bookkeeper_twisted.metrics import new_registry

from ..recovery_case import RETRIES, RecoveryCase

GRACE, LONGEST = 30.0, 320.0


class WorkerCase(RecoveryCase):
    """Four bookies and workers over clients of their own."""

    def setUp(self) -> None:
        """Begins without workers; those that are made are stopped at the end."""
        super().setUp()
        self.workers: list[ReplicationWorker] = []
        self.addCleanup(self.stop_workers)

    def stop_workers(self) -> None:
        """No worker works."""
        for worker in self.workers:
            if worker.running:
                self.do(worker.stopService())

    def make_repair(self, client: BookKeeper, instruments: Instruments) -> LedgerRepair:
        """The repair of ledgers over a client."""
        get = self.throttles.get
        context = client.context
        presence = Presence(self.clock, context.watcher, client.metadata.registration, get(REPLICATION_METADATA))
        checker = LedgerChecker(
            context, presence, get(CHECKER_READ), CheckerMetrics(instruments), CheckerSettings(retries=RETRIES)
        )
        replicator = FragmentReplicator(
            context, presence, CopyLimits(get(REPLICATION_READ), get(REPLICATION_WRITE)), get(REPLICATION_METADATA),
            ReplicationMetrics(instruments), CopySettings(retries=RETRIES),
        )  # fmt: skip
        return LedgerRepair(context, checker, replicator, get(REPLICATION_METADATA))

    def worker(self, name: str = "w0", start: bool = True, **settings: Any) -> ReplicationWorker:
        """A worker with a client of its own, started."""
        client = self.client()
        self.instruments = Instruments()
        wanted = WorkerSettings(**{"holder": name, "grace": GRACE, "longest_hold": LONGEST, **settings})
        worker = ReplicationWorker(
            client.context, client.metadata, self.make_repair(client, self.instruments),
            self.throttles.get(REPLICATION_METADATA), WorkerMetrics(self.instruments), wanted,
        )  # fmt: skip
        self.workers.append(worker)
        if start:
            worker.startService()
            self.pass_time(0.2)
        return worker

    def pass_time(self, seconds: float) -> None:
        """Time passes in small steps."""
        for _ in range(round(seconds * 10)):
            self.clock.advance(0.1)
            self.settle()

    # ---- ledgers -------------------------------------------------------------------------------------

    def overloaded(self) -> tuple[int, str]:
        """A marked ledger that waits, as the bookie that its mark names refuses reads; that bookie."""
        ledger_id = self.write(self.payloads(20))
        bookie_id = self.metadata(ledger_id).segments[0].bookies[0]
        for operation in ("read_batch", "read_many"):
            self.bookies[bookie_id].fail(operation, TooManyRequestsError)
        self.mark(ledger_id, bookie_id)
        return ledger_id, bookie_id

    # ---- marks ---------------------------------------------------------------------------------------

    def mark(self, ledger_id: int, *replicas: str) -> None:
        """Marks a ledger."""
        self.do(self.cluster.underreplication.mark(ledger_id, replicas))

    def marked(self) -> list[int]:
        """Ids of marked ledgers."""

        async def collect() -> list[int]:
            return [ledger_id async for ledger_id in self.cluster.underreplication.marked_ledgers()]

        found: list[int] = self.do(collect())
        return found

    def locked(self) -> Sequence[int]:
        """Ids of locked ledgers."""
        return list(self.do(self.cluster.underreplication.locked_ledgers()))

    def status(self, worker: ReplicationWorker) -> LedgerStatus:
        """What a worker says of its only ledger."""
        (one,) = worker.status()
        return one

    def exported(self) -> str:
        """The metrics of the newest worker."""
        return render(new_registry(self.instruments)).decode()
