"""Many threads fill a log: order, holes, room, death."""

import random
import threading
from collections.abc import Callable

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import STUCK_SECONDS, ClaimLog
from bookkeeper_twisted.client.claims.producer import ClaimResult, Producer, WhenFull
from bookkeeper_twisted.client.claims.threads import Signal
from bookkeeper_twisted.errors import IllegalOperationError

from ...bounds import in_thread, join
from .log_case import OVERHEAD, Sender, Shared, switch_often, threads
from .log_stress import Stress

_SIZE = 256 - OVERHEAD


class FullTests(SynchronousTestCase):
    """What an offer does that finds no room."""

    def _full(self, when_full: WhenFull, on_reactor: bool = False, patience: float | None = None) -> Shared:
        shared = Shared(when_full=when_full, seen=threads(on_reactor=on_reactor), patience=patience)
        producer = shared.producer()
        for _ in range(12):
            producer.offer(bytes(_SIZE))
        return shared

    def test_code(self) -> None:
        """It says so."""
        shared = self._full(WhenFull.CODE)
        self.assertEqual(shared.producer().offer(b""), ClaimResult.BACK_PRESSURED)
        self.assertEqual(shared.log.dropped, 0)

    def test_drop(self) -> None:
        """It is dropped, and counted."""
        shared = self._full(WhenFull.DROP)
        producer = shared.producer()
        self.assertEqual([producer.offer(b""), producer.claim(1)], [ClaimResult.BACK_PRESSURED] * 2)
        self.assertEqual(shared.log.dropped, 2)

    def test_reactor_never_waits(self) -> None:
        """The reactor's thread gets an error instead of waiting for itself."""
        shared = self._full(WhenFull.BLOCK, on_reactor=True)
        with self.assertRaises(IllegalOperationError):
            shared.producer().offer(b"")
        sender = Sender(shared.log)
        sender.acknowledge()
        self.assertGreater(shared.producer().offer(b""), 0)

    def test_block(self) -> None:
        """A thread waits until there is room for it."""
        shared = self._full(WhenFull.BLOCK)
        sender = Sender(shared.log)
        waiting = threading.Event()
        results: list[int] = []

        def run() -> None:
            producer = shared.producer()
            waiting.set()
            results.append(producer.offer(b"late"))

        thread = in_thread(run)
        waiting.wait(10)
        sender.acknowledge()
        join(thread)
        sender.send()
        self.assertEqual(sender.payloads()[12:], [b"late"])
        self.assertEqual(results, [3072 + 4 + OVERHEAD])

    def test_patience(self) -> None:
        """A thread waits no longer than it is told to, and leaves no trace."""
        shared = self._full(WhenFull.BLOCK, patience=0)
        self.assertEqual(shared.producer().offer(b""), ClaimResult.BACK_PRESSURED)
        Sender(shared.log).acknowledge()
        self.assertGreater(shared.producer().offer(b""), 0)

    def test_close(self) -> None:
        """Who waits when the log is closed is let go."""
        shared = self._full(WhenFull.BLOCK)
        results: list[int] = []
        thread = in_thread(lambda: results.append(shared.producer().offer(b"")))
        shared.log.shut(KeyError("why"))
        join(thread)
        self.assertEqual(results, [ClaimResult.CLOSED])


class _Meanwhile:
    """What a thread waits for, while something else happens."""

    def __init__(self, *what: Callable[[], object]) -> None:
        self._what = what

    def set(self) -> None:
        """It may go on."""

    def wait(self, timeout: float | None = None) -> bool:
        """Has it happen."""
        for step in self._what:
            step()
        return True


class OrderTests(SynchronousTestCase):
    """Room goes to the thread that has waited longest."""

    def setUp(self) -> None:
        """A log with room in its last block for small frames only, and none for another block."""
        self.signals: list[Signal] = []
        self.shared = Shared(seen=attrs.evolve(threads(), signal=lambda: self.signals.pop(0)))
        self.log = self.shared.log
        self.sender = Sender(self.log)
        self.first, self.second = self.log.producer(WhenFull.BLOCK), self.log.producer(WhenFull.BLOCK)
        self.other = self.log.producer()
        for _ in range(11):
            self.other.offer(bytes(_SIZE))

    def test_newcomer(self) -> None:
        """An offer that would find room does not get it while a larger one waits for more."""
        refused: list[int] = []
        self.signals = [_Meanwhile(lambda: refused.append(self.other.offer(b"x")), self.sender.acknowledge)]
        position = self.first.offer(bytes(400))
        self.assertEqual(refused, [ClaimResult.BACK_PRESSURED])
        self.assertGreater(self.other.offer(b"x"), position)

    def test_newcomer_after_an_acknowledgement(self) -> None:
        """Nor does it when something is acknowledged, but not enough for the one that waits."""
        refused: list[int] = []

        def acknowledge_some() -> None:
            self.sender.send()
            self.log.acknowledge(256)
            refused.append(self.other.offer(b"x"))

        self.signals = [_Meanwhile(acknowledge_some, self.sender.acknowledge)]
        position = self.first.offer(bytes(400))
        self.assertEqual(refused, [ClaimResult.BACK_PRESSURED])
        self.assertGreater(self.other.offer(b"x"), position)

    def test_first_come(self) -> None:
        """Of two threads that wait the first one is served first."""
        positions: list[int] = []
        inner = _Meanwhile(self.sender.acknowledge)
        self.signals = [_Meanwhile(lambda: positions.append(self.second.offer(bytes(400)))), inner]
        self.assertLess(self.first.offer(bytes(400)), positions[0])

    def test_small_behind_large(self) -> None:
        """A thread that waits for little is not served before one in front of it that waits for much."""
        refused: list[int] = []
        inner = _Meanwhile(self.sender.send, lambda: self.log.acknowledge(256))
        outer = _Meanwhile(lambda: refused.append(self.second.offer(b"x")), self.sender.acknowledge)
        self.signals = [outer, inner]
        self.assertGreater(self.first.offer(bytes(400)), 0)
        self.assertEqual(refused, [ClaimResult.BACK_PRESSURED])

    def test_first_gives_up(self) -> None:
        """When the first one gives up waiting, those behind it that have room get it at once."""
        positions: list[int] = []
        inner = _Meanwhile(lambda: self.log._withdraw(self.log._blocked[0]))
        self.signals = [_Meanwhile(lambda: positions.append(self.second.offer(b"x"))), inner]
        self.first.offer(bytes(400))
        self.assertGreater(positions[0], 0)


