"""The first frame of a connection to a bookie with TLS."""

from typing import Any

from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.encryption import Encryption
from bookkeeper_twisted.codec.messages import AuthRequest, StartTlsRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.authentication import MAX_TOKEN
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.connection import LONGEST_TOKEN_FRAME
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.testing.authentication import TokenAuthentication

from ...vectors.wire import REQUEST, RESPONSE, scenarios
from ..rig import Peer, Rig, adds, batch, reads, run

START_TLS = requests_out.encode_request(StartTlsRequest(V3.header(Operation.START_TLS, 1, 0)))


def _has_tls() -> bool:
    try:
        import OpenSSL  # noqa: F401
    except ImportError:
        return False
    return True


@implementer(IOpenSSLServerConnectionCreator)
class _Unused:
    """The bookie's end of TLS connections, which wait for the peer for ever."""

    def serverConnectionForTLS(self, protocol: Any) -> Any:
        from OpenSSL import SSL

        return SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)


class EncryptionTestCase(SynchronousTestCase):
    """A bookie with TLS."""

    skip = None if _has_tls() else "pyOpenSSL is not installed: pip install 'bookkeeper-twisted[tls]'"
    required = True

    def setUp(self) -> None:
        creator: Any = _Unused()
        options = EngineOptions(encryption=Encryption(creator, self.required), server=ServerLimits(frame_timeout=30))
        self.rig = Rig(options=options)
        self.peer = self.rig.connect()

    def state(self) -> ConnectionState:
        return self.peer.connection.state

    def end(self) -> None:
        self.peer.leave()


class DirectTests(EncryptionTestCase):
    """A peer that begins with TLS itself."""

    required = False

    def test_handshake(self) -> None:
        """Its first byte begins TLS, in which nothing is answered in clear; the handshake has a time limit."""
        self.peer.send(b"\x16")
        self.assertIs(self.state(), ConnectionState.ENCRYPTING)
        self.peer.send(b"\x03\x01\x00")
        self.assertEqual((self.state(), self.peer.replies()), (ConnectionState.ENCRYPTING, b""))
        for _ in range(400):
            self.rig.clock.advance(0.25)
        self.assertTrue(self.peer.ended)
        self.end()

    def test_later(self) -> None:
        """Behind a frame in clear the same byte is the length of a frame that is too long."""
        self.peer.send(adds(run(1, 0)))
        self.peer.send(b"\x16\x03\x01\x00")
        self.assertNotEqual(self.state(), ConnectionState.ENCRYPTING)


class DirectWithoutTlsTests(SynchronousTestCase):
    """The same at a bookie without TLS."""

    def test_refused(self) -> None:
        """The connection is closed."""
        peer = Rig().connect()
        peer.send(b"\x16\x03\x01\x00")
        self.assertIn(peer.connection.state, (ConnectionState.CLOSING, ConnectionState.CLOSED))


