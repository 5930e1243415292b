"""The handle of one thread: whole frames or none, and a claim that cannot be split."""

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.claim_log import STUCK_SECONDS
from bookkeeper_twisted.client.claims.producer import IDLE, ClaimResult, Producer
from bookkeeper_twisted.errors import IllegalOperationError

from .log_case import OVERHEAD, Sender, Shared, threads

_SPLITS = ("CALL", "RESUME", "SEND", "FOR_ITER", "YIELD", "IMPORT", "LOAD_METHOD")


def splits(function: Callable[..., Any], beginning: str, *parts: str) -> Iterator[str]:
    """Instructions of a line at which CPython may run another thread.

    :param beginning: of the line that must not be split; all of ``parts`` must be in it.
    """
    lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    (index,) = [i for i, line in enumerate(lines) if line.startswith(beginning)]
    assert all(part in lines[index] for part in parts), lines[index]
    line = function.__code__.co_firstlineno + index
    for instruction in dis.get_instructions(function):
        name, positions = instruction.opname, instruction.positions
        splits = name.startswith(_SPLITS) or "BACKWARD" in name
        if splits and positions is not None and positions.lineno == line:
            yield f"{line}: {name}"


class StraightLineTests(SynchronousTestCase):
    """No instruction of a claim lets another thread run, nor does it begin a line, where trace functions run."""

    def test_claim(self) -> None:
        """From reading the tail to storing it, and what was claimed in the handle, there is no call and no loop."""
        parts = ("log.tail) + size", "log.tail = end", "self.start = start", "block = log.block")
        self.assertEqual(list(splits(Producer.offer, "if (end := (start := log.tail)", *parts)), [])

    def test_commit(self) -> None:
        """A commit and the log's giving up of the claim exclude each other."""
        for function, beginning, *parts in (
            (Producer.offer, "if self.start is start:", "self.start = IDLE"),
            (Producer.commit, "if self.start >= 0:", "self.start = IDLE"),
            (Producer.revoke, "if self.start == start:", "size = self.size", "self.start = REVOKED"),
        ):
            self.assertEqual(list(splits(function, beginning, *parts)), [])

    def test_the_test(self) -> None:
        """A call, a loop and a claim on several lines are noticed."""

        # fmt: off
        def call(log: Any) -> None:
            start = log.tail; log.tail = max(start, 1)  # noqa: E702

        def loop(log: Any) -> None:
            start = log.tail
            while start < 3: start += 1  # noqa: E701
            log.tail = start
        # fmt: on

        self.assertNotEqual(list(splits(call, "start = log.tail")), [])
        self.assertNotEqual(list(splits(loop, "while")), [])
        with self.assertRaises(AssertionError):
            list(splits(loop, "start = log.tail", "log.tail = start"))


