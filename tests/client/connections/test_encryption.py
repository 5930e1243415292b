"""The network client over TLS: the whole contract, and what is refused."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.encryption import Encryption
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.codec.messages import AuthResponse, StartTlsResponse
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, SecurityError, Status, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls
from bookkeeper_twisted.security.principals import Principal
from bookkeeper_twisted.testing.authentication import TokenAuthentication
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract

from ...bookie.rig import Rig
from ...security.certificates import EXPIRED, Folder, Pair, authority, issued
from ...security.handshakes import NOW
from .test_bookie_client import HOST, PORT, RealBookieCase


class EncryptedCase(RealBookieCase):
    """A client and a bookie with TLS."""

    provider: Any = AuthenticationDisabled()
    identity: Pair = issued("a bookie", authority(), (HOST,))
    own: Pair = issued("a writer", authority(), units=["0:writers"])
    mutual = shows = False
    required = True
    client_has_tls = True
    bookie_has_tls = True
    direct = False

    def setUp(self) -> None:
        super().setUp()
        self.bookie_files, self.client_files = Folder(Path(self.mktemp())), Folder(Path(self.mktemp()))
        self.client_files.put_pair(self.own, authority())
        self.rig = Rig(options=EngineOptions(authentication=self.provider, encryption=self.bookie_side()))
        self.network.listeners[HOST, PORT] = self.rig.engine.factory
        addresses = BookieAddresses(self.driver.registration, self.network.endpoint)
        config = ClientConfig(
            wire_protocol=self.wire_protocol, max_connections_per_bookie=self.max_connections, tls_direct=self.direct,
            tls_provider_factory_class="TLSContextFactory" if self.direct else "",
        )  # fmt: skip
        self.client = NetworkBookieClient(
            self.rig.clock, addresses.resolve, config, authentication=self.provider,
            encryption=self.client_side if self.client_has_tls else None,
        )  # fmt: skip

    def bookie_side(self) -> Encryption | None:
        self.bookie_files.put_pair(self.identity, authority())
        settings = self.bookie_files.settings(client_authentication=self.mutual)
        return Encryption(ServerTls(settings, lambda: NOW), self.required)

    async def client_side(self, bookie_id: str) -> Any:
        settings = self.client_files.settings(client_authentication=self.shows)
        return ClientTls(settings, lambda: NOW).connecting_to(bookie_id.partition(":")[0])

    def settle(self) -> None:
        """A handshake takes some turns more."""
        for _ in range(3):
            super().settle()

    def states(self) -> list[ConnectionState]:
        """Those of all sockets there are."""
        return [socket.state for socket in self.sockets()]


class _OverTls(EncryptedCase, contract.BookieClientContract if TYPE_CHECKING else object):  # type: ignore[misc]
    """The contract."""


class ContractTests(_OverTls, contract.BookieClientContract):
    """V2 and, for what only V3 has, V3; the bookie answers nothing in clear."""

    def test_states(self) -> None:
        """A connection is encrypted before it is ready, and the bookie's replies are unreadable on the way."""
        reading = self.read()
        self.rig.clock.advance(0)
        self.network.move()
        self.settle()
        self.failureResultOf(reading)
        self.assertEqual(set(self.states()), {ConnectionState.READY})
        self.assertTrue(all(each.is_encrypted for each in self.rig.engine.factory.peers))


    def test_forgotten(self) -> None:
        """A socket that is closed refers no more to its connection, which refers to it: no collector has to free it."""
        reading = self.read()
        self.settle()
        self.failureResultOf(reading)
        sockets = self.sockets()
        self.assertNotIn(None, [socket.connection for socket in sockets])
        closing = self.client.close()
        self.settle()
        self.successResultOf(closing)
        self.assertEqual({socket.connection for socket in sockets}, {None})


class V3ContractTests(_OverTls, contract.BookieClientContract):
    """V3 for everything."""

    wire_protocol = "v3"


class AuthenticatedTests(_OverTls, contract.BookieClientContract):
    """Tokens are exchanged within TLS."""

    provider = TokenAuthentication(rounds=3)


