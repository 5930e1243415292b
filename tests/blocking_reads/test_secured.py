"""Blocking connections that are encrypted and authenticated, to a bookie in memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.sasl.sides import SaslBookie, SaslClient, SaslWorld
from bookkeeper_twisted.authentication.tokens import TokenClient
from bookkeeper_twisted.blocking_reads import Address, Timeouts, requests
from bookkeeper_twisted.blocking_reads.connection import IBookieConnection
from bookkeeper_twisted.blocking_reads.secured import ConnectionSecurity, secured_connection
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.encryption import Encryption
from bookkeeper_twisted.codec.messages import StartTlsResponse
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    NoSuchEntryError,
    RequestTimeoutError,
    SecurityError,
    Status,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls
from bookkeeper_twisted.security.principals import Principal
from bookkeeper_twisted.testing.authentication import TokenAuthentication

from ..authentication.sasl.sasl_case import JAAS, USER
from ..bookie.rig import Peer, Rig, run

try:
    from ..security.certificates import EXPIRED, Folder, authority, issued
    from ..security.handshakes import NOW
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

HOST = "192.0.2.7"
ADDRESS = Address("bookie-7", HOST, 3181)
ANSWER = V3.encode_response(StartTlsResponse(V3.header(Operation.START_TLS, 1, 0), Status.EOK))


class BookieStream:
    """A socket to a bookie in memory.

    :ivar sent: what the client has sent.
    """

    def __init__(self, rig: Rig) -> None:
        self.sent = b""
        self.closed = False
        self.peer = Peer(rig.engine.factory.buildProtocol(None))
        self._rig = rig
        self._is_lost = False

    def sendall(self, data: bytes, /) -> None:
        self.sent += data
        # the layer of TLS takes the place of the connection when TLS begins
        getattr(self.peer.transport, "protocol", self.peer.connection).dataReceived(data)

    def recv(self, size: int, flags: int, /) -> bytes:
        self._rig.drain()
        data: bytes = self.peer.transport.value()
        self.peer.transport.clear()
        if data[size:]:
            self.peer.transport.write(data[size:])
        if not data and not self.peer.ended and not self._is_lost:
            raise BlockingIOError
        return data[:size]

    def lose(self) -> None:
        """The bookie's machine is lost."""
        self._is_lost = True

    def close(self) -> None:
        self.closed = True


@attrs.define(eq=False)
class ScriptedStream:
    """A socket to somebody who sends given bytes, whatever is asked.

    :ivar chunks: what each receipt gives; an empty one ends the connection.
    :ivar seconds: the time that each receipt takes.
    """

    chunks: Sequence[bytes | OSError]
    seconds: float = 0.0
    now: float = 0.0
    sent: bytes = b""
    closed: bool = False
    count: int = 0

    def sendall(self, data: bytes, /) -> None:
        self.sent += data

    def recv(self, size: int, flags: int, /) -> bytes:
        self.now += self.seconds
        chunk = self.chunks[min(self.count, len(self.chunks) - 1)]
        self.count += 1
        if isinstance(chunk, OSError):
            raise chunk
        return chunk

    def close(self) -> None:
        self.closed = True


class SecuredCase(SynchronousTestCase):
    """A bookie with TLS and certificates of clients, and a client of it."""

    skip = SKIP

    def setUp(self) -> None:
        self.bookie_files, self.client_files = Folder(Path(self.mktemp())), Folder(Path(self.mktemp()))
        self.bookie_files.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        self.client_files.put_pair(issued("a task", authority(), units=["0:readers"]), authority())

    def rig(self, authentication: Any = None, mutual: bool = True, required: bool = True) -> Rig:
        """A bookie that keeps entries 0 to 39 of ledger 1."""
        server = ServerTls(self.bookie_files.settings(client_authentication=mutual), lambda: NOW)
        provider = authentication or AuthenticationDisabled()
        rig = Rig(options=EngineOptions(authentication=provider, encryption=Encryption(server, required)))
        return filled(rig)

    def encryption(self, **more: Any) -> Callable[[str], IOpenSSLClientConnectionCreator]:
        """The client's end of TLS."""
        settings = self.client_files.settings(**{"client_authentication": True, **more})
        return ClientTls(settings, lambda: NOW).connecting_to

    def connect(
        self, stream: Any, wire: int = 2, encryption: Any = None, authentication: Any = None, required: bool = False,
        is_direct: bool = False,
    ) -> IBookieConnection:  # fmt: skip
        """Secure a connection."""
        now = (lambda: stream.now) if isinstance(stream, ScriptedStream) else (lambda: 0.0)
        security = ConnectionSecurity(encryption, authentication or AuthenticationDisabled(), required, now, is_direct)
        return secured_connection(stream, ADDRESS, wire, Timeouts(1, 5), security)

    def refused(self, kind: type[Exception], stream: Any, wanted: str, **more: Any) -> None:
        """The connection is refused with an error that says why and names the bookie; the socket is closed."""
        error = self.assertRaises(kind, self.connect, stream, **more)
        self.assertRegex(str(error), wanted)
        self.assertIn("bookie-7", str(error))
        self.assertTrue(stream.closed)