class RequiredTests(EncryptionTestCase):
    """Nothing is answered in clear."""

    def test_captured(self) -> None:
        """The answer to StartTLS is that of Apache's bookie, in clear; the handshake begins then."""
        compared = 0
        for scenario in scenarios():
            if scenario.name.partition("/")[2] != "start-tls":
                continue
            asked = scenario.stream(0, REQUEST)[0].data
            peer = self.rig.connect()
            peer.send(asked)
            self.assertEqual(peer.replies(), scenario.stream(0, RESPONSE)[0].data)
            self.assertIs(peer.connection.state, ConnectionState.ENCRYPTING)
            peer.leave()
            compared += 1
        self.assertEqual(compared, 2)

    def test_requests_in_clear(self) -> None:
        """Requests in clear are refused, V2 and V3, and the connection ends: nothing is stored or read.

        They are counted, and those of one host are one line of the log.
        """
        events = self.enterContext(capturedLogs())
        for request in (adds(run(1, 0)), reads(1, [0]), batch(1, 0, 10, 1000), requests_out.encode_reads(1, [0], 0, 1)):
            peer: Peer = self.rig.connect()
            peer.send(request + request)
            self.rig.drain()
            self.assertTrue(peer.ended)
            self.assertNotIn(b"payload", peer.replies())
        self.assertEqual(self.rig.storage.pending_entries(), 0)
        said = [event["error"] for event in events if "refusing" in event["log_format"]]
        self.assertEqual(said, ["it sends requests in clear, and tlsRequired=true"])
        self.assertEqual(self.rig.engine.context.metrics.refused_authentications.value, 5)  # a run counts once

    def test_half_frames(self) -> None:
        """A frame in clear that is longer than any token is refused at its beginning, and takes no memory."""
        for size, ends in ((LONGEST_TOKEN_FRAME - 4, False), (LONGEST_TOKEN_FRAME - 3, True)):
            peer: Peer = self.rig.connect()
            peer.send(size.to_bytes(4, "big") + bytes(100))
            self.assertEqual(peer.ended, ends)
            peer.leave()

    def test_token_in_clear(self) -> None:
        """A token, which may be a password, does not make up for it."""
        self.peer.send(requests_out.encode_request(AuthRequest(V3.header(Operation.AUTH, 1, 0), "any", b"token")))
        self.assertTrue(self.peer.ended)

    def test_bytes_behind(self) -> None:
        """What came in clear behind StartTLS is never answered, whole frames or the begin of one (CVE-2011-0411)."""
        for behind in (adds(run(1, 0)), adds(run(1, 0))[:7], START_TLS):
            self.peer = self.rig.connect()
            self.peer.send(START_TLS + behind)
            self.rig.drain()
            self.assertIs(self.state(), ConnectionState.ENCRYPTING)
            self.assertEqual(self.peer.connection._decoder.incomplete, 0)
            self.assertEqual(len(self.peer.replies()), 17)
            self.assertEqual(self.rig.storage.pending_entries(), 0)
            self.end()

    def test_no_handshake(self) -> None:
        """A handshake that does not end in time ends the connection, and is counted; so does silence before."""
        silent = self.rig.connect()
        self.peer.send(START_TLS)
        for _ in range(400):
            self.rig.clock.advance(0.25)
        self.assertEqual((self.peer.ended, silent.ended), (True, True))
        self.end()
        silent.leave()
        self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, 0)

    def test_no_tls_bytes(self) -> None:
        """Bytes that are no TLS end the handshake, with one line in the log."""
        self.peer.send(START_TLS)
        self.peer.transport.protocol.dataReceived(b"GET / HTTP/1.1\r\n\r\n" * 10)
        self.assertTrue(self.peer.ended)
        self.end()
        self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, 1)


class OptionalTests(EncryptionTestCase):
    """Peers may encrypt."""

    required = False

    def test_clear(self) -> None:
        """Requests in clear are answered; StartTLS behind them is refused, as its peer may be deceived."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        self.peer.send(requests_out.encode_reads(1, [0], 0, 1) + START_TLS)
        self.rig.drain()
        self.assertIs(self.state(), ConnectionState.READY)
        self.assertIn(b"payload", self.peer.replies())
        self.peer.send(START_TLS)
        self.rig.drain()
        self.assertIs(self.state(), ConnectionState.READY)

    def test_large_frame(self) -> None:
        """A large add in clear is taken."""
        self.peer.send(adds(run(1, 0, data=bytes(2 * LONGEST_TOKEN_FRAME))))
        self.rig.drain()
        self.assertEqual(self.rig.storage.pending_entries(), 1)

    def test_silence(self) -> None:
        """A peer need not send anything: pools open connections long before their first request."""
        for _ in range(400):
            self.rig.clock.advance(0.25)
        self.assertFalse(self.peer.ended)
        self.peer.send(reads(1, [0])[:5])
        for _ in range(400):
            self.rig.clock.advance(0.25)
        self.assertTrue(self.peer.ended)


class TokenLimitTests(SynchronousTestCase):
    """Tokens of peers that are not authenticated."""

    def test_long_token(self) -> None:
        """A token over the limit is refused before a provider sees it, one of the limit is not."""
        for size, seen in ((MAX_TOKEN + 1, False), (MAX_TOKEN, True)):
            tokens: list[int] = []

            class Provider(TokenAuthentication):
                def bookie_exchange(self, peer: Any, tokens: Any = tokens) -> Any:
                    exchange = super().bookie_exchange(peer)
                    next_token = exchange.next_token

                    def noted(token: bytes | None) -> Any:
                        tokens.append(len(token or b""))
                        return next_token(token)

                    exchange.next_token = noted  # type: ignore
                    return exchange

            rig = Rig(options=EngineOptions(authentication=Provider()))
            peer = rig.connect()
            header = V3.header(Operation.AUTH, 1, 0)
            peer.send(requests_out.encode_request(AuthRequest(header, "TestAuthProviderPlugin", bytes(size))))
            rig.drain()
            while rig.clock.calls and not peer.ended:
                rig.clock.advance(0)
            self.assertEqual((peer.ended, bool(tokens)), (True, seen))
            self.assertIn(int(Status.EUA).to_bytes(2, "little")[:1], peer.replies())