class ProducerTests(SynchronousTestCase):
    """One handle."""

    def setUp(self) -> None:
        self.shared = Shared()
        self.log = self.shared.log
        self.producer = self.log.producer()

    def _sent(self) -> list[bytes]:
        sender = Sender(self.log)
        sender.acknowledge()
        return sender.payloads()

    def test_offer(self) -> None:
        """Offers give positions, and are sent in order."""
        self.assertEqual([self.producer.offer(b"a"), self.producer.offer(b"bb")], [65, 131])
        self.assertEqual(self._sent(), [b"a", b"bb"])

    def test_claim(self) -> None:
        """Nothing behind an open claim is sent before it is committed: claim order is send order."""
        other = self.log.producer()
        self.producer.claim(3)
        other.offer(b"later")
        sender = Sender(self.log)
        self.assertEqual(sender.send(), 0)
        self.producer.payload[:] = b"abc"
        self.assertEqual(self.producer.commit(), 3 + OVERHEAD)
        sender.send()
        self.assertEqual(sender.payloads(), [b"abc", b"later"])

    def test_abort(self) -> None:
        """A claim that is given up is a hole: neither an entry nor an id."""
        other = self.log.producer()
        other.offer(b"1")
        self.producer.claim(3)
        other.offer(b"2")
        self.producer.abort()
        self.assertEqual(self._sent(), [b"1", b"2"])
        self.assertEqual(self.log.in_flight, 0)

    def test_abort_at_the_end(self) -> None:
        """A hole with nothing behind it holds no room."""
        self.producer.claim(3)
        self.producer.abort()
        self.assertEqual(self._sent(), [])
        self.assertEqual(self.log.in_flight, 0)

    def test_misuse(self) -> None:
        """A handle has one claim at a time, which an error leaves as it was."""
        for call in (self.producer.commit, lambda: self.producer.payload):
            with self.assertRaises(IllegalOperationError):
                call()
        self.producer.claim(1)
        with self.assertRaises(IllegalOperationError):
            self.producer.claim(1)
        with self.assertRaises(IllegalOperationError):
            self.producer.offer(b"x")
        self.producer.payload[:] = b"y"
        self.producer.commit()
        self.assertEqual(self._sent(), [b"y"])

    def test_wrong_payload(self) -> None:
        """What is no byte string becomes a hole, and the handle goes on."""
        with self.assertRaises(Exception):  # noqa: B017
            self.producer.offer(cast(bytes, "text"))
        self.assertEqual(self.producer.start, IDLE)
        self.producer.offer(b"x")
        self.assertEqual(self._sent(), [b"x"])

    def test_late_commit(self) -> None:
        """A claim the log gave up cannot be committed, and its memory never serves again."""
        self.producer.claim(4)
        block = self.producer.block
        self.assertTrue(self.producer.revoke(0, block))
        with self.assertRaises(IllegalOperationError):
            self.producer.commit()
        self.assertTrue(block.tainted)
        self.assertGreater(self.producer.offer(b"x"), 0)
        self.assertEqual(self._sent(), [b"x"])

    def test_late_abort(self) -> None:
        """A claim the log gave up can be aborted all the same, and the handle goes on."""
        self.producer.claim(4)
        self.assertTrue(self.producer.revoke(0, self.producer.block))
        self.producer.abort()
        self.producer.claim(1)
        self.producer.payload[:] = b"x"
        self.producer.commit()
        self.assertEqual(self._sent(), [b"x"])

    def test_late_offer(self) -> None:
        """An offer that was given up while it was stored says so, and is not sent."""
        producer = self.producer

        def slow(buffer: bytearray, at: int, head: bytes, payload: bytes) -> None:
            producer.revoke(0, self.log.block)

        self.log.shapes[3] = (slow, 3 + OVERHEAD, b"")
        with self.assertRaises(IllegalOperationError):
            producer.offer(b"abc")
        producer.offer(b"x")
        self.assertEqual(self._sent(), [b"x"])

    def _stuck_at(self, step: int) -> bool:
        """Has a log lose patience with an offer where its ``step``-th line begins; whether there is one."""
        log = Shared().log
        producer, sender, left = log.producer(), Sender(log), step
        producer.offer(b"before")

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            if event == "line" and frame.f_code is Producer.offer.__code__:
                left -= 1
                if left == 0:
                    log.unblock(0.0)
                    log.unblock(STUCK_SECONDS)
            return trace

        expected = [b"before", b"it", b"after"]
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            producer.offer(b"it")
        except IllegalOperationError:
            expected.remove(b"it")
        finally:
            sys.settrace(before)
        log.producer().offer(b"after")
        sender.acknowledge()
        self.assertEqual((sender.payloads(), log.in_flight), (expected, 0))
        return left <= 0

    def test_stuck_anywhere(self) -> None:
        """Wherever an offer is given up, it is a hole of its size, or was committed; it is told which."""
        step = 1
        while self._stuck_at(step):
            step += 1
        self.assertGreater(step, 5)

    def test_revoke_after_commit(self) -> None:
        """What is committed is not given up."""
        self.producer.offer(b"x")
        self.assertFalse(self.producer.revoke(0, self.log.block))

    def _traced(self, producer: Producer, other: Producer) -> int:
        """Offers under a trace function that has another thread offer wherever a line begins; how often it did."""
        offered = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal offered
            if event == "line" and frame.f_code is Producer.offer.__code__:
                sys.settrace(None)  # the intruder is a thread of its own, so it is not traced
                other.offer(b"in between")
                offered += 1
                sys.settrace(trace)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            producer.offer(b"traced")
        finally:
            sys.settrace(before)
        return offered

    def test_trace(self) -> None:
        """A trace function does not split a claim."""
        offered = self._traced(self.producer, self.log.producer())
        self.assertGreater(offered, 5)
        self.assertEqual(sorted(self._sent()), [b"in between"] * offered + [b"traced"])

    def test_trace_from_the_start(self) -> None:
        """Handles that are made under a trace function have all handles use the lock, for good."""
        before = sys.gettrace()
        sys.settrace(lambda *_: None)
        try:
            self.log.producer()
        finally:
            sys.settrace(before)
        self.producer.offer(b"x")
        self.assertEqual(self.log.limit, 0)
        self.assertEqual(self._sent(), [b"x"])

    def test_wake(self) -> None:
        """The sender is woken once until it looks, and what is committed after it was told to look wakes it again."""
        self.producer.offer(b"1")
        self.producer.offer(b"2")
        self.assertEqual(self.shared.wakes, 1)
        self.log.disarm()
        self.producer.offer(b"3")
        self.assertEqual(self.shared.wakes, 2)

    def test_no_wake_is_lost(self) -> None:
        """A frame committed while the sender looks is found by this look or by the next one."""
        sender = Sender(self.log)
        self.producer.offer(b"1")
        self.log.disarm()
        self.producer.offer(b"2")  # between the clearing of the flag and the reading of the tail
        sender.send()
        self.producer.offer(b"3")  # after the reading: the flag is set, so the second look is to come
        self.assertEqual(self.shared.wakes, 2)
        self.log.disarm()
        sender.send()
        self.assertEqual(sender.payloads(), [b"1", b"2", b"3"])

    def test_closed(self) -> None:
        """A closed log is said to be so."""
        self.log.shut(KeyError("why"))
        self.assertEqual(self.producer.offer(b"x"), ClaimResult.CLOSED)
        self.assertEqual(self.producer.claim(1), ClaimResult.CLOSED)

    def test_handles_are_dropped(self) -> None:
        """Handles of dead threads are forgotten."""
        log = Shared(seen=threads(alive=False)).log
        for _ in range(10):
            log.producer()
        self.assertEqual(len(log._producers), 1)
