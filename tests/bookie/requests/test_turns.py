"""No connection keeps the reactor from the others, whatever it asks for, and however much at once."""

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock

from bookkeeper_twisted.codec.framing import MOST_ITEMS
from bookkeeper_twisted.protocol.turns import SHARE, TURN

from ...bounds import until
from ..rig import Peer, Rig, adds, batch, entry, reads, run
from .test_gone_peers import KINDS, GonePeerTestCase, requests

_CHUNK = 32 * 1024
_UNIT = SHARE / 10

_MOST_WORK = 150
"""Looks at the clock in one turn: plain reads are taken by rows of 128, with one look for each answer."""


class _WorkClock:
    """A clock by which time passes with each look at it: it counts work, whatever else the machine does."""

    def __init__(self, clock: Clock) -> None:
        self.looks = 0
        self._clock = clock

    def seconds(self) -> float:
        self.looks += 1
        return self.looks * _UNIT

    def callLater(self, delay: float, function: Callable[..., object], *args: Any) -> IDelayedCall:
        return self._clock.callLater(delay, function, *args)


class TurnTests(GonePeerTestCase):
    """Chunks of many small requests."""

    def working(self) -> tuple[Rig, _WorkClock]:
        """A bookie whose sessions have a clock that counts work."""
        rig = self.rig()
        work: Any = _WorkClock(rig.clock)
        rig.engine.context.clock = rig.engine.factory.turns._clock = work
        return rig, work

    def assert_short(self, rig: Rig, work: _WorkClock, peer: Peer) -> int:
        """All turns until a peer has all replies are short.

        :returns: bytes of the replies.
        """
        size, most = 0, 0
        for _ in until(lambda: not (rig.executor.queued or peer.held or rig.clock.calls[1:]), 20_000):
            before = work.looks
            rig.executor.end_turn()
            most = max(most, work.looks - before)
            size += len(peer.replies())
            rig.executor.step()
            self.assertLessEqual(len(peer.connection._session._backlog), MOST_ITEMS + 1)  # type: ignore[union-attr]
        self.assertLessEqual(most, _MOST_WORK)
        return size + len(peer.replies())

    def test_many_requests(self) -> None:
        """Requests of every kind are begun over many turns, in their order, and all are answered; the peer is not read
        meanwhile."""
        for kind in KINDS:
            if "poll" in kind:
                continue
            with self.subTest(kind):
                (rig, work), plain = self.working(), self.rig()
                peer, other = rig.connect(), plain.connect()
                count = _CHUNK // len(requests()[kind])
                chunk = b"".join(requests(number)[kind] for number in range(count))
                before = work.looks
                peer.send(chunk)
                self.assertLessEqual(work.looks - before, _MOST_WORK)
                self.assertTrue(peer.held)
                other.send(requests()[kind])
                plain.drain()
                size = self.assert_short(rig, work, peer)
                self.assertGreaterEqual(size, count * len(other.replies()) * 0.9)

    def test_refusals(self) -> None:
        """So are requests that are refused without any look at a ledger."""
        rig, work = self.working()
        peer = rig.connect()
        odd = b"".join(reads(1, [0])[:4] + bytes([3 + number % 2]) + reads(1, [0])[5:] for number in range(5000))
        peer.send(odd)
        self.assertTrue(peer.held)
        self.assertEqual(self.assert_short(rig, work, peer), 5000 * 28)

    def test_answers_at_once(self) -> None:
        """What many requests waited for comes for all of them at once: they are answered over many turns."""
        rig, work = self.working()
        peers = [rig.connect() for _ in range(4)]
        for peer in peers:
            peer.send(b"".join(requests(number)["force"] for number in range(100)))
        for _ in until(lambda: not rig.clock.calls[1:]):
            rig.executor.end_turn()
        self.assertEqual(rig.engine.context.others.in_progress, 400)
        most = 0
        for _ in until(lambda: not (rig.executor.queued or rig.clock.calls[1:]), 20_000):
            before = work.looks
            rig.executor.step()
            most = max(most, work.looks - before)
            rig.executor.end_turn()
        self.assertLessEqual(most, 2 * _MOST_WORK)
        self.assertEqual(len({len(peer.replies()) for peer in peers} - {0}), 1)
        self.assertEqual(rig.engine.context.others.in_progress, 0)

    def test_disk_space(self) -> None:
        """However many ask for the space of the disks at a time, they are looked at once."""
        rig = self.rig()
        for _ in range(3):
            rig.connect().send(b"".join(requests(number)["disk space"] for number in range(20)))
        self.assertEqual(rig.executor.busy_threads(), ["read"])

    def test_the_rest_of_a_chunk(self) -> None:
        """What is left of a chunk is read before what comes behind it, and goes with the connection."""
        rig, _ = self.working()
        peer = rig.connect()
        chunk = b"".join(requests(number)["force"] for number in range(3000))
        peer.send(chunk[:-3])
        self.assertGreater(peer.connection._decoder.incomplete, 1000)
        peer.send(chunk[-3:])
        self.assertTrue(rig.executor.end_turn())
        peer.leave()
        rig.executor.end_turn()
        self.assertEqual(rig.clock.getDelayedCalls(), [])

    def test_large_entry(self) -> None:
        """One entry, however large, goes before many small requests that came earlier, also if it had to stop."""
        rig, _ = self.working()
        many, one = rig.connect(), rig.connect()
        for number, peer in enumerate((many, one)):
            peer.send(adds(run(number, 0)))
            rig.executor.end_turn()
        turns = rig.engine.factory.turns
        turns._trusted.spent = TURN
        many.send(reads(0, [0] * 1000))
        one.send(adds(run(1, 1, data=bytes(30_000))))
        self.assertEqual((list(turns._little), list(turns._much)), ([one.connection], [many.connection]))
        turns._little.clear()
        turns._much.clear()
        turns._began, turns._share = 0.0, 0.0
        for peer in (many, one):
            peer.connection.take_turn()
            self.assertTrue(peer.connection.turn_is_over())
        self.assertEqual((one.connection in turns._little, many.connection in turns._more), (True, True))

    def test_adds(self) -> None:
        """Adds of a chunk are one item still, and take no turn more."""
        rig = self.rig()
        peer = rig.connect()
        peer.send(adds(run(7, 0, 2000, b"")))
        self.assertEqual((peer.held, len(rig.clock.calls)), (False, 1))
        rig.drain()
        self.assertEqual(len(peer.replies()), 2000 * 28)

    def test_batch_of_many_runs(self) -> None:
        """A batch read that finds its entries in many places is answered with the first of them."""
        rig, work = self.working()
        rig.bookie.cached = lambda ledger_id, entry_id, max_count=1: run(ledger_id, entry_id)  # type: ignore[method-assign]
        peer = rig.connect()
        peer.send(batch(8, 0, 5000, 1 << 20))
        self.assertLessEqual(work.looks, 2 * SHARE / _UNIT)
        self.assertTrue(0 < len(peer.replies()) < 1000 * len(entry(8, 0)))
