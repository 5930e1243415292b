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

    def test_paused(self) -> None:
        """A client that is stopped for longer than a bookie may take does not end its ledger: the only bookie of it,
        which no other can take the place of, had answered."""
        for bookie in self.bookies[1:]:
            bookie.kill(power=False)
        self.pass_time(5)
        writer = self.result(self.client.create_ledger(1, 1, 1))
        for seconds in (1.5, 6.0, 60.0):
            appending = writer.append(b"data")
            self.pass_time(1e-6)  # it is sent
            self.node.life.pause()
            self.pass_time(seconds)
            self.node.life.resume()
            self.pass_time(1)
            self.successResultOf(appending)

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
