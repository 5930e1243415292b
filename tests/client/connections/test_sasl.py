"""The network client with SASL: the whole contract, in clear and within TLS, and what Apache's do there."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.authentication.plugins import SaslPlugin
from bookkeeper_twisted.codec.messages import AuthRequest, AuthResponse
from bookkeeper_twisted.codec.operations import AUTH_DISABLED_PLUGIN, Operation
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, Status
from bookkeeper_twisted.protocol.authentication import IAuthenticationExchange, IUnansweredExchange, Peer
from bookkeeper_twisted.protocol.client.authentication import AuthenticatedConnection
from bookkeeper_twisted.protocol.client.encryption import START_TLS, EncryptingConnection
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.authentication import SUCCESS, TokenAuthentication
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract

from ...authentication.sasl.sasl_case import JAAS, USER
from ...bookie.rig import adds, reads, run
from .test_authentication import AuthenticatedCase
from .test_encryption import EncryptedCase

_REFUSAL: Any = V3.refusal(START_TLS, Status.EIO)


class _Sides:
    """The sides of a bookie and of a client in one object."""

    plugin = "sasl"

    def __init__(self, path: Path, **keys: Any) -> None:
        path.write_text(JAAS)
        path.chmod(0o600)
        config = AuthenticationConfig(
            sasl_jaas_config=str(path), bookie_auth_provider_factory_class="sasl",
            tls_provider_factory_class="TLSContextFactory", **keys,
        )  # fmt: skip
        self.bookie_exchange = SaslPlugin().for_bookie(config).bookie_exchange
        self.client_exchange = SaslPlugin().for_client(config).client_exchange


class _InClear(AuthenticatedCase, contract.BookieClientContract if TYPE_CHECKING else object):  # type: ignore[misc]
    def setUp(self) -> None:
        self.provider = self.own_provider = _Sides(Path(self.mktemp()))
        super().setUp()


class ContractTests(_InClear, contract.BookieClientContract):
    """V2 and, for what only V3 has, V3."""


class _WithinTls(EncryptedCase, contract.BookieClientContract if TYPE_CHECKING else object):  # type: ignore[misc]
    mechanism = "DIGEST-MD5"

    def setUp(self) -> None:
        self.provider = _Sides(Path(self.mktemp()), sasl_mechanism=self.mechanism)
        super().setUp()

    def admitted(self) -> None:
        """A request is answered, and the bookie knows the user; V2 and V3."""
        forcing: Deferred[Any] = self.client.force(self.bookie_id, 1)
        for result in (self.read(), forcing):
            self.settle()
            self.settle()
            self.assertTrue(result.called)
            result.addErrback(lambda failure: self.assertNotIn("connection", failure.getErrorMessage()))
        self.assertEqual({each.principal for each in self.rig.engine.factory.peers}, {Principal("sasl", USER)})


class PlainContractTests(_WithinTls, contract.BookieClientContract):
    """PLAIN within TLS."""

    mechanism = "PLAIN"


class ApacheTests(_WithinTls):
    """What Apache's do within TLS."""

    def test_early_token(self) -> None:
        """The empty token that Apache's clients send in clear behind StartTLS is answered within TLS."""
        made, sent = EncryptingConnection.connectionMade, AuthenticatedConnection._send

        def early(connection: EncryptingConnection) -> None:
            made(connection)
            for wire in (V3, V2):  # the second is not answered
                request = AuthRequest(wire.header(Operation.AUTH, 1, 0), "sasl", b"")
                connection.transport.write(wire.encode_request(request))  # type: ignore[union-attr]

        def not_again(connection: AuthenticatedConnection, token: bytes) -> None:
            if token:
                sent(connection, token)
            else:
                connection._number = 1
                if connection._exchange.complete:
                    connection._pass_on(connection._make)

        self.patch(EncryptingConnection, "connectionMade", early)
        self.patch(AuthenticatedConnection, "_send", not_again)
        forcing: Deferred[Any] = self.client.force(self.bookie_id, 1)
        for _ in range(3):
            self.settle()
        self.successResultOf(forcing)
        self.assertEqual({each.principal for each in self.rig.engine.factory.peers}, {Principal("sasl", USER)})

    def test_token_by_itself(self) -> None:
        """The empty token is answered within TLS also if it arrives behind StartTLS by itself, in any pieces."""
        for size in (1, 7, 100):
            peer = self.rig.connect()
            peer.send(V3.encode_request(START_TLS))
            peer.replies()
            session = _Session()
            self.patch(peer.connection._session, "_open", lambda _, session=session: session)
            request = AuthRequest(V3.header(Operation.AUTH, 1, 0), "sasl", b"")
            data: Any = V3.encode_request(request)
            for at in range(0, len(data), size):
                self.assertEqual((session.items, peer.ended), ([], False))
                peer.transport.protocol.dataReceived(data[at : at + size])
            self.assertEqual((session.items, peer.replies()), ([], b""))
            encrypted: Any = peer.connection._encrypted
            encrypted()
            self.assertEqual(session.items, [request])
            peer.leave()

    def test_other_plugin(self) -> None:
        """An empty token that names another plugin is dropped, unless the client need not authenticate."""
        for plugin, state, is_taken in (
            ("sasl", ConnectionState.AUTHENTICATING, True), ("other", ConnectionState.AUTHENTICATING, False),
            ("other", ConnectionState.READY, True),
        ):  # fmt: skip
            for together in (False, True):
                peer, request = self.rig.connect(), AuthRequest(V3.header(Operation.AUTH, 1, 0), plugin, b"")
                start, auth = V3.encode_request(START_TLS), V3.encode_request(request)
                peer.send(start + auth if together else start)
                if not together:
                    peer.transport.protocol.dataReceived(auth)
                session = _Session()

                def opened(connection: Any, session: Any = session, state: Any = state) -> Any:
                    connection.enter(state)
                    return session

                self.patch(peer.connection._session, "_open", opened)
                encrypted: Any = peer.connection._encrypted
                encrypted()
                self.assertEqual((session.items, peer.ended), ([request] if is_taken else [], False))
                peer.leave()

    def test_half_token(self) -> None:
        """A token of which a part or the whole arrives with StartTLS; no second one is taken."""
        data: Any = V2.encode_request(AuthRequest(V2.header(Operation.AUTH, 1, 0), "sasl", b""))
        for size in (7, len(data)):
            peer = self.rig.connect()
            peer.send(V3.encode_request(START_TLS) + data[:size])
            peer.transport.protocol.dataReceived(data[size:])
            self.assertFalse(peer.ended)
            peer.transport.protocol.dataReceived(data)
            self.assertTrue(peer.ended)
            peer.transport.protocol.connectionLost(Failure(ConnectionDone()))

    def test_later_frames(self) -> None:
        """Whatever else arrives in clear behind StartTLS by itself ends the connection, and reaches no session."""
        for behind in (
            V3.encode_request(AuthRequest(V3.header(Operation.AUTH, 1, 0), "sasl", b"token")),
            adds(run(1, 0)), reads(1, [0]), V3.encode_request(START_TLS),
        ):  # fmt: skip
            peer = self.rig.connect()
            peer.send(V3.encode_request(START_TLS))
            session = _Session()
            self.patch(peer.connection._session, "_open", lambda _, session=session: session)
            failed = self.rig.engine.factory.metrics.failed_handshakes.value
            peer.transport.protocol.dataReceived(behind)
            self.assertEqual((session.items, peer.ended), ([], True))
            peer.transport.protocol.connectionLost(Failure(ConnectionDone()))
            self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, failed + 1)

    def test_other_tokens(self) -> None:
        """A token that is not empty, and any other request, is dropped with all that arrived together with StartTLS."""
        for behind in (
            V3.encode_request(AuthRequest(V3.header(Operation.AUTH, 1, 0), "sasl", b"token")), adds(run(1, 0)),
        ):  # fmt: skip
            peer = self.rig.connect()
            peer.send(V3.encode_request(START_TLS) + behind)
            peer.replies()
            session = _Session()
            self.patch(peer.connection._session, "_open", lambda _, session=session: session)
            encrypted: Any = peer.connection._encrypted
            encrypted()
            self.assertEqual((session.items, peer.replies()), ([], b""))
            peer.leave()

    def test_late_refusal(self) -> None:
        """The refusal of StartTLS that Apache's bookies send after the handshake does not end the connection."""
        completed = ServerConnection.handshakeCompleted

        def refusing(connection: ServerConnection) -> None:
            completed(connection)
            connection.reply(_REFUSAL)
            connection.flush()

        self.patch(ServerConnection, "handshakeCompleted", refusing)
        self.admitted()


