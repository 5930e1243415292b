"""Bookies that fail too often, and how they come back."""

from random import Random

from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.placement.quarantine import Quarantine


class QuarantineTests(SynchronousTestCase):
    """Three failures in ten seconds are too many; a quarantine is a minute."""

    def setUp(self) -> None:
        """No bookie is avoided."""
        self.clock = Clock()
        self.quarantine = self._made()
        self.addCleanup(self.quarantine.stop)

    def _made(self, **config: object) -> Quarantine:
        limits = {
            "bookie_health_check_interval_seconds": 10.0, "bookie_error_threshold_per_interval": 3,
            "bookie_quarantine_time_seconds": 60.0,
        }  # fmt: skip
        quarantine = Quarantine(self.clock, Random(1), ClientConfig(**{**limits, **config}))  # type: ignore[arg-type]
        quarantine.start()
        return quarantine

    def _fail(self, bookie_id: str, times: int, error: Exception | None = None) -> None:
        for _ in range(times):
            self.quarantine.answered(bookie_id, error or RequestTimeoutError("no reply in time"))

    def test_threshold(self) -> None:
        """As many failures as the threshold between two looks are too many, one less is not."""
        self._fail("a", 3)
        self._fail("b", 2)
        self.assertEqual(self.quarantine.bookies, frozenset())
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"a"})
        self._fail("b", 2)
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"a"})

    def test_end(self) -> None:
        """It ends when its time is up, also between two looks."""
        self._fail("a", 3)
        self.clock.advance(10)
        self.clock.advance(59.9)
        self.assertEqual(self.quarantine.bookies, {"a"})
        self.clock.advance(0.1)
        self.assertEqual(self.quarantine.bookies, frozenset())

    def test_recovery(self) -> None:
        """It ends at the first look after a time in which the bookie answered and did not fail."""
        self._fail("a", 3)
        self.clock.advance(10)
        self.quarantine.answered("a", None)
        self._fail("a", 1)
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"a"})
        self.quarantine.answered("a", None)
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, frozenset())

    def test_silence_is_no_recovery(self) -> None:
        """A bookie that was not asked stays where it is."""
        self._fail("a", 3)
        self.clock.advance(10)
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"a"})

    def test_what_counts(self) -> None:
        """What is no fault of the bookie does not count; timeouts and I/O errors do."""
        for error in (
            NoSuchEntryError(1, 1),
            NoSuchLedgerError(1),
            LedgerFencedError(1),
            WriteOnReadOnlyBookieError(1),
            ClientClosedError("closed"),
            CancelledError(),
            BookieHandleNotAvailableError("no connection"),
        ):
            self._fail("a", 5, error)
        self._fail("b", 3, BookieIOError(1))
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"b"})

    def test_connections(self) -> None:
        """Lost connections count where the configuration says so."""
        self.quarantine = self._made(bookie_connection_error_quarantine_enabled=True)
        self.addCleanup(self.quarantine.stop)
        self._fail("a", 3, BookieHandleNotAvailableError("no connection"))
        self.clock.advance(10)
        self.assertEqual(self.quarantine.bookies, {"a"})

    def test_ratio(self) -> None:
        """Not every client avoids a bookie: chance decides."""
        self.quarantine = self._made(bookie_quarantine_ratio=0.25)
        self.addCleanup(self.quarantine.stop)
        for n in range(400):
            self._fail(str(n), 3)
        self.clock.advance(10)
        self.assertTrue(60 < len(self.quarantine.bookies) < 140, len(self.quarantine.bookies))

    def test_stop(self) -> None:
        """A stopped one leaves no timer."""
        self.quarantine.stop()
        self.quarantine.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
