"""Connecting, listening, and what crashes leave of connections."""

from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectionLost, ConnectionRefusedError, TimeoutError

from . import Life
from .connected import NetworkCase


class ConnectTests(NetworkCase):
    """Attempts."""

    def test_success(self) -> None:
        """Who connects to a listener gets a connection, after a while."""
        connecting = self.connect()
        self.assertNoResult(connecting)
        self.pass_time()
        self.assertTrue(self.successResultOf(connecting).transport.connected)  # type: ignore[attr-defined]
        self.assertEqual(len(self.factory.connections), 1)

    def test_nobody_listens(self) -> None:
        """A machine on which no process listens refuses."""
        self.network.crashed(self.server, abruptly=False)
        self.server.end()
        connecting = self.connect()
        self.pass_time()
        self.failureResultOf(connecting, ConnectionRefusedError)

    def test_off(self) -> None:
        """A machine that is off does not answer."""
        self.network.crashed(self.server, abruptly=True)
        connecting = self.connect(timeout=3)
        self.pass_time(2)
        self.assertNoResult(connecting)
        self.pass_time(2)
        self.failureResultOf(connecting, TimeoutError)

    def test_refused(self) -> None:
        """A link can refuse."""
        self.network.links.between("client", "server").refuses = True
        connecting = self.connect()
        self.pass_time()
        self.failureResultOf(connecting, ConnectionRefusedError)

    def test_silence(self) -> None:
        """In a silence attempts go on, and succeed once it ends, in either direction."""
        for way in (("client", "server"), ("server", "client")):
            link = self.network.links.between(*way)
            link.silent = True
            connecting = self.connect(timeout=10)
            self.pass_time(4)
            self.assertNoResult(connecting)
            link.heal()
            self.pass_time(2)
            self.successResultOf(connecting)

    def test_accepted_and_ignored(self) -> None:
        """A machine can accept what its process never looks at, until it does."""
        link = self.network.links.between("client", "server")
        link.ignores = True
        connecting = self.connect()
        self.pass_time()
        near = self.successResultOf(connecting)
        near.transport.write(b"hello")  # type: ignore[attr-defined]
        self.pass_time(9)
        self.assertEqual(self.factory.connections, [])
        link.heal()
        self.pass_time()
        self.assertEqual(self.factory.connections[0].data, b"hello")

    def test_cancelled(self) -> None:
        """A cancelled attempt comes to nothing; the server sees the connection end."""
        connecting = self.connect()
        self.sim.run_until(self.sim.seconds() + 0.0002)
        connecting.cancel()
        self.failureResultOf(connecting, CancelledError)
        self.pass_time()
        self.assertEqual([c.reason for c in self.factory.connections if c.reason is None], [])


class CrashTests(NetworkCase):
    """The end of one side."""

    def test_process_killed(self) -> None:
        """The kernel of a killed process tells its peers, behind what it had sent."""
        near, far = self.connected()
        far.transport.write(b"last words")
        self.network.crashed(self.server, abruptly=False)
        self.server.end()
        self.pass_time()
        self.assertEqual((near.data, near.reason), (b"last words", ConnectionLost))
        self.assertIsNone(far.reason)  # a dead node gets nothing

    def test_power_lost(self) -> None:
        """The peers of a machine that went off get no packet until it is on again."""
        near, _ = self.connected()
        self.network.crashed(self.server, abruptly=True)
        self.server.end()
        near.transport.write(b"anybody there?")
        self.pass_time(60)
        self.assertIsNone(near.reason)
        self.serve(Life(self.sim, "server"))
        self.pass_time()
        self.assertIs(near.reason, ConnectionLost)
        again, far = self.connected()
        again.transport.write(b"good morning")
        self.pass_time()
        self.assertEqual(far.data, b"good morning")

    def test_reset(self) -> None:
        """A reset ends both sides of the connections of a pair, with what is on its way."""
        near, far = self.connected()
        near.transport.write(b"lost")
        self.network.reset("client", "server")
        self.pass_time()
        self.assertEqual((near.reason, far.reason, far.data), (ConnectionLost, ConnectionLost, b""))
