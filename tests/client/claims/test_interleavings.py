"""Threads and the reactor meet at a claim log in every order of two hand-overs: no wake-up is lost, no frame torn."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from types import ModuleType, SimpleNamespace

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims import claim_log, producer, thread_appender
from bookkeeper_twisted.client.claims.claim_log import ClaimLog
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.producer import ClaimResult, Producer, WhenFull
from bookkeeper_twisted.client.claims.thread_appender import ThreadAppends
from bookkeeper_twisted.errors import LedgerFencedError

from ...bounds import until
from ...interleaving import Turns, explore
from .log_case import LEDGER, OVERHEAD, Sender, layout, threads

_WINDOW = 300
_FILLING = bytes(_WINDOW - 2 * OVERHEAD)
"""With an entry of this size a log has no room for a second one."""

_MOST_LOOKS = 100


class Meeting:
    """A log, the reactor's thread, which looks when it is woken and only then, and others that work on the log.

    :ivar appender: for one other thread.
    :ivar producer: its handle, made beforehand: a trace function would have it use the lock.
    :ivar second: the handle of another one.
    :ivar sends: whether the looks send what they find.
    """

    def __init__(self, turns: Turns, when_full: WhenFull, locked: bool) -> None:
        self.turns = turns
        self._calls: deque[Callable[[], object]] = deque()
        self._working = 0
        local = SimpleNamespace()
        seen = attrs.evolve(
            threads(), call=self._calls.append, lock=self.turns.lock, signal=self.turns.signal, local=lambda: local
        )
        self.appends = ThreadAppends(
            Clock(), seen, lambda wake: ClaimLog(LEDGER, layout(), MemoryPool(256), seen, wake, _WINDOW), self._drain
        )
        self.log = self.appends.log
        self.appender = self.appends.appender(_WINDOW - OVERHEAD, when_full, None)
        self.producer: Producer = self.log.producer(when_full)
        self.second = self.log.producer(when_full)
        local.producer = self.producer
        if locked:
            self.log.use_lock()
        self.sender = Sender(self.log)
        self.sends = True

    def _drain(self) -> None:
        """What the reactor's thread does with frames."""
        if self.sends and self.sender.send() > self.log.acknowledged:
            self.log.acknowledge(self.log.taken)
            self.log.trim()

    def call(self, function: Callable[[], object]) -> None:
        """Has the reactor's thread do something beside the looks."""
        self._calls.append(function)

    def run(self, *works: Callable[[], object]) -> int:
        """Runs each work in a thread beside the reactor's until nothing is left to do; the number of steps."""
        self._working = len(works)
        return self.turns.run(*[partial(self._do, work) for work in works], self.react)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self._working -= 1

    def react(self) -> None:
        """The reactor's thread: looks when it is woken."""
        for _ in until(lambda: False, _MOST_LOOKS):
            self.turns.wait(lambda: self._working > 0 and not self._calls)
            if not self._calls:
                return
            self._calls.popleft()()


class _Interleavings(SynchronousTestCase):
    """Explores work beside looks."""

    locked = False
    watched: tuple[ModuleType, ...] = (claim_log, producer, thread_appender)

    def meet(self, schedule: tuple[int, ...], first: int, when_full: WhenFull) -> Meeting:
        """A new log and the threads that will work on it."""
        return Meeting(Turns(*self.watched, schedule=schedule, first=first), when_full, self.locked)

    def explore(
        self, work: Callable[[Meeting], object], expected: list[bytes], when_full: WhenFull = WhenFull.BLOCK,
        prepare: Callable[[Meeting], object] = lambda meeting: None,
    ) -> None:  # fmt: skip
        """Does the work beside looks in every order; all that is expected must have gone out by looks alone."""

        def run(schedule: tuple[int, ...], first: int) -> int:
            meeting = self.meet(schedule, first, when_full)
            prepare(meeting)
            steps = meeting.run(lambda: work(meeting))
            self.assertEqual(meeting.sender.payloads(), expected)
            self.assertEqual(meeting.log.in_flight, 0)
            return steps

        self.assertGreater(explore(run), 100)


