"""Positions, memory blocks, acknowledgement and the end of a claim log."""

import sys

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import MAX_BLOCKS, MAX_POSITION, ClaimLog
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.producer import ClaimResult
from bookkeeper_twisted.errors import IncorrectParameterError, LedgerFencedError

from .log_case import LEDGER, OVERHEAD, OneThread, Sender, Shared, layout, threads

_SIZE = 256 - OVERHEAD
"""Payload of a frame of which four fill a block."""


class RoomTests(SynchronousTestCase):
    """What fits, and what makes room."""

    def test_three_terms(self) -> None:
        """A log holds three blocks and not a frame more; nothing is claimed then."""
        log = OneThread()
        for i in range(4 * MAX_BLOCKS):
            self.assertEqual(log.offer(bytes(_SIZE)), 256 * (i + 1))
        self.assertEqual(log.offer(b""), ClaimResult.BACK_PRESSURED)
        self.assertEqual((log.tail, log.in_flight), (3072, 3072))

    def test_room_again(self) -> None:
        """A block serves again once everything in it is acknowledged, not before."""
        log = OneThread()
        log.offer_many([bytes(_SIZE)] * 12)
        sender = Sender(log)
        sender.send()
        log.acknowledge(768)
        self.assertEqual(log.offer(bytes(_SIZE)), ClaimResult.BACK_PRESSURED)
        log.acknowledge(1024)
        self.assertEqual(log.offer(bytes(_SIZE)), 3072 + 256)

    def test_window(self) -> None:
        """Fewer bytes than the blocks hold may be unacknowledged, if that is asked for."""
        log = OneThread(window=600)
        self.assertEqual([log.offer(bytes(_SIZE)) for _ in range(3)], [256, 512, ClaimResult.BACK_PRESSURED])
        log.take(1)
        log.acknowledge(256)
        self.assertEqual(log.offer(bytes(_SIZE)), 768)

    def test_rotation(self) -> None:
        """A frame that does not fit the rest of a block goes to the next one; positions have no gap."""
        log = OneThread()
        sender = Sender(log)
        expected = [bytes([i]) * 400 for i in range(6)]
        for payload in expected:
            self.assertGreater(log.offer(payload), 0)
        self.assertEqual(log.tail, 6 * 464)
        sender.acknowledge()
        self.assertEqual(sender.payloads(), expected)

    def test_larger_than_a_term(self) -> None:
        """A frame larger than a block has one of its own."""
        log = OneThread()
        expected = [b"a" * 10, b"b" * 2000, b"c" * 10]
        for payload in expected:
            self.assertGreater(log.offer(payload), 0)
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual(sender.payloads(), expected)

    def test_larger_than_the_log(self) -> None:
        """A frame there can never be room for is refused for good."""
        with self.assertRaises(IncorrectParameterError):
            OneThread().offer(bytes(4000))
        with self.assertRaises(IncorrectParameterError):
            Shared().log.producer().offer(bytes(4000))

    def test_steady_state(self) -> None:
        """In a steady state no memory is made."""
        log = OneThread()
        sender = Sender(log)
        for i in range(1000):
            self.assertGreater(log.offer(bytes(100)), 0)
            if i % 5 == 4:
                sender.acknowledge()
        self.assertLessEqual(log._pool.made, MAX_BLOCKS)

    def test_idle(self) -> None:
        """An idle log gives its last block back, and takes one when there is something to do."""
        log = OneThread()
        sender = Sender(log)
        log.offer(b"a")
        log.trim()
        self.assertEqual(len(log._blocks), 1)
        sender.acknowledge()
        log.trim()
        self.assertEqual(len(log._blocks), 0)
        log.offer(b"b")
        sender.acknowledge()
        self.assertEqual(sender.payloads(), [b"a", b"b"])
        self.assertEqual(log._pool.made, 1)

    def test_small_first(self) -> None:
        """A log begins with little memory, and goes on with more."""
        pool = MemoryPool()
        log = ClaimLog(LEDGER, layout(), pool, threads(), lambda: None)
        producer = log.producer()
        sender = Sender(log)
        for _ in range(2):
            self.assertGreater(producer.offer(b"x"), 0)
            self.assertEqual(len(log.block.buffer), pool.small)
            self.assertGreater(producer.offer(bytes(pool.small - OVERHEAD)), 0)
            self.assertEqual(len(log.block.buffer), pool.size)
            sender.acknowledge()
            log.trim()

    def test_edges(self) -> None:
        """Positions pass 2**31 and 2**32, and stop at 2**63 - 1, for good, with the last frame whole."""
        for edge in (1 << 31, 1 << 32):
            log = OneThread(start=edge - 300)
            sender = Sender(log)
            for i in range(10):
                log.offer(bytes([i]) * 100)
            sender.acknowledge()
            self.assertEqual(sender.payloads(), [bytes([i]) * 100 for i in range(10)])
            self.assertEqual(log.acknowledged, edge - 300 + 1640)
        log = OneThread(start=MAX_POSITION - 2 * OVERHEAD)
        exceeded = ClaimResult.MAX_POSITION_EXCEEDED
        self.assertEqual(
            [log.offer(b"") for _ in range(4)], [MAX_POSITION - OVERHEAD, MAX_POSITION, exceeded, exceeded]
        )


