"""What needs no server of the connection through kazoo; the rest is in ``tests/integration``."""

from collections.abc import Callable

from kazoo import exceptions as theirs
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import ILogObserver, LogEvent, capturedLogs, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import provider

from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper import interfaces as ours
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import (
    CLOSE_SECONDS,
    KazooZooKeeper,
    kazoo_log,
    translated,
)


class TranslationTests(SynchronousTestCase):
    """:func:`translated`."""

    def test_errors(self) -> None:
        """Refusals have their own errors; whatever lost the answer leaves the outcome unknown."""
        for error, expected in (
            (theirs.NoNodeError(), ours.NodeMissingError),
            (theirs.NodeExistsError(), ours.NodeExistsError),
            (theirs.BadVersionError(), ours.NodeVersionError),
            (theirs.NotEmptyError(), ours.NodeNotEmptyError),
            (theirs.ConnectionLoss(), ours.OutcomeUnknownError),
            (theirs.SessionExpiredError(), ours.OutcomeUnknownError),
            (theirs.SessionMovedError(), ours.OutcomeUnknownError),
            (theirs.OperationTimeoutError(), ours.OutcomeUnknownError),
            (theirs.ConnectionClosedError("x"), ours.OutcomeUnknownError),
            (theirs.NoAuthError(), ours.NodeForbiddenError),
            (theirs.InvalidACLError(), ours.ZooKeeperError),
        ):
            found = translated("/a", error)
            self.assertIs(type(found), expected)
            self.assertIn("/a", str(found))

    def test_bugs(self) -> None:
        """What is not ZooKeeper's is passed on as it is."""
        bug = TypeError("x")
        self.assertIs(translated("/a", bug), bug)


class _Reactor(MemoryReactorClock):
    """Its only thread is the caller's."""

    def callFromThread(self, call: Callable[..., object], *args: object, **kwargs: object) -> None:
        call(*args, **kwargs)


class UnconnectedTests(SynchronousTestCase):
    """A connection that was never opened."""

    def test_call(self) -> None:
        """A call fails with an error of ours."""
        zookeeper = KazooZooKeeper(_Reactor(), "127.0.0.1:1", MetadataOptions())
        self.failureResultOf(zookeeper.get("/a"), ours.OutcomeUnknownError)

    def test_call_between_sessions(self) -> None:
        """No call goes into a session of which kazoo's threads have told nothing yet."""
        zookeeper = KazooZooKeeper(_Reactor(), "127.0.0.1:1", MetadataOptions())
        zookeeper.session_id = 5
        zookeeper._kazoo._live.set()
        for session_id, error in ((5, ours.OutcomeUnknownError), (6, ours.NotConnectedError)):
            zookeeper._kazoo._session_id = session_id
            self.failureResultOf(zookeeper.set("/a", b"", 1), error)


class CloseTests(SynchronousTestCase):
    """The end of a session, which kazoo makes on a thread of its own."""

    def setUp(self) -> None:
        """A connection whose thread begins when the test says so."""
        self.reactor = _Reactor()
        self.zookeeper = KazooZooKeeper(self.reactor, "127.0.0.1:1", MetadataOptions())
        self.threads: list[Callable[[], None]] = []
        self.patch(self.zookeeper._kazoo.handler, "spawn", self.threads.append)
        self.stops: list[str] = []
        self.patch(self.zookeeper._kazoo, "stop", lambda: self.stops.append("stop"))
        self.patch(self.zookeeper._kazoo, "close", lambda: self.stops.append("close"))

    def test_answer(self) -> None:
        """It ends when kazoo has ended, and with it the calls in progress."""
        call: Deferred[object] = Deferred()
        self.zookeeper._under_way[call] = "/a"
        closed = self.zookeeper.close()
        self.assertNoResult(closed)
        self.threads[0]()
        self.successResultOf(closed)
        self.failureResultOf(call, ours.OutcomeUnknownError)
        self.assertEqual((self.stops, self.reactor.getDelayedCalls()), (["stop", "close"], []))

    def test_no_answer(self) -> None:
        """A server that does not answer is waited for three seconds; its late answer, well or not, changes nothing."""
        for late in (lambda: None, lambda: 1 // 0):
            self.setUp()
            self.patch(self.zookeeper._kazoo, "stop", late)
            closed = self.zookeeper.close()
            self.reactor.advance(CLOSE_SECONDS - 0.1)
            self.assertNoResult(closed)
            with capturedLogs() as events:
                self.reactor.advance(0.2)
                self.threads[0]()
            self.successResultOf(closed)
            (text,) = map(formatEvent, events)
            self.assertEqual(
                text, "ZooKeeper does not answer the end of the session of this process: it ends the session by "
                "itself, with the registration and the locks of this process, after 10 s without contact",
            )  # fmt: skip

    def test_failure(self) -> None:
        """A failure of kazoo is logged."""
        self.patch(self.zookeeper._kazoo, "stop", lambda: 1 // 0)
        closed = self.zookeeper.close()
        self.threads[0]()
        self.successResultOf(closed)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class LogTests(SynchronousTestCase):
    """What kazoo logs on threads of its own."""

    def test_repetitions(self) -> None:
        """Attempts to connect are for the debug level, and their reason is told; another message is logged once."""
        texts: list[str] = []
        told: list[str] = []

        @provider(ILogObserver)
        def take(event: LogEvent) -> None:
            texts.append(f"{event['log_namespace']} {event['log_level'].name}: {formatEvent(event)}")

        globalLogPublisher.addObserver(take)
        self.addCleanup(globalLogPublisher.removeObserver, take)
        log = kazoo_log(_Reactor(), told.append)
        for _ in range(100):
            log.warning("Cannot resolve %s", "zk1")
        for _ in range(100):
            log.warning("Connection dropped: %s", "refused")
        log.warning("Connection time-out: %s", "no answer")
        log.warning("Failed connecting to Zookeeper within the connection retry policy.")
        self.assertEqual(
            texts,
            [
                "kazoo info: Cannot resolve zk1",
                "kazoo debug: Connection dropped: refused",
                "kazoo debug: Connection time-out: no answer",
                "kazoo debug: Failed connecting to Zookeeper within the connection retry policy.",
            ],
        )
        self.assertEqual(told[-2:], ["Connection dropped: refused", "Connection time-out: no answer"])
