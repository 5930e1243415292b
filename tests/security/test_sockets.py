"""Contexts of the standard library: what is shown, who is trusted, and files that change."""

import fcntl
import os
import ssl
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL
from twisted.internet.task import Clock

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security.contexts import SocketTls

from .certificates import FIXTURES, Folder, authority, bookie, client, issued
from .handshakes import NOW, TlsCase


class SocketTlsTests(TlsCase):
    """Handshakes of :class:`SocketTls` with a server in memory."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(SocketTls, "_log", SocketTls._log.__class__(observer=self.logged.append))  # type: ignore[arg-type]

    def tls(self, folder: Folder | None = None, **others: Any) -> SocketTls:
        """The TLS of a client that shows its certificate."""
        settings = {"client_authentication": True, "refresh_seconds": 0.0, "prefix": "zkSsl", **others}
        return SocketTls((folder or self.client).settings(**settings), self.clock.seconds)

    def shake(self, tls: SocketTls, host: str = "bookie.example", **others: Any) -> SSL.Connection:
        """Make a handshake; return the server's end.

        :raises ssl.SSLError: the client refuses.
        :raises SSL.Error: the server refuses.
        """
        unused: Any = None
        server = self.server(**{"client_authentication": True, **others}).serverConnectionForTLS(unused)
        server.set_accept_state()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = tls._context.get().wrap_bio(incoming, outgoing, server_hostname=host)
        for _ in range(6):
            try:
                ours.do_handshake()
            except ssl.SSLWantReadError:
                pass
            if outgoing.pending:
                server.bio_write(outgoing.read())
            try:
                server.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                incoming.write(server.bio_read(1 << 16))
            except SSL.WantReadError:
                pass
        self.version = ours.version()
        return server

    def test_shown(self) -> None:
        """The server sees the certificate of the client; TLS 1.3 is spoken, or what is configured."""
        certificate = self.shake(self.tls()).get_peer_certificate(as_cryptography=True)
        self.assertEqual(certificate, client().chain[0])
        self.assertEqual(self.version, "TLSv1.3")
        self.shake(self.tls(protocols="TLSv1.2"))
        self.assertEqual(self.version, "TLSv1.2")

    def test_nothing_shown(self) -> None:
        """Without client authentication the key is not read, and nothing is shown."""
        self.client.put("key.pem", b"no key")
        tls = self.tls(client_authentication=False)
        self.assertIsNone(self.shake(tls, client_authentication=False).get_peer_certificate())
        self.assertRaises(SSL.Error, self.shake, tls)

    def test_trust(self) -> None:
        """Only the trust store is trusted, an intermediate issuer in it too; the system's certificates are not."""
        self.assertEqual(self.tls()._context.get().cert_store_stats()["x509_ca"], 1)
        self.client.put("trust.pem", authority("another").chain_pem())
        self.assertRaises(ssl.SSLCertVerificationError, self.shake, self.tls())
        self.client.put("trust.pem", bookie().chain[1].public_bytes(Encoding.PEM))
        self.shake(self.tls())

    def test_hosts(self) -> None:
        """The certificate has to name the host or address, in its alternative names; unless that does not matter."""
        for host in ("bookie.example", "a.rack.example", "192.0.2.7", "2001:db8::7"):
            self.shake(self.tls(), host)
        for host in ("other.example", "192.0.2.8", "bookie", "a.b.rack.example"):
            self.assertRaises(ssl.SSLCertVerificationError, self.shake, self.tls(), host)
            self.shake(self.tls(hostname_verification=False), host)
        self.bookie.put_pair(issued("bookie.example", authority()), authority())
        self.assertRaises(ssl.SSLCertVerificationError, self.shake, self.tls())

    def test_stores(self) -> None:
        """Stores of Java, and keys that are encrypted, are shown as keys in PEM are."""
        password = self.client.put("password", b"sesame")
        for name, kind in (("ec.jks", "JKS"), ("chain.p12", "PKCS12")):
            tls = self.tls(key_store_type=kind, key_store=str(FIXTURES / name), key_store_password_path=password)
            self.assertRaises(SSL.Error, self.shake, tls)  # of another authority
        self.client.put("key.pem", client().key_pem("sesame"))
        self.shake(self.tls(key_store_password_path=password))

    def test_files(self) -> None:
        """Errors name the keys of ZooKeeper's files."""
        missing = str(self.client.path / "none")
        for keys, reason in (
            ({"trust_store": missing}, f"zkSslTrustStoreLocation = '{missing}': No such file"),
            ({"key_store": missing}, f"zkSslKeyStoreLocation = '{missing}': No such file"),
            ({"certificate_path": missing}, f"zkSslKeyStoreLocation = '{missing}': No such file"),
        ):  # fmt: skip
            self.assertIn(reason, str(self.assertRaises(ConfigError, self.tls, **keys)))
        self.client.put("chain.pem", client().chain_pem() * 200)
        self.assertIn("more than 61440 bytes", str(self.assertRaises(ConfigError, self.tls)))

    def test_small_pipe(self) -> None:
        """A pipe that is too small for the certificates is an error: the process is not stopped until it is read."""
        make = os.pipe

        def make_small() -> tuple[int, int]:
            pipe = make()
            fcntl.fcntl(pipe[1], fcntl.F_SETPIPE_SZ, 4096)
            return pipe

        self.patch(os, "pipe", make_small)
        self.tls()
        self.client.put("chain.pem", client().chain_pem() * 20)
        self.assertIn("takes only 4096 of", str(self.assertRaises(ConfigError, self.tls)))

    def test_changed(self) -> None:
        """A changed file is used by the next connection; one that cannot be used is a line, and the last stays."""
        tls = self.tls()
        self.client.put_pair(issued("newer", authority()), authority())
        self.clock.advance(1)
        certificate = self.shake(tls).get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        self.assertEqual(certificate.subject.rfc4514_string(), "CN=newer")
        self.client.put("key.pem", b"no key")
        self.clock.advance(1)
        self.lines()
        self.shake(tls)
        ((level, text),) = self.lines()
        self.assertEqual((level, "cannot be used" in text), ("error", True))

    def test_clock(self) -> None:
        """A clock that does not move reads files once."""
        tls = SocketTls(self.client.settings(refresh_seconds=5.0), Clock().seconds)
        self.client.put("trust.pem", authority("another").chain_pem())
        self.clock.advance(NOW)
        self.shake(tls, client_authentication=False)



