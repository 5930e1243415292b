"""Ledgers that are written only to see whether that works."""

from collections.abc import Iterator
from random import Random
from typing import Any

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.sanity import OneBookie, append_all, check_bookie, trial_ledger
from bookkeeper_twisted.errors import BookieIOError, BookKeeperError, NotEnoughBookiesError

from .cluster_case import BOOKIES, ClusterCase


class SanityTests(ClusterCase):
    """A check of the third of four bookies."""

    def setUp(self) -> None:
        super().setUp()
        self.only = self.client_of(BOOKIES[2])

    def client_of(self, bookie_id: str) -> BookKeeper:
        """A client that knows one bookie."""
        driver: Any = self.store.driver(self.clock)
        self.do(driver.open())
        return BookKeeper(self.clock, driver, self.bookies, Random(3), placement=OneBookie(bookie_id))

    def test_passes(self) -> None:
        """The bookie gets the entries and gives them back; no ledger is left."""
        report = self.do(check_bookie(self.only, 250))
        self.assertEqual((report.n_read, report.passed), (250, True))
        kept = [len(self.bookies[b].entries.get(report.ledger_id, {})) for b in BOOKIES]
        self.assertEqual(kept, [0, 0, 250, 0])
        self.assertEqual(self.do(self.listed()), [])

    def test_fails(self) -> None:
        """A bookie that does not write fails the check, and no ledger is left."""
        self.bookies[BOOKIES[2]].fail("add", lambda: BookieIOError(0))
        self.error(check_bookie(self.only), BookKeeperError)
        self.assertEqual(self.do(self.listed()), [])

    def test_not_writable(self) -> None:
        """A bookie that is not there takes no ledger."""
        self.error(check_bookie(self.client_of("b9:1")), NotEnoughBookiesError)

    def test_parts(self) -> None:
        """Of many payloads no more are made than those of the part that is appended."""
        made = 0

        def payloads() -> Iterator[bytes]:
            nonlocal made
            while True:
                made += 1
                yield b"x"

        async def work() -> None:
            async with trial_ledger(self.bk, 2, 2, 2) as writer:
                await append_all(writer, payloads())

        for bookie_id in BOOKIES:
            self.bookies[bookie_id].fail("add", lambda: BookieIOError(0))
        self.error(work(), BookKeeperError)
        self.assertEqual(made, 100)

    def test_error_inside(self) -> None:
        """A failure inside of the context deletes the ledger, too."""

        async def fail() -> None:
            async with trial_ledger(self.bk, 2, 2, 2):
                raise KeyError("inside")

        self.error(fail(), KeyError)
        self.assertEqual(self.do(self.listed()), [])
