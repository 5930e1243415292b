"""Work under the lock of a ledger."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import LedgerLockedError, MetadataError, NotEnoughBookiesError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.locked_work import RELEASE_SECONDS, LedgerLock, under_lock


class LockedWorkTests(SynchronousTestCase):
    """:func:`under_lock`."""

    def setUp(self) -> None:
        """One driver, and work that takes as long as the test wants."""
        self.store = MemoryStore()
        self.driver = self.store.driver(Clock())
        self.successResultOf(Deferred.fromCoroutine(self.driver.open()))
        self.step: Deferred[int] = Deferred()

    async def _work(self) -> int:
        self.assertEqual(list(self.store.locks), [5])
        return await self.step

    def _begin(self) -> "Deferred[int]":
        locks: Any = self.driver.underreplication
        return Deferred.fromCoroutine(under_lock(locks, 5, "host", self._work))

    def test_done(self) -> None:
        """The lock is released behind the work, whether it succeeds or fails; its session can end after that."""
        for outcome in (7, NotEnoughBookiesError()):
            self.step = Deferred()
            running = self._begin()
            self.assertEqual(self.store.locks[5][1], "host")
            session, _ = self.store.locks[5]
            if isinstance(outcome, int):
                self.step.callback(outcome)
                self.assertEqual(self.successResultOf(running), outcome)
            else:
                self.step.errback(outcome)
                self.failureResultOf(running, NotEnoughBookiesError)
            self.assertEqual(self.store.locks, {})
            session.expire()

    def test_locked(self) -> None:
        """Without the lock the work does not begin."""
        self._begin()
        self.failureResultOf(self._begin(), LedgerLockedError)

    def test_lost(self) -> None:
        """Work whose lock is lost is cancelled, and that is the error."""
        running = self._begin()
        session, _ = self.store.locks[5]
        session.expire()
        self.assertTrue(self.step.called)
        self.assertIn("was lost", str(self.failureResultOf(running, MetadataError).value))
        self.assertEqual(self.store.locks, {})

    def test_cancelled(self) -> None:
        """Work that is cancelled from outside releases its lock."""
        running = self._begin()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual(self.store.locks, {})

    def _cancelled(self, clock: Clock | None, answer: "Deferred[None]") -> "Deferred[int]":
        """Work that was cancelled and whose lock the store does not release at once."""
        locks: Any = self.driver.underreplication
        running = Deferred.fromCoroutine(under_lock(locks, 5, "host", self._work, clock))
        self.patch(locks, "unlock", lambda ledger_id: answer)
        running.cancel()
        self.assertNoResult(running)
        return running

    def test_cancelled_without_an_answer(self) -> None:
        """With a clock it waits for the release for a second, and leaves the rest to the end of the session."""
        clock, answer = Clock(), Deferred[None]()
        running = self._cancelled(clock, answer)
        clock.advance(RELEASE_SECONDS - 0.1)
        self.assertNoResult(running)
        clock.advance(0.2)
        self.failureResultOf(running, CancelledError)
        self.assertTrue(answer.called)
        for outcome in (None, MetadataError("down")):
            clock, answer, self.step = Clock(), Deferred[None](), Deferred()
            self.setUp()
            running = self._cancelled(clock, answer)
            answer.callback(None) if outcome is None else answer.errback(outcome)
            self.failureResultOf(running, CancelledError)
            self.assertEqual(clock.getDelayedCalls(), [])

    def test_cancelled_without_a_clock(self) -> None:
        """Without one it waits for the end of the release, and says what failed."""
        for outcome, expected in ((None, CancelledError), (MetadataError("down"), MetadataError)):
            self.setUp()
            answer = Deferred[None]()
            running = self._cancelled(None, answer)
            answer.callback(None) if outcome is None else answer.errback(outcome)
            self.failureResultOf(running, expected)

    def test_lost_between(self) -> None:
        """Work that comes after the loss of the lock does not begin; a release harms nobody's lock."""
        locks: Any = self.driver.underreplication
        lock = self.successResultOf(Deferred.fromCoroutine(LedgerLock.take(locks, 5, "host")))
        self.step.callback(7)
        for _ in range(2):
            self.assertEqual(self.successResultOf(Deferred.fromCoroutine(lock.run(self._work))), 7)
        session, _ = self.store.locks[5]
        session.expire()
        failed = self.failureResultOf(Deferred.fromCoroutine(lock.run(self._work)), MetadataError)
        self.assertIn("was lost", str(failed.value))
        other = self.store.driver(Clock())
        self.successResultOf(Deferred.fromCoroutine(other.open()))
        self.successResultOf(Deferred.fromCoroutine(other.underreplication.lock(5, "other")))
        self.successResultOf(Deferred.fromCoroutine(lock.release()))
        self.assertEqual(self.store.locks[5][1], "other")