class _Session:
    """A session that keeps what it gets."""

    busy = False

    def __init__(self) -> None:
        self.items: list[Any] = []

    def received(self, items: list[Any]) -> None:
        self.items += items

    def lost(self) -> None:
        self.items.clear()


@implementer(IUnansweredExchange)
class _Unanswered:
    """The exchange of a client that is complete with its second token."""

    principal = NOBODY

    def __init__(self) -> None:
        self.complete = False

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if received is not None and not self.complete:
            self.complete = True
            return succeed(b"last")
        return succeed(b"first" if received is None else b"")


@implementer(IAuthenticationExchange)
class _Plain:
    """The same, but of a plugin whose tokens are all answered."""

    principal = NOBODY

    def __init__(self, exchange: _Unanswered) -> None:
        self.next_token = exchange.next_token
        self._exchange = exchange

    @property
    def complete(self) -> bool:
        return self._exchange.complete


class UnansweredTests(SynchronousTestCase):
    """The end of an exchange whose last token Apache's bookies do not answer."""

    def connection(self, wire: Any, exchange: Any) -> tuple[AuthenticatedConnection, StringTransport]:
        """A connection whose first token was answered, and its transport with what was sent since."""
        made = AuthenticatedConnection(Clock(), wire, "sasl", exchange, 1.0, 1 << 20, Protocol)
        transport = StringTransport()
        made.makeConnection(transport)
        transport.clear()
        made.dataReceived(self.answer(wire, 1, "sasl"))
        return made, transport

    def answer(self, wire: Any, number: int, plugin: str) -> bytes:
        """The bookie's answer to a token."""
        return bytes(wire.encode_response(AuthResponse(wire.header(Operation.AUTH, number, 0), plugin, b"")))

    def token(self, wire: Any, number: int, token: bytes) -> bytes:
        """The client's request with a token."""
        return bytes(wire.encode_request(AuthRequest(wire.header(Operation.AUTH, number, 0), "sasl", token)))

    def test_asked(self) -> None:
        """An empty token follows, which every bookie answers that has let the client in: Apache's, and ours."""
        for wire in (V2, V3):
            sent = self.token(wire, 2, b"last") + self.token(wire, 3, b"")
            disabled = self.answer(wire, 3, AUTH_DISABLED_PLUGIN)
            for answers in (disabled, self.answer(wire, 2, "sasl") + disabled):
                connection, transport = self.connection(wire, _Unanswered())
                self.assertEqual(transport.value(), sent)
                self.assertNoResult(connection.ready)
                connection.dataReceived(answers)
                self.successResultOf(connection.ready)
                self.assertEqual(transport.value(), sent)

    def test_other_exchanges(self) -> None:
        """The last token of other exchanges is answered, and nothing follows it."""
        connection, transport = self.connection(V3, _Plain(_Unanswered()))
        self.assertEqual(transport.value(), self.token(V3, 2, b"last"))
        connection.dataReceived(self.answer(V3, 2, "sasl"))
        self.successResultOf(connection.ready)


class RefusalTests(SynchronousTestCase):
    """Those bytes by themselves."""

    def connection(self, is_encrypted: bool) -> AuthenticatedConnection:
        made = AuthenticatedConnection(
            Clock(), V2, "any", TokenAuthentication().client_exchange(Peer("b")), 1.0, 1 << 20, Protocol,
            is_encrypted=is_encrypted,
        )  # fmt: skip
        made.makeConnection(StringTransport())
        return made

    def test_dropped(self) -> None:
        """They are dropped in any pieces, once, and need not be there."""
        answer = V2.encode_response(AuthResponse(V2.header(Operation.AUTH, 1, 0), "any", SUCCESS))
        for size in (1, 3, 15, 16, 100):
            for data in (_REFUSAL + answer, answer):
                connection = self.connection(True)
                for at in range(0, len(data), size):
                    connection.dataReceived(data[at : at + size])
                self.successResultOf(connection.ready)

    def test_broken(self) -> None:
        """In clear, or for a second time, they break the protocol of V2."""
        for is_encrypted, data in ((False, _REFUSAL), (True, _REFUSAL * 2)):
            connection = self.connection(is_encrypted)
            connection.dataReceived(data)
            self.failureResultOf(connection.ready, BookieHandleNotAvailableError)
