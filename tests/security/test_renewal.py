"""Files of TLS that change while the process runs."""

import os
from datetime import timedelta
from pathlib import Path

from bookkeeper_twisted.security.openssl import PeerCertificateError

from .certificates import AFTER, authority, bookie, issued
from .handshakes import Ends, TlsCase, shaken


class RenewalTests(TlsCase):
    """Files that change while the process runs."""

    def setUp(self) -> None:
        """Makes both sides."""
        super().setUp()
        self.tls, self.other = self.server(), self.peer()
        self.old = shaken(self.tls, self.other)

    def _serial(self, ends: Ends) -> int:
        shown = ends.client.get_peer_certificate(as_cryptography=True)
        assert shown is not None
        return shown.serial_number

    def test_exchanged(self) -> None:
        """New connections have the new certificate, once the files were looked at; old connections go on."""
        new = issued("new", authority(), ["bookie.example"])
        self.bookie.put_pair(new, authority())
        self.clock.advance(4.9)
        self.assertEqual(self._serial(shaken(self.tls, self.other)), bookie().chain[0].serial_number)
        self.clock.advance(0.1)
        self.assertEqual(self._serial(shaken(self.tls, self.other)), new.chain[0].serial_number)
        self.assertEqual(self.old.say(), b"entry")
        self.assertEqual(self.lines(), [("info", "the files of TLS have changed: the new ones are in use")])
        self.clock.advance(100)
        shaken(self.tls, self.other)
        self.assertEqual(self.lines(), [])

    def test_expiry(self) -> None:
        """The end of the certificate is known, and of a new one without a connection: the first end in its chain."""
        self.assertEqual(self.tls.expires_at(), AFTER.timestamp())
        soon, later = AFTER - timedelta(days=9), AFTER - timedelta(days=1)
        between = issued("intermediate", authority(), until=soon, of_authority=True)
        self.bookie.put_pair(issued("new", between, ["bookie.example"], until=later), authority())
        self.clock.advance(5)
        self.assertEqual(self.tls.expires_at(), soon.timestamp())

    def test_trust_exchanged(self) -> None:
        """A client believes those whom its new trust store names, and no longer those of the old one."""
        self.client.put("trust.pem", authority("other").chain_pem())
        self.clock.advance(5)
        self.assertIsInstance(shaken(self.tls, self.other).errors[1], PeerCertificateError)
        self.client.put("trust.pem", authority().chain_pem())
        self.clock.advance(5)
        self.assertEqual(shaken(self.tls, self.other).reasons, ("", ""))

    def test_trust_of_bookie(self) -> None:
        """A bookie lets in those whom its new trust store names, and no longer those of the old one."""
        tls, other = self.server(client_authentication=True), self.peer(client_authentication=True)
        self.assertEqual(shaken(tls, other).reasons, ("", ""))
        self.bookie.put("trust.pem", authority("other").chain_pem())
        self.clock.advance(5)
        self.assertIsInstance(shaken(tls, other).errors[0], PeerCertificateError)

    def test_certificate_of_client(self) -> None:
        """A client shows its new certificate on new connections."""
        tls, other = self.server(client_authentication=True), self.peer(client_authentication=True)
        new = issued("new", authority())
        self.client.put("key.pem", new.key_pem())
        self.client.put("chain.pem", new.chain_pem())
        self.clock.advance(5)
        shown = shaken(tls, other).server.get_peer_certificate(as_cryptography=True)
        self.assertEqual(shown, new.chain[0])

    def test_one_after_the_other(self) -> None:
        """A key without its certificate yet leaves the old ones in use; with its certificate it is taken."""
        new = issued("new", authority(), ["bookie.example"])
        self.bookie.put("key.pem", new.key_pem())
        self.clock.advance(5)
        self.assertEqual(self._serial(shaken(self.tls, self.other)), bookie().chain[0].serial_number)
        self.bookie.put("chain.pem", new.chain_pem())
        self.clock.advance(5)
        self.assertEqual(self._serial(shaken(self.tls, self.other)), new.chain[0].serial_number)
        self.assertEqual([level for level, _ in self.lines()], ["error", "info"])

    def test_broken(self) -> None:
        """Files that cannot be used leave the old ones in use, with one line for each change."""
        for content in (b"nothing", None, b"nothing else"):
            path = self.bookie.put("key.pem", content or b"")
            if content is None:
                Path(path).unlink()
            for _ in range(3):
                self.clock.advance(5)
                ends = shaken(self.tls, self.other)
                self.assertEqual(ends.reasons, ("", ""))
                self.assertEqual(self._serial(ends), bookie().chain[0].serial_number)
            ((level, text),) = self.lines()
            self.assertEqual(level, "error")
            self.assertIn("the previous ones stay in use: tlsKeyStore = ", text)

    def test_no_file(self) -> None:
        """A FIFO in the place of a file leaves the old files in use, with one line, and nobody waits for it."""
        path = self.bookie.path / "key.pem"
        path.unlink()
        os.mkfifo(path)
        for _ in range(3):
            self.clock.advance(5)
            self.assertEqual(self._serial(shaken(self.tls, self.other)), bookie().chain[0].serial_number)
        ((level, text),) = self.lines()
        self.assertEqual(level, "error")
        self.assertIn("it is not a regular file", text)

    def test_unexpected(self) -> None:
        """An error that nobody foresaw does not reach the connection, and is in the log."""

        def fail() -> None:
            raise ZeroDivisionError

        self.patch(self.tls._context, "_make", fail)
        self.bookie.put("key.pem", b"changed")
        self.clock.advance(5)
        self.assertEqual(shaken(self.tls, self.other).reasons, ("", ""))
        self.assertEqual([level for level, _ in self.lines()], ["critical"])

    def test_clock_put_back(self) -> None:
        """A clock that was put back does not end the looking."""
        new = issued("new", authority(), ["bookie.example"])
        self.bookie.put_pair(new, authority())
        self.clock.rightNow = 5.0
        self.assertEqual(self._serial(shaken(self.tls, self.other)), new.chain[0].serial_number)
