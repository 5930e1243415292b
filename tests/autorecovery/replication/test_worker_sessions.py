"""Locks of a worker that go with its session, or that the store does not release."""

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.autorecovery.limits import REPLICATION_WRITE
from bookkeeper_twisted.autorecovery.replication.worker import ReplicationWorker
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.limits.throttle import Rate

from ...client.cluster_case import BOOKIES
from .worker_case import WorkerCase


class SessionTests(WorkerCase):
    """The session of a worker ends while it works."""

    def _expire(self) -> None:
        """The store ends the session that has the only lock."""
        ((session, _),) = self.store.locks.values()
        session.expire()

    def _copying(self) -> tuple[int, str, ReplicationWorker]:
        """A worker in the middle of slow copies: the ledger, and the bookie whose place is to be taken."""
        ledger_id = self.write(self.payloads(30))
        lost = self.metadata(ledger_id).segments[0].bookies[0]
        self.kill(lost)
        self.mark(ledger_id, lost)
        self.throttles.get(REPLICATION_WRITE).change(Rate(entries=10))
        worker = self.worker()
        self.pass_time(1)
        self.assertEqual((self.status(worker).state, self.locked()), ("repairing", [ledger_id]))
        return ledger_id, lost, worker

    def test_nothing_without_the_lock(self) -> None:
        """What was begun under a lock of an ended session neither writes a copy nor names it in the metadata."""
        ledger_id, lost, worker = self._copying()
        before = self.metadata(ledger_id)
        other = self.store.driver(self.clock)
        self.do(other.open())
        self._expire()
        self.do(other.underreplication.lock(ledger_id, "a bookie that deletes"))
        requests = [len(self.bookies[bookie_id].requests) for bookie_id in BOOKIES]
        self.pass_time(20)
        self.assertEqual([len(self.bookies[bookie_id].requests) for bookie_id in BOOKIES], requests)
        self.assertEqual((self.metadata(ledger_id), worker.status(), self.marked()), (before, [], [ledger_id]))
        self.do(other.underreplication.unlock(ledger_id))
        self.pass_time(20)
        self.assertEqual((self.marked(), self.locked()), ([], []))
        self.assertNotIn(lost, self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(30))

    def test_taken_again(self) -> None:
        """The ledgers of an ended session are taken again at once, those that wait for a bookie among them."""
        ledger_id, bookie_id = self.overloaded()
        worker = self.worker()
        self.pass_time(5)
        self.assertEqual((self.status(worker).state, self.locked()), ("waiting", [ledger_id]))
        self.bookies[bookie_id].faults.clear()
        self._expire()
        self.pass_time(3)
        self.assertEqual((self.marked(), self.locked(), worker.status()), ([], [], []))

    def test_stopped_worker_has_no_sessions(self) -> None:
        """A session that ends after the worker was stopped begins nothing."""
        ledger_id, _, worker = self._copying()
        session, _ = self.store.locks[ledger_id]
        self.do(worker.stopService())
        session.expire()
        self.pass_time(10)
        self.assertEqual((self.marked(), self.locked(), worker.status()), ([ledger_id], [], []))


class ReleaseTests(WorkerCase):
    """The release of a lock fails, or takes long."""

    def _replace(self, worker: ReplicationWorker, name: str, make: Callable[[Any], Any]) -> None:
        """Another version of a method of a worker's driver."""
        self.patch(worker._underreplication, name, make(getattr(worker._underreplication, name)))

    def test_release_fails(self) -> None:
        """A lock that could not be released after the mark was removed does not stay behind."""
        self.mark(self.write(self.payloads(5)))
        worker, failures = self.worker(start=False), [MetadataError("away")] * 2

        def failing(unlock: Callable[[int], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
            async def fail(ledger_id: int) -> None:
                if failures:
                    raise failures.pop()
                await unlock(ledger_id)

            return fail

        self._replace(worker, "unlock", failing)
        worker.startService()
        self.pass_time(1)
        self.assertEqual((self.marked(), len(self.locked())), ([], 1))
        self.pass_time(10)
        self.assertEqual((self.locked(), worker.status()), ([], []))

    def test_lock_of_unknown_outcome(self) -> None:
        """A lock that was taken without an answer does not stay behind, though its ledger is not marked any more."""
        ledger_id = self.write(self.payloads(5))
        self.mark(ledger_id)
        worker = self.worker(start=False)

        def lost(lock: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
            async def lose(ledger_id: int, holder: str) -> None:
                await lock(ledger_id, holder)
                await self.cluster.underreplication.remove_mark(ledger_id, 0)
                raise MetadataError("the answer was lost")

            return lose

        self._replace(worker, "lock", lost)
        worker.startService()
        self.pass_time(10)
        self.assertEqual((self.marked(), self.locked()), ([], []))

    def test_walks_during_a_release(self) -> None:
        """A ledger is taken again that was marked while its lock was being released, and then was no lock any more."""
        ledger_id = self.write(self.payloads(5))
        self.mark(ledger_id)
        worker, answered = self.worker(start=False), Deferred[None]()

        def late(unlock: Callable[[int], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
            async def answer(ledger_id: int) -> None:
                await unlock(ledger_id)
                await answered

            return answer

        self._replace(worker, "unlock", late)
        worker.startService()
        self.pass_time(1)
        self.mark(ledger_id)
        self.pass_time(10)
        self.assertEqual((self.marked(), self.locked()), ([ledger_id], []))
        answered.callback(None)
        self.pass_time(6)
        self.assertEqual((self.marked(), self.locked()), ([], []))
