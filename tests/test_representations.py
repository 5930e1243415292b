"""What is seen of the public objects in a log or a debugger."""

import attrs
from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

import bookkeeper_twisted
from bookkeeper_twisted import BookieConfig, BookKeeper, BookKeeperAdmin, BookKeeperService, ClientMetrics, Entry
from bookkeeper_twisted.blocking import ReactorThread
from bookkeeper_twisted.embedding import make_bookie
from bookkeeper_twisted.errors import ClientClosedError, ConfigError, IncorrectParameterError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.testing.cluster import MemoryCluster

CREDENTIALS = "zk+hierarchical://user:sesame@h:1/ledgers"


class RepresentationTests(SynchronousTestCase):
    """``repr``."""

    def setUp(self) -> None:
        """Connects to a cluster in memory."""
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock, 3)
        self.bk: BookKeeper = self.successResultOf(self.cluster.connect())

    def finished(self, work: "Deferred[None]") -> None:
        """Let a close take the turn of the clock that it needs."""
        self.clock.advance(1)
        self.successResultOf(work)

    def test_every_class(self) -> None:
        """Each public class has one of its own, and not the address of an object."""
        for name in dir(bookkeeper_twisted):
            kind = getattr(bookkeeper_twisted, name)
            if isinstance(kind, type) and not issubclass(kind, BaseException):
                self.assertIsNot(kind.__repr__, object.__repr__, name)

    def test_entry(self) -> None:
        """An entry shows the beginning of its data."""
        self.assertIn("data=b'abc', ", repr(Entry(1, 2, b"abc", 3, 1)))
        text = repr(Entry(1, 2, b"x" * 10_000, 3, 1))
        self.assertIn("data=<10000 bytes, b'xxx", text)
        self.assertLess(len(text), 200)

    def test_admin(self) -> None:
        """An administration says of which client."""
        admin = BookKeeperAdmin(self.bk)
        self.assertEqual(repr(admin), "<BookKeeperAdmin of <BookKeeper open, 0 writable bookies>>")
        self.finished(admin.close())
        self.assertEqual(repr(admin), "<BookKeeperAdmin of <BookKeeper closed: close() was called>>")

    def test_service(self) -> None:
        """A service says to which cluster it connects, without credentials, and what became of that."""
        connecting: Deferred[BookKeeper] = Deferred()
        service = BookKeeperService(self.clock, CREDENTIALS, connect=lambda: connecting)
        uri = "zk+hierarchical://******@h:1/ledgers"
        self.assertEqual(repr(service), f"<BookKeeperService {uri} not running>")
        service.startService()
        self.assertEqual(repr(service), f"<BookKeeperService {uri} connecting>")
        connecting.callback(self.bk)
        self.assertEqual(repr(service), f"<BookKeeperService {uri} connected, {self.bk!r}>")
        self.finished(service.stopService())
        self.assertEqual(repr(service), f"<BookKeeperService {uri} not running>")
        error = self.failureResultOf(service.when_connected(), ClientClosedError).value
        self.assertEqual(str(error), "the service does not run: it was not started, or was stopped")

    def test_failed_service(self) -> None:
        """A service that cannot connect says why."""
        service = BookKeeperService(self.clock, "memory:", connect=lambda: fail(ConfigError("no such policy")))
        service.startService()
        self.flushLoggedErrors(ConfigError)
        self.assertEqual(repr(service), "<BookKeeperService memory: failed: ConfigError: no such policy>")
        self.successResultOf(service.stopService())
        self.assertRaises(IncorrectParameterError, BookKeeperService, self.clock, b"memory:")

    def test_others(self) -> None:
        """So do metrics, clusters in memory, threads with a reactor, and bookies."""
        self.assertEqual(repr(ClientMetrics(Instruments())), "<ClientMetrics of connections to 0 bookies>")
        self.assertEqual(repr(self.cluster), "<MemoryCluster of <MemoryBookies, 3 of 3 up>>")
        self.assertEqual(repr(ReactorThread()), "<ReactorThread not started>")
        config = attrs.evolve(BookieConfig(), metadata_service_uri="memory:", allow_loopback=True)
        self.assertEqual(repr(make_bookie(self.clock, config)), "<BookieService not started>")
