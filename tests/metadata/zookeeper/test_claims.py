"""Claims on bookie ids."""

from bookkeeper_twisted.errors import BookieRegisteredError
from bookkeeper_twisted.metadata.zookeeper.claims import Claims
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode

from .rig import ZooKeeperCase


class ClaimsTests(ZooKeeperCase):
    """:class:`Claims`."""

    def setUp(self) -> None:
        super().setUp()
        nodes, self.connection = self.znodes()
        self.claims = Claims(nodes)

    def test_refresh(self) -> None:
        """A claim of the same session is kept, and rewritten only if it says something else."""
        for data, version in ((b"x", 0), (b"x", 0), (b"y", 1)):
            self.run_(self.claims.register("a:1", False, data))
            node = self.server.find("/ledgers/available/a:1")
            self.assertEqual((node.data, node.version, node.owner), (data, version, self.connection.session_id))

    def test_lost_race(self) -> None:
        """Who is overtaken between look and claim waits for the other one."""
        create = self.server.create

        def overtaken(new: NewNode, session_id: int) -> str:
            self.server.create = create  # type: ignore[method-assign]
            create(new, 99)
            return create(new, session_id)

        self.server.create = overtaken  # type: ignore[method-assign]
        self.fails(BookieRegisteredError, self.claims.register("a:1", False, b""))
        self.assertEqual(self.server.find("/ledgers/available/a:1").owner, 99)

    def test_persistent_node(self) -> None:
        """A node that belongs to no session cannot be taken."""
        self.server.create(NewNode("/ledgers/available/a:1"), 0)
        self.fails(BookieRegisteredError, self.claims.register("a:1", False, b""))

    def test_withdraw(self) -> None:
        """Both modes are given up, if they are this session's."""
        self.server.create(NewNode("/ledgers/available/a:1", ephemeral=True), self.connection.session_id)
        self.server.create(NewNode("/ledgers/available/readonly/a:1", ephemeral=True), 99)
        self.run_(self.claims.withdraw("a:1"))
        self.assertNotIn("available/a:1", self.store.paths())
        self.assertIn("available/readonly/a:1", self.store.paths())
