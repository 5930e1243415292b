"""Time in which the process was held up is not counted."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.limits.attended_time import TOLERANCE, AttendedTime


class AttendedTimeTests(SynchronousTestCase):
    """A timer of one second."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.time = AttendedTime(self.clock.seconds)
        self.time.scheduled(1.0)

    def test_punctual(self) -> None:
        """A timer that comes within a turn of its time changes nothing."""
        self.clock.advance(1.0 + TOLERANCE / 2)
        self.assertFalse(self.time.arrived())
        self.assertEqual(self.time.seconds(), self.clock.seconds())

    def test_late(self) -> None:
        """What a timer is late by is subtracted, each time."""
        self.clock.advance(7.0)
        self.assertTrue(self.time.arrived())
        self.assertEqual(self.time.seconds(), 1.0)
        self.time.scheduled(1.0)
        self.clock.advance(4.0)
        self.assertTrue(self.time.arrived())
        self.assertEqual((self.time.seconds(), self.time.held_up), (2.0, 9.0))