class TlsTests(SecuredCase):
    """Connections with TLS."""

    def test_requests(self) -> None:
        """Requests and replies of both protocols are exchanged within TLS, and the bookie knows the client."""
        for wire in (2, 3):
            rig = self.rig()
            stream = BookieStream(rig)
            connection = self.connect(stream, wire, self.encryption())
            requests.send_reads(connection, 1, [40, 41, 42])
            self.assertIsInstance(requests.receive_entries(connection, 1, [40, 41, 42])[41], NoSuchEntryError)
            (peer,) = rig.engine.factory.peers
            self.assertEqual(peer.principal, Principal("certificate", "CN=a task,OU=0:readers", ("readers",)))
            self.assertEqual(connection.wire, wire)
            connection.close()
            self.assertTrue(stream.closed)

    def test_direct(self) -> None:
        """With direct TLS no byte is in clear, not even StartTLS."""
        stream = BookieStream(self.rig())
        connection = self.connect(stream, 2, self.encryption(), is_direct=True)
        self.assertEqual(stream.sent[0], 22)
        requests.send_batch_read(connection, 1, 0, 40, 4 << 20)
        self.assertEqual(requests.receive_batch(connection, 1, 0).entries(), ENTRIES.entries())

    def test_large_replies(self) -> None:
        """A reply of many records arrives whole, and a part of it where less is asked for."""
        connection = self.connect(BookieStream(self.rig()), 2, self.encryption())
        requests.send_batch_read(connection, 1, 0, 40, 4 << 20)
        self.assertEqual(requests.receive_batch(connection, 1, 0).entries(), ENTRIES.entries())
        requests.send_reads(connection, 1, range(40))
        found = b"".join(connection.receive_some(n) for n in (1, 10, 100))
        self.assertEqual(len(found), 111)
        whole = found + connection.receive(40 * (28 + len(ENTRIES.entry(0))) - 111)
        self.assertTrue(whole.endswith(ENTRIES.entry(39)))

    def test_timeout(self) -> None:
        """A bookie that does not answer a request in time is an error, not a wait without end."""
        connection = self.connect(BookieStream(self.rig()), 2, self.encryption())
        self.assertRaises(RequestTimeoutError, connection.receive, 1)

    def test_closed(self) -> None:
        """A bookie that closes the connection is one that cannot be reached, whether it says so or not."""
        for says_so in (True, False):
            stream = BookieStream(self.rig())
            connection = self.connect(stream, 2, self.encryption())
            if says_so:
                stream.peer.connection.end()
            else:
                stream.lose()
            error = self.assertRaises(BookieHandleNotAvailableError, connection.receive, 1)
            self.assertIn("bookie-7 closed the connection", str(error))
            self.assertRaises(BookieHandleNotAvailableError, connection.receive, 1)


class DowngradeTests(SecuredCase):
    """Bookies, and others, that do not encrypt although the client wants it."""

    def test_no_tls(self) -> None:
        """A bookie without TLS is refused, and nothing but StartTLS was sent to it in clear."""
        stream = BookieStream(filled(Rig()))
        self.refused(SecurityError, stream, "it has no TLS", encryption=self.encryption())
        self.assertLess(len(stream.sent), 40)

    def test_bytes_behind(self) -> None:
        """Bytes in clear behind the answer to StartTLS end the connection (CVE-2011-0411)."""
        for behind in (ANSWER, ANSWER[:5], b"\xff" * 4, b"\x16\x03\x03\x00\x01"):
            stream = ScriptedStream([ANSWER + behind])
            self.refused(SecurityError, stream, "bytes in clear", encryption=self.encryption())
        later = ScriptedStream([ANSWER, ANSWER])
        self.refused(SecurityError, later, "the TLS handshake with bookie-7 failed", encryption=self.encryption())

    def test_slow(self) -> None:
        """A bookie that answers nothing, or a byte now and then, is given up in time."""
        for stream in (
            ScriptedStream([BlockingIOError()]), ScriptedStream([ANSWER[:1], BlockingIOError()]),
            ScriptedStream([ANSWER, b"\x16\x03\x03\x3f\xff", b"\0"], seconds=0.5),
        ):  # fmt: skip
            self.refused(RequestTimeoutError, stream, "no TLS handshake", encryption=self.encryption())
            self.assertLess(stream.count, 20)

    def test_lost(self) -> None:
        """A connection that is lost meanwhile is an error that says when."""
        for chunks, kind in (([b""], BookieHandleNotAvailableError), ([ANSWER, b""], SecurityError),
                             ([ConnectionResetError("reset")], BookieHandleNotAvailableError)):  # fmt: skip
            self.refused(kind, ScriptedStream(chunks), "lost|failed", encryption=self.encryption())

    def test_untrusted(self) -> None:
        """A certificate of another authority or another host, or one that has expired, is refused by name."""
        for identity, reason in (
            (issued("a bookie", authority("another"), (HOST,)), "not in the trust store"),
            (issued("a bookie", authority(), ("192.0.2.8",)), f"it is not one for {HOST}"),
            (issued("a bookie", authority(), (HOST,), until=EXPIRED), "it has expired"),
        ):  # fmt: skip
            self.bookie_files.put_pair(identity, authority())
            self.refused(SecurityError, BookieStream(self.rig()), reason, encryption=self.encryption())
        self.bookie_files.put_pair(issued("a bookie", authority(), ("192.0.2.8",)), authority())
        self.connect(BookieStream(self.rig()), 2, self.encryption(hostname_verification=False))

    def test_own_certificate(self) -> None:
        """A bookie that requires a certificate refuses a client without one; the error says so."""
        for wire in (2, 3):
            encryption = self.encryption(client_authentication=False)
            connection = self.connect(BookieStream(self.rig()), wire, encryption)
            error = self.assertRaises(SecurityError, connection.receive, 1)
            self.assertIn("bookie bookie-7 ended the encrypted connection", str(error))
            self.assertIn("certificate required", str(error))
            self.assertRaises(SecurityError, connection.send, b"request")


