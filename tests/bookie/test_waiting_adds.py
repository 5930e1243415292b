"""Adds that wait for room."""

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.waiting_adds import WaitingAdds
from bookkeeper_twisted.entries.interfaces import Entries
from bookkeeper_twisted.errors import StorageFailedError, TooManyRequestsError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import BookieMetrics

from .rig import KEY, run


class WaitingTests(SynchronousTestCase):
    """The queue."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.admitted: list[int] = []
        self.failed: list[tuple[int, type[Exception]]] = []
        self.flushes = 0
        self.metrics = BookieMetrics(Instruments())
        size = run(1, 0).size
        self.waiting = WaitingAdds(self.clock, self.admit, self.flush, self.metrics, 10.0, 2 * size)

    def flush(self) -> None:
        self.flushes += 1

    def admit(self, entries: Any, *args: Any) -> None:
        self.admitted.append(entries.first)

    @staticmethod
    def is_first(entries: Any) -> bool:
        return bool(entries.first == 0)

    def put(self, entry_id: int) -> None:
        def done(part: Entries, error: Exception | None) -> None:
            assert error is not None
            self.failed.append((entry_id, type(error)))

        self.waiting.put((run(1, entry_id), KEY, False, False, False, done))

    def test_order(self) -> None:
        """Adds go on in order, as far as there is room."""
        self.put(0)
        self.put(1)
        self.waiting.resume(self.is_first)
        self.assertEqual((self.admitted, bool(self.waiting)), ([0], True))
        self.waiting.resume(lambda entries: True)
        self.assertEqual((self.admitted, bool(self.waiting)), ([0, 1], False))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.metrics.throttled_write.success.count, 2)

    def test_time_limit(self) -> None:
        """Each add has its own time."""
        self.put(0)
        self.clock.advance(4)
        self.put(1)
        self.clock.advance(6)
        self.assertEqual(self.failed, [(0, TooManyRequestsError)])
        self.clock.advance(4)
        self.assertEqual(self.failed, [(0, TooManyRequestsError), (1, TooManyRequestsError)])
        self.assertEqual((self.flushes, self.clock.getDelayedCalls()), (2, []))

    def test_byte_limit(self) -> None:
        """More bytes than may wait are refused; what leaves makes room."""
        for entry_id in range(3):
            self.put(entry_id)
        self.assertEqual(self.failed, [(2, TooManyRequestsError)])
        self.waiting.resume(self.is_first)
        self.put(3)
        self.assertEqual(len(self.failed), 1)
        self.assertEqual(self.metrics.rejected_write_requests.value, 1)

    def test_failure(self) -> None:
        """When nothing will make room any more all of them fail."""
        self.put(0)
        self.put(1)
        self.waiting.fail_all(StorageFailedError("dead"))
        self.assertEqual(self.failed, [(0, StorageFailedError), (1, StorageFailedError)])
        self.assertEqual((bool(self.waiting), self.flushes, self.clock.getDelayedCalls()), (False, 1, []))
