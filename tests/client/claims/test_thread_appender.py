"""Threads append, and learn when it is acknowledged."""

from collections import deque
from collections.abc import Callable
from typing import Any, cast

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import STUCK_SECONDS, ClaimLog
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.producer import ClaimResult, WhenFull
from bookkeeper_twisted.client.claims.thread_appender import ThreadAppends
from bookkeeper_twisted.errors import IllegalOperationError, IncorrectParameterError, LedgerFencedError

from ...bounds import in_thread, join
from .log_case import LEDGER, OVERHEAD, Sender, Shared, layout, threads


class ThreadAppenderTests(SynchronousTestCase):
    """One appender."""

    def setUp(self) -> None:
        self.shared = Shared()
        self.log = self.shared.log
        self.appends = ThreadAppends(Clock(), threads(), lambda wake: self.log, lambda: None)
        self.appender = self.appends.appender(300, WhenFull.CODE, None)

    def test_flush(self) -> None:
        """A flush completes when what was offered before it is acknowledged."""
        position = self.appender.offer(b"x")
        future = self.appender.flush()
        self.assertEqual(self.shared.wakes, 1)
        self.appends.look()
        sender = Sender(self.log)
        sender.send()
        self.assertFalse(future.done())
        sender.acknowledge()
        self.assertEqual((future.result(0), position), (position, 1 + OVERHEAD))

    def test_nothing(self) -> None:
        """Nothing was offered, so there is nothing to wait for."""
        future = self.appender.flush()
        self.appends.look()
        self.assertTrue(future.done())

    def test_failure(self) -> None:
        """Flush and later offers fail with why the ledger takes no more."""
        self.appender.offer(b"x")
        asked = [self.appender.flush(), self.appender.flush()]
        self.appends.look()
        why = LedgerFencedError(7)
        self.log.abandon(why)
        asked.append(self.appender.flush())
        self.appends.look()
        self.assertEqual([future.exception(0) for future in asked], [why] * 3)
        with self.assertRaises(LedgerFencedError):
            self.appender.offer(b"y")

    def test_cancelled(self) -> None:
        """A cancelled future is left alone."""
        self.appender.offer(b"x")
        self.appender.flush().cancel()
        self.appends.look()
        Sender(self.log).acknowledge()

    def test_full(self) -> None:
        """A full log says so."""
        positions = [self.appender.offer(bytes(100)) for _ in range(100)]
        self.assertEqual(positions[-1], ClaimResult.BACK_PRESSURED)

    def test_too_large(self) -> None:
        """An entry that fits no frame is refused, one that is no byte string, and a claim of no byte."""
        with self.assertRaises(IncorrectParameterError):
            self.appender.offer(bytes(301))
        with self.assertRaises(IncorrectParameterError):
            self.appender.offer(cast(bytes, "text"))
        for size in (301, -1, 0, cast(int, "1")):
            with self.assertRaises(IncorrectParameterError):
                self.appender.claim(size)
        self.assertEqual(self.log.tail, 0)

    def test_claim(self) -> None:
        """An entry is encoded where it is sent from, in its order among offers; nothing behind it is sent before."""
        sender = Sender(self.log)
        self.appender.offer(b"before")
        position = self.appender.claim(4)
        join(in_thread(lambda: self.appender.offer(b"behind")))
        sender.send()
        self.assertEqual(sender.payloads(), [b"before"])
        self.assertEqual(bytes(self.appender.payload), bytes(4))
        self.appender.payload[:] = b"made"
        self.assertEqual(self.appender.commit(), position)
        sender.send()
        self.assertEqual(sender.payloads(), [b"before", b"made", b"behind"])

    def test_abort(self) -> None:
        """A claim that is given up is no entry."""
        sender = Sender(self.log)
        self.appender.claim(4)
        self.appender.abort()
        self.appender.offer(b"x")
        sender.send()
        self.assertEqual(sender.payloads(), [b"x"])

    def test_one_claim(self) -> None:
        """A thread has one claim at a time, and offers nothing meanwhile; without one there is nothing to end."""
        place = self.appender.payload if self.appender.claim(4) > 0 else None
        for another in (lambda: self.appender.claim(4), lambda: self.appender.offer(b"x")):
            with self.assertRaises(IllegalOperationError):
                another()
        self.appender.commit()
        for late in (self.appender.commit, lambda: self.appender.payload):
            with self.assertRaises(IllegalOperationError):
                late()
        assert place is not None
        with self.assertRaises(ValueError):  # it is another entry's by now
            place[:] = b"late"

    def test_claim_refused(self) -> None:
        """A claim without room says so and claims nothing; one of a ledger that has failed says why."""
        while self.appender.claim(100) > 0:
            self.appender.commit()
        self.assertEqual(self.appender.claim(100), ClaimResult.BACK_PRESSURED)
        with self.assertRaises(IllegalOperationError):
            self.appender.commit()
        self.log.abandon(LedgerFencedError(7))
        with self.assertRaises(LedgerFencedError):
            self.appender.claim(1)

    def test_other_bytes(self) -> None:
        """What may change afterwards is copied."""
        data = bytearray(b"x")
        self.appender.offer(cast(bytes, data))
        data[0] = 0
        self.appender.offer(cast(bytes, memoryview(b"y")))
        sender = Sender(self.log)
        sender.send()
        self.assertEqual(sender.payloads(), [b"x", b"y"])

    def test_many_threads(self) -> None:
        """Each thread has a handle of its own, so one appender serves all of them."""
        join(*[in_thread(lambda: self.appender.offer(b"x")) for _ in range(3)])
        self.appender.offer(b"x")
        self.appender.offer(b"x")
        self.assertEqual(len(self.log._producers), 4)

    def test_flush_of_others(self) -> None:
        """A flush waits for what other threads have offered, too."""
        join(in_thread(lambda: self.appender.offer(b"x")))
        future = self.appender.flush()
        self.appends.look()
        self.assertFalse(future.done())
        Sender(self.log).acknowledge()
        self.assertEqual(future.result(0), 1 + OVERHEAD)


