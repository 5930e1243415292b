"""TLS between a protocol and its transport: peers that make OpenSSL write and do not read, and ends of connections."""

from typing import Any

from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock

from bookkeeper_twisted.protocol.client.request_writer import RequestWriter, WriteHistograms

from ..bookie.rig import reads
from .tls_ends import CHUNK, QUEUE, SECONDS_TO_CLOSE, BookieLayerCase, QueueTransport, TlsLayerCase


class AnswersOfBookieTests(BookieLayerCase):
    """A peer that asks a bookie for answers of OpenSSL, and does not read."""

    def _flood(self, seconds: float = 1.0) -> None:
        """Send messages while the bookie reads, at most 4 MiB."""
        for _ in range(64):
            if not self.transport.is_read or self.transport.aborted:
                return
            self.transport.protocol.dataReceived(self.updates.records(CHUNK // 27))
            self.rig.clock.advance(seconds)

    def test_bounded(self) -> None:
        """What waits for the peer is bounded, and counted with the unread replies; nothing is read meanwhile."""
        factory = self.rig.engine.factory
        self._flood()
        self.assertFalse(self.transport.is_read)
        self.assertLess(self.transport.queued, QUEUE + 2 * CHUNK)
        self.assertGreater(factory.unread.n_bytes, CHUNK // 2)
        self.transport.take()
        self.assertTrue(self.transport.is_read)
        self.assertEqual(factory.unread.n_bytes, 0)

    def test_whole(self) -> None:
        """The answers to one chunk are sent and not kept in OpenSSL, which writes the last one when it reads again."""
        records = self.updates.records(10 * CHUNK // 27)
        self.transport.protocol.dataReceived(records)
        self.assertGreater(self.transport.queued, len(records) - 100)

    def test_time_out(self) -> None:
        """A peer that reads none of them is dropped like one that does not read its replies."""
        self._flood()
        for _ in range(100):
            self.rig.clock.advance(0.5)
        self.assertTrue(self.transport.aborted)
        self.assertEqual(self.rig.engine.factory.metrics.timed_out.value, 1)

    def test_goes_on(self) -> None:
        """A peer that reads them late is served again."""
        self._flood()
        self.transport.take()
        self.transport.protocol.dataReceived(self.updates.data(reads(1, [0])))
        self.rig.drain()
        self.assertGreater(self.transport.queued, 0)

    def test_two_reasons(self) -> None:
        """Reading goes on only when neither the connection nor the transport is against it."""
        for first, second in ((True, False), (False, True)):
            self._flood()
            self.connection.set_reading_paused(True)
            for is_answer in (first, second):
                self.assertFalse(self.transport.is_read)
                if is_answer:
                    self.transport.take()
                else:
                    self.connection.set_reading_paused(False)
            self.assertTrue(self.transport.is_read)
        self.connection.set_reading_paused(True)
        self.assertFalse(self.transport.is_read)

    def test_replies(self) -> None:
        """Replies alone do not stop the reading: two ends that both write first would wait for each other."""
        self.connection.transport.write(bytes(4 * QUEUE))
        self.assertFalse(self.connection.has_room)
        self.assertTrue(self.transport.is_read)
        queued = self.transport.queued
        self.transport.protocol.dataReceived(self.updates.records(10))
        self.assertGreater(self.transport.queued, queued)
        self.assertTrue(self.transport.is_read)


class _Reader(Protocol):
    """A protocol that begins TLS as a client, and reads."""

    expects_more = False

    def handshakeCompleted(self) -> None:
        """Nothing more to do."""


class ClientLayerCase(TlsLayerCase):
    """A client with TLS, and a bookie in OpenSSL alone."""

    def setUp(self) -> None:
        super().setUp()
        from bookkeeper_twisted.protocol.tls_layer import begin_tls

        from ..security.key_updates import KeyUpdates

        unused: Any = None
        self.transport, reader, self.clock = QueueTransport(), _Reader(), Clock()
        reader.makeConnection(self.transport)
        self.updates = KeyUpdates(self.server_tls._context.get(), "SERVER_TRAFFIC_SECRET_0", sent=2)  # tickets
        self.end = self.server_tls.serverConnectionForTLS(unused)
        self.end.set_accept_state()
        self.layer = begin_tls(reader, self.creator, True, self.clock)
        self._shake(self.end, self.transport)


class AnswersOfClientTests(ClientLayerCase):
    """A bookie that asks a client for answers of OpenSSL, and does not read."""

    def test_bounded(self) -> None:
        """What waits for the bookie is bounded."""
        for _ in range(64):
            if self.transport.is_read:
                self.layer.dataReceived(self.updates.records(CHUNK // 27))
        self.assertFalse(self.transport.is_read)
        self.assertLess(self.transport.queued, QUEUE + 2 * CHUNK)
        self.transport.take()
        self.assertTrue(self.transport.is_read)


class RoomTests(ClientLayerCase):
    """What a client writes to a bookie that does not read."""

    def test_requests(self) -> None:
        """Requests wait in their queue while the transport is full."""
        writer = RequestWriter(self.clock, WriteHistograms())
        writer.start(self.layer)
        for _ in range(10):
            writer.send(1, bytes(QUEUE), 1)
        self.assertLess(self.transport.queued, 3 * QUEUE)
        self.assertFalse(writer.writable)
        self.transport.take()
        self.assertGreater(self.transport.queued, 0)

    def test_full_already(self) -> None:
        """A protocol learns that the transport is full when it begins to write."""
        self.layer.write(bytes(2 * QUEUE))
        self.assertGreater(self.transport.queued, QUEUE)
        writer = RequestWriter(self.clock, WriteHistograms())
        writer.start(self.layer)
        self.assertFalse(writer.writable)

    def test_one_producer(self) -> None:
        """A layer has one producer at a time."""
        for _ in range(2):
            writer = RequestWriter(self.clock, WriteHistograms())
            writer.start(self.layer)
            self.assertRaises(RuntimeError, RequestWriter(self.clock, WriteHistograms()).start, self.layer)
            writer.stop()


class BytesTests(BookieLayerCase):
    """What is written and received, many records by one call."""

    def _read(self) -> bytes:
        """What the peer decrypts."""
        from OpenSSL import SSL

        self.end.bio_write(self.transport.take())
        texts: list[bytes] = []
        while True:
            try:
                texts.append(self.end.recv(1 << 16))
            except (SSL.WantReadError, SSL.ZeroReturnError):
                return b"".join(texts)

    def test_written(self) -> None:
        """Pieces of all sizes arrive as they were, by one write of the transport, even if they are changed later."""
        layer, written = self.connection.transport, self.transport.write
        for size in (1, 1000, CHUNK, 5 * CHUNK):
            count: list[int] = []
            self.patch(self.transport, "write", lambda data, count=count: (count.append(1), written(data)))
            owned = bytearray(b"e" * size)
            layer.writeSequence([b"head", memoryview(owned), b"tail"])
            owned[:] = b"x" * size
            self.assertEqual(self._read(), b"head" + b"e" * size + b"tail")
            self.assertEqual(count, [1])

    def test_last_bytes(self) -> None:
        """Requests that arrive together with the end of TLS are received before it; the connection closes in time."""
        received: list[bytes] = []
        self.patch(self.connection, "dataReceived", received.append)
        requests = self.updates.data(b"last")
        self.transport.protocol.dataReceived(requests + self.updates.end())
        self.assertEqual((received, self.transport.disconnecting), ([b"last"], True))
        self.rig.clock.advance(SECONDS_TO_CLOSE)
        self.assertTrue(self.transport.aborted)

    def test_written_after_the_end(self) -> None:
        """What is written while the connection closes is dropped, and is no error."""
        layer = self.connection.transport
        layer.unregisterProducer()
        layer.loseConnection()
        layer.write(b"late")
        self.assertEqual((self._read(), layer.getHandle().has_failed), (b"", False))
        layer.abortConnection()
        layer.writeSequence([b"later"])

    def test_lost_keys(self) -> None:
        """A connection whose OpenSSL fails to encrypt is closed, and its protocol is told why."""
        layer = self.connection.transport
        layer.getHandle().shutdown()
        layer.write(b"reply")
        self.assertTrue(self.transport.disconnecting)
        reasons: list[Any] = []
        self.patch(self.connection, "connectionLost", reasons.append)
        self.transport.lose()
        self.assertIn("TLS has failed", str(reasons[0].value))


class ClosingTests(ClientLayerCase):
    """The end of connections."""

    def test_peer_is_silent(self) -> None:
        """A connection whose peer does not answer the end of TLS is dropped in time."""
        self.layer.loseConnection()
        self.assertFalse(self.transport.disconnecting)
        self.clock.advance(SECONDS_TO_CLOSE)
        self.assertTrue(self.transport.aborted)

    def test_no_peer(self) -> None:
        """No timer outlives a connection."""
        self.layer.loseConnection()
        self.transport.lose()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        for end in (self.layer.abortConnection, self.layer.loseConnection):
            end()  # has no effect
        self.assertFalse(self.transport.aborted)

    def test_broken(self) -> None:
        """After bytes that are no TLS the transport closes in time, and nothing more is decrypted."""
        from bookkeeper_twisted.security.records import RecordConnection

        received: list[int] = []
        decrypted = RecordConnection.decrypt

        def counted(connection: RecordConnection, data: bytes) -> bytes:
            received.append(len(data))
            return decrypted(connection, data)

        self.patch(RecordConnection, "decrypt", counted)
        for _ in range(3):
            self.layer.dataReceived(b"GET / HTTP/1.1\r\n\r\n" * 10)
        self.assertEqual((len(received), self.transport.disconnecting), (1, True))
        self.assertIsNone(self.transport.producer)  # with one, a transport that is full stays open
        self.clock.advance(SECONDS_TO_CLOSE)
        self.assertTrue(self.transport.aborted)


class ClosingBookieTests(BookieLayerCase):
    """The end of a bookie's connection."""

    def test_answered(self) -> None:
        """A bookie that reads no more requests does read the answer to its end of TLS."""
        from OpenSSL import SSL

        self.connection.end()
        self.end.bio_write(self.transport.take())
        self.assertRaises(SSL.ZeroReturnError, self.end.recv, 1)
        self.end.shutdown()
        self.assertTrue(self.transport.is_read)
        self.transport.protocol.dataReceived(self.end.bio_read(1000))
        self.assertEqual((self.transport.disconnecting, self.transport.aborted), (True, False))


class IdleAnswersTests(BookieLayerCase):
    """A peer that asks for answers of OpenSSL and sends nothing else."""

    max_idle_answers = 2000

    def test_dropped(self) -> None:
        """It is dropped after some of them, even if it reads them all."""
        rounds = 0
        while not self.transport.aborted and rounds < 100:
            self.transport.protocol.dataReceived(self.updates.records(20))
            self.transport.take()
            rounds += 1
        self.assertIn(rounds, range(2, 100))
