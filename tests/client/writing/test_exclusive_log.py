"""Offers and claims on the reactor's thread."""

import sys
from typing import cast

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.claim_buffer import ClaimResult
from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.errors import IllegalOperationError, IncorrectParameterError, LedgerClosedError

from .log_case import OVERHEAD, Sender, exclusive_log, shape

_SIZE = 256 - OVERHEAD


class ExclusiveLogTests(SynchronousTestCase):
    """One producer."""

    def test_many(self) -> None:
        """Many payloads are stored as one by one, of one size or of several, over terms."""
        for sizes in ([100] * 15, list(range(90, 105)), []):
            log = exclusive_log()
            expected = [bytes([i]) * n for i, n in enumerate(sizes)]
            self.assertEqual(log.offer_many(expected), len(sizes))
            sender = Sender(log)
            sender.send()
            self.assertEqual(sender.payloads(), expected)

    def test_some(self) -> None:
        """Of many payloads those are stored that there is room for."""
        for sizes in ([_SIZE] * 20, [_SIZE] * 19 + [_SIZE - 1]):
            log = exclusive_log()
            self.assertEqual(log.offer_many([bytes(n) for n in sizes]), 12)
            self.assertEqual(log.tail, 3072)

    def test_claim(self) -> None:
        """A payload can be laid out in place."""
        log = exclusive_log()
        place = log.claim(5)
        assert isinstance(place, memoryview)
        place[:] = b"place"
        self.assertIsNone(log.take(1 << 20))
        del place
        self.assertEqual(log.commit(), 5 + OVERHEAD)
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual(sender.payloads(), [b"place"])

    def test_abort(self) -> None:
        """Nothing is left of a claim that is given up."""
        log = exclusive_log()
        log.offer(b"a")
        log.claim(100)
        log.abort()
        log.offer(b"b")
        sender = Sender(log)
        sender.send()
        self.assertEqual(sender.payloads(), [b"a", b"b"])
        self.assertEqual(log.tail, 2 + 2 * OVERHEAD)

    def test_claim_and_trim(self) -> None:
        """A log with an open claim is not idle."""
        log = exclusive_log()
        place = log.claim(1)
        assert isinstance(place, memoryview)
        log.trim()
        place[:] = b"x"
        log.commit()
        sender = Sender(log)
        sender.send()
        self.assertEqual(sender.payloads(), [b"x"])

    def test_memory_of_an_idle_log(self) -> None:
        """A log that is idle keeps no memory that its pool does not."""
        log = ExclusiveLog(shape(), TermPool(1024, kept=0))
        log.offer(b"x")
        buffer = log.term.buffer
        Sender(log).acknowledge()
        log.trim()
        self.assertEqual(sys.getrefcount(buffer), 2)  # this test's, and that of the call

    def test_misuse(self) -> None:
        """Claims are one at a time, and only a claim can be committed."""
        log = exclusive_log()
        with self.assertRaises(IllegalOperationError):
            log.commit()
        log.claim(1)
        with self.assertRaises(IllegalOperationError):
            log.claim(1)

    def test_claim_without_room(self) -> None:
        """A claim says why it gets no place."""
        log = exclusive_log()
        log.offer_many([bytes(_SIZE)] * 12)
        self.assertEqual(log.claim(1), ClaimResult.BACK_PRESSURED)
        log.shut(KeyError("why"))
        self.assertEqual(log.claim(1), ClaimResult.CLOSED)

    def test_unbounded(self) -> None:
        """A log whose owner has a limit of its own always has room, in as many terms as that takes."""
        log = ExclusiveLog.unbounded(shape(), TermPool(1024))
        self.assertFalse(log.waiting)
        self.assertEqual(log.offer_many([b"x" * 36] * 100), 100)
        self.assertGreater(log.offer(b"y"), 0)
        self.assertTrue(log.waiting)
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual(sender.payloads(), [b"x" * 36] * 100 + [b"y"])
        self.assertFalse(log.waiting)

    def test_abandon(self) -> None:
        """A log that is given up has nothing to send any more, and holds no memory."""
        pool = TermPool(1024)
        log = ExclusiveLog.unbounded(shape(), pool)
        log.offer_many([b"x" * 36] * 30)
        self.assertIsNotNone(log.take(500))
        waiter = log.when_acknowledged(100)
        log.abandon(KeyError("why"))
        self.failureResultOf(waiter, KeyError)
        self.assertIsNone(log.take(500))
        self.assertEqual((log.offer(b"x"), log.in_flight, log.waiting), (ClaimResult.CLOSED, 0, False))
        made = pool.made
        terms = [pool.take(0, 1) for _ in range(made)]
        self.assertEqual((len(terms), pool.made), (made, made))

    def test_wrong_payload(self) -> None:
        """What is no byte string leaves the log as it was."""
        log = exclusive_log()
        with self.assertRaises(Exception):  # noqa: B017
            log.offer(cast(bytes, "text"))
        self.assertEqual(log.tail, 0)


class LaterTests(SynchronousTestCase):
    """Waiting for room without blocking."""

    def setUp(self) -> None:
        self.log = exclusive_log(window=512)

    def test_at_once(self) -> None:
        """Where there is room nobody waits."""
        self.assertEqual(self.successResultOf(self.log.offer_later(b"x")), 1 + OVERHEAD)

    def test_fair(self) -> None:
        """Room goes to who waits longest; neither smaller offers nor plain ones overtake."""
        self.log.offer_many([bytes(_SIZE)] * 2)
        large = self.log.offer_later(b"L" * (512 - OVERHEAD))
        small = self.log.offer_later(b"s")
        self.log.take(1)
        self.log.acknowledge(256)
        self.assertEqual(self.log.offer(b""), ClaimResult.BACK_PRESSURED)
        self.assertNoResult(large)
        self.assertNoResult(small)
        self.log.take(1)
        self.log.acknowledge(512)
        self.assertEqual(self.successResultOf(large), 1024)
        self.assertNoResult(small)
        sender = Sender(self.log)
        sender.acknowledge()
        self.assertEqual(self.successResultOf(small), 1024 + 1 + OVERHEAD)
        sender.send()
        self.assertEqual(sender.payloads(), [b"L" * (512 - OVERHEAD), b"s"])
        self.assertGreater(self.log.offer(b""), 0)

    def test_cancel(self) -> None:
        """Who gives up waiting is left out, and those behind move up."""
        self.log.offer_many([bytes(_SIZE)] * 2)
        first, second = self.log.offer_later(b"1"), self.log.offer_later(b"2")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        sender = Sender(self.log)
        sender.acknowledge()
        self.successResultOf(second)
        sender.send()
        self.assertEqual(sender.payloads()[2:], [b"2"])

    def test_last_one_cancels(self) -> None:
        """Nothing is held up by one who waits no more."""
        self.log.offer(bytes(_SIZE))
        waiter = self.log.offer_later(b"1" * 300)
        waiter.cancel()
        self.failureResultOf(waiter, CancelledError)
        self.assertGreater(self.log.offer(b"x"), 0)

    def test_close(self) -> None:
        """Who waits, or comes later, is told why there will be no room."""
        self.log.offer_many([bytes(_SIZE)] * 2)
        waiters = [self.log.offer_later(b"1"), self.log.offer_later(b"2")]
        self.log.shut(LedgerClosedError("why"))
        for waiter in [*waiters, self.log.offer_later(b"3")]:
            self.failureResultOf(waiter, LedgerClosedError)

    def test_too_large(self) -> None:
        """Nobody waits for room that will never be."""
        with self.assertRaises(IncorrectParameterError):
            self.log.offer_later(bytes(512))
