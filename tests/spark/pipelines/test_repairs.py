"""What the driver does for repairs, over a metadata store and bookies in memory."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.errors import NotUnderreplicatedError
from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.spark.pipelines.repairs import (
    FAILED,
    LOCKED,
    NO_TARGET,
    OPEN,
    REPAIRED,
    Check,
    LockedLedger,
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

    def lose(self) -> None:
        """The ledger is closed; the bookie is gone, and the ledger is marked for it."""
        self.finish(self.writer.close())
        self.kill(self.lost)
        self.do(self.cluster.underreplication.mark(self.ledger_id, (self.lost,)))

    def mark(self) -> Any:
        """The mark of the ledger."""
        return self.do(self.cluster.underreplication.read_mark(self.ledger_id))

    def lacking(self) -> dict[int, list[ReplicaLoss]]:
        """What is lost."""
        return {
            number: [ReplicaLoss(ensemble.index(self.lost), self.lost, LossKind.GONE, ((0, 100),))]
            for number, ensemble in enumerate(self.ensembles)
        }

    def begun(self, marked: bool = True, **check: Any) -> LockedLedger:
        """The repair, begun."""
        marks = {self.ledger_id: self.mark()} if marked else {}
        found = {"losses": {self.ledger_id: self.lacking()}, "marks": marks, **check}
        self.repairs = Repairs(self.client(), Check(**found))
        repair = self.do(self.repairs.begin(self.ledger_id))
        self.assertIsInstance(repair, LockedLedger)
        self.assertEqual(list(self.do(self.cluster.underreplication.locked_ledgers())), [self.ledger_id])
        return repair  # type: ignore[no-any-return]

    def version(self) -> int:
        """Of the metadata."""
        return int(self.do(self.bk.context.ledgers.read(self.ledger_id)).version)

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

    def test_two_positions(self) -> None:
        """Each lost position of an ensemble gets a bookie of its own; if one alone is left, one of them does."""
        self.finish(self.writer.close())
        others = [bookie_id for bookie_id in self.ensembles[0] if bookie_id != self.lost]
        lost = (self.lost, others[0])
        for bookie_id in lost:
            self.kill(bookie_id)
        losses = [ReplicaLoss(self.ensembles[0].index(one), one, LossKind.GONE, ((0, 100),)) for one in lost]
        repairs = Repairs(self.client(), Check({self.ledger_id: {0: losses}}))
        repair = self.do(repairs.begin(self.ledger_id))
        (left,) = set(BOOKIES) - set(self.ensembles[0])
        one = repair.fragments[0]
        self.assertEqual(list(one.targets.values()), [left])
        self.assertEqual([state for state, _ in one.problems.values()], [NO_TARGET])
        self.do(repairs.end(repair))
        bookies = self.metadata(self.ledger_id).segments[0].bookies
        self.assertEqual(len(set(bookies)), 3)
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
        rows = [row for one in repair.fragments.values() for row in one.outcomes()]
        self.assertEqual([row[5] for row in rows], [FAILED, REPAIRED])
        moved_to = repair.fragments[1].targets[self.ensembles[1].index(self.lost)]
        self.assertEqual([row[4] for row in rows], [None, moved_to])  # bookies that the metadata name
        self.assert_released()

    def test_locked(self) -> None:
        """A ledger that a replication worker has locked is left alone."""
        self.lose()
        self.do(self.cluster.underreplication.lock(self.ledger_id, "worker"))
        repairs = Repairs(self.client(), Check({self.ledger_id: self.lacking()}))
        self.assertEqual(self.do(repairs.begin(self.ledger_id)).state, LOCKED)

    def test_writer_that_may_be_alive(self) -> None:
        """The newest ensemble of a ledger that is not closed stays as it is, older ones are repaired."""
        self.kill(self.lost)
        repair = self.begun(marked=False)
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
        refusal = self.do(self.repairs.begin(self.ledger_id))
        self.assertIsInstance(refusal, Refusal)
        self.assertEqual(refusal.state, REPAIRED)
        self.assert_released()

    # ---- marks ---------------------------------------------------------------------------------------

    def completed(self, **check: Any) -> bool:
        """The ledger is repaired; whether its mark is gone then."""
        repair = self.begun(**check)
        self.do(self.repairs.end(repair))
        self.assert_released()
        marked: list[int] = self.do(self.listed_marks())
        return not marked

    async def listed_marks(self) -> list[int]:
        """Ids of marked ledgers."""
        return [ledger_id async for ledger_id in self.cluster.underreplication.marked_ledgers()]

    def damaged(self, named: Sequence[str] = ()) -> dict[str, Any]:
        """The ledger is closed and marked, and a bookie that is there lacks entries of its first fragment."""
        self.finish(self.writer.close())
        self.do(self.cluster.underreplication.mark(self.ledger_id, named or (self.lost,)))
        loss = ReplicaLoss(self.ensembles[0].index(self.lost), self.lost, LossKind.MISSING, ((0, 3),))
        return {"losses": {self.ledger_id: {0: [loss]}}}

    def test_marked_again(self) -> None:
        """A mark stays that was made again after the check began, with the same bookie, too."""
        self.lose()
        marks = {self.ledger_id: self.mark()}
        self.do(self.cluster.underreplication.mark(self.ledger_id, (self.lost,)))
        self.assertFalse(self.completed(marks=marks))

    def test_marked_after_the_check(self) -> None:
        """So does one that was made after it."""
        self.lose()
        self.assertFalse(self.completed(marks={}))

    def test_repaired_where_it_is(self) -> None:
        """A mark goes of a bookie that has been given what it lacked, if all of it was checked."""
        self.assertTrue(self.completed(**self.damaged(), unsure={self.ledger_id: ["b9:1"]}))

    def test_another_fragment_unchecked(self) -> None:
        """It stays if the bookie could not be reached for another fragment."""
        self.assertFalse(self.completed(**self.damaged(), unsure={self.ledger_id: [self.lost]}))
        self.assertEqual(self.mark().value.replicas, (self.lost,))

    def test_nothing_checked(self) -> None:
        """It stays while the ledger names the bookie, if no entries were read."""
        self.assertFalse(self.completed(**self.damaged()))

    def test_other_bookie_of_the_mark(self) -> None:
        """It stays if nothing is known of another bookie that it names, goes if that one has left the ledger."""
        other = self.ensembles[0][2]
        self.assertFalse(self.completed(**self.damaged((self.lost, other)), unsure={self.ledger_id: [other]}))
        self.do(self.cluster.underreplication.remove_mark(self.ledger_id, 0))
        self.do(self.cluster.underreplication.mark(self.ledger_id, (self.lost, "left:1")))
        self.assertTrue(self.completed(unsure={self.ledger_id: ["left:1"]}))

    def test_nameless_mark(self) -> None:
        """A mark that names no bookie stays: it may ask for other places."""
        self.finish(self.writer.close())
        self.do(self.cluster.underreplication.mark(self.ledger_id))
        self.assertFalse(self.completed(unsure={}))

    # ---- locks ---------------------------------------------------------------------------------------

    def expire(self) -> None:
        """The session that holds the lock ends, and a bookie that wants to delete the ledger has the lock."""
        ((session, _),) = self.store.locks.values()
        session.expire()
        self.do(self.cluster.underreplication.lock(self.ledger_id, "a bookie that deletes"))

    def assert_nothing_done(self, repair: LockedLedger, before: int) -> None:
        """Neither metadata nor marks nor the lock of the other have changed, and the report says why."""
        self.assertEqual((self.version(), self.mark().value.replicas), (before, (self.lost,)))
        rows = [row[-3::2] for one in repair.fragments.values() for row in one.outcomes()]
        why = f"the replication lock of ledger {self.ledger_id} was lost with its session"
        self.assertEqual(rows, [(FAILED, why)] * 2)
        self.assertEqual(list(self.do(self.cluster.underreplication.locked_ledgers())), [self.ledger_id])

    def test_session_lost_while_copies_are_made(self) -> None:
        """Without its lock a ledger is left as it is, whatever was copied."""
        self.lose()
        repair, before = self.begun(), self.version()
        self.expire()
        self.do(self.repairs.end(repair))
        self.assert_nothing_done(repair, before)

    def test_session_lost_while_bookies_are_named(self) -> None:
        """So it is if the lock is lost while metadata are written."""
        self.lose()
        repair, before = self.begun(), self.version()
        self.patch(self.repairs._ledgers, "write", lambda *_: Deferred())
        ending = Deferred.fromCoroutine(self.repairs.end(repair))
        self.assertNoResult(ending)
        self.expire()
        self.do(ending)
        self.assert_nothing_done(repair, before)

    def test_session_lost_while_it_is_planned(self) -> None:
        """A ledger whose lock is lost before its targets are chosen is not begun."""
        self.lose()
        repairs = Repairs(self.client(), Check({self.ledger_id: self.lacking()}))
        self.patch(repairs._registration, "writable_bookies", lambda: Deferred())
        beginning = Deferred.fromCoroutine(repairs.begin(self.ledger_id))
        self.assertNoResult(beginning)
        self.expire()
        refusal = self.do(beginning)
        self.assertEqual(refusal.state, FAILED)
        self.assertIn("was lost with its session", refusal.why)
