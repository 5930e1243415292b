"""The writer: ids, order, quorums, limits, close."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieIOError,
    IncorrectParameterError,
    LedgerClosedError,
    MetadataVersionError,
    NotEnoughBookiesError,
    TooManyRequestsError,
)
from bookkeeper_twisted.model import LedgerState

from .writer_case import LEDGER, WriterTestCase


class AppendTests(WriterTestCase):
    """Appending while all is well."""

    def test_ids(self) -> None:
        """Ids are given in call order, and the Deferreds fire with them."""
        one, two = self.writer.append(b"a"), self.writer.append(b"b")
        many = self.writer.append_many([b"c", b"d", b"e"])
        last = self.writer.append(b"f")
        self.assertEqual(self.writer.last_add_pushed, 5)
        self.assertNoResult(one)
        self.settle()
        self.assertEqual([self.successResultOf(d) for d in (one, two, last)], [0, 1, 5])
        self.assertEqual(self.successResultOf(many), (2, 4))
        self.assertEqual((self.writer.last_add_confirmed, self.writer.length), (5, 6))

    def test_stored_bytes(self) -> None:
        """Every bookie of the write quorum gets the same verified bytes, with the length up to each entry."""
        self.writer.append_many([b"a", b"bb"])
        self.settle()
        for name in self.names:
            entries = [self.digester.entry(LEDGER, e, self.bookies[name].entries[LEDGER][e]) for e in (0, 1)]
            self.assertEqual([(e.data, e.length) for e in entries], [(b"a", 1), (b"bb", 3)])

    def test_one_run_a_turn(self) -> None:
        """Appends of one turn are one run, those of another turn are another."""
        self.writer.append(b"a")
        self.writer.append_many([b"b", b"c"])
        self.settle()
        self.writer.append(b"d")
        self.settle()
        self.assertEqual(self.bookies["b0"].requests, [("add", LEDGER, 0, 3), ("add", LEDGER, 3, 1)])

    def test_frozen_lac(self) -> None:
        """An entry carries the LAC of the moment it was packed, below its own id (S13)."""
        self.writer.append_many([b"a", b"b"])
        self.settle()
        self.writer.append(b"c")
        self.settle()
        entries = [self.digester.entry(LEDGER, e, self.bookies["b0"].entries[LEDGER][e]) for e in (0, 1, 2)]
        self.assertEqual([e.last_add_confirmed for e in entries], [-1, -1, 1])

    def test_large_append_many(self) -> None:
        """A long list goes out in several runs and completes as one."""
        done = self.writer.append_many([b"x" * 1000] * 900)  # four memory blocks
        self.settle()
        self.assertEqual(self.successResultOf(done), (0, 899))
        self.assertEqual(len(self.bookies["b0"].requests), 4)
        self.assertEqual(self.held(0), list(range(900)))

    def test_order(self) -> None:
        """An add that is acknowledged early completes after those before it."""
        one = self.writer.append(b"a")
        for name in self.names:
            self.bookies[name].delay = 2.0
        self.clock.advance(0)
        for name in self.names:
            self.bookies[name].delay = 0.0
        two = self.writer.append(b"b")
        self.settle()
        self.assertNoResult(two)
        self.assertEqual(self.writer.last_add_confirmed, -1)
        order: list[int] = []
        one.addCallback(order.append)
        two.addCallback(order.append)
        self.clock.advance(2.0)
        self.assertEqual(order, [0, 1])

    def test_payload_types(self) -> None:
        """Byte-like payloads are copied when appended; anything else is refused, and no entry is appended."""
        buffer = bytearray(b"abc")
        self.writer.append(buffer)
        self.writer.append_many([memoryview(b"xyz")])
        buffer[:] = b"???"
        self.settle()
        entries = self.bookies["b0"].entries[LEDGER]
        self.assertEqual([self.digester.entry(LEDGER, e, entries[e]).data for e in (0, 1)], [b"abc", b"xyz"])
        for wrong in ("text", None, 5, [b"a"]):
            self.failureResultOf(self.writer.append(wrong), IncorrectParameterError)  # type: ignore[arg-type]
        for many in ("text", b"bytes", None, 5, [b"a", "b"]):
            self.failureResultOf(self.writer.append_many(many), IncorrectParameterError)  # type: ignore[arg-type]
        self.assertEqual(self.writer.last_add_pushed, 1)

    def test_nothing(self) -> None:
        """An empty list is refused, an empty entry is not."""
        self.failureResultOf(self.writer.append_many([]), IncorrectParameterError)
        empty = self.writer.append(b"")
        self.settle()
        self.assertEqual(self.successResultOf(empty), 0)

    def test_too_large(self) -> None:
        """An entry no frame holds is refused before anything is sent; the greatest that fits is not."""
        limit = ClientConfig().netty_max_frame_size_bytes
        self.failureResultOf(self.writer.append(b"x" * limit), IncorrectParameterError)
        self.failureResultOf(self.writer.append_many([b"a", b"x" * limit]), IncorrectParameterError)
        self.assertEqual((self.writer.last_add_pushed, self.writer.length), (-1, 0))
        fits = self.writer.append(b"x" * (limit - 256))
        self.settle()
        self.assertEqual(self.successResultOf(fits), 0)

    def test_cancel(self) -> None:
        """Cancelling stops the notification only."""
        one, two = self.writer.append(b"a"), self.writer.append(b"b")
        one.cancel()
        self.failureResultOf(one, CancelledError)
        self.settle()
        self.assertEqual(self.successResultOf(two), 1)
        self.assertEqual(self.held(0), [0, 1])

    def test_append_in_a_callback(self) -> None:
        """What a completion appends gets the next id."""
        results: list[int] = []
        self.writer.append(b"a").addCallback(lambda _: self.writer.append(b"b")).addCallback(results.append)
        self.settle()
        self.settle()
        self.assertEqual(results, [1])

    def test_many_in_a_callback(self) -> None:
        """A callback may append one and many at once; ids go on in the order of the calls."""
        more: list[Any] = []

        def again(_: int) -> None:
            more.extend((self.writer.append(b"b"), self.writer.append_many([b"c", b"d"]), self.writer.append(b"e")))

        self.writer.append(b"a").addCallback(again)
        self.settle()
        self.assertEqual([self.successResultOf(each) for each in more], [1, (2, 3), 4])
        self.assertEqual((self.writer.last_add_confirmed, self.writer.length), (4, 5))

    def test_password(self) -> None:
        """Bookies are shown the key made of the password."""
        self.writer.append(b"a")
        self.settle()
        self.assertEqual(self.bookies["b0"].keys[LEDGER], self.digester.master_key)


class LimitTests(WriterTestCase):
    """Bounded memory (S11)."""

    def setUp(self) -> None:
        """At most 1000 bytes in flight."""
        super().setUp()
        self.limited = self.make(ClientConfig(max_in_flight_bytes=1000), 77)

    def test_in_flight(self) -> None:
        """What is beyond the limit waits, in order, and goes out as answers come."""
        for name in self.names:
            self.bookies[name].delay = 1.0
        adds = [self.limited.append(b"x" * 64) for _ in range(16)]  # frames of 128 bytes
        self.clock.advance(0)
        sent = sum(count for _, _, _, count in self.bookies["b0"].requests)
        self.assertTrue(7 <= sent < 16, sent)
        self.clock.pump([1.0, 0, 1.0, 0])
        self.assertEqual([self.successResultOf(a) for a in adds], list(range(16)))

    def test_too_much_waiting(self) -> None:
        """Once as much waits again, appends fail, without an id, until there is room."""
        adds = [self.limited.append(b"x" * 64) for _ in range(18)]
        self.assertEqual([add.called for add in adds], [False] * 16 + [True] * 2)
        for add in adds[16:]:
            self.failureResultOf(add, TooManyRequestsError)
        self.assertEqual(self.limited.last_add_pushed, 15)
        for _ in range(10):
            self.settle()
        self.assertEqual(self.limited.last_add_confirmed, 15)
        again = self.limited.append(b"y")
        self.settle()
        self.assertEqual(self.successResultOf(again), 16)

    def test_entry_above_the_limit(self) -> None:
        """An entry greater than the limit goes out alone."""
        done = self.limited.append_many([b"x" * 5000, b"y" * 5000])
        for _ in range(3):
            self.settle()
        self.assertEqual(self.successResultOf(done), (0, 1))
        self.assertEqual([count for *_, count in self.bookies["b0"].requests], [1, 1])


class CloseTests(WriterTestCase):
    """The end of a writer."""

    def test_close(self) -> None:
        """Closing stores last entry and length; appending afterwards is an error."""
        self.writer.append_many([b"a", b"bcd"])
        self.settle()
        self.successResultOf(self.writer.close())
        stored = self.stored()
        self.assertEqual((stored.state, stored.last_entry_id, stored.length), (LedgerState.CLOSED, 1, 4))
        self.assertEqual(self.writer.metadata, stored)
        self.failureResultOf(self.writer.append(b"c"), LedgerClosedError)

    def test_empty(self) -> None:
        """An empty ledger ends at -1."""
        self.successResultOf(self.writer.close())
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (-1, 0))

    def test_in_flight(self) -> None:
        """Adds under way end first; those made after close are refused at once."""
        add = self.writer.append(b"a")
        closed = self.writer.close()
        self.failureResultOf(self.writer.append(b"b"), LedgerClosedError)
        self.assertNoResult(closed)
        self.assertIs(self.stored().state, LedgerState.OPEN)
        self.settle()
        self.assertEqual(self.successResultOf(add), 0)
        self.successResultOf(closed)
        self.assertEqual(self.stored().last_entry_id, 0)

    def test_in_flight_fails(self) -> None:
        """If they fail, so does the close, and the ledger ends before them."""
        for name in self.names:
            self.bookies[name].fail("add", BookieIOError)
        add = self.writer.append(b"a")
        closed = self.writer.close()
        self.settle()
        self.failureResultOf(add, NotEnoughBookiesError)
        self.failureResultOf(closed, NotEnoughBookiesError)
        self.assertEqual((self.stored().state, self.stored().last_entry_id), (LedgerState.CLOSED, -1))

    def test_twice(self) -> None:
        """Closing twice shares the result, also when one of the two is cancelled."""
        self.writer.append(b"a")
        one, two = self.writer.close(), self.writer.close()
        one.cancel()
        self.failureResultOf(one, CancelledError)
        self.settle()
        self.successResultOf(two)
        self.successResultOf(self.writer.close())

    def test_closed_by_another(self) -> None:
        """A ledger that another client closed is not changed, and close says so (S14)."""
        self.writer.append(b"a")
        self.settle()
        self.store(state=LedgerState.CLOSED, last_entry_id=-1, length=0)
        self.failureResultOf(self.writer.close(), MetadataVersionError)
        self.assertEqual(self.stored().last_entry_id, -1)
        self.failureResultOf(self.writer.append(b"b"), MetadataVersionError)

    def test_closed_alike_by_another(self) -> None:
        """If it was closed with the same end, the close succeeds."""
        self.writer.append(b"a")
        self.settle()
        self.store(state=LedgerState.CLOSED, last_entry_id=0, length=1)
        self.successResultOf(self.writer.close())

    def test_context_manager(self) -> None:
        """Leaving the context closes the ledger."""

        async def write() -> int:
            async with self.writer as writer:
                return await writer.append(b"a")

        written = Deferred.fromCoroutine(write())
        self.settle()
        self.assertEqual(self.successResultOf(written), 0)
        self.assertIs(self.stored().state, LedgerState.CLOSED)

    def test_context_manager_error(self) -> None:
        """An error of the body is not hidden by the failure of the close."""

        async def write() -> None:
            async with self.writer as writer:
                writer.append(b"a").addErrback(lambda _: None)
                raise KeyError("body")

        for name in self.names:
            self.bookies[name].fail("add", BookieIOError)
        written = Deferred.fromCoroutine(write())
        self.settle()
        self.failureResultOf(written, KeyError)
