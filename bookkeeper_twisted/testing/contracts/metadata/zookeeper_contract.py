"""The test suite for providers of ``IZooKeeper``, which are connections to ZooKeeper, real or in memory."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from ....metadata.zookeeper.interfaces import (
    IZooKeeper,
    NewNode,
    NodeExistsError,
    NodeMissingError,
    NodeNotEmptyError,
    NodeVersionError,
    SessionState,
)

MakeServer = Callable[[TestCase], tuple[str, Callable[[], Any]]]
"""A function that prepares a server; it returns the path of an unused node, and a function that makes connections."""


class ZooKeeperSuite(TestCase):
    """The tests that each connection to ZooKeeper passes; each test begins with one empty node."""

    make_server: MakeServer

    async def connection(self) -> Any:
        """Make one more connection and wait until it is connected."""
        zookeeper = self.connect()
        connected: Deferred[SessionState] = Deferred()
        zookeeper.connect(lambda news: None if connected.called else connected.callback(news))
        self.addCleanup(zookeeper.close)
        self.assertIs(await connected, SessionState.CONNECTED)
        return zookeeper

    def setUp(self) -> "Deferred[None]":  # type: ignore[override]
        self.root, self.connect = type(self).make_server(self)
        return Deferred.fromCoroutine(self._prepare())

    async def _prepare(self) -> None:
        self.one = await self.connection()
        await self.one.create(NewNode(self.root))

    async def raises(self, expected: type[Exception], call: Any) -> None:
        """Check that the ``call`` raises the exception ``expected``."""
        try:
            await call
        except expected:
            return
        raise AssertionError(f"{expected.__name__} was not raised")

    async def test_interface(self) -> None:
        """The connection provides all methods of ``IZooKeeper``."""
        verifyObject(IZooKeeper, self.one)

    async def test_node(self) -> None:
        """Other connections can read a created node and its attributes."""
        two = await self.connection()
        self.assertEqual(await self.one.create(NewNode(f"{self.root}/a", b"data")), f"{self.root}/a")
        await two.sync(self.root)
        data, stat = await two.get(f"{self.root}/a")
        self.assertEqual((data, stat.version, stat.cversion, stat.owner, stat.n_children), (b"data", 0, 0, 0, 0))
        self.assertEqual(await two.exists(f"{self.root}/a"), stat)
        names, parent = await two.children(self.root)
        self.assertEqual((names, parent.cversion, parent.n_children), (["a"], 1, 1))

    async def test_errors(self) -> None:
        """Each reason to refuse a call has its own exception class."""
        one, path = self.one, f"{self.root}/a"
        for call in (one.get(path), one.children(path), one.set(path, b"", 0), one.delete(path, -1)):
            await self.raises(NodeMissingError, call)
        await self.raises(NodeMissingError, one.create(NewNode(f"{path}/b")))
        self.assertIsNone(await one.exists(path))
        await one.create(NewNode(path))
        await self.raises(NodeExistsError, one.create(NewNode(path)))
        await self.raises(NodeVersionError, one.set(path, b"", 1))
        await self.raises(NodeVersionError, one.delete(path, 1))
        await self.raises(NodeNotEmptyError, one.delete(self.root, -1))

    async def test_set_and_delete(self) -> None:
        """A write states a version, or -1 for any; creating or deleting a node increases its parent's cversion."""
        one, path = self.one, f"{self.root}/a"
        await one.create(NewNode(path))
        self.assertEqual((await one.set(path, b"x", 0)).version, 1)
        self.assertEqual((await one.set(path, b"y", -1)).version, 2)
        self.assertEqual((await one.get(path))[0], b"y")
        await one.delete(path, 2)
        self.assertIsNone(await one.exists(path))
        self.assertEqual((await one.exists(self.root)).cversion, 2)

    async def test_ephemeral(self) -> None:
        """An ephemeral node has the id of its session as owner, and is deleted when the session ends."""
        two = await self.connection()
        await two.create(NewNode(f"{self.root}/a", ephemeral=True))
        gone: Deferred[bool] = Deferred()
        stat = await self.one.exists(f"{self.root}/a", gone.callback)
        self.assertEqual(stat.owner, two.session_id)
        self.assertNotEqual(stat.owner, self.one.session_id)
        await two.close()
        self.assertIs(await gone, True)
        self.assertIsNone(await self.one.exists(f"{self.root}/a"))

    async def test_sequence(self) -> None:
        """The number in the name of a sequential node counts the children created so far, so no name is used twice."""
        node = NewNode(f"{self.root}/ID-", ephemeral=True, sequence=True)
        first = await self.one.create(node)
        self.assertEqual(first, f"{self.root}/ID-0000000000")
        await self.one.delete(first, -1)
        self.assertEqual(await self.one.create(node), f"{self.root}/ID-0000000001")

    async def test_all_or_none(self) -> None:
        """One call creates either all of several nodes or none of them."""
        nodes = [NewNode(f"{self.root}/a"), NewNode(f"{self.root}/a/b", b"x")]
        await self.one.create_all(nodes)
        self.assertEqual((await self.one.get(f"{self.root}/a/b"))[0], b"x")
        await self.raises(NodeExistsError, self.one.create_all([NewNode(f"{self.root}/c"), *nodes]))
        await self.raises(
            NodeMissingError, self.one.create_all([NewNode(f"{self.root}/c"), NewNode(f"{self.root}/d/e")])
        )
        self.assertIsNone(await self.one.exists(f"{self.root}/c"))

    async def test_watches(self) -> None:
        """A watch of data, of existence or of children is called only once."""
        two, path = await self.connection(), f"{self.root}/a"
        created: Deferred[bool] = Deferred()
        listed: Deferred[bool] = Deferred()
        await self.one.exists(path, created.callback)
        await self.one.children(self.root, listed.callback)
        await two.create(NewNode(path))
        self.assertEqual((await created, await listed), (True, True))
        written: Deferred[bool] = Deferred()
        await self.one.get(path, written.callback)
        await two.set(path, b"x", -1)
        self.assertIs(await written, True)
        await two.set(path, b"y", -1)  # a second call of the watch would raise an error, because its Deferred has fired

    async def test_watch_of_missing_node(self) -> None:
        """If a read fails because the node is missing, its watch is not set."""
        called: list[bool] = []
        await self.raises(NodeMissingError, self.one.get(f"{self.root}/a", called.append))
        await self.one.create(NewNode(f"{self.root}/a"))
        await self.one.sync(self.root)
        self.assertEqual(called, [])


def make_zookeeper_tests(make_server: MakeServer) -> type[TestCase]:
    """Make the test case with all tests of this suite for one kind of connection."""

    class ZooKeeperTests(ZooKeeperSuite):
        pass

    ZooKeeperTests.make_server = staticmethod(make_server)
    return ZooKeeperTests
