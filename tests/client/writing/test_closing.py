"""The closing compare-and-set."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.base_writer import close_ledger
from bookkeeper_twisted.errors import MetadataVersionError, NoSuchLedgerMetadataError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment


class CloseLedgerTests(SynchronousTestCase):
    """A ledger in a store in memory."""

    def setUp(self) -> None:
        """Creates the ledger."""
        driver: Any = MemoryStore().driver(Clock())
        self._do(driver.open())
        self.ledgers = driver.ledgers
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("b",)),))
        self.known: Versioned[LedgerMetadata] = self._do(self.ledgers.create(1, metadata))

    def _do(self, work: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(work))

    def _close(self, last: int, length: int) -> "Deferred[Versioned[LedgerMetadata]]":
        return Deferred.fromCoroutine(close_ledger(self.ledgers, 1, self.known, last, length))

    def _store(self, **changes: Any) -> None:
        found = self._do(self.ledgers.read(1))
        self._do(self.ledgers.write(1, attrs.evolve(found.value, **changes), found.version))

    def test_open(self) -> None:
        """An open ledger is closed; what is returned is what is stored."""
        closed = self.successResultOf(self._close(4, 40))
        self.assertEqual(closed, self._do(self.ledgers.read(1)))
        value = closed.value
        self.assertEqual((value.state, value.last_entry_id, value.length), (LedgerState.CLOSED, 4, 40))
        self.assertEqual(value.segments, self.known.value.segments)

    def test_changed_meanwhile(self) -> None:
        """A change by another client is kept, and the close goes on from it (S15)."""
        self._store(custom_metadata={"a": b"b"})
        value = self.successResultOf(self._close(4, 40)).value
        self.assertEqual((value.last_entry_id, dict(value.custom_metadata)), (4, {"a": b"b"}))

    def test_in_recovery(self) -> None:
        """A ledger in recovery is closed by its writer, whose end covers what it acknowledged."""
        self._store(state=LedgerState.IN_RECOVERY)
        self.assertTrue(self.successResultOf(self._close(4, 40)).value.closed)

    def test_closed_alike(self) -> None:
        """Closed with the same end is a success and writes nothing."""
        self._store(state=LedgerState.CLOSED, last_entry_id=4, length=40)
        before = self._do(self.ledgers.read(1))
        self.assertEqual(self.successResultOf(self._close(4, 40)), before)

    def test_closed_otherwise(self) -> None:
        """Closed with another end is an error, and stays as it is (S14)."""
        for last, length in ((3, 40), (4, 39), (5, 50)):
            self._store(state=LedgerState.CLOSED, last_entry_id=4, length=40)
            self.failureResultOf(self._close(last, length), MetadataVersionError)
        self.assertEqual(self._do(self.ledgers.read(1)).value.last_entry_id, 4)

    def test_deleted(self) -> None:
        """A ledger that was deleted stays deleted."""
        self._do(self.ledgers.remove(1))
        self.failureResultOf(self._close(4, 40), NoSuchLedgerMetadataError)
