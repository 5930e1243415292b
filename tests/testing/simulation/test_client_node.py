"""Clients that can be killed."""

from .nodes import WorldCase


class ClientNodeTests(WorldCase):
    """:class:`ClientNode`."""

    def test_killed(self) -> None:
        """Nothing of a killed client goes on; what it had appended is stored."""
        writer = self.result(self.client.create_ledger(3, 3, 2))
        self.result(writer.append(b"one"))
        appending = writer.append(b"two")
        self.node.kill()
        self.pass_time(60)
        self.assertNoResult(appending)
        self.assertEqual({heard[3] for heard in self.witness.heard if heard[0] == "stored"}, {0})

    def test_sleep(self) -> None:
        """Sleeping is virtual."""
        before = self.world.sim.seconds()
        self.result(self.node.sleep(5))
        self.assertEqual(self.world.sim.seconds(), before + 10)

    def test_expired_session(self) -> None:
        """A client whose session ends goes on in the next one."""
        self.node.expire()
        self.pass_time(5)
        self.result(self.client.create_ledger(3, 3, 2))