class OfferTests(_Interleavings):
    """Threads offer while the reactor's thread looks."""

    def test_offers(self) -> None:
        """What is offered while the sender looks is found by this look or by another one, and whole."""
        self.explore(lambda m: m.producer.offer(b"2"), [b"1", b"2"], prepare=lambda m: m.second.offer(b"1"))

    def test_first_offer(self) -> None:
        """So is the first offer of a log without memory, and the one behind it."""
        self.explore(lambda m: [m.producer.offer(b"1"), m.producer.offer(b"2")], [b"1", b"2"])

    def test_memory_is_given_back(self) -> None:
        """So is what is offered while the sender gives back the memory of a log that seems idle."""
        self.watched = (claim_log,)
        self.explore(lambda m: m.producer.offer(b"2"), [b"1", b"2"], prepare=lambda m: m.second.offer(b"1"))

    def test_two_threads(self) -> None:
        """Two threads that offer at the same time get places of their own, each in its order."""

        def run(schedule: tuple[int, ...], first: int) -> int:
            meeting = self.meet(schedule, first, WhenFull.CODE)
            meeting.second.offer(b"0")  # so that there is memory, and offers need not use the lock
            steps = meeting.turns.run(
                lambda: [meeting.producer.offer(b"1"), meeting.producer.offer(b"2")], lambda: meeting.second.offer(b"3")
            )
            meeting.react()
            sent = meeting.sender.payloads()
            self.assertEqual((sorted(sent), sent[0]), ([b"0", b"1", b"2", b"3"], b"0"))
            self.assertLess(sent.index(b"1"), sent.index(b"2"))
            return steps

        self.assertGreater(explore(run), 100)


class LockedOfferTests(OfferTests):
    """The same where offers use the lock."""

    locked = True


class SlowWayTests(_Interleavings):
    """What always uses the lock: claims, waiting for room, the end; and futures."""

    def test_claims(self) -> None:
        """So is what is claimed, filled in and committed; nothing of it goes out before."""

        def work(meeting: Meeting) -> None:
            meeting.producer.claim(3)
            meeting.producer.payload[:] = b"abc"
            meeting.producer.commit()

        self.explore(work, [b"abc"])

    def test_abort(self) -> None:
        """What waited behind a claim goes out when that is given up, without anything else that wakes the sender."""

        def prepare(meeting: Meeting) -> None:
            meeting.producer.claim(3)
            meeting.log.producer().offer(b"behind")

        self.explore(lambda meeting: meeting.producer.abort(), [b"behind"], prepare=prepare)

    def test_flush(self) -> None:
        """A future that is asked for while the sender looks completes, and not before its entries are acknowledged."""
        asked: list[Future[int]] = []

        def work(meeting: Meeting) -> None:
            meeting.appender.offer(b"1")
            future = meeting.appender.flush()
            future.add_done_callback(lambda _: self.assertEqual(meeting.log.acknowledged, 1 + OVERHEAD))
            asked.append(future)

        self.explore(work, [b"1"])
        self.assertEqual({future.result(0) for future in asked}, {1 + OVERHEAD})

    def test_flush_alone(self) -> None:
        """A future that nothing follows completes by the look it asks for itself."""
        asked: list[Future[int]] = []

        def work(meeting: Meeting) -> None:
            for _ in range(2):
                asked.append(meeting.appender.flush())

        self.explore(work, [])
        self.assertEqual({future.result(0) for future in asked}, {0})

    def _fill(self, meeting: Meeting) -> None:
        other = meeting.log.producer()
        self.assertGreater(other.offer(_FILLING), 0)
        self.assertEqual(other.offer(b"late"), ClaimResult.BACK_PRESSURED)

    def test_room(self) -> None:
        """A thread that waits for room gets it by the acknowledgement of what is in front."""
        self.watched = (claim_log,)  # ten thousand schedules otherwise, and nothing else decides
        self.explore(lambda meeting: meeting.producer.offer(b"late"), [_FILLING, b"late"], prepare=self._fill)

    def test_closed(self) -> None:
        """A thread that waits for room, or is about to, is let go when the log takes no more."""
        results: list[int] = []

        def run(schedule: tuple[int, ...], first: int) -> int:
            meeting = self.meet(schedule, first, WhenFull.BLOCK)
            meeting.sends = False
            self._fill(meeting)
            meeting.call(lambda: meeting.log.shut(LedgerFencedError(7)))
            return meeting.run(lambda: results.append(meeting.producer.offer(b"late")))

        explore(run)
        self.assertEqual(set(results), {ClaimResult.CLOSED})

    def test_abandoned(self) -> None:
        """Whatever is offered and asked for while the log is given up, its future fails, and nothing is left of it."""
        why = LedgerFencedError(7)
        asked: list[Future[int]] = []

        def run(schedule: tuple[int, ...], first: int) -> int:
            meeting = self.meet(schedule, first, WhenFull.CODE)
            meeting.sends = False

            def work() -> None:
                meeting.producer.offer(b"1")
                asked.append(meeting.appender.flush())

            meeting.call(lambda: meeting.log.abandon(why))
            steps = meeting.run(work)
            self.assertEqual((meeting.log.in_flight, meeting.log._blocks), (0, []))
            return steps

        explore(run)
        ends = {future.exception(0) or future.result(0) for future in asked}
        self.assertEqual(ends, {why, 0})  # the first position was not lost: nothing was there
