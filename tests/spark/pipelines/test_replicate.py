"""Repairs whose Spark job does not end well, on real bookies and without Spark."""

from collections.abc import Sequence
from typing import Any, cast

import attrs

from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.spark.pipelines import replicate
from bookkeeper_twisted.spark.pipelines.repairs import REPAIRED, Check
from bookkeeper_twisted.spark.reactor import THREAD

from ..cluster_case import ClusterCase
from ..session import missing

LOST = "bookie-0"


class BrokenSession:
    """Has no executors left.

    :ivar parts: that were to be copied.
    """

    parts = 0

    def createDataFrame(self, rows: Sequence[object], schema: str) -> Any:
        """Fails."""
        self.parts += len(rows)
        raise RuntimeError("no executors")


class IdleSession:
    """Has nothing to copy, and keeps the report."""

    def createDataFrame(self, rows: Sequence[object], schema: str) -> Any:
        """Return the rows."""
        return list(rows)


class EmptyLedgerTests(ClusterCase):
    """Ledgers that were closed without an entry."""

    skip = missing() or None

    def test_lost_bookie(self) -> None:
        """Another bookie is named in the place of one that is gone, as in the ledgers beside it, and the mark goes."""
        cluster = self.connect()
        before: dict[int, Any] = {}
        while len(before) < 2:
            with self.client.create_ledger(2, 2, 2) as writer:
                pass
            metadata = self.client.ledger_metadata(writer.ledger_id)
            if LOST in metadata.bookies:
                before[writer.ledger_id] = metadata
                THREAD.wait(lambda n=writer.ledger_id: cluster.underreplication.mark(n, (LOST,)))  # type: ignore[misc]
        THREAD.wait(self.bookies.pop(0).stop)
        losses = {
            ledger_id: {0: [ReplicaLoss(metadata.segments[0].bookies.index(LOST), LOST, LossKind.GONE, ())]}
            for ledger_id, metadata in before.items()
        }
        check = Check(losses, None, cluster.marks())
        rows = cast(Any, replicate.replicate(cast(Any, IdleSession()), self.uri, check))
        self.assertEqual([(row[0], *row[5:7]) for row in rows], [(ledger_id, REPAIRED, 0) for ledger_id in before])
        for ledger_id, metadata in before.items():
            (segment,) = self.client.ledger_metadata(ledger_id).segments
            self.assertEqual(set(segment.bookies), {"bookie-1", "bookie-2"})
            self.assertEqual(attrs.evolve(self.client.ledger_metadata(ledger_id), segments=metadata.segments), metadata)
        self.assertEqual(cluster.marks(), {})
        self.assertEqual(THREAD.wait(cluster.underreplication.locked_ledgers), {})


class FailedJobTests(ClusterCase):
    """Ledgers of ten entries that have lost a bookie."""

    skip = missing() or None

    def setUp(self) -> None:
        super().setUp()
        self.marks = self.connect().underreplication
        self.session = BrokenSession()
        self.before: dict[int, object] = {}
        self.losses: dict[int, dict[int, list[ReplicaLoss]]] = {}

    def lose(self, count: int) -> None:
        """So many ledgers are marked for the bookie, which is gone."""
        while len(self.losses) < count:
            with self.client.create_ledger(2, 2, 2) as writer:
                writer.append_many([b"x" * 100] * 10)
            metadata = self.client.ledger_metadata(writer.ledger_id)
            bookies = metadata.segments[0].bookies
            if LOST in bookies:
                self.before[writer.ledger_id] = metadata
                loss = ReplicaLoss(bookies.index(LOST), LOST, LossKind.GONE, ((0, 9),))
                self.losses[writer.ledger_id] = {0: [loss]}
                THREAD.wait(lambda n=writer.ledger_id: self.marks.mark(n, (LOST,)))  # type: ignore[misc]
        THREAD.wait(self.bookies.pop(0).stop)

    def replicate(self, **options: Any) -> None:
        """The repair begins, and its first job fails."""
        session = cast(Any, self.session)
        self.assertRaises(RuntimeError, replicate.replicate, session, self.uri, Check(self.losses), **options)

    def test_job_fails(self) -> None:
        """Where a job fails no metadata change, marks stay and no lock does, those of the next ledgers included."""
        self.patch(replicate, "LEDGERS_AT_ONCE", 1)
        self.lose(3)
        self.replicate()
        self.assertEqual({ledger_id: self.client.ledger_metadata(ledger_id) for ledger_id in self.before}, self.before)
        self.assertEqual(THREAD.wait(self.marks.locked_ledgers), {})
        for ledger_id in self.before:
            THREAD.wait(lambda n=ledger_id: self.marks.read_mark(n))  # type: ignore[misc]

    def test_parts(self) -> None:
        """With a limit a part is what one task may copy in a second, without one a small ledger is one part."""
        self.lose(1)
        self.replicate()
        self.assertEqual(self.session.parts, 1)
        self.replicate(limit=Rate(bytes=2 * 2 * 140), parallelism=2)
        self.assertEqual(self.session.parts, 1 + 5)