class DirectTests(_OverTls, contract.BookieClientContract):
    """TLS begins at once: nothing is in clear, not even StartTLS."""

    direct = mutual = shows = True
    provider = TokenAuthentication(rounds=3)

    def test_principal(self) -> None:
        """The bookie knows the certificate of the client, and the connection is encrypted."""
        sent: list[bytes] = []
        received = ServerConnection.dataReceived

        def watched(connection: ServerConnection, data: bytes) -> None:
            if not connection.is_encrypted:
                sent.append(data)
            received(connection, data)

        self.patch(ServerConnection, "dataReceived", watched)
        reading = self.read()
        self.settle()
        self.failureResultOf(reading)
        self.assertEqual({data[:2] for data in sent}, {b"\x16\x03"})
        self.assertTrue(all(each.is_encrypted for each in self.rig.engine.factory.peers))


class DirectInClearTests(EncryptedCase):
    """A client with direct TLS at a bookie without TLS."""

    direct = True

    def test_no_tls(self) -> None:
        """The bookie takes the handshake for a frame that is too long, and ends the connection."""
        self.network.listeners[HOST, PORT] = Rig().engine.factory
        reading = self.read()
        self.settle()
        self.assertIn("the TLS handshake with", str(self.failureResultOf(reading, SecurityError).value))


class ClearTests(_OverTls, contract.BookieClientContract):
    """A client without TLS, of a bookie that does not require it."""

    required = False
    client_has_tls = False


class RequiredTests(EncryptedCase):
    """A client without TLS, of a bookie that requires it."""

    client_has_tls = False

    def test_v2(self) -> None:
        """The request is refused as unauthorized, and the connection closed."""
        reading = self.read()
        self.settle()
        self.failureResultOf(reading, UnauthorizedAccessError, BookieHandleNotAvailableError)
        self.assertEqual(self.states(), [])

    def test_v3(self) -> None:
        """V3 as well."""
        forcing: Deferred[Any] = self.client.force(self.bookie_id, 1)
        self.settle()
        self.failureResultOf(forcing, UnauthorizedAccessError)


class NoTlsTests(EncryptedCase):
    """A bookie without TLS, which a client requires: a downgrade."""

    def bookie_side(self) -> None:
        return None

    def test_refused(self) -> None:
        """The client says what is missing, and sends nothing in clear."""
        reading = self.read()
        self.settle()
        error = self.failureResultOf(reading, SecurityError)
        self.assertIn("it has no TLS", str(error.value))
        self.assertEqual(self.states(), [])


class SlowTests(EncryptedCase):
    """A bookie that does not answer StartTLS."""

    def test_timeout(self) -> None:
        """The attempt ends in time, and leaves no timer behind."""
        self.network.listeners[HOST, PORT] = Factory.forProtocol(Protocol)
        reading = self.read()
        self.settle()
        self.assertEqual(self.states(), [ConnectionState.ENCRYPTING])
        self.rig.clock.advance(ClientConfig().read_entry_timeout_sec)
        self.settle()
        self.assertIn("no TLS handshake", self.failureResultOf(reading).getErrorMessage())
        self.assertEqual(self.states(), [])
        self.assertNotIn("Handshake", str(self.rig.clock.getDelayedCalls()))

    def test_closed(self) -> None:
        """A client that is closed meanwhile ends the connection."""
        self.network.listeners[HOST, PORT] = Factory.forProtocol(Protocol)
        reading = self.read()
        self.settle()
        closing = self.client.close()
        self.settle()
        self.successResultOf(closing)
        self.failureResultOf(reading)
        self.assertEqual(self.states(), [])

    def test_lost(self) -> None:
        """A bookie that is lost before it answers is one that cannot be reached."""
        self.network.listeners[HOST, PORT] = Factory.forProtocol(Protocol)
        reading = self.read()
        self.settle()
        self.network.break_connections((HOST, PORT))
        self.settle()
        self.failureResultOf(reading, BookieHandleNotAvailableError)


