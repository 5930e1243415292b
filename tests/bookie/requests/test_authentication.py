"""What a bookie answers until a peer is authenticated, held against Apache's bookie with a plugin."""

from collections.abc import Sequence
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.codec.messages import AuthRequest, Header
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import Status, UnauthorizedAccessError
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.connection import LONGEST_TOKEN_FRAME
from bookkeeper_twisted.security.principals import NOBODY
from bookkeeper_twisted.testing.authentication import CONTINUE, SUCCESS, TokenAuthentication

from ...vectors.wire import REQUEST, RESPONSE, scenarios
from ..rig import Peer, Rig, add_replies, adds, batch, reads, run

_PROVIDERS = {
    "auth-plugin-alwayssucceed": TokenAuthentication(),
    "auth-plugin-alwaysfail": TokenAuthentication(admits=False),
    "auth-plugin-succeedafter3": TokenAuthentication(rounds=3),
    "auth-plugin-failafter3": TokenAuthentication(rounds=3, admits=False),
    "auth-plugin-differentplugin": TokenAuthentication(plugin="DifferentPlugin"),
    "auth-required": TokenAuthentication(),
}


def _rig(provider: TokenAuthentication) -> Rig:
    return Rig(options=EngineOptions(authentication=provider))


class CapturedExchangeTests(SynchronousTestCase):
    """The captured conversations with a bookie that has a plugin."""

    def test_answers(self) -> None:
        """The same frames come back in the same order, and the same connections are closed, in V2 and V3."""
        compared = 0
        for scenario in scenarios():
            provider = _PROVIDERS.get(scenario.name.partition("/")[2])
            if provider is None:
                continue
            rig = _rig(provider)
            peers: dict[int, Peer] = {}
            for frame in scenario.frames:
                if frame.direction == REQUEST:
                    if frame.conn not in peers:
                        peers[frame.conn] = rig.connect()
                    peers[frame.conn].send(frame.data)
                    rig.drain()
            for conn, peer in peers.items():
                with self.subTest(scenario.name, conn=conn):
                    expected = b"".join(frame.data for frame in scenario.stream(conn, RESPONSE))
                    self.assertEqual(peer.replies().hex(), expected.hex())
                    self.assertEqual(peer.ended, conn in scenario.closed_by_bookie)
                    compared += 1
        self.assertEqual(compared, 13)


def _auth(wire: int, token: bytes, plugin: str = "TestAuthProviderPlugin") -> bytes:
    header = Header(V2, 2, V2Op.AUTH) if wire == 2 else Header(V3, 3, Operation.AUTH, 7)
    request = AuthRequest(header, plugin, token)
    return v2_requests_out.encode_request(request) if wire == 2 else v3_requests_out.encode_request(request)


class RefusalLogTests(SynchronousTestCase):
    """What the log has of peers that are not admitted."""

    def test_many_refusals(self) -> None:
        """S11: a peer that is refused again and again does not fill the log."""
        rig = _rig(TokenAuthentication(admits=False))
        with capturedLogs() as events:
            for _ in range(20):
                peer = rig.connect()
                peer.send(_auth(3, SUCCESS))
                self.assertTrue(peer.ended)
        self.assertEqual(len([event for event in events if "refusing" in event["log_format"]]), 1)

    def test_reasons(self) -> None:
        """A refusal of one user does not hide why others of its host are refused; the same reason is one line."""
        provider = TokenAuthentication(admits=False)
        rig = _rig(provider)
        reasons = ["user 'joe' is not allowed", "user 'ann' is not allowed", "no key", "user \"o'n\" is not allowed"]
        with capturedLogs() as events:
            for reason in reasons:
                exchange: Any = mock.Mock(complete=False)
                exchange.next_token.side_effect = UnauthorizedAccessError(detail=reason)
                with mock.patch.object(TokenAuthentication, "bookie_exchange", return_value=exchange):
                    peer = rig.connect()
                peer.send(_auth(3, SUCCESS))
                self.assertTrue(peer.ended)
        said = [str(event["error"]) for event in events if "refusing" in event["log_format"]]
        self.assertEqual(said, [f"unauthorized access: {reason}" for reason in (reasons[0], reasons[2])])

    def test_no_token(self) -> None:
        """A peer that sends no token, or one for another plugin, is a line that says so, once a connection."""
        rig = _rig(TokenAuthentication())
        plugin = TokenAuthentication().plugin
        other = f"it authenticates by {'x' * 100!r} instead of {plugin}"
        for wire in (2, 3):
            with capturedLogs() as events:
                peer = rig.connect()
                read = v2_requests_out.encode_reads(1, [0]) if wire == 2 else v3_requests_out.encode_reads(1, [0], 0, 1)
                peer.send(read)
                rig.clock.advance(61.0)
                peer.send(read)
                second = rig.connect()
                second.send(_auth(wire, SUCCESS, "x" * 1000))
            said = [event["error"] for event in events if "refusing" in event["log_format"]]
            self.assertEqual(said, [f"it sends requests before it is authenticated by {plugin}", other])
            rig.clock.advance(61.0)