class AuthenticationTests(SecuredCase):
    """Exchanges of tokens, in clear and within TLS."""

    def sides(self, section: str = "BookKeeper", mechanism: str = "DIGEST-MD5") -> tuple[SaslBookie, SaslClient]:
        """The sides of SASL, of a JAAS file."""
        path = Path(self.mktemp())
        path.write_text(JAAS)
        path.chmod(0o600)
        config = AuthenticationConfig(
            sasl_jaas_config=str(path), sasl_mechanism=mechanism, sasl_jaas_client_section_name=section,
            bookie_auth_provider_factory_class="sasl", client_auth_provider_factory_class="sasl",
            tls_provider_factory_class="TLSContextFactory",
        )  # fmt: skip
        world = SaslWorld(lambda: 0.0, bytes)
        return SaslBookie(config, world), SaslClient(config, world)

    def assert_serves(self, connection: IBookieConnection) -> None:
        requests.send_reads(connection, 1, [0])
        self.assertEqual(requests.receive_entries(connection, 1, [0])[0], ENTRIES.entry(0))

    def test_sasl(self) -> None:
        """DIGEST-MD5 works in clear and within TLS, PLAIN within TLS, over both protocols."""
        for mechanism, is_encrypted in (("DIGEST-MD5", False), ("DIGEST-MD5", True), ("PLAIN", True)):
            for wire in (2, 3):
                bookie, client = self.sides(mechanism=mechanism)
                rig = self.rig(bookie) if is_encrypted else filled(Rig(options=EngineOptions(authentication=bookie)))
                stream = BookieStream(rig)
                connection = self.connect(stream, wire, self.encryption() if is_encrypted else None, client, True)
                self.assert_serves(connection)
                (peer,) = rig.engine.factory.peers
                self.assertEqual(peer.principal, Principal("sasl", USER))
                self.assertEqual(USER.encode() in stream.sent, not is_encrypted)

    def test_wrong_password(self) -> None:
        """A wrong password is refused; V2 has no word for that, and the bookie ends the connection."""
        for wire, kind, wanted in (
            (3, UnauthorizedAccessError, "the bookie refused the authentication"),
            (2, BookieHandleNotAvailableError, "lost during the authentication .refused"),
        ):  # fmt: skip
            bookie, client = self.sides("Wrong")
            stream = BookieStream(self.rig(bookie))
            self.refused(kind, stream, wanted, wire=wire, encryption=self.encryption(), authentication=client)

    def test_no_password_in_clear(self) -> None:
        """Neither a password nor a token is sent over a connection that is not encrypted."""
        _, client = self.sides(mechanism="PLAIN")
        path = Path(self.mktemp())
        path.write_text("a.b.c")
        for provider, wanted in ((client, "PLAIN is refused"), (TokenClient(str(path), False), "not encrypted")):
            stream = BookieStream(filled(Rig()))
            self.refused(UnauthorizedAccessError, stream, wanted, authentication=provider)
            self.assertEqual(stream.sent, b"")

    def test_bookie_authenticates_nobody(self) -> None:
        """A bookie that asks for no token is refused only if the client requires that it does."""
        _, client = self.sides()
        for wire in (2, 3):
            self.refused(
                UnauthorizedAccessError, BookieStream(self.rig()), "authenticates nobody", wire=wire,
                encryption=self.encryption(), authentication=client, required=True,
            )  # fmt: skip
            self.assert_serves(self.connect(BookieStream(self.rig()), wire, self.encryption(), client))

    def test_no_answer(self) -> None:
        """A bookie that does not answer a token is given up in time."""
        stream = ScriptedStream([BlockingIOError()])
        self.refused(RequestTimeoutError, stream, "no authentication in time", authentication=TokenAuthentication())


ENTRIES = run(1, 0, 40, b"x" * 50_000)


def filled(rig: Rig) -> Rig:
    """The bookie, with entries in it."""
    rig.add(ENTRIES)
    rig.drain()
    return rig
