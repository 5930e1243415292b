"""Repairs whose Spark job does not end well, on real bookies and without Spark."""

from typing import Any, cast

from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.spark.cluster import THREAD
from bookkeeper_twisted.spark.pipelines import replicate

from ..cluster_case import ClusterCase
from ..session import missing

LOST = "bookie-0"


class BrokenSession:
    """Has no executors left."""

    def createDataFrame(self, *arguments: object) -> Any:
        """Fails."""
        raise RuntimeError("no executors")


class FailedJobTests(ClusterCase):
    """Three ledgers that have lost a bookie, each of them a Spark job of its own."""

    skip = missing() or None

    def test_job_fails(self) -> None:
        """Where a job fails no metadata change, marks stay and no lock does, those of the next ledgers included."""
        self.patch(replicate, "LEDGERS_AT_ONCE", 1)
        losses: dict[int, dict[int, list[ReplicaLoss]]] = {}
        before: dict[int, object] = {}
        marks = self.connect().underreplication
        while len(losses) < 3:
            with self.client.create_ledger(2, 2, 2) as writer:
                writer.append_many([b"x" * 100] * 10)
            metadata = self.client.ledger_metadata(writer.ledger_id)
            bookies = metadata.segments[0].bookies
            if LOST in bookies:
                before[writer.ledger_id] = metadata
                loss = ReplicaLoss(bookies.index(LOST), LOST, LossKind.GONE, ((0, 9),))
                losses[writer.ledger_id] = {0: [loss]}
                THREAD.wait(lambda n=writer.ledger_id: marks.mark(n, (LOST,)))  # type: ignore[misc]
        THREAD.wait(self.bookies.pop(0).stop)
        session = cast(Any, BrokenSession())
        self.assertRaises(RuntimeError, replicate.replicate, session, self.uri, losses)
        self.assertEqual({ledger_id: self.client.ledger_metadata(ledger_id) for ledger_id in before}, before)
        self.assertEqual(THREAD.wait(marks.locked_ledgers), {})
        for ledger_id in before:
            THREAD.wait(lambda n=ledger_id: marks.read_mark(n))  # type: ignore[misc]
