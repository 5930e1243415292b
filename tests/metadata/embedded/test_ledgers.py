"""The ledger side beyond the contract."""

from collections.abc import AsyncIterator

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import LedgerExistsError, MetadataError, NoSuchLedgerMetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN


class _Pages(MemorySession):
    """A store whose third page cannot be read."""

    pages = 0

    def ledger_ids(self, first: int, last: int, limit: int) -> list[int]:
        self.pages += 1
        if self.pages == 3:
            raise MetadataError("disk on fire")
        return list(range(first, first + limit))


class _Vanishing(MemorySession):
    """A store that loses each ledger right after it was found."""

    def create_ledger(self, ledger_id: int, metadata: bytes) -> None:
        raise LedgerExistsError(f"ledger {ledger_id} exists")

    def read_ledger(self, ledger_id: int) -> Versioned[bytes]:
        raise NoSuchLedgerMetadataError(f"ledger {ledger_id} does not exist")


class EmbeddedLedgersTests(SynchronousTestCase):
    """:class:`EmbeddedLedgers`."""

    def _driver(self, store: MemorySession) -> EmbeddedDriver:
        driver = EmbeddedDriver(Clock(), "memory:", store, InlineWorker())
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        return driver

    def test_failed_page(self) -> None:
        """A listing whose store fails on the way raises: garbage collection would take an early end for
        the truth and delete live ledgers (S8)."""
        seen: list[int] = []

        async def listing(ids: AsyncIterator[int]) -> None:
            async for ledger_id in ids:
                seen.append(ledger_id)

        ledgers = self._driver(_Pages(MemoryStore())).ledgers
        self.failureResultOf(Deferred.fromCoroutine(listing(ledgers.ledger_ids())), MetadataError)
        self.assertEqual(seen, list(range(2000)))

    def test_removed_while_creating(self) -> None:
        """A ledger that existed, but is gone when its token is looked at, was another's."""
        ledgers = self._driver(_Vanishing(MemoryStore())).ledgers
        self.failureResultOf(Deferred.fromCoroutine(ledgers.create(1, OPEN)), LedgerExistsError)