class ExchangeTests(SynchronousTestCase):
    """What the captured ones do not show."""

    def setUp(self) -> None:
        self.wait: Deferred[None] = Deferred()
        self.rig = _rig(TokenAuthentication(waits=[self.wait]))
        self.peer = self.rig.connect()

    def state(self) -> ConnectionState:
        return self.peer.connection.state

    def test_long_frame(self) -> None:
        """A peer that is not authenticated can send no long frame; it can afterwards."""
        other = self.rig.connect()
        other.send((LONGEST_TOKEN_FRAME + 1).to_bytes(4, "big"))
        self.assertTrue(other.ended)
        self.peer.send(_auth(2, CONTINUE))
        self.wait.callback(None)
        self.peer.send((LONGEST_TOKEN_FRAME + 1).to_bytes(4, "big"))
        self.assertFalse(self.peer.ended)

    def test_requests_wait_for_a_token(self) -> None:
        """Requests behind an AUTH request are answered after it, in order, once its token is made."""
        self.assertIs(self.state(), ConnectionState.AUTHENTICATING)
        self.peer.send(_auth(2, CONTINUE) + adds(run(1, 0)))
        self.rig.drain()
        self.assertEqual(self.peer.replies(), b"")
        self.assertTrue(self.peer.held)
        self.wait.callback(None)
        self.assertFalse(self.peer.held)
        self.assertIs(self.state(), ConnectionState.READY)
        answer = self.peer.replies()
        self.assertTrue(answer.endswith(SUCCESS), answer)
        self.rig.drain()
        self.assertEqual(self.peer.replies(), add_replies(run(1, 0), Status.EOK))

    def test_peer_that_left(self) -> None:
        """A peer that leaves meanwhile is forgotten, its requests with it, and its token is no longer made."""
        self.peer.send(_auth(2, CONTINUE) + adds(run(1, 0)))
        self.peer.leave()
        self.assertTrue(self.wait.called)
        self.assertIs(self.state(), ConnectionState.CLOSED)
        self.rig.drain()
        self.assertEqual(self.rig.storage.pending_entries(), 0)

    def test_refused_token(self) -> None:
        """A token that the provider refuses ends the connection: V3 is answered before, V2 is not."""
        for wire, size in ((2, 0), (3, 15)):
            peer = self.rig.connect()
            peer.send(_auth(wire, b"?") + adds(run(1, 0)))
            self.assertEqual((len(peer.replies()), peer.ended), (size, True))
            self.assertEqual(self.rig.engine.context.metrics.refused_authentications.value, wire - 1)
            self.rig.drain()
            self.assertEqual(self.rig.storage.pending_entries(), 0)

    def test_broken_provider(self) -> None:
        """A provider that raises is logged, and refuses the peer."""

        class Broken(TokenAuthentication):
            def bookie_exchange(self, peer: Any) -> Any:
                return _BrokenExchange()

        peer = _rig(Broken()).connect()
        peer.send(_auth(2, b""))
        self.assertTrue(peer.ended)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_nothing_is_served(self) -> None:
        """Without authentication nothing is stored and nothing is read, by no kind of request."""
        kinds: Sequence[bytes] = (adds(run(1, 0)), reads(1, [0]), batch(1, 0, 10, 1000))
        for request in kinds:
            peer: Peer = self.rig.connect()
            peer.send(request)
            self.rig.drain()
            self.assertEqual(peer.ended, request is kinds[-1])
            self.assertNotIn(b"payload", peer.replies())
        self.assertEqual(self.rig.storage.pending_entries(), 0)


class _BrokenExchange:
    principal = NOBODY
    complete = False

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        raise ZeroDivisionError
