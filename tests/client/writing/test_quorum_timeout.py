"""One timer for all entries."""

from itertools import count

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.quorum_timeout import QuorumTimeout


class QuorumTimeoutTests(SynchronousTestCase):
    """Five seconds."""

    def setUp(self) -> None:
        """Nothing waits."""
        self.clock = Clock()
        self.waiting: list[int] = []
        self.expired: list[float] = []
        self._numbers = count()
        self.timeout = QuorumTimeout[int](
            self.clock, 5.0, lambda item: item in self.waiting, lambda: self.expired.append(self.clock.seconds())
        )  # fmt: skip

    def _send(self) -> None:
        self.waiting.append(next(self._numbers))
        self.timeout.watch(self.waiting[-1])

    def test_one_timer(self) -> None:
        """However many entries wait there is one timer."""
        for _ in range(3):
            self._send()
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_oldest(self) -> None:
        """The oldest that still waits decides."""
        self._send()
        self.clock.pump([0.25] * 12)
        self._send()
        del self.waiting[0]
        self.clock.pump([0.25] * 8)
        self.assertEqual(self.expired, [])
        self.clock.pump([0.25] * 12)
        self.assertEqual(self.expired, [8.0])

    def test_nothing_waits(self) -> None:
        """It stops by itself, and starts again with the next entry."""
        self._send()
        self.waiting.clear()
        self.clock.advance(5.0)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self._send()
        self.clock.pump([0.25] * 20)
        self.assertEqual(self.expired, [10.0])

    def test_held_up(self) -> None:
        """Seconds in which the process was held up are not counted, wherever they are in an entry's time."""
        self._send()
        self.clock.pump([0.25] * 4)
        self.clock.advance(60.0)
        self.clock.pump([0.25] * 12)
        self.assertEqual(self.expired, [])
        self.clock.pump([0.25] * 8)
        self.assertEqual(len(self.expired), 1)

    def test_stop(self) -> None:
        """Stopped, it never fires; stopping twice is harmless."""
        self._send()
        self.timeout.stop()
        self.timeout.stop()
        self.clock.advance(10.0)
        self.assertEqual(self.expired, [])
