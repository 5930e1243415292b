"""The session both sides of a driver share."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError, MetadataSerializationError
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.session import EmbeddedSession
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker


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
