"""The parts of the suite on ledgers, bookies and cookies notice what is wrong."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.embedded.memory import MemorySession
from bookkeeper_twisted.metadata.interfaces import Versioned

from .test_metadata_contract import failing_tests


class _BlindWrite(MemorySession):
    """Writes whatever version is named."""

    def write_ledger(self, ledger_id: int, metadata: bytes, version: int) -> int:
        return super().write_ledger(ledger_id, metadata, self.read_ledger(ledger_id).version)


class _Reborn(MemorySession):
    """Gives the lowest free id."""

    def next_ledger_id(self) -> int:
        self._shared.next_ledger_id = 0
        return super().next_ledger_id()


class _Unordered(MemorySession):
    """Lists ledgers in the order of their creation."""

    def ledger_ids(self, first: int, last: int, limit: int) -> list[int]:
        return [i for i in self._shared.ledgers if first <= i <= last][:limit]


class _Upsert(MemorySession):
    """Creates what exists."""

    def create_ledger(self, ledger_id: int, metadata: bytes) -> None:
        self._shared.ledgers[ledger_id] = Versioned(metadata, 0)

    def write_cookie(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        self._shared.cookies[bookie_id] = Versioned(cookie, 0)
        return 0


class _Stealing(MemorySession):
    """Takes the bookies of others."""

    def register(self, bookie_id: str, read_only: bool, info: bytes) -> None:
        self._shared.bookies.pop(bookie_id, None)
        super().register(bookie_id, read_only, info)


class _StaleInfo(MemorySession):
    """Does not refresh what a bookie published."""

    def register(self, bookie_id: str, read_only: bool, info: bytes) -> None:
        before = self._shared.bookies.get(bookie_id)
        super().register(bookie_id, read_only, before.info if before else info)


class _NoCookieError(MemorySession):
    """Reports a missing cookie as any failure."""

    def read_cookie(self, bookie_id: str) -> Versioned[bytes]:
        try:
            return super().read_cookie(bookie_id)
        except MetadataError as error:
            raise MetadataError("no") from error


class PlantedBugTests(SynchronousTestCase):
    """One planted bug each."""

    def test_ledgers(self) -> None:
        """Lost races that win, ids given twice, listings without order, creates that replace."""
        for session, name in (
            (_BlindWrite, "test_lost_race"),
            (_Reborn, "test_ids_are_not_given_twice"),
            (_Unordered, "test_listing"),
            (_Upsert, "test_create_twice"),
            (_Upsert, "test_repeated_create"),
        ):
            with self.subTest(name):
                self.assertEqual(failing_tests(session, name), {name})
                self.assertEqual(failing_tests(MemorySession, name), set())

    def test_bookies_and_cookies(self) -> None:
        """Stolen bookie ids, stale service infos, cookies without versions, errors of the wrong class."""
        for session, name in (
            (_Stealing, "test_id_of_another_session"),
            (_StaleInfo, "test_change_of_mode"),
            (_Upsert, "test_cookies"),
            (_NoCookieError, "test_missing_cookie"),
        ):
            with self.subTest(name):
                self.assertEqual(failing_tests(session, name), {name})
                self.assertEqual(failing_tests(MemorySession, name), set())
