"""The registration side beyond the contract."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataSerializationError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint


class EmbeddedRegistrationTests(SynchronousTestCase):
    """:class:`EmbeddedRegistration`."""

    def setUp(self) -> None:
        self.store = MemorySession(MemoryStore())
        driver = EmbeddedDriver(Clock(), "memory:", self.store, InlineWorker())
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        self.registration = driver.registration

    def test_info_that_cannot_be_stored(self) -> None:
        """A service info with no form is refused before anything is registered."""
        info = BookieServiceInfo((Endpoint("bookie", "host", 1 << 40, "bookie-rpc"),))
        done = Deferred.fromCoroutine(self.registration.register_bookie("a:1", False, info))
        self.failureResultOf(done, MetadataSerializationError)
        self.assertEqual(self.store.bookies(), (set(), set()))

    def test_info_that_cannot_be_read(self) -> None:
        """Damaged bytes are named by their bookie."""
        self.store.register("a:1", False, b"\xff")
        failure = self.failureResultOf(
            Deferred.fromCoroutine(self.registration.service_info("a:1")), MetadataSerializationError
        )
        self.assertIn("a:1", str(failure.value))

    def test_bookie_that_published_nothing(self) -> None:
        """The address of an old bookie is its id."""
        self.store.register("10.0.0.1:3181", False, b"")
        info = self.successResultOf(Deferred.fromCoroutine(self.registration.service_info("10.0.0.1:3181")))
        self.assertEqual([(e.host, e.port) for e in info.endpoints], [("10.0.0.1", 3181)])
