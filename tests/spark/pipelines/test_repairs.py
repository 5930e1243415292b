"""What the driver does for repairs, over a metadata store and bookies in memory."""

from bookkeeper_twisted.errors import NotUnderreplicatedError
from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.spark.pipelines.repairs import (
    FAILED,
    LOCKED,
    NO_TARGET,
    OPEN,
    REPAIRED,
    LedgerRepair,
    Refusal,
    Repairs,
)

from ...autorecovery.recovery_case import RecoveryCase
from ...client.cluster_case import BOOKIES


class RepairsTests(RecoveryCase):
    """A ledger of two ensembles with one bookie in both, which is lost."""

    def setUp(self) -> None:
        super().setUp()
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))
        self.ledger_id = int(writer.ledger_id)
        self.writer = writer
        replaced, self.lost, _ = self.metadata(self.ledger_id).segments[0].bookies
        self.kill(replaced)
        self.finish(writer.append_many(self.payloads(20)))
        self.finish(writer.append(b"more"))
        self.revive(replaced)
        self.ensembles = [segment.bookies for segment in self.metadata(self.ledger_id).segments]
        self.assertEqual(len(self.ensembles), 2)
        self.repairs = Repairs(self.client())

    def lose(self) -> None:
        """The ledger is closed; the bookie is gone, and the ledger is marked for it."""
        self.finish(self.writer.close())
        self.kill(self.lost)
        self.do(self.cluster.underreplication.mark(self.ledger_id, (self.lost,)))

    def lacking(self) -> dict[int, list[ReplicaLoss]]:
        """What is lost."""
        return {
            number: [ReplicaLoss(ensemble.index(self.lost), self.lost, LossKind.GONE, ((0, 100),))]
            for number, ensemble in enumerate(self.ensembles)
        }

    def begun(self) -> LedgerRepair:
        """The repair, begun."""
        repair = self.do(self.repairs.begin(self.ledger_id, self.lacking()))
        self.assertIsInstance(repair, LedgerRepair)
        self.assertEqual(list(self.do(self.cluster.underreplication.locked_ledgers())), [self.ledger_id])
        return repair  # type: ignore[no-any-return]

    def version(self) -> int:
        """Of the metadata."""
        return int(self.do(self.bk.ledger_metadata(self.ledger_id)).version)

    def assert_released(self) -> None:
        """Nothing is locked."""
        self.assertEqual(self.do(self.cluster.underreplication.locked_ledgers()), {})

    def test_one_write(self) -> None:
        """One write of the metadata names the new bookies of all fragments; mark and lock are gone then."""
        self.lose()
        repair = self.begun()
        before = self.version()
        targets = [set(BOOKIES) - set(ensemble) for ensemble in self.ensembles]
        self.assertEqual([set(one.targets.values()) for one in repair.fragments.values()], targets)
        self.do(self.repairs.end(repair))
        self.assertEqual(self.version(), before + 1)
        for segment, target in zip(self.metadata(self.ledger_id).segments, targets, strict=True):
            self.assertNotIn(self.lost, segment.bookies)
            self.assertTrue(target.issubset(segment.bookies))
        self.error(self.cluster.underreplication.read_mark(self.ledger_id), NotUnderreplicatedError)
        self.assert_released()

    def test_one_of_two(self) -> None:
        """A bookie that did not take everything is not named, others are, and the mark stays."""
        self.lose()
        repair = self.begun()
        repair.fragments[0].fail(FAILED, "its disk is full")
        self.do(self.repairs.end(repair))
        first, second = self.metadata(self.ledger_id).segments
        self.assertEqual(first.bookies, self.ensembles[0])
        self.assertNotIn(self.lost, second.bookies)
        self.do(self.cluster.underreplication.read_mark(self.ledger_id))
        states = [row[5] for one in repair.fragments.values() for row in one.outcomes()]
        self.assertEqual(states, [FAILED, REPAIRED])
        self.assert_released()

    def test_locked(self) -> None:
        """A ledger that a replication worker has locked is left alone."""
        self.lose()
        self.do(self.cluster.underreplication.lock(self.ledger_id, "worker"))
        refusal = self.do(self.repairs.begin(self.ledger_id, self.lacking()))
        self.assertEqual(refusal.state, LOCKED)

    def test_writer_that_may_be_alive(self) -> None:
        """The newest ensemble of a ledger that is not closed stays as it is, older ones are repaired."""
        self.kill(self.lost)
        repair = self.begun()
        self.assertEqual([state for state, _ in repair.fragments[1].problems.values()], [OPEN])
        self.do(self.repairs.end(repair))
        first, second = self.metadata(self.ledger_id).segments
        self.assertNotIn(self.lost, first.bookies)
        self.assertEqual(second.bookies, self.ensembles[1])

    def test_no_target(self) -> None:
        """Where no other bookie is writable nothing changes, and the reason is said."""
        self.lose()
        for bookie_id in set(BOOKIES) - {self.lost}:
            if bookie_id not in self.ensembles[0]:
                self.kill(bookie_id)
        repair = self.begun()
        self.assertEqual([state for state, _ in repair.fragments[0].problems.values()], [NO_TARGET])
        self.do(self.repairs.end(repair))
        self.assertEqual(self.metadata(self.ledger_id).segments[0].bookies, self.ensembles[0])

    def test_deleted(self) -> None:
        """A ledger that was deleted needs no repair, before its copies as well as after them."""
        self.lose()
        repair = self.begun()
        self.do(self.bk.delete_ledger(self.ledger_id))
        self.do(self.repairs.end(repair))
        self.assertEqual(
            self.do(self.repairs.begin(self.ledger_id, self.lacking())).state, REPAIRED
        )  # fmt: skip
        self.assert_released()
        self.assertIsInstance(self.do(self.repairs.begin(self.ledger_id, {})), Refusal)
