"""Connections between the TLS of a bookie and of a client."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.test.iosim import connectedServerAndClient
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import ConfigError, IncorrectParameterError
from bookkeeper_twisted.security import openssl
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls, TlsSettings
from bookkeeper_twisted.security.openssl import PeerCertificateError
from bookkeeper_twisted.security.principals import principal_of

from .certificates import EXPIRED, FIXTURES, authority, bookie, client, issued, weak
from .handshakes import Ends, TlsCase, greeting, shaken

ROOT = Path(__file__).parents[2]


class HandshakeTests(TlsCase):
    """Who is let in, and who is believed."""

    def test_good(self) -> None:
        """A client believes the bookie that it meant; bytes pass, by TLS 1.3."""
        ends = shaken(self.server(), self.peer())
        self.assertEqual(ends.reasons, ("", ""))
        self.assertEqual(ends.say(), b"entry")
        self.assertEqual(ends.client.get_protocol_version_name(), "TLSv1.3")
        self.assertIsNone(ends.server.get_peer_certificate())
        self.assertEqual(ends.server.get_servername(), b"bookie.example")
        self.assertEqual(self.lines(), [])

    def test_interfaces(self) -> None:
        """Both sides are what Twisted's TLS takes."""
        verifyObject(IOpenSSLServerConnectionCreator, self.server())
        verifyObject(IOpenSSLClientConnectionCreator, self.peer().connecting_to("h"))

    def test_stores_of_java(self) -> None:
        """The stores of Java work on both sides."""
        for suffix in ("jks", "p12"):
            password = self.bookie.put("password", b"sesame\n")
            settings = TlsSettings(
                key_store=str(FIXTURES / f"chain.{suffix}"), key_store_password_path=password,
                trust_store=str(FIXTURES / f"trust.{suffix}"), trust_store_password_path=password,
                client_authentication=True,
            )  # fmt: skip
            ends = shaken(ServerTls(settings, self.clock.seconds), ClientTls(settings, self.clock.seconds))
            self.assertEqual(ends.reasons, ("", ""))

    def _refused(self, ends: Ends, *texts: str) -> None:
        """The client refuses the bookie, with these texts, and says so to the bookie."""
        self.assertIsInstance(ends.errors[1], PeerCertificateError)
        for text in texts:
            self.assertIn(text, ends.reasons[1])
        self.assertIn("alert", ends.reasons[0])

    def test_wrong_authority(self) -> None:
        """A bookie with a certificate of another authority is refused, whether its name is verified or not."""
        self.client.put_pair(client(), authority("other"))
        for verified in (True, False):
            self._refused(shaken(self.server(), self.peer(hostname_verification=verified)), "CN=", "trust store")

    def test_signed_itself(self) -> None:
        """A bookie that has signed its certificate itself is refused, unless the certificate is trusted."""
        own = issued("own", hosts=["bookie.example"])
        self.bookie.put_pair(own, authority())
        self._refused(shaken(self.server(), self.peer()), "CN=own is refused: it has signed itself")
        self.client.put_pair(client(), own)
        self.assertEqual(shaken(self.server(), self.peer()).reasons, ("", ""))

    def test_trusted_itself(self) -> None:
        """A certificate that is trusted itself, not by its issuer, is one for its hosts alone."""
        self.client.put("trust.pem", bookie().chain[0].public_bytes(Encoding.PEM))
        self.assertEqual(shaken(self.server(), self.peer()).reasons, ("", ""))
        self._refused(shaken(self.server(), self.peer(), "other.example"), "not one for other.example")

    def test_no_authority(self) -> None:
        """A certificate that was issued by one that may not issue any is refused."""
        self.bookie.put_pair(issued("bookie", issued("plain", authority()), ["bookie.example"]), authority())
        self._refused(shaken(self.server(), self.peer()), "CN=plain is refused: it is not that of a certificate auth")

    def test_incomplete(self) -> None:
        """A bookie that leaves out its intermediate issuer is refused."""
        self.bookie.put("chain.pem", bookie().chain[0].public_bytes(Encoding.PEM))
        self._refused(shaken(self.server(), self.peer()), "its issuer is neither sent nor in the trust store")

    def test_intermediate_trusted(self) -> None:
        """An intermediate issuer in the trust store is trusted without its root, as in Java."""
        self.client.put("trust.pem", bookie().chain[1].public_bytes(Encoding.PEM))
        self.assertEqual(shaken(self.server(), self.peer()).reasons, ("", ""))

    def test_wrong_host(self) -> None:
        """A certificate for another host is refused; not if names are not verified."""
        for host in ("other.example", "rack.example", "a.b.rack.example", "bookie", "bookie_1"):
            self._refused(shaken(self.server(), self.peer(), host), "CN=bookie is refused", f"not one for {host}")
        self.assertEqual(shaken(self.server(), self.peer(hostname_verification=False), "other").reasons, ("", ""))

    def test_hosts(self) -> None:
        """Names with a dot at their end, in capitals, and those of a wildcard are those of the certificate."""
        for host in ("bookie.example.", "BOOKIE.example", "r1.rack.example"):
            self.assertEqual(shaken(self.server(), self.peer(), host).reasons, ("", ""), host)

    def test_common_name(self) -> None:
        """The common name of a subject is no host name: one without alternative names is for no host."""
        self.bookie.put_pair(issued("bookie.example", authority()), authority())
        self._refused(shaken(self.server(), self.peer()), "not one for bookie.example")

    def test_addresses(self) -> None:
        """Addresses are compared with those of the certificate, and are not sent as a name."""
        for host in ("192.0.2.7", "2001:db8::7", "2001:DB8:0::7"):
            ends = shaken(self.server(), self.peer(), host)
            self.assertEqual(ends.reasons, ("", ""), host)
            self.assertIsNone(ends.server.get_servername())
        for host in ("192.0.2.8", "2001:db8::8"):
            self._refused(shaken(self.server(), self.peer(), host), f"not one for {host}")

    def test_no_host(self) -> None:
        """What can be no host name is refused before there is a connection."""
        for host in ("", ".", "a" * 64, "a..b"):
            self.assertRaises(IncorrectParameterError, self.peer().connecting_to, host)

    def test_expired(self) -> None:
        """A bookie with an old certificate starts with a warning; clients refuse it."""
        self.bookie.put_pair(issued("old", authority(), ["bookie.example"], until=EXPIRED), authority())
        server = self.server()
        ((level, text),) = self.lines()
        self.assertEqual(level, "warn")
        self.assertIn("tlsCertificatePath = ", text)
        self.assertIn("the certificate of CN=old expired at 2020-01-02", text)
        self.assertEqual(server.expires_at(), EXPIRED.timestamp())
        self._refused(shaken(server, self.peer()), "CN=old is refused: it has expired")

    def test_session_not_resumed(self) -> None:
        """A session is not resumed: a certificate is verified in each handshake."""
        server, peer = self.server(), self.peer(protocols="TLSv1.2")
        first = shaken(server, peer)
        session = first.client.get_session()
        assert session is not None
        unused: Any = None
        maker = peer.connecting_to("bookie.example")
        ends = Ends(server.serverConnectionForTLS(unused), maker.clientConnectionForTLS(unused))
        ends.client.set_session(session)
        ends.server.set_accept_state()
        ends.client.set_connect_state()
        ends.shake()
        self.assertEqual(ends.reasons, ("", ""))
        self.assertNotEqual(ends.client.master_key(), first.client.master_key())


