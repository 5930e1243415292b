"""Nodes below a root."""

from bookkeeper_twisted.metadata.zookeeper.interfaces import (
    NewNode,
    NodeExistsError,
    NodeMissingError,
    NodeVersionError,
)
from bookkeeper_twisted.testing.zookeeper import MemoryZooKeeper

from .rig import ZooKeeperCase


class _Pruned(MemoryZooKeeper):
    """A server on which another client removes empty parents."""

    prunings = 0

    def create(self, new: NewNode, session_id: int) -> str:
        path = super().create(new, session_id)
        if self.prunings and path.endswith("/b"):
            self.prunings -= 1
            self.delete(path, -1)
        return path


class ZnodesTests(ZooKeeperCase):
    """:class:`Znodes`."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes, self.connection = self.znodes()

    def test_parents(self) -> None:
        """Missing parents are created, empty and persistent, down to the node."""
        self.run_(self.nodes.create_below(NewNode("/ledgers/a/b/c", b"x", ephemeral=True), lambda data, stat: False))
        found = [(p, n.data, bool(n.owner)) for p, n in self.server.dump("/ledgers/a")]
        expected = [("/ledgers/a", b"", False), ("/ledgers/a/b", b"", False), ("/ledgers/a/b/c", b"x", True)]
        self.assertEqual(found, expected)

    def test_no_root(self) -> None:
        """The root is never made in passing."""
        del self.server.top.children["ledgers"]
        create = self.nodes.create_below(NewNode("/ledgers/a/b"), lambda data, stat: False)
        self.fails(NodeMissingError, create)
        self.fails(NodeMissingError, self.nodes.ensure("/ledgers/a"))
        self.assertEqual(list(self.server.top.children), [])

    def test_pruned_parents(self) -> None:
        """Parents that are pruned meanwhile are made again, not for ever."""
        for prunings in (3, 1000):
            self.store.server = server = _Pruned()
            server.create(NewNode("/ledgers"), 0)
            nodes, _ = self.znodes()
            server.prunings = prunings
            create = nodes.create_below(NewNode("/ledgers/a/b/c"), lambda data, stat: False)
            if prunings < 10:
                self.run_(create)
            else:
                self.fails(NodeMissingError, create)

    def test_somebody_elses_node(self) -> None:
        """A node that is there after a lost answer is asked whose it is."""
        for is_mine in (True, False):
            self.setUp()
            self.connection.lose(True)
            create = self.nodes.create(NewNode("/ledgers/a", b"x"), lambda data, stat, mine=is_mine: mine)  # type: ignore[misc]
            if is_mine:
                stat = self.run_(create)
                self.assertEqual(stat and stat.version, 0)
            else:
                self.fails(NodeExistsError, create)

    def test_resolved_behind_a_sync(self) -> None:
        """What a lost answer left behind is read behind a sync: the server may lag behind the one before."""
        self.run_(self.nodes.create(NewNode("/ledgers/a"), lambda data, stat: False))
        for resolved in (
            lambda: self.nodes.set("/ledgers/a", b"x", 0),
            lambda: self.nodes.create(NewNode("/ledgers/b"), lambda data, stat: True),
            lambda: self.nodes.create_all([NewNode("/ledgers/c")], lambda data, stat: True),
        ):
            begin = len(self.connection.calls)
            self.connection.lose(True)
            self.run_(resolved())
            calls = self.connection.calls[begin:]
            self.assertEqual(calls[2:], ["sync", "get"], calls)

    def test_overtaken_write(self) -> None:
        """A write that was executed and then overtaken by the same bytes in a later version has lost."""
        self.run_(self.nodes.create(NewNode("/ledgers/a"), lambda data, stat: False))
        self.connection.lose(True)
        running = self.start(self.nodes.set("/ledgers/a", b"x", 0))
        self.server.set("/ledgers/a", b"y", 1)
        self.server.set("/ledgers/a", b"x", 2)
        self.clock.advance(1)
        self.failureResultOf(running, NodeVersionError)

    def test_delete_tree(self) -> None:
        """A tree goes from its leaves up; what is not there is no error."""
        self.run_(self.nodes.ensure("/ledgers/a/b/c"))
        self.run_(self.nodes.ensure("/ledgers/a/d"))
        for _ in range(2):
            self.run_(self.nodes.delete_tree("/ledgers/a"))
            self.assertNotIn("a", self.store.paths())
