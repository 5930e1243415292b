"""Handshakes, records and refused requests of peers that are not let in take turns with the requests of the others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.encryption import Encryption
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.connection import UNTRUSTED_CHUNK, UNTRUSTED_PIECE, ServerConnection
from bookkeeper_twisted.protocol.turns import SHARE, TURN, UNTRUSTED_TURN, Turns
from bookkeeper_twisted.testing.authentication import TokenAuthentication

from ...bookie.rig import Rig, reads
from ...bounds import until
from ..tls_ends import BookieLayerCase, QueueTransport, TlsLayerCase, missing
from .costs import Costs, TcpTransport, read

if TYPE_CHECKING:
    from OpenSSL import SSL

_FLOOD = 256 * 1024


class RefusedRequestTests(SynchronousTestCase):
    """Requests of peers that have not authenticated."""

    def _pieces(self, rig: Rig) -> Costs:
        """Let each piece of requests that a connection decodes cost a fifth of the time of untrusted peers."""
        costs = Costs(rig)
        receive = ServerConnection._receive

        def paid(connection: ServerConnection, data: bytes) -> None:
            receive(connection, data)
            costs.pay(connection, UNTRUSTED_TURN / 5)

        self.patch(ServerConnection, "_receive", paid)
        return costs

    def test_taken_by_pieces(self) -> None:
        """However much they send, few pieces are decoded in a turn, the peers are not read, and all are refused."""
        rig = Rig(options=EngineOptions(authentication=TokenAuthentication()))
        costs = self._pieces(rig)
        peers = [rig.connect() for _ in range(20)]
        flood = b"".join(read(number) for number in range(_FLOOD // len(read(0))))
        for peer in peers:
            peer.send(flood)
        self.assertLessEqual(len(costs.done), 6)
        self.assertTrue(all(peer.held for peer in peers))
        turns = 0
        for _ in until(lambda: not any(peer.held for peer in peers), 20_000):
            self.assertLessEqual(costs.turn(), 6)
            turns += 1
        self.assertGreater(turns, 20 * _FLOOD // UNTRUSTED_PIECE // 7)
        replies = [peer.replies() for peer in peers]
        self.assertEqual(len({len(each) for each in replies}), 1)
        self.assertGreaterEqual(len(replies[0]), 15 * len(flood) // len(read(0)))

    def test_healthy(self) -> None:
        """A peer that is let in is served at once, whatever those do that are not."""
        rig = Rig(options=EngineOptions(authentication=TokenAuthentication()))
        costs = self._pieces(rig)
        healthy = rig.connect()
        healthy.connection.enter(ConnectionState.READY)
        for _ in range(20):
            rig.connect().send(bytes([0, 0, 0, 8]) * 3)
            rig.connect().send(read(1) * 10_000)
        self.assertTrue(rig.engine.factory.turns.is_spent_for(True))
        before = len(costs.done)
        healthy.send(reads(1, [0]))
        self.assertEqual(costs.done[before:], [healthy.connection])

    def test_late(self) -> None:
        """A peer that sends requests all the time must be let in in time all the same."""
        rig = Rig(options=EngineOptions(authentication=TokenAuthentication()))
        self._pieces(rig)
        peer = rig.connect()
        peer.send(read(1) * 10_000)
        self.assertTrue(peer.held)
        self.assertTrue(peer.connection.is_late(rig.clock.seconds()))

    def test_before_the_encryption(self) -> None:
        """Where TLS is required, a chunk in clear is refused in part, then the connection ends."""
        unused: Any = None
        rig = Rig(options=EngineOptions(encryption=Encryption(unused, is_required=True)))
        costs = self._pieces(rig)
        peers = [rig.connect() for _ in range(20)]
        for peer in peers:
            peer.send(read(1) * 10_000)
        self.assertLessEqual(len(costs.done), 6)
        for _ in until(lambda: all(peer.ended for peer in peers)):
            self.assertLessEqual(costs.turn(), 6)
        self.assertLessEqual(len(peers[0].replies()), UNTRUSTED_PIECE * 2)

    def test_chunk(self) -> None:
        """Little is received at a time from a peer that is not let in."""

        for options, size in (
            (EngineOptions(authentication=TokenAuthentication()), UNTRUSTED_CHUNK),
            (EngineOptions(), Rig().engine.factory.limits.chunk),
        ):
            rig, socket = Rig(options=options), TcpTransport()
            connection = rig.engine.factory.buildProtocol(None)
            assert connection is not None
            connection.makeConnection(socket)
            self.assertEqual(socket.bufferSize, size)


class HandshakeTurnTests(TlsLayerCase):
    """First flights that arrive together."""

    skip = missing()

    def _flight(self) -> tuple[bytes, "SSL.Connection"]:
        """The first flight of a client."""
        from OpenSSL import SSL

        unused: Any = None
        end = self.creator.clientConnectionForTLS(unused)
        end.set_connect_state()
        try:
            end.do_handshake()
        except SSL.WantReadError:
            pass
        return end.bio_read(1 << 16), end

    def _costs(self) -> Costs:
        """Let each step of a handshake cost a fifth of the time of untrusted peers."""
        from bookkeeper_twisted.protocol.tls_layer import TlsLayer

        costs = Costs(self.rig)
        receive = TlsLayer._receive

        def paid(layer: Any, data: bytes) -> int:
            if not layer._above.is_open:
                costs.pay(layer, UNTRUSTED_TURN / 5)
            return receive(layer, data)

        self.patch(TlsLayer, "_receive", paid)
        return costs

    def _blast(self, asked: bool) -> tuple[Costs, Sequence[QueueTransport], Sequence[Any]]:
        """Many connections are open and silent; then all of them send their first flights."""
        costs = self._costs()
        accepted = [self._accepted() if asked else self._accepted(b"") for _ in range(40)]
        flights = [self._flight() for _ in accepted]
        transports = [transport for _, transport in accepted]
        for transport, (flight, _) in zip(transports, flights, strict=True):
            transport.protocol.dataReceived(flight)
        return costs, transports, [end for _, end in flights]

    def test_blast(self) -> None:
        """A few are processed in each turn of the reactor, with StartTLS and without; the others are not read, and have
        nothing in OpenSSL."""
        for asked in (True, False):
            with self.subTest(asked):
                costs, transports, _ = self._blast(asked)
                self.assertLessEqual(len(costs.done), 6)
                self.assertLessEqual(len(self.rig.engine.factory.handshakes), 6)
                self.assertEqual([each.is_read for each in transports].count(False), 40 - len(costs.done))
                for _ in until(lambda: all(each.value() for each in transports)):  # noqa: B023
                    self.assertLessEqual(costs.turn(), 6)
                self.assertTrue(all(each.is_read for each in transports))
                for each in transports:
                    each.lose()

    def test_both_steps(self) -> None:
        """Handshakes that go on do not wait until all others have begun, and all of them end."""
        costs, transports, ends = self._blast(False)
        for transport, end in zip(transports, ends, strict=True):
            if transport.value():
                self._shake(end, transport)
        begun = len(self.rig.engine.factory.handshakes)
        costs.turn()
        self.assertLess(len(self.rig.engine.factory.handshakes), begun + 5)
        for _ in until(lambda: all(each.protocol._above.is_open for each in transports if each.value())):
            costs.turn()
            for transport, end in zip(transports, ends, strict=True):
                if transport.value():
                    self._shake(end, transport)

    def test_lost(self) -> None:
        """One that is lost before its turn has none."""
        _, transports, _ = self._blast(True)
        for transport in transports:
            transport.lose()
        turns = self.rig.engine.factory.turns
        self.assertEqual(turns._n_untrusted, 0)

    def test_stopping(self) -> None:
        """A bookie that stops does not read from those that wait for their turn."""
        costs, transports, _ = self._blast(True)
        waiting = [each for each in transports if not each.is_read]
        self.rig.engine.factory.stop_accepting()
        for _ in until(lambda: not self.rig.engine.factory.turns._n_untrusted):
            costs.turn()
        self.assertTrue(waiting)
        self.assertFalse(any(each.is_read for each in waiting))


class RecordTurnTests(BookieLayerCase):
    """Records within TLS."""

    max_idle_answers = 1 << 30

    def setUp(self) -> None:
        super().setUp()
        from bookkeeper_twisted.security.records import RecordConnection

        self.costs = costs = Costs(self.rig)
        self.most = 0
        decrypt = RecordConnection.decrypt

        def paid(records: RecordConnection, data: bytes) -> bytes:
            number = data.count(b"\x17\x03\x03")
            self.most = max(self.most, number)
            costs.pay(records, number * 1e-5)
            return decrypt(records, data)

        self.patch(RecordConnection, "decrypt", paid)

    def _turns(self) -> int:
        """Turns of the reactor until nothing waits; in none of them more is decrypted than in one share."""
        turns: Turns = self.rig.engine.factory.turns
        number = 0
        for _ in until(lambda: not turns._n_waiting):
            before = self.costs.now
            self.costs.turn()
            self.assertLessEqual(self.costs.now - before, 1.5 * SHARE)
            number += 1
        return number

    def test_key_updates(self) -> None:
        """KeyUpdates, which carry no data, are decrypted over many turns; the peer is not read meanwhile."""
        self.transport.protocol.dataReceived(self.updates.records(3000, False) + self.updates.data(reads(1, [0])))
        self.assertLessEqual(self.costs.now, 1.5 * SHARE)
        self.assertLessEqual(self.most, 130)
        self.assertFalse(self.transport.is_read)
        self.assertGreaterEqual(self._turns(), 4)
        self.assertTrue(self.transport.is_read)
        self.assertTrue(self.transport.value())

    def test_small_records(self) -> None:
        """So are small records of data, whose requests are answered in their order."""
        self.transport.protocol.dataReceived(b"".join(self.updates.data(bytes([each])) for each in reads(1, [0]) * 99))
        self.assertLessEqual(self.costs.now, 1.5 * SHARE)
        self.assertGreaterEqual(self._turns(), 3)
        self.rig.drain()
        self.end.bio_write(self.transport.take())
        replies = bytearray()
        for _ in until(lambda: len(replies) >= 99 * 28):  # noqa: B023
            replies += self.end.recv(1 << 20)
        self.assertEqual(len(replies), 99 * 28)

    def _spend(self) -> Turns:
        """Let others spend the time of this turn."""
        turns: Turns = self.rig.engine.factory.turns
        turns.begin()
        self.costs.now += TURN
        turns.end()
        return turns

    def test_few_bytes(self) -> None:
        """Two records of full size, such as those of one large entry, come before the requests of others."""
        turns = self._spend()
        self.transport.protocol.dataReceived(self.updates.data(bytes(16_000)) + self.updates.data(bytes(16_000)))
        self.assertEqual((len(turns._little), len(turns._much)), (1, 0))

    def test_many_bytes(self) -> None:
        """Three do not."""
        turns = self._spend()
        self.transport.protocol.dataReceived(b"".join(self.updates.data(bytes(16_000)) for _ in range(3)))
        self.assertEqual((len(turns._little), len(turns._much)), (0, 1))

    def test_spent(self) -> None:
        """When others have spent the turn, nothing is decrypted, and what arrives behind waits, too."""
        self._spend()
        before = len(self.costs.done)
        frame = self.updates.data(reads(1, [0]))
        self.transport.protocol.dataReceived(frame[:20])
        self.transport.protocol.dataReceived(frame[20:])
        self.assertEqual((len(self.costs.done), self.transport.is_read), (before, False))
        self.costs.turn()
        self.rig.drain()
        self.assertTrue(self.transport.is_read)
        self.assertTrue(self.transport.value())

    def test_held(self) -> None:
        """Nothing is decrypted for a connection that must not be read; it goes on when it is read again."""
        self.connection.set_reading_paused(True)
        before = len(self.costs.done)
        self.transport.protocol.dataReceived(self.updates.data(reads(1, [0])))
        self.costs.turn()
        self.assertEqual(len(self.costs.done), before)
        self.connection.set_reading_paused(False)
        self.assertFalse(self.transport.is_read)
        self.costs.turn()
        self.rig.drain()
        self.assertTrue(self.transport.is_read)
        self.assertTrue(self.transport.value())

    def test_held_in_its_turn(self) -> None:
        """Nor is anything decrypted in the turn of a connection that must not be read any more when it comes."""
        self.transport.protocol.dataReceived(self.updates.records(3000, False))
        self.connection.set_reading_paused(True)
        before = len(self.costs.done)
        self.costs.turn()
        self.assertEqual((len(self.costs.done), self.transport.is_read), (before, False))
        self.connection.set_reading_paused(False)
        self.assertGreater(self._turns(), 2)
        self.assertTrue(self.transport.is_read)

    def test_dropped(self) -> None:
        """A connection that is being dropped keeps nothing of what still arrives."""
        self.transport.protocol.dataReceived(self.updates.records(3000, False))
        self.transport.protocol.abortConnection()
        kept = len(self.transport.protocol._arrived)
        self.transport.protocol.dataReceived(self.updates.records(10, False))
        self.assertEqual(len(self.transport.protocol._arrived), kept)

    def test_lost(self) -> None:
        """A connection that is lost has no turn."""
        self.transport.protocol.dataReceived(self.updates.records(3000, False))
        before = len(self.costs.done)
        self.transport.lose()
        self.assertEqual(self.rig.engine.factory.turns._n_waiting, 0)
        self.costs.turn()
        self.assertEqual(len(self.costs.done), before)
