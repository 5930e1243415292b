"""The limit on peers that have begun TLS and are not let in."""

from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.instruments import Counter
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.shared_limits import Handshakes

from ..tls_ends import QueueTransport, TlsLayerCase

LIMIT = 4


class HandshakesTests(SynchronousTestCase):
    """The limit by itself."""

    def setUp(self) -> None:
        self.logged: list[Any] = []
        self.patch(Handshakes, "_log", Logger(observer=self.logged.append))  # type: ignore[arg-type]
        self.dropped: list[int] = []
        self.counter = Counter()
        self.clock = Clock()
        self.handshakes: Handshakes[int] = Handshakes(LIMIT, self.clock, self.counter, self.dropped.append)

    def begin(self, first: int, count: int) -> None:
        """Begin some handshakes, each a second after the one before."""
        for number in range(first, first + count):
            self.clock.advance(1)
            self.handshakes.begun(number)

    def test_first(self) -> None:
        """Beyond the limit those that began first are dropped, each once."""
        self.begin(0, 10)
        self.assertEqual((self.dropped, self.counter.value), ([0, 1, 2, 3, 4, 5], 6))
        self.assertEqual(len(self.handshakes), LIMIT)

    def test_at_once(self) -> None:
        """Many that begin at once may all end, up to three times the limit; their number falls when they are slow."""
        for number in range(3 * LIMIT):
            self.handshakes.begun(number)
        self.assertEqual(self.dropped, [])
        self.handshakes.begun(98)
        self.assertEqual(self.dropped, [0])
        self.clock.advance(1.9)
        self.handshakes.begun(99)
        self.assertEqual(self.dropped, [0, 1])
        self.clock.advance(0.1)
        for number in range(100, 110):
            self.handshakes.begun(number)
        self.assertEqual(len(self.handshakes), 11)  # those of the last two seconds
        self.assertEqual(self.dropped, [*range(3 * LIMIT), 98])

    def test_ended(self) -> None:
        """Those that have ended or were let in do not count."""
        for number in range(100):
            self.handshakes.begun(number)
            self.handshakes.ended(number)
            self.handshakes.ended(number)
        self.assertEqual((self.dropped, len(self.handshakes)), ([], 0))

    def test_lines(self) -> None:
        """A flood is one line; another flood is another."""
        self.begin(0, 100)
        self.assertEqual(len(self.logged), 1)
        for number in range(97, 100):
            self.handshakes.ended(number)
        self.begin(100, 10)
        self.assertEqual(len(self.logged), 2)


class ConnectionTests(TlsLayerCase):
    """The limit of a bookie's connections."""

    def setUp(self) -> None:
        super().setUp()
        self.handshakes = self.rig.engine.factory.handshakes
        self.handshakes._limit = LIMIT

    def _begun(self) -> tuple[Any, QueueTransport, Any]:
        """A peer that has sent its first flight, and no more."""
        from OpenSSL import SSL

        unused: Any = None
        self.rig.clock.advance(1)
        connection, transport = self._accepted()
        end = self.creator.clientConnectionForTLS(unused)
        end.set_connect_state()
        try:
            end.do_handshake()
        except SSL.WantReadError:
            pass
        transport.protocol.dataReceived(end.bio_read(1 << 16))
        return connection, transport, end

    def test_half_open(self) -> None:
        """Handshakes that are half open are dropped, those that began first."""
        transports = [self._begun()[1] for _ in range(10)]
        self.assertEqual([each.aborted for each in transports], [True] * 6 + [False] * 4)
        self.assertEqual(self.rig.engine.factory.metrics.shed.value, 6)

    def test_let_in(self) -> None:
        """A peer that is let in does not count, and is not dropped by later ones."""
        connection, transport, end = self._begun()
        end.bio_write(transport.take())
        self._shake(end, transport)
        self.assertIs(connection.state, ConnectionState.READY)
        self.assertEqual(len(self.handshakes), 0)
        for _ in range(10):
            self._begun()
        self.assertFalse(transport.aborted)

    def test_lost(self) -> None:
        """A connection that was lost does not count."""
        for _ in range(3):
            _, transport, _ = self._begun()
            transport.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(len(self.handshakes), 0)

    def test_first_record(self) -> None:
        """A peer that has sent nothing of TLS, or a part of the first record, has no TLS yet."""
        for data in (b"", b"\x16", b"\x16\x03\x01\x02", b"\x16\x03\x01\x02\x00" + bytes(500)):
            _, transport = self._accepted()
            for at in range(len(data)):
                transport.protocol.dataReceived(data[at : at + 1])
        self.assertEqual(len(self.handshakes), 0)
        transport.protocol.dataReceived(bytes(12))
        self.assertEqual(len(self.handshakes), 1)

    def test_long_message(self) -> None:
        """A first message that is too long, or whose first record does not tell, ends the connection without TLS."""
        for body in (b"\x01\x00\x40\x01" + bytes(500), b"\x01\xff\xff\xff", b"\x01", b"\x01\x00\x00"):
            _, transport = self._accepted()
            transport.protocol.dataReceived(b"\x16\x03\x01" + len(body).to_bytes(2, "big") + body)
            self.assertTrue(transport.aborted)
            failed = self.rig.engine.factory.metrics.failed_handshakes.value
            transport.protocol.connectionLost(Failure(ConnectionDone()))
            self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, failed + 1)
        self.assertEqual(len(self.handshakes), 0)