class InjectedTests(EncryptedCase):
    """Somebody between the two ends, who adds bytes in clear to what the bookie sends."""

    def test_behind(self) -> None:
        """Bytes behind the answer to StartTLS, whole frames or not, end the connection (CVE-2011-0411)."""
        answer = V3.encode_response(StartTlsResponse(V3.header(Operation.START_TLS, 1, 0), Status.EOK))
        for behind in (answer, answer[:5], b"\xff" * 4, b"\x16\x03\x03\x00\x01"):
            self.assertIn("bytes in clear", self.refusal(answer + behind))

    def refusal(self, answer: bytes) -> str:
        """Return the text of the error of a client whose StartTLS gets these bytes as its answer."""

        class Answering(Protocol):
            def dataReceived(self, data: bytes) -> None:
                self.transport.write(answer)  # type: ignore[union-attr]

        self.setUp()
        self.network.listeners[HOST, PORT] = Factory.forProtocol(Answering)
        reading = self.read()
        self.settle()
        self.assertEqual(self.states(), [])
        return str(self.failureResultOf(reading, SecurityError).value)

    def test_other_answers(self) -> None:
        """An answer that refuses StartTLS is named by its status; nothing of any other answer is shown."""
        header = V3.header(Operation.START_TLS, 1, 0)
        for status, wanted in ((Status.EUA, "EUA (unauthorized access)"), (Status.EIO, "EIO (I/O error ")):
            text = self.refusal(V3.encode_response(StartTlsResponse(header, status)))
            self.assertIn(f"does not encrypt the connection: its answer was {wanted}", text)
        token = AuthResponse(V3.header(Operation.AUTH, 1, 0), "sasl", b"s3cret")
        text = self.refusal(V3.encode_response(token))
        self.assertTrue(text.endswith("does not encrypt the connection: its answer was of another kind"), text)

    def test_in_pieces(self) -> None:
        """An answer to StartTLS in pieces begins the handshake."""
        answer = V3.encode_response(StartTlsResponse(V3.header(Operation.START_TLS, 1, 0), Status.EOK))

        class Slow(Protocol):
            asked = False

            def dataReceived(self, data: bytes) -> None:
                if not self.asked:
                    self.asked = True
                    for byte in answer:
                        self.transport.write(bytes([byte]))  # type: ignore[union-attr]
                else:
                    received.append(data)

        received: list[bytes] = []
        self.network.listeners[HOST, PORT] = Factory.forProtocol(Slow)
        reading = self.read()
        self.settle()
        self.assertNoResult(reading)
        self.assertEqual(b"".join(received)[:1], b"\x16")  # a handshake of TLS
        self.network.break_connections((HOST, PORT))
        self.settle()
        self.failureResultOf(reading, SecurityError)


class UntrustedTests(EncryptedCase):
    """A bookie whose certificate is another authority's, or another host's."""

    def refused(self, identity: Pair, reason: str) -> None:
        """The client refuses this certificate, and says why."""
        self.identity = identity
        self.setUp()
        reading = self.read()
        self.settle()
        self.assertIn(reason, str(self.failureResultOf(reading, SecurityError).value))
        self.assertEqual(self.states(), [])
        self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, 1)

    def test_authority(self) -> None:
        """One that another authority has signed."""
        self.refused(issued("a bookie", authority("another"), (HOST,)), "not in the trust store")

    def test_host(self) -> None:
        """One of another host."""
        self.refused(issued("a bookie", authority(), ("elsewhere",)), f"it is not one for {HOST}")

    def test_expired(self) -> None:
        """One that has expired."""
        self.refused(issued("a bookie", authority(), (HOST,), until=EXPIRED), "it has expired")


class MutualTests(EncryptedCase):
    """A bookie that requires certificates of its clients."""

    mutual = shows = True

    def test_principal(self) -> None:
        """The client's certificate says who it is."""
        reading = self.read()
        self.settle()
        self.failureResultOf(reading)
        (connection,) = self.rig.engine.factory.peers
        self.assertEqual(connection.principal, Principal("certificate", "CN=a writer,OU=0:writers", ("writers",)))

    def test_no_certificate(self) -> None:
        """A client without one is refused."""
        self.shows = False
        reading = self.read()
        self.settle()
        self.failureResultOf(reading, SecurityError, BookieHandleNotAvailableError)
        self.assertEqual(self.rig.engine.factory.metrics.failed_handshakes.value, 1)


class DirectlyUntrustedTests(UntrustedTests):
    """The same with direct TLS."""

    direct = True
