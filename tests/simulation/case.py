"""The base of tests that simulate in their own process."""

import gc

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BookKeeperError


class SimulationTestCase(SynchronousTestCase):
    """A run ends in the middle of things, some of which are failures without a handler.

    They are logged when they are collected; that is made to happen here, not within the next test.  So is
    that something was cancelled, by those who cannot know that the run is over.
    """

    def tearDown(self) -> None:
        gc.collect()
        self.flushLoggedErrors(BookKeeperError, OSError, CancelledError)
