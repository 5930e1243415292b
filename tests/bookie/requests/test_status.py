"""From errors to statuses."""

from twisted.internet.defer import CancelledError
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.context import status_of
from bookkeeper_twisted.errors import ERROR_OF_STATUS, DamageError, Status, StorageFailedError


class StatusTests(SynchronousTestCase):
    """The table."""

    def test_answers(self) -> None:
        """Each answer of a bookie has its status."""
        for status, kind in ERROR_OF_STATUS.items():
            self.assertIs(status_of(kind(1)), status)

    def test_failures(self) -> None:
        """S5: whatever fails in storage is an I/O error."""
        for error in (DamageError("torn"), StorageFailedError("failed"), OSError(5, "I/O"), CancelledError()):
            self.assertIs(status_of(error), Status.EIO)

    def test_unforeseen(self) -> None:
        """Anything else is logged."""
        events: list[LogEvent] = []
        observer: ILogObserver = events.append  # type: ignore[assignment]
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        self.assertIs(status_of(KeyError("bug")), Status.EBADREQ)
        self.assertIn("bug", str([event.get("error") for event in events]))