class ThreadAppendsTests(SynchronousTestCase):
    """What the reactor's thread does about it."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.calls: deque[Callable[[], None]] = deque()
        seen = attrs.evolve(threads(), call=self.calls.append)

        def new_log(wake: Callable[[], None]) -> ClaimLog:
            return ClaimLog(LEDGER, layout(), MemoryPool(1024), seen, wake)

        self.appends = ThreadAppends(self.clock, seen, new_log, self._drain)
        self.sender = Sender(self.appends.log)
        self.appender = self.appends.appender(300, WhenFull.CODE, None)

    def _drain(self) -> Any:
        self.sender.acknowledge()

    def _turn(self) -> int:
        """Runs what threads asked for; how much that was."""
        count = len(self.calls)
        for _ in range(count):
            self.calls.popleft()()
        return count

    def test_one_call(self) -> None:
        """The reactor is called once for all that is offered until it looks."""
        for _ in range(10):
            self.appender.offer(b"x")
        flushed = self.appender.flush()
        self.assertEqual(self._turn(), 1)
        self.assertEqual((self.sender.entries, flushed.done()), (10, True))
        self.appender.offer(b"y")
        self.assertEqual(self._turn(), 1)
        self.assertEqual(self.sender.entries, 11)

    def test_held_up(self) -> None:
        """While a claim holds up others, the look is repeated, and in time they go out without it."""
        stuck = self.appends.log.producer()
        stuck.claim(10)
        self.appender.offer(b"behind")
        self._turn()
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.pump([1.0] * int(STUCK_SECONDS - 1))
        self.assertEqual(self.sender.entries, 0)
        self.clock.pump([1.0, 1.0])
        self._turn()
        self.assertEqual(self.sender.payloads(), [b"behind"])
        self.clock.pump([1.0, 1.0])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_lost(self) -> None:
        """Where all is lost nothing is sent any more, also of late commits, and its memory is given back."""
        late = self.appends.log.producer()
        late.claim(10)
        why = LedgerFencedError(7)
        self.appends.log.abandon(why)
        flushed = self.appender.flush()
        late.commit()
        self._turn()
        self.assertIs(flushed.exception(0), why)
        self.assertEqual((self.sender.entries, self.appends.log.in_flight), (0, 0))