class AcknowledgementTests(SynchronousTestCase):
    """Who asks is told."""

    def test_waiters(self) -> None:
        """Waiters are told in the order of their positions, whatever the order they asked in."""
        log = OneThread()
        log.offer_many([b""] * 4)
        told: list[int] = []
        for index in (3, 1, 2, 2):
            log.when_acknowledged(index * OVERHEAD).addCallback(told.append)
        log.take(1 << 20)
        log.acknowledge(OVERHEAD)
        self.assertEqual(told, [OVERHEAD])
        log.acknowledge(4 * OVERHEAD)
        self.assertEqual(told, [OVERHEAD, 2 * OVERHEAD, 2 * OVERHEAD, 3 * OVERHEAD])
        self.assertEqual(self.successResultOf(log.when_acknowledged(OVERHEAD)), OVERHEAD)

    def test_backwards(self) -> None:
        """What is acknowledged stays so."""
        log = OneThread()
        log.offer_many([b""] * 2)
        log.take(1 << 20)
        log.acknowledge(2 * OVERHEAD)
        log.acknowledge(OVERHEAD)
        self.assertEqual(log.acknowledged, 2 * OVERHEAD)

    def test_shut(self) -> None:
        """A log that is shut takes nothing; what it has is still sent and acknowledged."""
        log = OneThread()
        end = log.offer(b"x")
        waiter = log.when_acknowledged(end)
        log.shut(LedgerFencedError(7))
        self.assertEqual(log.offer(b"y"), ClaimResult.CLOSED)
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual((sender.payloads(), self.successResultOf(waiter)), ([b"x"], end))
        self.assertEqual(self.successResultOf(log.when_acknowledged(end)), end)

    def test_abandon(self) -> None:
        """Who waits on a log that is given up is told why, then and later; what was acknowledged before stays so."""
        log = OneThread()
        first, second = log.offer(b"x"), log.offer(b"y")
        log.take(1)
        log.acknowledge(first)
        waiter = log.when_acknowledged(second)
        why = LedgerFencedError(7)
        log.shut(KeyError("before"))
        log.abandon(why)
        log.abandon(why)
        self.assertIs(self.failureResultOf(waiter).value, why)
        self.assertIs(self.failureResultOf(log.when_acknowledged(second)).value, why)
        self.assertEqual(self.successResultOf(log.when_acknowledged(first)), first)


class HoleTests(SynchronousTestCase):
    """What was given up."""

    def test_holes(self) -> None:
        """It is not sent, across blocks, and holds no room once what is around it is acknowledged."""
        shared = Shared()
        producer = shared.log.producer()
        for i in range(20):
            self.assertGreater(producer.claim(30), 0)
            producer.payload[:] = bytes([i]) * 30
            producer.abort() if i % 3 == 0 else producer.commit()
        sender = Sender(shared.log)
        sender.send()
        self.assertEqual(sender.payloads(), [bytes([i]) * 30 for i in range(20) if i % 3])
        sender.acknowledge()
        self.assertEqual(shared.log.in_flight, 0)

    def test_memory_of_an_idle_log(self) -> None:
        """A log that is idle keeps no memory that its pool does not."""
        log = ClaimLog(LEDGER, layout(), MemoryPool(1024, kept=0), threads(), lambda: None)
        log.producer().offer(b"x")
        buffer = log.block.buffer
        Sender(log).acknowledge()
        log.trim()
        self.assertEqual(sys.getrefcount(buffer), 3)  # this test's, that of the call, and of the producer's last block

    def test_abandoned(self) -> None:
        """A log that is given up has nothing to send any more, and holds no memory."""
        log = OneThread()
        log.offer_many([b"x" * 36] * 20)
        self.assertIsNotNone(log.take(500))
        log.abandon(KeyError("why"))
        self.assertIsNone(log.take(500))
        self.assertEqual((log.offer(b"x"), log.in_flight, log.waiting), (ClaimResult.CLOSED, 0, False))
        self.assertEqual(log._blocks, [])