class ClientAuthenticationTests(TlsCase):
    """Certificates of clients."""

    def test_shown(self) -> None:
        """The bookie has the certificate of the client, and so its principal."""
        ends = shaken(self.server(client_authentication=True), self.peer(client_authentication=True))
        self.assertEqual((ends.reasons, ends.say()), (("", ""), b"entry"))
        shown = ends.server.get_peer_certificate(as_cryptography=True)
        assert shown is not None
        self.assertEqual(principal_of(shown).roles, ("writer", "reader"))

    def _showing(self, der: bytes, key: Any) -> Ends:
        """The ends of a connection after the handshake of a client that shows a certificate in DER."""
        context = SSL.Context(SSL.TLS_METHOD)
        context.use_certificate_file(self.client.put("shown.der", der), FILETYPE_ASN1)
        context.use_privatekey(key)
        unused: Any = None
        server = self.server(client_authentication=True).serverConnectionForTLS(unused)
        ends = Ends(server, SSL.Connection(context, None))
        ends.server.set_accept_state()
        ends.client.set_connect_state()
        ends.shake()
        return ends

    def test_odd_names(self) -> None:
        """A subject is in the error without its control characters and without its end, if it is long."""
        for subject, shown in (("a\r\n\x1b[31mb\u2028c", "CN=a\\x0d\\x0a\\x1b[31mb\\x2028c"), ("x" * 64, "CN=x")):
            own = issued(subject, units=["y" * 60] * 10)
            (reason, _) = self._showing(own.chain[0].public_bytes(Encoding.DER), own.key).reasons
            self.assertIn(shown, reason)
            self.assertTrue(reason.isprintable())
            self.assertLess(len(reason), 400)

    def test_unreadable_names(self) -> None:
        """A subject that cannot be read ends the handshake like another, with a certificate that is trusted or not."""
        own = issued("unreadable", of_authority=True)
        der = own.chain[0].public_bytes(Encoding.DER).replace(b"\x0c\x0aunreadable", b"\x13\x0a" + b"\xff" * 10)
        ends = self._showing(der, own.key)
        self.assertIn("the certificate of an unreadable subject is refused", ends.reasons[0])
        self.assertIsInstance(ends.errors[0], PeerCertificateError)
        self.patch(openssl, "_subject", lambda _: None)
        ends = shaken(self.server(client_authentication=True), self.peer(client_authentication=True))
        self.assertIn("its subject cannot be read", ends.reasons[1])

    def test_not_asked_for(self) -> None:
        """A bookie that asks for none gets none, and needs no trust store."""
        server = self.server(trust_store="/nowhere")
        ends = shaken(server, self.peer(client_authentication=True))
        self.assertEqual(ends.reasons, ("", ""))
        self.assertIsNone(ends.server.get_peer_certificate())

    def test_missing(self) -> None:
        """A client without a certificate is refused by a bookie that asks for one."""
        for version in ("TLSv1.2", "TLSv1.3"):
            ends = shaken(self.server(client_authentication=True), self.peer(protocols=version))
            self.assertIn("peer did not return a certificate", ends.reasons[0])
            self.assertIn("alert", ends.reasons[1])

    def test_wrong_authority(self) -> None:
        """A client with a certificate of another authority is refused."""
        self.client.put_pair(issued("client", authority("other")), authority())
        ends = shaken(self.server(client_authentication=True), self.peer(client_authentication=True))
        self.assertIn("CN=other is refused: the root of its chain is not in the trust store", ends.reasons[0])
        self.assertIn("alert", ends.reasons[1])

    def test_expired(self) -> None:
        """A client with an old certificate is refused."""
        self.client.put_pair(issued("client", authority(), until=EXPIRED), authority())
        ends = shaken(self.server(client_authentication=True), self.peer(client_authentication=True))
        self.assertIn("CN=client is refused: it has expired", ends.reasons[0])

    def test_host_of_client(self) -> None:
        """The bookie compares no host name with the certificate of a client."""
        server = self.server(client_authentication=True, hostname_verification=True)
        self.assertEqual(shaken(server, self.peer(client_authentication=True)).reasons, ("", ""))


