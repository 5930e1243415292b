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
            (theirs.NoAuthError(), ours.ZooKeeperError),
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
        """An attempt to connect that is repeated for the length of an outage is logged once in each."""
        texts: list[str] = []

        @provider(ILogObserver)
        def take(event: LogEvent) -> None:
            texts.append(f"{event['log_namespace']}: {formatEvent(event)}")

        globalLogPublisher.addObserver(take)
        self.addCleanup(globalLogPublisher.removeObserver, take)
        log = kazoo_log(_Reactor())
        for _ in range(2):
            log.warning("Connection dropped: %s", "broken")
            for _ in range(100):
                log.warning("Connection dropped: %s", "refused")
        dropped = ["kazoo: Connection dropped: broken", "kazoo: Connection dropped: refused"]
        self.assertEqual(texts, dropped * 2)
