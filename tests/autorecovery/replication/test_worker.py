"""The replication worker, over a cluster in memory."""

from collections.abc import Collection
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.autorecovery.limits import REPLICATION_WRITE
from bookkeeper_twisted.autorecovery.replication.repair import LedgerRepair
from bookkeeper_twisted.autorecovery.replication.worker import _Job
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.model import UnderreplicatedLedger

from ...client.cluster_case import BOOKIES
from .worker_case import WorkerCase


class RepairTests(WorkerCase):
    """Marked ledgers become whole."""

    def test_lost_bookie(self) -> None:
        """Ledgers of a lost bookie are copied, their marks and locks go, whatever their sizes."""
        payloads = self.payloads(30)
        ledgers = [self.write(payloads, sizes) for sizes in ((3, 3, 2), (3, 2, 2), (2, 2, 1), (1, 1, 1))]
        lost = self.metadata(ledgers[0]).segments[0].bookies[0]
        hit = [n for n in ledgers[:3] if lost in self.metadata(n).segments[0].bookies]
        self.kill(lost)
        worker = self.worker()
        for ledger_id in hit:
            self.mark(ledger_id, lost)
        self.pass_time(10)
        self.assertEqual((self.marked(), self.locked(), worker.status()), ([], [], []))
        for ledger_id in hit:
            self.assert_complete(ledger_id, payloads)
        self.assertIn(f"NUM_FULL_OR_PARTIAL_LEDGERS_REPLICATED {len(hit)}", self.exported())

    def test_another_loss_meanwhile(self) -> None:
        """A bookie that is lost while another one's entries are copied is replaced by the same attempt."""
        self.do(self.cluster.registration.register_bookie("extra:1", False, self.service_info()))
        payloads = self.payloads(30)
        ledger_id = self.write(payloads)
        first, second, _ = self.metadata(ledger_id).segments[0].bookies
        self.kill(first)
        self.throttles.get(REPLICATION_WRITE).change(Rate(entries=10))
        worker = self.worker()
        self.mark(ledger_id, first)
        self.pass_time(2)
        self.kill(second)
        self.pass_time(6)
        self.assertEqual((self.marked(), worker.status()), ([], []))
        self.assert_complete(ledger_id, payloads)
        self.assertFalse({first, second} & set(self.metadata(ledger_id).segments[0].bookies))

    def test_damage_in_the_middle(self) -> None:
        """Of a bookie that a mark names, every entry is read, and what is damaged is repaired where it is."""
        payloads = [b"x" * 2000] * 100
        for named in (True, False):
            ledger_id = self.write(payloads)
            bookie_id = self.metadata(ledger_id).segments[0].bookies[1]
            before = self.metadata(ledger_id)
            self.bookies[bookie_id].damage(ledger_id, 50)
            self.mark(ledger_id, *([bookie_id] if named else []))
            self.worker()
            self.pass_time(5)
            self.stop_workers()
            self.assertEqual((self.marked(), self.metadata(ledger_id)), ([], before))
            self.assert_complete(ledger_id, payloads)

    def test_undecodable_mark(self) -> None:
        """A ledger with a mark that cannot be decoded is checked on all bookies and repaired, and is marked no more; if
        it cannot be repaired, its mark gets the names of the bookies that lack entries.
        """
        ledgers = [self.write(self.payloads(20)) for _ in range(2)]
        impossible = self.metadata(ledgers[1]).segments[0].bookies
        del self.bookies[self.metadata(ledgers[0]).segments[0].bookies[0]].entries[ledgers[0]][7]
        for bookie_id in impossible:
            del self.bookies[bookie_id].entries[ledgers[1]][7]
        for ledger_id in ledgers:
            self.mark(ledger_id)
            self.cluster.underreplication._store.write_mark(ledger_id, b"\xff", 0)
        self.worker()
        self.pass_time(5)
        self.assertEqual(self.marked(), ledgers[1:])
        self.assert_complete(ledgers[0], self.payloads(20))
        mark = self.do(self.cluster.underreplication.read_mark(ledgers[1])).value
        self.assertEqual((mark.replicas, mark.problem), (tuple(sorted(impossible)), ""))

    def test_whole_or_deleted(self) -> None:
        """The mark of a ledger that is whole, or does not exist, is removed."""
        self.mark(self.write(self.payloads(5)))
        self.mark(12345, "b0:1")
        self.worker()
        self.pass_time(1)
        self.assertEqual((self.marked(), self.locked()), ([], []))
        for counter in ("LEDGERS_REPLICATED", "NOT_ADHERING_PLACEMENT_LEDGERS_REPLICATED"):
            self.assertNotRegex(self.exported(), f"{counter} [1-9]")

    def test_marked_later(self) -> None:
        """A worker that has nothing to do waits for marks, without a request meanwhile."""
        worker = self.worker()
        self.pass_time(1)
        calls = len(self.clock.getDelayedCalls())
        self.mark(self.write(self.payloads(5)))
        self.pass_time(6)
        self.assertEqual((self.marked(), worker.status()), ([], []))
        self.assertLessEqual(len(self.clock.getDelayedCalls()), calls)

    def test_several_at_once(self) -> None:
        """Several ledgers are repaired at a time, and no more than wanted."""
        ledgers = [self.write(self.payloads(5)) for _ in range(6)]
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 1.0
        for ledger_id in ledgers:
            self.mark(ledger_id)
        worker = self.worker(ledgers=2)
        most = 0
        for _ in range(100):
            most = max(most, len(worker.status()))
            self.pass_time(0.1)
        self.assertEqual((most, self.marked()), (2, []))

    def test_first_status(self) -> None:
        """Of very many held ledgers, those at work are listed, those with the lowest ids and the newest ones."""
        worker = self.worker()
        for ledger_id in (5, 1, 9, 7, 3, 2, 8):
            state = "repairing" if ledger_id == 9 else "waiting"
            worker._jobs[ledger_id] = _Job(ledger_id, 0.0, state, in_slot=False)
        for most, listed in ((0, [9]), (1, [1, 8, 9]), (2, [1, 2, 8, 9]), (None, [1, 2, 3, 5, 7, 8, 9])):
            self.assertEqual([each.ledger_id for each in worker.status(most)], listed)
        worker._jobs.clear()

    def test_one_fragment_does_not_hold_up_the_next(self) -> None:
        """A fragment that cannot be repaired leaves the others of its ledger repairable."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        ledger_id = writer.ledger_id
        self.do(writer.append_many(self.payloads(20)))
        first = self.metadata(ledger_id).segments[0].bookies
        self.bookies[first[0]].up = False
        self.do(writer.append_many(self.payloads(5)))
        self.do(writer.close())
        self.bookies[first[0]].up = True
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].entries[ledger_id].pop(3, None)
        second = self.metadata(ledger_id).segments[1].bookies
        del self.bookies[second[0]].entries[ledger_id][22]
        self.mark(ledger_id)
        worker = self.worker()
        self.pass_time(5)
        self.assertIn(22, self.bookies[second[0]].entries[ledger_id])
        self.assertEqual(self.marked(), [ledger_id])
        status = self.status(worker)
        self.assertEqual((status.state, status.attempts), ("impossible", 1))
        self.assertIn(f"no bookie has ledger {ledger_id} entry 3", status.reason)
        self.assertIn("replication_worker_exceptions_BKReadException 1", self.exported())


class MarkTests(WorkerCase):
    """Marks, locks and the switch."""

    def _mark_while_repaired(self, position: int) -> list[list[str]]:
        """Mark a ledger that is being repaired, and damage an entry first; the bookies of each further attempt."""
        ledger_id = self.write(self.payloads(20))
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.mark(ledger_id, ensemble[0])
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 2.0
        worker = self.worker()
        self.assertEqual(self.status(worker).state, "repairing")
        self.bookies[ensemble[position]].damage(ledger_id, 10)
        attempts: list[list[str]] = []
        seen = LedgerRepair.attempt

        async def attempt(repair: LedgerRepair, number: int, replicas: Collection[str]) -> Any:
            attempts.append([str(ensemble.index(replica)) for replica in replicas])
            return await seen(repair, number, replicas)

        self.patch(LedgerRepair, "attempt", attempt)
        self.mark(ledger_id, ensemble[position])
        self.pass_time(30)
        self.assertEqual(self.marked(), [])
        self.assert_complete(ledger_id, self.payloads(20))
        return attempts

    def test_marked_again(self) -> None:
        """A mark that was changed during the repair stays, and leads to another one."""
        self.assertEqual(self._mark_while_repaired(1), [["0", "1"]])

    def test_marked_again_with_the_same_bookie(self) -> None:
        """So does one that was made again and says what it said: the repair may have seen an older state."""
        self.assertEqual(self._mark_while_repaired(0), [["0"]])

    def test_lock_of_another(self) -> None:
        """A ledger that another worker has locked is left alone until the lock is released."""
        ledger_id = self.write(self.payloads(5))
        other = self.store.driver(self.clock)
        self.do(other.open())
        self.do(other.underreplication.lock(ledger_id, "other"))
        self.mark(ledger_id)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].requests.clear()
        self.worker()
        self.pass_time(5)
        self.assertEqual(self.marked(), [ledger_id])
        self.assertEqual([one for b in BOOKIES for one in self.bookies[b].requests if one[0] != "read_lac"], [])
        self.do(other.underreplication.unlock(ledger_id))
        self.pass_time(5)
        self.assertEqual(self.marked(), [])

    def test_many_locks_of_others(self) -> None:
        """While marks come and go, the locks of other workers are tried once in a while, not at each change."""
        other = self.store.driver(self.clock)
        self.do(other.open())
        ledgers = [self.write(self.payloads(5)) for _ in range(5)]
        for ledger_id in ledgers:
            self.do(other.underreplication.lock(ledger_id, "other"))
            self.mark(ledger_id)
        worker = self.worker()
        tried: list[int] = []
        original = worker._underreplication.lock

        async def lock(ledger_id: int, holder: str) -> None:
            tried.append(ledger_id)
            await original(ledger_id, holder)

        self.patch(worker._underreplication, "lock", lock)
        for _ in range(20):
            self.mark(self.write(self.payloads(5)))
            self.pass_time(0.5)
        self.assertEqual(self.marked(), ledgers)
        self.assertLessEqual(sum(ledger_id in ledgers for ledger_id in tried), 2 * len(ledgers))
        for ledger_id in ledgers:
            self.do(other.underreplication.unlock(ledger_id))
        self.pass_time(6)
        self.assertEqual(self.marked(), [])

    def test_two_workers(self) -> None:
        """Two workers share the work, and no ledger is repaired by both at a time."""
        ledgers = [self.write(self.payloads(20)) for _ in range(8)]
        lost = self.metadata(ledgers[0]).segments[0].bookies[0]
        hit = [n for n in ledgers if lost in self.metadata(n).segments[0].bookies]
        self.kill(lost)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 0.3
        for ledger_id in hit:
            self.mark(ledger_id, lost)
        workers = [self.worker(f"w{n}", ledgers=2) for n in range(2)]
        for _ in range(200):
            busy = [status.ledger_id for worker in workers for status in worker.status()]
            self.assertEqual(len(busy), len(set(busy)))
            self.pass_time(0.1)
        self.assertEqual((self.marked(), self.locked()), ([], []))
        for ledger_id in hit:
            self.assert_complete(ledger_id, self.payloads(20))

    def test_switched_off(self) -> None:
        """Nothing is taken while autorecovery is switched off."""
        self.do(self.cluster.underreplication.set_enabled(False))
        self.mark(self.write(self.payloads(5)))
        worker = self.worker()
        self.pass_time(5)
        self.assertEqual((len(self.marked()), worker.status()), (1, []))
        self.do(self.cluster.underreplication.set_enabled(True))
        self.pass_time(5)
        self.assertEqual(self.marked(), [])

    def test_stopped(self) -> None:
        """A worker that is stopped ends its repairs, releases its locks, and leaves nothing under way."""
        ledger_id = self.write(self.payloads(20))
        self.mark(ledger_id)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 5.0
        worker = self.worker()
        self.assertEqual(self.locked(), [ledger_id])
        self.do(worker.stopService())
        self.assertEqual((self.locked(), self.marked(), worker.status()), ([], [ledger_id], []))
        worker.startService()
        self.pass_time(30)
        self.assertEqual(self.marked(), [])

    def test_store_fails(self) -> None:
        """A store that fails is tried again after a pause."""
        self.mark(self.write(self.payloads(5)))
        worker = self.worker(start=False)
        underreplication = worker._underreplication
        failures = [MetadataError("away")] * 2

        async def lock(ledger_id: int, holder: str) -> None:
            if failures:
                raise failures.pop()
            await original(ledger_id, holder)

        original = underreplication.lock
        self.patch(underreplication, "lock", lock)
        worker.startService()
        self.pass_time(8)
        self.assertEqual(len(self.marked()), 1)
        self.pass_time(5)
        self.assertEqual(self.marked(), [])


class HoldTests(WorkerCase):
    """Ledgers that cannot be repaired now."""

    def test_too_few_bookies(self) -> None:
        """With too few bookies a ledger is reported as impossible, and repaired as soon as one comes."""
        ledger_id = self.write(self.payloads(20))
        ensemble = self.metadata(ledger_id).segments[0].bookies
        spare = next(b for b in BOOKIES if b not in ensemble)
        self.kill(spare)
        self.kill(ensemble[0])
        self.mark(ledger_id, ensemble[0])
        worker = self.worker()
        self.pass_time(3)
        self.assertEqual((self.status(worker).state, self.locked()), ("impossible", [ledger_id]))
        text = self.do(self.cluster.underreplication.locked_ledgers())[ledger_id]
        self.assertRegex(text, "^w0: cannot be repaired, tried again at 1970-01-01T00:00:[0-9]{2}Z: .*bookies")
        self.assertIn('replication_worker_ledgers{state="impossible"} 1', self.exported())
        self.do(self.cluster.registration.register_bookie("b9:1", False, self.service_info()))
        self.pass_time(3)
        self.assertEqual(self.marked(), [])
        self.assert_complete(ledger_id, self.payloads(20))

    def test_bookies_that_came_back(self) -> None:
        """A mark names no bookie any more that has come back with its entries, while another one cannot be replaced."""
        ledger_id = self.write(self.payloads(20))
        gone, second, third = self.metadata(ledger_id).segments[0].bookies
        self.kill(next(b for b in BOOKIES if b not in (gone, second, third)))
        self.kill(gone)
        self.do(self.cluster.underreplication.mark(ledger_id, [gone], 5000))
        self.worker()
        self.pass_time(3)
        for number, bookie_id in enumerate((second, third)):
            self.kill(bookie_id)
            self.do(self.cluster.underreplication.mark(ledger_id, [bookie_id], 6000 + number))
            self.pass_time(1)
            self.revive(bookie_id)
            self.pass_time(8)
        self.assertEqual(
            self.do(self.cluster.underreplication.read_mark(ledger_id)).value, UnderreplicatedLedger((gone,), 5000)
        )

    def test_still_doubtful(self) -> None:
        """A bookie that could not be checked stays in the mark."""
        ledger_id, bookie_id = self.overloaded()
        self.mark(ledger_id, *self.metadata(ledger_id).segments[0].bookies)
        worker = self.worker()
        self.pass_time(20)
        self.assertEqual(self.status(worker).state, "waiting")
        self.assertEqual(self.do(self.cluster.underreplication.read_mark(ledger_id)).value.replicas, (bookie_id,))

    def test_mark_cannot_be_written(self) -> None:
        """A mark whose names cannot be removed leaves the reason of the failed repair as it is."""
        ledger_id = self.write(self.payloads(20))
        gone, second, _ = ensemble = self.metadata(ledger_id).segments[0].bookies
        self.kill(next(b for b in BOOKIES if b not in ensemble))
        self.kill(gone)
        self.mark(ledger_id, gone, second)
        worker = self.worker(start=False)

        async def replace_mark(*arguments: Any) -> None:
            raise MetadataError("no store")

        self.patch(worker._underreplication, "replace_mark", replace_mark)
        worker.startService()
        self.pass_time(5)
        self.assertEqual(self.status(worker).state, "impossible")

    def test_growing_pauses(self) -> None:
        """Pauses double from a thirty-second part of the longest to that; others have the slot meanwhile."""
        ledger_id, bookie_id = self.overloaded()
        worker = self.worker(ledgers=1)
        pauses = []
        for _ in range(400):
            self.pass_time(1)
            for status in worker.status():
                if status.next_attempt is not None:
                    self.assertEqual(status.state, "waiting")
                    pauses.append((status.attempts, round(status.next_attempt - status.since)))
        self.assertEqual(sorted(dict(pauses)), [1, 2, 3, 4, 5, 6])
        for attempts, pause in pauses:
            took = pause - min(10 * 2 ** (attempts - 1), 320)
            self.assertTrue(0 <= took <= 4, (attempts, pause))
        other = self.write(self.payloads(5), (1, 1, 1))
        self.mark(other)
        self.pass_time(3)
        self.assertEqual(self.marked(), [ledger_id])
        self.bookies[bookie_id].faults.clear()
        self.pass_time(330)
        self.assertEqual(self.marked(), [])
        self.assertEqual(worker._failures, {})

    def test_stopped_while_it_unlocks(self) -> None:
        """A worker that is stopped while it releases a lock waits for the release, and plans nothing more."""
        self.mark(self.write(self.payloads(5)))
        worker = self.worker(start=False)
        unlock, asked = worker._underreplication.unlock, Deferred[None]()

        async def slowly(ledger_id: int) -> None:
            await asked
            await unlock(ledger_id)

        self.patch(worker._underreplication, "unlock", slowly)
        worker.startService()
        self.pass_time(2)
        self.assertEqual((self.marked(), len(self.locked())), ([], 1))
        stopped = worker.stopService()
        self.assertNoResult(stopped)
        asked.callback(None)
        self.do(stopped)
        self.assertEqual((self.locked(), worker.status()), ([], []))
        self.assertFalse(worker._timer is not None and worker._timer.active())

    def test_lock_says_why(self) -> None:
        """The lock has the host while a ledger is repaired, and the reason while it waits; neither is needed."""
        ledger_id, bookie_id = self.overloaded()
        worker = self.worker(start=False)
        texts: list[str] = []
        original = worker._underreplication.describe_lock

        async def describe(number: int, text: str) -> None:
            texts.append(text)
            if len(texts) == 2:
                raise MetadataError("away")
            await original(number, text)

        self.patch(worker._underreplication, "describe_lock", describe)
        worker.startService()
        self.pass_time(0.2)
        locked = self.cluster.underreplication.locked_ledgers
        self.assertEqual(self.do(locked()), {ledger_id: "w0"})
        self.pass_time(5)
        self.assertEqual(self.do(locked()), {ledger_id: texts[0]})
        wanted = f"w0: waits until 1970-01-01T00:00:[0-9]{{2}}Z: bookie {bookie_id} could not be checked"
        self.assertRegex(texts[0], wanted)
        self.pass_time(12)
        self.assertRegex(texts[1], wanted)
        self.assertEqual(self.do(locked()), {ledger_id: "w0"})  # the store has refused the second text
        self.bookies[bookie_id].faults.clear()
        self.pass_time(30)
        self.assertEqual((self.marked(), self.locked(), len(texts)), ([], [], 2))

    def test_stopped_while_it_says_why(self) -> None:
        """A worker that is stopped while the store is asked releases its lock."""
        ledger_id, _ = self.overloaded()
        worker = self.worker(start=False)
        asked: list[Deferred[None]] = []

        async def describe(number: int, text: str) -> None:
            asked.append(Deferred())
            await asked[-1]

        self.patch(worker._underreplication, "describe_lock", describe)
        worker.startService()
        self.pass_time(5)
        self.assertEqual((len(asked), self.locked()), (1, [ledger_id]))
        self.do(worker.stopService())
        self.assertEqual((self.locked(), worker.status()), ([], []))
