"""Stores in Java's format, those that ``keytool`` has made."""

import hashlib

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import CodecError
from bookkeeper_twisted.security.jks import JksStore, read_jks, unprotect

from .certificates import FIXTURES, PASSWORD

_X509 = b"\x00\x05X.509"


def fixture(name: str) -> bytes:
    """The bytes of a store."""
    return (FIXTURES / name).read_bytes()


def sealed(body: bytes, password: str = PASSWORD) -> bytes:
    """A store with the digest of its body."""
    return body + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


class ReadTests(SynchronousTestCase):
    """``read_jks``."""

    def _refusal(self, data: bytes, password: str = PASSWORD) -> str:
        return str(self.assertRaises(CodecError, read_jks, data, password))

    def test_trusted(self) -> None:
        """Trusted certificates are read."""
        store = read_jks(fixture("trust.jks"), PASSWORD)
        self.assertEqual(store.keys, ())
        certificates = [x509.load_der_x509_certificate(each) for each in store.trusted]
        self.assertEqual([each.subject.rfc4514_string() for each in certificates], ["CN=Fixture CA"])

    def test_key(self) -> None:
        """A private key is read with the chain of its certificate, beside a trusted certificate."""
        store = read_jks(fixture("chain.jks"), PASSWORD)
        (key,) = store.keys
        self.assertEqual((key.alias, len(key.chain), len(store.trusted)), ("bookie", 2, 1))
        private = load_der_private_key(unprotect(key.protected, PASSWORD), None)
        assert isinstance(private, RSAPrivateKey)
        self.assertEqual(private.public_key(), x509.load_der_x509_certificate(key.chain[0]).public_key())

    def test_curve(self) -> None:
        """A key of an elliptic curve is read."""
        (key,) = read_jks(fixture("ec.jks"), PASSWORD).keys
        self.assertIsInstance(load_der_private_key(unprotect(key.protected, PASSWORD), None), EllipticCurvePrivateKey)

    def test_password_of_key(self) -> None:
        """A key may have a password of its own; with another it is refused."""
        (key,) = read_jks(fixture("other_password.jks"), PASSWORD).keys
        error = self.assertRaises(CodecError, unprotect, key.protected, PASSWORD)
        self.assertIn("another password than the store", str(error))
        self.assertTrue(unprotect(key.protected, "mellon"))

    def test_version_1(self) -> None:
        """The older version, whose certificates have no kind, is read to the same entries."""
        store = fixture("chain.jks")
        older = store[:4] + b"\x00\x00\x00\x01" + store[8:-20].replace(_X509, b"")
        self.assertEqual(read_jks(sealed(older), PASSWORD), read_jks(store, PASSWORD))

    def test_digest(self) -> None:
        """Any changed byte, and a wrong password, is refused."""
        store = fixture("trust.jks")
        for at in (5, 30, 200, len(store) - 1):
            changed = store[:at] + bytes([store[at] ^ 1]) + store[at + 1 :]
            self.assertIn("the password is wrong, or the file is damaged", self._refusal(changed))
        self.assertIn("the password is wrong", self._refusal(store, "sesam"))

    def test_no_store(self) -> None:
        """Other bytes are refused."""
        for data in (b"", b"\xfe\xed\xfe\xed", fixture("chain.p12")):
            self.assertIn("no JKS store", self._refusal(data))

    def test_damaged(self) -> None:
        """Bytes with a right digest that are no store are refused, wherever they end."""
        store = fixture("chain.jks")[:-20]
        for end in range(12, len(store), 41):
            self.assertIn("ends too early", self._refusal(sealed(store[:end])))
        self.assertIn("version 3", self._refusal(sealed(store[:7] + b"\x03" + store[8:])))
        self.assertIn("kind 3", self._refusal(sealed(store[:15] + b"\x03" + store[16:])))
        self.assertIn("not X.509", self._refusal(sealed(store.replace(_X509, b"\x00\x05X.510"))))
        self.assertIn("entries cannot be read", self._refusal(sealed(store[:8] + b"\xff" * 4 + store[12:])))

    def test_damaged_key(self) -> None:
        """A protected key that is cut or changed is refused."""
        protected = read_jks(fixture("ec.jks"), PASSWORD).keys[0].protected
        for end in range(0, len(protected), 7):
            self.assertRaises(CodecError, unprotect, protected[:end], PASSWORD)
        for at in (0, 4, 10, len(protected) - 1):
            changed = protected[:at] + bytes([protected[at] ^ 1]) + protected[at + 1 :]
            self.assertRaises(CodecError, unprotect, changed, PASSWORD)

    def test_silent(self) -> None:
        """The text of a store shows no key."""
        store = read_jks(fixture("ec.jks"), PASSWORD)
        self.assertIsInstance(store, JksStore)
        self.assertNotIn("protected", repr(store))
        self.assertIn("bookie", repr(store))
