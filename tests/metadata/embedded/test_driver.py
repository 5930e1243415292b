"""The driver over an embedded store: its life."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker


class _FailingSession(MemorySession):
    """A store that can be neither opened nor closed."""

    def open(self, changed: object, expired: object) -> bool:
        raise MetadataError("cannot open")

    def close(self) -> None:
        raise MetadataError("cannot close")


class _CountingWorker(InlineWorker):
    """A worker that knows whether it was stopped."""

    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


class EmbeddedDriverTests(SynchronousTestCase):
    """:class:`EmbeddedDriver`; the rest is the contract's."""

    def test_uri(self) -> None:
        """A driver keeps the URI it was made from."""
        driver = EmbeddedDriver(Clock(), "memory:x", MemorySession(MemoryStore()), InlineWorker())
        self.assertEqual(driver.uri, "memory:x")

    def test_failed_open(self) -> None:
        """A store that cannot be opened says why; the driver can only be closed."""
        driver = EmbeddedDriver(Clock(), "memory:x", _FailingSession(MemoryStore()), InlineWorker())
        failure = self.failureResultOf(Deferred.fromCoroutine(driver.open()), MetadataError)
        self.assertEqual(str(failure.value), "cannot open")
        self.failureResultOf(Deferred.fromCoroutine(driver.open()), MetadataError)

    def test_failed_close(self) -> None:
        """The worker is stopped once, also if the store fails to close."""
        worker = _CountingWorker()
        driver = EmbeddedDriver(Clock(), "memory:x", _FailingSession(MemoryStore()), worker)
        failure = self.failureResultOf(Deferred.fromCoroutine(driver.close()), MetadataError)
        self.assertEqual(str(failure.value), "cannot close")
        self.successResultOf(Deferred.fromCoroutine(driver.close()))
        self.assertEqual(worker.stopped, 1)
