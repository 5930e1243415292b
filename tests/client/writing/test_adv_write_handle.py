"""Entries numbered by the caller."""

from typing import Any

from bookkeeper_twisted.client.writing.adv_write_handle import AdvLedgerWriter
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    DuplicateEntryIdError,
    IncorrectParameterError,
    LedgerClosedError,
    NotEnoughBookiesError,
    TooManyRequestsError,
)
from bookkeeper_twisted.model import LedgerState

from .writer_case import LEDGER, WriterTestCase


class WriteTests(WriterTestCase):
    """Any order."""

    def setUp(self) -> None:
        """An adv writer on a ledger of its own."""
        super().setUp()
        self.adv = AdvLedgerWriter(self.open(ClientConfig(max_in_flight_bytes=4000), 6))

    def test_in_order(self) -> None:
        """Ids given in order are as those of an ordinary writer."""
        writes = [self.adv.write(n, b"x") for n in range(3)]
        self.settle()
        self.assertEqual([self.successResultOf(w) for w in writes], [0, 1, 2])
        self.assertEqual(self.adv.last_add_confirmed, 2)

    def test_any_order(self) -> None:
        """Entries complete without a gap, in id order, whatever the order of the calls."""
        order: list[int] = []
        for entry_id in (3, 1, 4):
            self.adv.write(entry_id, b"x" * entry_id).addCallback(order.append)
        self.settle()
        self.assertEqual((order, self.adv.last_add_pushed), ([], -1))
        self.adv.write(0, b"").addCallback(order.append)
        self.settle()
        self.assertEqual((order, self.adv.last_add_confirmed), ([0, 1], 1))
        self.adv.write(2, b"xx").addCallback(order.append)
        self.settle()
        self.assertEqual(order, [0, 1, 2, 3, 4])

    def test_lengths(self) -> None:
        """The length in a header counts the payloads up to its entry, in id order, not in call order."""
        for entry_id in (2, 0, 1):
            self.adv.write(entry_id, b"x" * 10**entry_id)
        self.settle()
        held = self.bookies["b0"].entries[6]
        lengths = [self.digester.entry(6, entry_id, held[entry_id]).length for entry_id in range(3)]
        self.assertEqual(lengths, [1, 11, 111])
        self.successResultOf(self.adv.close())
        self.assertEqual((self.stored(6).last_entry_id, self.stored(6).length), (2, 111))

    def test_duplicates(self) -> None:
        """An id is taken once: while it waits, while it is on its way, and for ever."""
        self.adv.write(0, b"a")
        self.adv.write(5, b"a")
        for entry_id in (0, 5):
            self.failureResultOf(self.adv.write(entry_id, b"b"), DuplicateEntryIdError)
        self.settle()
        self.failureResultOf(self.adv.write(0, b"b"), DuplicateEntryIdError)

    def test_bad_ids(self) -> None:
        """Ids are from 0 to 2**63 - 1."""
        for entry_id in (-1, 1 << 63):
            self.failureResultOf(self.adv.write(entry_id, b"b"), IncorrectParameterError)
        self.failureResultOf(self.adv.write(0, "text"), IncorrectParameterError)  # type: ignore[arg-type]

    def test_limit(self) -> None:
        """What waits behind a gap is bounded, and the entry that fills the gap still gets in (S11)."""
        *accepted, write = [self.adv.write(entry_id, b"x" * 500) for entry_id in range(1, 9)]
        self.failureResultOf(write, TooManyRequestsError)
        first = self.adv.write(0, b"x" * 500)
        for _ in range(3):
            self.settle()
        self.assertEqual(self.successResultOf(first), 0)
        self.assertEqual([self.successResultOf(w) for w in accepted], list(range(1, 8)))
        again = self.adv.write(9, b"x" * 500)
        self.assertNoResult(again)

    def test_close(self) -> None:
        """Closing completes what has no gap before it, and fails the rest."""
        good, lost = self.adv.write(0, b"a"), self.adv.write(2, b"c")
        closed = self.adv.close()
        self.failureResultOf(lost, LedgerClosedError)
        self.failureResultOf(self.adv.write(1, b"b"), LedgerClosedError)
        self.settle()
        self.assertEqual(self.successResultOf(good), 0)
        self.successResultOf(closed)
        self.assertEqual((self.stored(6).last_entry_id, self.stored(6).length), (0, 1))

    def test_failure(self) -> None:
        """When the writer ends, what waits behind a gap fails after what was sent, with the same error."""
        self.bookies["b0"].up = self.bookies["b1"].up = False
        order: list[Any] = []
        for entry_id in (2, 0):
            write = self.adv.write(entry_id, b"a")
            write.addCallbacks(order.append, lambda f, n=entry_id: order.append((n, f.type)))
        self.settle()
        self.assertEqual(order, [(0, NotEnoughBookiesError), (2, NotEnoughBookiesError)])
        self.assertIs(self.stored(6).state, LedgerState.CLOSED)
        self.assertIs(self.stored(LEDGER).state, LedgerState.OPEN)