class UnblockTests(SynchronousTestCase):
    """A claim that is never completed does not hold up the others for ever."""

    def test_stuck(self) -> None:
        """A claim is given up after its time, what is behind it goes out."""
        shared = Shared()
        log = shared.log
        stuck, other = log.producer(), log.producer()
        stuck.claim(10)
        other.offer(b"behind")
        sender = Sender(log)
        self.assertTrue(log.unblock(100.0))
        self.assertTrue(log.unblock(100.0 + STUCK_SECONDS - 0.1))
        sender.send()
        self.assertEqual(sender.entries, 0)
        self.assertTrue(log.unblock(100.0 + STUCK_SECONDS))
        sender.acknowledge()
        self.assertEqual(sender.payloads(), [b"behind"])
        self.assertFalse(log.unblock(200.0))
        self.assertEqual(log.in_flight, 0)

    def test_dead(self) -> None:
        """A claim whose thread is dead is given up at once."""
        log = Shared(seen=threads(alive=False)).log
        log.producer().claim(10)
        log.unblock(0.0)
        self.assertFalse(log.unblock(0.0))
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual(log.in_flight, 0)

    def test_slow_but_alive(self) -> None:
        """The time of each claim counts for itself."""
        log = Shared().log
        producer = log.producer()
        for now in (0.0, 10.0, 20.0, 30.0):
            producer.claim(1)
            self.assertTrue(log.unblock(now))
            producer.commit()
        sender = Sender(log)
        sender.send()
        self.assertEqual(sender.entries, 4)

    def test_memory_of_the_dead(self) -> None:
        """Memory with a claim that was given up is not used again, so a late store hits nothing."""
        shared = Shared()
        log = shared.log
        stuck, other = log.producer(), log.producer()
        stuck.claim(10)
        buffer, at = stuck.block.buffer, stuck.start
        log.unblock(0.0)
        log.unblock(STUCK_SECONDS)
        sender = Sender(log)
        for i in range(40):
            other.offer(bytes([i]) * 100)
            sender.acknowledge()
        buffer[at : at + 74] = b"!" * 74
        self.assertEqual(sender.payloads(), [bytes([i]) * 100 for i in range(40)])

    def test_stuck_while_storing(self) -> None:
        """An offer that is stuck is a hole where it was made, though the log fills another block since."""
        log = Shared().log
        stuck, other = log.producer(), log.producer()
        payloads = [bytes([i]) * 100 for i in range(12)]

        def store(buffer: bytearray, at: int, head: bytes, payload: bytes) -> None:
            for payload in payloads:
                other.offer(payload)
            log.unblock(0.0)
            log.unblock(STUCK_SECONDS)

        other.offer(b"in front")
        log.shapes[3] = (store, 3 + OVERHEAD, b"")
        first = log.block
        with self.assertRaises(IllegalOperationError):
            stuck.offer(b"abc")
        self.assertIsNot(log.block, first)
        self.assertTrue(first.tainted)
        sender = Sender(log)
        sender.acknowledge()
        self.assertEqual(sender.payloads(), [b"in front", *payloads])
        self.assertEqual(log.in_flight, 0)

    def test_given_up_before_it_wakes(self) -> None:
        """A thread whose place was given up before it noticed that it had one neither stores nor commits."""

        def offer(producer: Producer) -> None:
            producer.offer(b"abc")

        def claim(producer: Producer) -> None:
            self.assertGreater(producer.claim(3), 0)
            producer.payload[:] = b"abc"
            producer.commit()

        for call in (offer, claim):
            slow = _Slow()
            log = Shared(seen=attrs.evolve(threads(), signal=[slow].pop)).log
            slow.log, slow.sender, producer = log, Sender(log), log.producer(WhenFull.BLOCK)
            for _ in range(12):
                producer.offer(bytes(_SIZE))
            with self.assertRaises(IllegalOperationError):
                call(producer)
            self.assertGreater(producer.offer(b"x"), 0)
            slow.sender.acknowledge()
            self.assertEqual(slow.sender.payloads()[12:], [b"x"])
            self.assertEqual(log.in_flight, 0)


class _Slow:
    """What a thread waits for that goes on only when the place it was given was taken from it again."""

    log: ClaimLog
    sender: Sender

    def set(self) -> None:
        """It is given the place."""

    def wait(self, timeout: float | None = None) -> bool:
        """Meanwhile, on the reactor's thread."""
        self.sender.acknowledge()
        self.log.unblock(0.0)
        self.log.unblock(STUCK_SECONDS)
        return True


class StressTests(SynchronousTestCase):
    """Threads, aborts, a death, lost connections: all of it, in order, once."""

    def test_threads(self) -> None:
        """No loss, tear or duplicate, and per-producer order, with threads that switch all the time."""
        switch_often(self)
        for seed in (1, 2):
            Stress(random.Random(seed), threads=4, offers=600).run()

    def test_lock(self) -> None:
        """The same where claims use the lock."""
        Stress(random.Random(3), threads=3, offers=300, locked=True).run()
