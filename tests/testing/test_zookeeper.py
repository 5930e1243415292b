"""The ZooKeeper in memory passes the suite that the real one passes, and breaks when told."""

from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode, OutcomeUnknownError, SessionState
from bookkeeper_twisted.testing.contracts.metadata.zookeeper_contract import make_zookeeper_tests
from bookkeeper_twisted.testing.zookeeper import MemoryZooKeeper


def _make_server(test: TestCase) -> tuple[str, Callable[[], Any]]:
    return "/root", MemoryZooKeeper().connection


class MemoryZooKeeperTests(make_zookeeper_tests(_make_server)):  # type: ignore[misc]
    """The contract."""


class FaultTests(SynchronousTestCase):
    """What a test can make happen."""

    def setUp(self) -> None:
        self.server = MemoryZooKeeper()
        self.zookeeper = self.server.connection()
        self.news: list[SessionState] = []
        self.zookeeper.connect(self.news.append)

    def test_lost_answers(self) -> None:
        """A call whose answer is lost was executed, or not, as planned; the connection breaks for a moment."""
        self.zookeeper.lose(True)
        self.zookeeper.lose(False, after=1)
        for path in ("/a", "/b"):
            self.failureResultOf(self.zookeeper.create(NewNode(path)), OutcomeUnknownError)
        self.assertEqual(list(self.server.top.children), ["a"])
        self.assertEqual(self.news, [SessionState.CONNECTED, *[SessionState.SUSPENDED, SessionState.CONNECTED] * 2])

    def test_lost_watches(self) -> None:
        """A break ends every watch, and says so; the server has forgotten it."""
        told: list[bool] = []
        self.successResultOf(self.zookeeper.exists("/a", told.append))
        self.zookeeper.suspend()
        self.zookeeper.resume()
        self.successResultOf(self.zookeeper.create(NewNode("/a")))
        self.assertEqual(told, [False])

    def test_expiry(self) -> None:
        """An expired session loses its nodes and has another id when it is back."""
        before = self.zookeeper.session_id
        self.successResultOf(self.zookeeper.create(NewNode("/a", ephemeral=True)))
        self.zookeeper.expire()
        self.failureResultOf(self.zookeeper.get("/a"), OutcomeUnknownError)
        self.zookeeper.resume()
        self.assertIsNone(self.successResultOf(self.zookeeper.exists("/a")))
        self.assertNotEqual(self.zookeeper.session_id, before)
        self.assertEqual(self.news[1:], [SessionState.EXPIRED, SessionState.CONNECTED])
