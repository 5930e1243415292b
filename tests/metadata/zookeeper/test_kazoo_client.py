"""What needs no server of the connection through kazoo; the rest is in ``tests/integration``."""

from collections.abc import Callable

from kazoo import exceptions as theirs
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import provider

from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper import interfaces as ours
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper, kazoo_log, translated


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
