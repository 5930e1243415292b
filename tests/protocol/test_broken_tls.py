"""TLS that breaks after its handshake: counted, and a line a minute, host and reason."""

from typing import Any

from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.python.failure import Failure

from bookkeeper_twisted.security.reasons import BrokenTlsError

from ..bookie.rig import reads
from .tls_ends import BookieLayerCase, QueueTransport, TlsLayerCase

CERTIFICATE_EXPIRED = 45


def changed(record: bytes) -> bytes:
    """Return a record with another last byte."""
    return record[:-1] + bytes([record[-1] ^ 1])


class BookieTests(BookieLayerCase):
    """A bookie, and a client or somebody on the way who breaks its TLS."""

    def _lines(self, *received: bytes) -> list[str]:
        """Let the bookie receive bytes and lose the connection; return the lines of its log."""
        with capturedLogs() as events:
            for data in received:
                self.transport.protocol.dataReceived(data)
            self.transport.lose()
        return [formatEvent(event) for event in events if event["log_level"] is not LogLevel.debug]

    def _broken(self, reason: str, *received: bytes) -> None:
        (line,) = self._lines(*received)
        self.assertIn("TLS connection of", line)
        self.assertIn(reason, line)
        metrics = self.rig.engine.factory.metrics
        self.assertEqual((metrics.broken_tls.value, metrics.failed_handshakes.value), (1, 0))

    def _usual(self, *received: bytes) -> None:
        self.assertEqual(self._lines(*received), [])
        self.assertEqual(self.rig.engine.factory.metrics.broken_tls.value, 0)

    def test_bad_record(self) -> None:
        """A record that was changed on the way."""
        self._broken("bad record mac", changed(self.updates.data(reads(1, [0]))))

    def test_alert(self) -> None:
        """An alert of the peer, behind a KeyUpdate."""
        self._broken("certificate expired", self.updates.records(1), self.updates.alert(CERTIFICATE_EXPIRED))

    def test_cut_frame(self) -> None:
        """Bytes that end within a frame, between two records."""
        self._broken("cut off", self.updates.data(reads(1, [0])[:7]))

    def test_cut_record(self) -> None:
        """Bytes that end within a record, or within its head."""
        record = self.updates.data(reads(1, [0]))
        for size in (3, 5, len(record) - 1):
            self.setUp()
            self._broken("cut off", self.updates.data(reads(1, [0]))[:size])

    def test_between_frames(self) -> None:
        """A peer that is killed between two frames leaves no line, as in clear."""
        self._usual(self.updates.data(reads(1, [0])))

    def test_ended(self) -> None:
        """TLS that the peer has ended, even within a frame, was not cut by somebody else."""
        self._usual(self.updates.data(reads(1, [0])[:7]), self.updates.end())

    def test_dropped(self) -> None:
        """A connection that the bookie itself drops has its own line, if any."""
        self.transport.protocol.dataReceived(self.updates.data(reads(1, [0])[:7]))
        self.connection.abort()
        self._usual()

    def test_waiting(self) -> None:
        """Bytes that wait for their turn may have the rest of the frame: nothing is said of them."""
        self.transport.protocol.dataReceived(self.updates.data(reads(1, [0])[:7]))
        self.connection.set_reading_paused(True)
        self._usual(self.updates.data(reads(1, [0])[7:]))

    def test_many(self) -> None:
        """Each connection counts; a reason is one line a minute and host, and hides no other reason."""
        lines: list[list[str]] = []
        for each in (changed, changed, lambda record: record[:9], changed):
            if lines:
                self.connection, self.transport = self._again()
            lines.append(self._lines(each(self.updates.data(reads(1, [0])))))
        self.assertEqual([len(each) for each in lines], [1, 0, 1, 0])
        self.assertEqual(self.rig.engine.factory.metrics.broken_tls.value, 4)

    def _again(self) -> tuple[Any, QueueTransport]:
        """Another connection of the client."""
        unused: Any = None
        connection, transport = self._accepted()
        end = self.creator.clientConnectionForTLS(unused)
        end.set_connect_state()
        self._shake(end, transport)
        return connection, transport


class _Waiting(Protocol):
    """A protocol that begins TLS as a client.

    :ivar reason: why its connection was lost.
    """

    expects_more = True
    reason: Failure | None = None

    def handshakeCompleted(self) -> None:
        """Nothing more to do."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.reason = reason


class ClientTests(TlsLayerCase):
    """A client, and a bookie or somebody on the way who breaks its TLS."""

    def setUp(self) -> None:
        super().setUp()
        from bookkeeper_twisted.protocol.tls_layer import begin_tls

        from ..security.key_updates import KeyUpdates

        unused: Any = None
        self.transport, self.waiting = QueueTransport(), _Waiting()
        self.waiting.makeConnection(self.transport)
        self.updates = KeyUpdates(self.server_tls._context.get(), "SERVER_TRAFFIC_SECRET_0", sent=2)  # tickets
        end = self.server_tls.serverConnectionForTLS(unused)
        end.set_accept_state()
        begin_tls(self.waiting, self.creator, True, Clock())
        self._shake(end, self.transport)

    def _reason(self, *received: bytes) -> BaseException:
        for data in received:
            self.transport.protocol.dataReceived(data)
        self.transport.lose()
        assert self.waiting.reason is not None
        error = self.waiting.reason.value
        assert error is not None
        return error

    def _broken(self, text: str, *received: bytes) -> None:
        error = self._reason(*received)
        self.assertIsInstance(error, BrokenTlsError)
        self.assertIn(text, str(error))

    def test_bad_record(self) -> None:
        """A record that was changed on the way."""
        self._broken("bad record mac", changed(self.updates.data(b"reply")))

    def test_alert(self) -> None:
        """An alert of the bookie, behind a KeyUpdate."""
        self._broken("certificate expired", self.updates.records(1), self.updates.alert(CERTIFICATE_EXPIRED))

    def test_cut(self) -> None:
        """Bytes that end while the bookie owes a reply."""
        self._broken("cut off", self.updates.data(b"part of a reply"))

    def test_nothing_owed(self) -> None:
        """A connection that ends while the bookie owes nothing, as when it is killed."""
        self.waiting.expects_more = False
        self.assertNotIsInstance(self._reason(self.updates.data(b"reply")), BrokenTlsError)

    def test_ended(self) -> None:
        """TLS that the bookie has ended."""
        self.assertNotIsInstance(self._reason(self.updates.end()), BrokenTlsError)
