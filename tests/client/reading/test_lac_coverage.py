"""The LAC of a ledger that is not closed."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.lac_coverage import LacCoverage
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ReadError,
    RequestTimeoutError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.lac_answers import LastConfirmed
from bookkeeper_twisted.model import DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.sealing import sealed

LEDGER = 2


class LacCoverageTests(SynchronousTestCase):
    """Three bookies, of which two must answer."""

    def setUp(self) -> None:
        """Bookies that know nothing yet."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.digester = Digester(DigestType.CRC32C, b"")
        self.names = ("b0", "b1", "b2")

    def _put(self, name: str, entry_id: int, lac: int, length: int) -> None:
        run = sealed(self.digester, LEDGER, entry_id, lac, length - 1, [b"x"])
        self.bookies[name].entries.setdefault(LEDGER, {})[entry_id] = run.entry(entry_id)

    def _read(self, quorums: tuple[int, int, int] = (3, 3, 2), wait: float = 0.0) -> "Deferred[LastConfirmed]":
        metadata = LedgerMetadata(*quorums, (Segment(0, self.names[: quorums[0]]),))
        reading = Deferred.fromCoroutine(LacCoverage(self.bookies.read_lac, self.digester, LEDGER, metadata).read())
        self.clock.advance(wait)
        return reading

    def test_nothing_known(self) -> None:
        """A ledger no bookie knows has no LAC."""
        self.assertEqual(self.successResultOf(self._read()), LastConfirmed())

    def test_highest(self) -> None:
        """The highest LAC in the answers counts, with the length that came with it."""
        self._put("b0", 4, 3, 50)
        self._put("b1", 9, 8, 100)
        self.bookies["b2"].delay = 1.0
        self.assertEqual(self.successResultOf(self._read()), LastConfirmed(8, 9, 100))

    def test_explicit(self) -> None:
        """An explicit LAC above the entry's counts."""
        self._put("b0", 4, 3, 50)
        self.bookies["b0"].explicit_lacs[LEDGER] = self.digester.seal_lac(LEDGER, 4)
        self.assertEqual(self.successResultOf(self._read()).last_add_confirmed, 4)

    def test_coverage(self) -> None:
        """One silent bookie is not waited for, two leave a write set uncovered."""
        self._put("b0", 4, 3, 50)
        self.bookies["b1"].silent = True
        self.successResultOf(self._read())
        self.bookies["b2"].silent = True
        reading = self._read()
        self.assertNoResult(reading)
        self.clock.advance(5.0)
        error = self.failureResultOf(reading, RequestTimeoutError).value
        late = [f"bookie b{n} gave no reply in 5 s to read_lac of ledger {LEDGER} last entry" for n in (1, 2)]
        self.assertEqual(str(error), f"too few bookies know the last add of ledger {LEDGER}: {'; '.join(late)}")

    def test_all_are_needed(self) -> None:
        """Where one bookie alone could have acknowledged, all must answer."""
        self.bookies["b2"].up = False
        self.failureResultOf(self._read((3, 3, 1)), ReadError)

    def test_errors_are_no_answers(self) -> None:
        """Errors other than "missing" do not cover."""
        for name in ("b0", "b1"):
            self.bookies[name].fail("read_lac", BookieIOError)
        failure = self.failureResultOf(self._read(), ReadError)
        self.assertIn("I/O error", str(failure.value))

    def test_damaged_answer(self) -> None:
        """An answer whose digest is wrong is no answer (S18)."""
        for name in ("b0", "b1"):
            self._put(name, 4, 3, 50)
            self.bookies[name].damage(LEDGER, 4)
        self.failureResultOf(self._read(), ReadError)

    def test_damaged_explicit_lac(self) -> None:
        """Nor is one whose explicit LAC has a wrong digest: what it says would be believed (S18)."""
        packet = self.digester.seal_lac(LEDGER, 7)
        for name in ("b0", "b1"):
            self._put(name, 4, 3, 50)
            self.bookies[name].explicit_lacs[LEDGER] = packet[:-1] + bytes((packet[-1] ^ 1,))
        self.failureResultOf(self._read(), ReadError)

    def test_unauthorised(self) -> None:
        """One refusal of the password ends it at once."""
        self.bookies["b1"].fail("read_lac", UnauthorizedAccessError)
        self.bookies["b0"].delay = self.bookies["b2"].delay = 1.0
        self.failureResultOf(self._read(), UnauthorizedAccessError)

    def test_cancel(self) -> None:
        """Cancelling ends the requests."""
        for name in self.names:
            self.bookies[name].delay = 1.0
        reading: Deferred[Any] = self._read()
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_down(self) -> None:
        """Bookies that are down do not count as answers."""
        for name in ("b0", "b1"):
            self.bookies[name].fail("read_lac", BookieHandleNotAvailableError)
        self.failureResultOf(self._read(), ReadError)