class RulesTests(TlsCase):
    """Protocols and suites."""

    def _answer(self, server: ServerTls, version: bytes) -> tuple[bytes, str]:
        """The record with which a bookie answers a client, and the error of its handshake."""
        unused: Any = None
        connection = server.serverConnectionForTLS(unused)
        connection.set_accept_state()
        connection.bio_write(greeting(version))
        try:
            connection.do_handshake()
        except SSL.WantReadError:
            error = ""
        except SSL.Error as failed:
            error = str(failed)
        return connection.bio_read(1000), error

    def test_old_protocols(self) -> None:
        """Clients with TLS 1.1 and older are refused, even if the suites and the configured protocols allow them."""
        self.patch(openssl, "DEFAULT_CIPHERS", ("ALL:@SECLEVEL=0",))
        server = self.server(protocols="TLSv1,TLSv1.1,TLSv1.2")
        self.assertEqual(self._answer(server, b"\x03\x03")[1], "")
        for version in (b"\x03\x02", b"\x03\x01", b"\x03\x00"):
            record, error = self._answer(server, version)
            self.assertRegex(error, "unsupported protocol|version too low")
            self.assertEqual((record[:1], record[-2:-1]), (b"\x15", b"\x02"))  # a fatal alert

    def test_chosen(self) -> None:
        """One protocol alone can be configured."""
        for name in ("TLSv1.2", "TLSv1.3"):
            ends = shaken(self.server(protocols=name), self.peer())
            self.assertEqual(ends.client.get_protocol_version_name(), name)
        ends = shaken(self.server(protocols="TLSv1.2"), self.peer(protocols="TLSv1.3"))
        self.assertIn("unsupported protocol", ends.reasons[0])

    def test_suites(self) -> None:
        """Suites have their names in Java or in OpenSSL; a list limits all protocols, as in Java."""
        java, native = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"
        for name in (java, native):
            ends = shaken(self.server(ciphers=name), self.peer())
            self.assertEqual(ends.client.get_cipher_name(), native)
            self.assertEqual(ends.client.get_protocol_version_name(), "TLSv1.2")
        ends = shaken(self.server(ciphers=[java, "TLS_AES_128_GCM_SHA256"]), self.peer())
        self.assertEqual(ends.client.get_cipher_name(), "TLS_AES_128_GCM_SHA256")
        ends = shaken(self.server(ciphers="TLS_AES_128_GCM_SHA256"), self.peer(protocols="TLSv1.2"))
        self.assertIn("unsupported protocol", ends.reasons[0])

    def test_default_suites(self) -> None:
        """By default all suites of TLS 1.2 have forward secrecy and authenticated encryption."""
        unused: Any = None
        names = self.server(protocols="TLSv1.2").serverConnectionForTLS(unused).get_cipher_list()
        older = [name for name in names if not name.startswith("TLS_")]
        self.assertEqual(len(older), 6)
        for name in older:
            self.assertRegex(name, "^ECDHE-.*(GCM|CHACHA20)")

    def test_unknown(self) -> None:
        """What is unknown, or is not spoken, is a mistake in the configuration that names its key."""
        for key, wrong in {
            "tlsEnabledProtocols: 'TLSv2'": {"protocols": "TLSv1.2,TLSv2"},
            "tlsEnabledProtocols = 'TLSv1,TLSv1.1'": {"protocols": "TLSv1,TLSv1.1"},
            "tlsEnabledCipherSuites: 'NONE'": {"ciphers": "ECDHE-RSA-AES128-GCM-SHA256,NONE"},
            "tlsEnabledCipherSuites: 'TLS_NONE'": {"ciphers": "TLS_NONE"},
            "tlsEnabledCipherSuites: none of": {"ciphers": "TLS_AES_128_GCM_SHA256", "protocols": "TLSv1.2"},
            "tlsKeyStoreType = 'BKS'": {"key_store_type": "bks"},
            "tlsTrustStoreType = ''": {"trust_store_type": ""},
        }.items():
            self.assertIn(key, str(self.assertRaises(ConfigError, self.server, **wrong)))

    def test_no_suites(self) -> None:
        """Sets of suites, commands of OpenSSL, and suites without a certificate or encryption are refused by name."""
        good = "ECDHE-ECDSA-AES128-GCM-SHA256"
        for wrong in (
            "ALL", "HIGH", "LOW", "DEFAULT", "aNULL", "eNULL", "ECDHE", "@SECLEVEL=0", f"{good}:@SECLEVEL=0",
            f"{good}:aNULL", f"+{good}", f"-{good}", f"!{good}", "ECDHE+AESGCM+aECDSA", "ADH-AES128-SHA", "NULL-SHA256",
            "PSK-AES128-GCM-SHA256", "SRP-AES-128-CBC-SHA", "NULL-MD5", "IDEA-CBC-SHA", "TLS_SHA256_SHA256",
            "TLS_DH_anon_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_NULL_SHA", "TLS_WITH_", "TLS_", "é", "\udc80", "a\0b",
        ):  # fmt: skip
            for side in (self.server, self.peer):
                error = self.assertRaises(ConfigError, side, ciphers=[good, wrong])
                self.assertIn(f"tlsEnabledCipherSuites: {wrong!r} is not", str(error))

    def test_names(self) -> None:
        """Every name that OpenSSL has for a suite with a certificate and encryption is taken, and Java's beside it."""
        for name in (
            "ECDHE-RSA-AES256-SHA384", "AES128-SHA", "DHE-RSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-CCM8",
            "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_CCM_SHA256",
        ):  # fmt: skip
            self.server(ciphers=name)

    def test_preferred(self) -> None:
        """The cheaper suite of two that both sides have is chosen, whatever the client prefers."""
        for protocol, cheap, costly in (
            ("TLSv1.3", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"),
            ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ):
            ends = shaken(self.server(protocols=protocol), self.peer(ciphers=[costly, cheap]))
            self.assertEqual(ends.client.get_cipher_name(), cheap)
            ends = shaken(self.server(protocols=protocol), self.peer(ciphers=costly))
            self.assertEqual(ends.client.get_cipher_name(), costly)

    def test_renegotiation(self) -> None:
        """Neither side takes part in a renegotiation."""
        ends = shaken(self.server(protocols="TLSv1.2"), self.peer())
        self.assertRaises(SSL.Error, ends.client.renegotiate)

    def test_java_names(self) -> None:
        """Kinds and lists are taken as files have them."""
        settings = TlsSettings(key_store_type=" pem ", protocols=" TLSv1.3 , TLSv1.2,", ciphers="a, b")
        self.assertEqual((settings.key_store_type, settings.ciphers), ("PEM", ("a", "b")))
        self.assertEqual(settings.spoken, ("TLSv1.2", "TLSv1.3"))
        self.assertEqual(TlsSettings(protocols="").spoken, ("TLSv1.2", "TLSv1.3"))


_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("OpenSSL", "cryptography", "service_identity")))
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls, TlsSettings
from bookkeeper_twisted.security.principals import NOBODY
print(NOBODY.kind)
for kind in (ServerTls, ClientTls):
    try:
        kind(TlsSettings(), float)
    except ConfigError as error:
        print(error)
