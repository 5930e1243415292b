"""The log in programs without Twisted's."""

import logging

from twisted.logger import Logger, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking.reactor_thread import ReactorThread
from bookkeeper_twisted.python_logging import NAME, forward_to_logging


class ForwardTests(SynchronousTestCase):
    """What reaches Python's logging."""

    def setUp(self) -> None:
        self.observer = forward_to_logging()
        self.addCleanup(self._forget)

    def _forget(self) -> None:
        forward_to_logging.cache_clear()
        globalLogPublisher.removeObserver(self.observer)

    def test_ours_alone(self) -> None:
        """Events of this package do, with their level and text, and those of others do not."""
        with self.assertLogs(NAME, logging.INFO) as logs:
            Logger(f"{NAME}.client").warn("{n} bookies are lost", n=1)
            Logger(f"{NAME}_of_others").warn("no")
            Logger("twisted.internet").warn("no")
        self.assertEqual([(record.levelno, record.getMessage()) for record in logs.records],
                         [(logging.WARNING, "1 bookies are lost")])  # fmt: skip

    def test_once(self) -> None:
        """A second client adds no second observer."""
        self.assertIs(forward_to_logging(), self.observer)

    def test_doors(self) -> None:
        """The first use of a door's reactor begins it."""
        self._forget()
        self.assertIsNotNone(ReactorThread().reactor)
        self.assertEqual(forward_to_logging.cache_info().currsize, 1)
        self.observer = forward_to_logging()
