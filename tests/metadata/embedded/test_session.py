"""The session both sides of a driver share."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import (
    MetadataError,
    MetadataOutcomeUnknownError,
    MetadataSerializationError,
    MetadataUnavailableError,
)
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.session import EmbeddedSession
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker


class _Stuck:
    """A worker whose calls end when the test says so."""

    def __init__(self) -> None:
        self.calls: list[Deferred[Any]] = []

    def call(self, work: object, *args: object) -> "Deferred[Any]":
        """Takes one more."""
        self.calls.append(Deferred())
        return self.calls[-1]

    read = call

    def answer(self, value: object) -> None:
        """Ends the first one."""
        self.calls.pop(0).callback(value)


class EmbeddedSessionTests(SynchronousTestCase):
    """:class:`EmbeddedSession`."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = MemorySession(MemoryStore())
        self.session = EmbeddedSession(self.clock, "memory:", self.store, InlineWorker(), None)

    def test_states(self) -> None:
        """The text of a refusal says which state the session is in."""
        refused = self.failureResultOf(Deferred.fromCoroutine(self.session.read(self.store.instance_id)), MetadataError)
        self.assertEqual(str(refused.value), "memory: is not open")
        self.successResultOf(Deferred.fromCoroutine(self.session.open()))
        refused = self.failureResultOf(Deferred.fromCoroutine(self.session.open()), MetadataError)
        self.assertEqual(str(refused.value), "memory: is open")
        self.successResultOf(Deferred.fromCoroutine(self.session.close()))
        refused = self.failureResultOf(Deferred.fromCoroutine(self.session.read(self.store.instance_id)), MetadataError)
        self.assertEqual(str(refused.value), "memory: is closed")

    def test_limit(self) -> None:
        """A call that the store does not answer in time fails, and the text says that it may have been done."""
        worker: Any = _Stuck()
        session = EmbeddedSession(self.clock, "sqlite:////x", self.store, worker, None, 30.0)
        opening = Deferred.fromCoroutine(session.open())
        worker.answer(True)
        self.successResultOf(opening)
        running = Deferred.fromCoroutine(session.write(self.store.create_ledger, 7, b"metadata"))
        self.clock.advance(29.5)
        self.assertNoResult(running)
        self.clock.advance(0.5)
        error = self.failureResultOf(running, MetadataOutcomeUnknownError).value
        self.assertEqual(
            str(error),
            "sqlite:////x: the store has not answered within 30 s; 'create ledger 7' may have been done, or not",
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_limit_of_a_read(self) -> None:
        """A read that the store does not answer in time has changed nothing, so its outcome is not unknown."""
        worker: Any = _Stuck()
        session = EmbeddedSession(self.clock, "sqlite:////x", self.store, worker, None, 30.0)
        opening = Deferred.fromCoroutine(session.open())
        worker.answer(True)
        self.successResultOf(opening)
        running = Deferred.fromCoroutine(session.read(self.store.read_ledger, 7))
        self.clock.advance(30)
        error = self.failureResultOf(running, MetadataUnavailableError).value
        self.assertNotIsInstance(error, MetadataOutcomeUnknownError)
        self.assertEqual(
            str(error), "sqlite:////x: the store has not answered within 30 s; 'read ledger 7' was not done"
        )

    def test_write_wakes_the_watches(self) -> None:
        """An own write is told without waiting for the next poll; a read is not a reason to look."""
        self.successResultOf(Deferred.fromCoroutine(self.session.open()))
        self.session.watches.watch_bookies(lambda *news: None)
        self.clock.advance(0)
        self.successResultOf(Deferred.fromCoroutine(self.session.read(self.store.next_ledger_id)))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.successResultOf(Deferred.fromCoroutine(self.session.write(self.store.next_ledger_id)))
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_stored_bytes_that_cannot_be_read(self) -> None:
        """Damaged metadata is named by store and ledger, and is not "no such ledger" (S5)."""
        self.successResultOf(Deferred.fromCoroutine(self.session.open()))
        self.store.create_ledger(7, b"damaged")
        failure = self.failureResultOf(Deferred.fromCoroutine(self.session.ledger(7)), MetadataSerializationError)
        self.assertIn("memory:: ledger 7", str(failure.value))