"""
"""A program where the libraries are missing."""


class StartTests(TlsCase):
    """What ends the start of a process."""

    def test_files(self) -> None:
        """A file that cannot be used is a mistake in the configuration, at the sides that need it."""
        for key, maker, wrong in (
            ("tlsKeyStore = '/n", self.server, {"key_store": "/n"}),
            ("tlsTrustStore is not set", self.server, {"trust_store": "", "client_authentication": True}),
            ("tlsTrustStore is not set", self.peer, {"trust_store": ""}),
            ("tlsKeyStore is not set", self.peer, {"key_store": "", "client_authentication": True}),
        ):
            self.assertIn(key, str(self.assertRaises(ConfigError, maker, **wrong)))
        self.peer(key_store="", certificate_path="")

    def test_weak(self) -> None:
        """A key that OpenSSL does not use, as it is too short, is a mistake in the configuration."""
        files = weak()
        self.bookie.put("key.pem", files[0])
        self.bookie.put("chain.pem", files[1])
        error = self.assertRaises(ConfigError, self.server)
        self.assertIn("/key.pem': OpenSSL refuses the certificate or its key: ee key too small", str(error))

    def test_no_library(self) -> None:
        """Without the extra the error says what to install; the rooms of the package can be imported."""
        done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, cwd=ROOT)
        wanted = "TLS needs cryptography, which is not installed: pip install 'bookkeeper-twisted[tls]'\n"
        self.assertEqual((done.stdout, done.stderr), ("none\n" + 2 * wanted, ""))

    def test_silent(self) -> None:
        """Nothing that is shown of the objects has a password or a key."""
        password = self.bookie.put("password", b"sesame")
        self.bookie.put("key.pem", bookie().key_pem("sesame"))
        server = self.server(key_store_password_path=password)
        self.assertNotIn("sesame", repr(server) + repr(vars(server)) + repr(server._settings))


class _Recorder(Protocol):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.received = b""
        self.lost: Failure | None = None

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(b"hello")

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008
        self.lost = reason


class TwistedTests(TlsCase):
    """The same below Twisted's TLS."""

    def _ends(self, host: str) -> tuple[_Recorder, _Recorder]:
        ends = _Recorder(), _Recorder()
        factories = [Factory.forProtocol(lambda end=end: end) for end in ends]  # type: ignore[misc, arg-type]
        server = TLSMemoryBIOFactory(self.server(), False, factories[0], self.clock)
        client = TLSMemoryBIOFactory(self.peer().connecting_to(host), True, factories[1], self.clock)
        _, _, pump = connectedServerAndClient(lambda: server.buildProtocol(None), lambda: client.buildProtocol(None))
        for _ in range(3):
            self.clock.advance(0)
            pump.flush()
        return ends

    def test_good(self) -> None:
        """Bytes pass in both directions."""
        server, client = self._ends("bookie.example")
        self.assertEqual((server.received, client.received), (b"hello", b"hello"))

    def test_wrong_host(self) -> None:
        """The client loses the connection with the reason; no byte of its data has left."""
        server, client = self._ends("other.example")
        assert client.lost is not None and server.lost is not None
        self.assertIsInstance(client.lost.value, PeerCertificateError)
        self.assertIn("not one for other.example", client.lost.getErrorMessage())
        self.assertEqual((server.received, client.received), (b"", b""))
        self.assertIn("alert", str(server.lost.value))
