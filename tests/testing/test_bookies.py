"""The bookies in memory do what bookies do, and fail as they are told."""

from twisted.internet.task import Clock

from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    DigestMatchError,
    RequestTimeoutError,
)
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract


class MemoryBookiesTests(contract.BookieClientContract):
    """The contract, and the moods of a bookie in memory."""

    bookie_id = "b1"

    def setUp(self) -> None:
        """A bookie that exists and one that does not."""
        self.clock = Clock()
        self.client = self.bookies = MemoryBookies(self.clock)
        self.bookies["nowhere"].up = False
        self.bookie = self.bookies[self.bookie_id]

    def settle(self) -> None:
        """Two turns are enough for anything."""
        self.clock.advance(0)
        self.clock.advance(0)

    def test_delay(self) -> None:
        """A slow bookie answers when its delay has passed."""
        self.add(self.run_of(0, [b"a"]))
        self.bookie.delay = 2.0
        reading = self.client.read(self.bookie_id, contract.LEDGER, 0)
        self.clock.advance(1.9)
        self.assertNoResult(reading)
        self.clock.advance(0.1)
        self.successResultOf(reading)

    def test_silence(self) -> None:
        """A silent bookie is given up after the time-out."""
        self.bookie.silent = True
        reading = self.client.read(self.bookie_id, contract.LEDGER, 0)
        self.clock.advance(4.9)
        self.assertNoResult(reading)
        self.clock.advance(0.1)
        self.failureResultOf(reading, RequestTimeoutError)

    def test_down(self) -> None:
        """A bookie that is down is not available."""
        self.bookie.up = False
        ((_, _, error),) = self.add(self.run_of(0, [b"a"]))
        self.assertIsInstance(error, BookieHandleNotAvailableError)

    def test_fault_of_some_entries(self) -> None:
        """A fault fails the entries it names, the others of the run succeed."""
        self.bookie.fail("add", BookieIOError, first=1, last=2)
        answers = self.add(self.run_of(0, [b"a"] * 5))
        self.assertEqual([(f, n, type(e)) for f, n, e in answers if e], [(1, 1, BookieIOError), (2, 1, BookieIOError)])
        self.assertEqual([(f, n) for f, n, e in answers if e is None], [(0, 1), (3, 1), (4, 1)])

    def test_fault_is_spent(self) -> None:
        """A fault applies as often as it was told."""
        self.add(self.run_of(0, [b"a"]))
        self.bookie.fail("read_batch", BookieIOError, times=1)
        self.error(self.client.read_batch(self.bookie_id, contract.LEDGER, 0, 1, 100), BookieIOError)
        self.assertEqual(
            self.result(self.client.read_batch(self.bookie_id, contract.LEDGER, 0, 1, 100)).entries.count, 1
        )

    def test_damage(self) -> None:
        """A damaged entry does not verify any more."""
        self.add(self.run_of(0, [b"abc"]))
        self.bookie.damage(contract.LEDGER, 0)
        run = self.result(self.client.read_batch(self.bookie_id, contract.LEDGER, 0, 1, 100)).entries
        self.assertRaises(DigestMatchError, self.digester.verify, run)
