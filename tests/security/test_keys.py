"""Keys and certificates in files."""

import os
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.dsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security.keys import MAX_SIZE, StoreFiles, expired, read_identity, read_trusted

from .certificates import EXPIRED, FIXTURES, PASSWORD, Folder, authority, bookie, issued

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class FilesCase(SynchronousTestCase):
    """Has a directory."""

    def setUp(self) -> None:
        """Makes it."""
        self.folder = Folder(Path(self.mktemp()))
        self.password = self.folder.put("password", b"sesame\r\n")

    def _refused(self, files: StoreFiles, *texts: str, trusted: bool = False) -> None:
        """Reading fails with these texts, and never shows the password."""
        error = self.assertRaises(ConfigError, read_trusted if trusted else read_identity, files)
        for text in texts:
            self.assertIn(text, str(error))
        self.assertNotIn(PASSWORD, str(error))
        self.assertNotIn("mellon", str(error))
        self.assertIsNone(error.__cause__)


class PemTests(FilesCase):
    """Files in PEM."""

    def _files(self, key: bytes, chain: bytes, password: str = "") -> StoreFiles:
        paths = self.folder.put("key", key), self.folder.put("chain", chain)
        return StoreFiles("tlsKeyStore", "PEM", paths[0], password, paths[1])

    def test_read(self) -> None:
        """A key and its chain are read."""
        identity = read_identity(self._files(bookie().key_pem(), bookie().chain_pem()))
        self.assertEqual(identity.chain, bookie().chain)
        self.assertEqual(identity.key.private_numbers(), bookie().key.private_numbers())  # type: ignore[union-attr]

    def test_readable_by_all(self) -> None:
        """A key that everybody can read is a warning, as is the password of a key; certificates are none."""
        files = self._files(bookie().key_pem(PASSWORD), bookie().chain_pem(), self.password)
        for path in (files.path, files.password_path, files.certificate_path):
            Path(path).chmod(0o600)
        for path, key in ((files.path, "tlsKeyStore"), (files.password_path, "tlsKeyStorePasswordPath")):
            with capturedLogs() as events:
                read_identity(files)
                self.assertEqual(events, [])
                Path(path).chmod(0o604)
                read_identity(files)
            found = [(event["log_level"].name, event["key"], event["path"]) for event in events]
            self.assertEqual(found, [("warn", key, path)])
        with capturedLogs() as events:
            Path(files.certificate_path).chmod(0o644)
            read_identity(files)
        self.assertEqual(events, [])

    def test_encrypted(self) -> None:
        """An encrypted key is read with its password, in both forms of encryption."""
        for form in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL):
            files = self._files(bookie().key_pem(PASSWORD, form), bookie().chain_pem(), self.password)
            self.assertEqual(read_identity(files).chain, bookie().chain)
            other = self._files(bookie().key_pem("mellon", form), bookie().chain_pem(), self.password)
            self._refused(other, "tlsKeyStore = ", "cannot be read with the password of tlsKeyStorePasswordPath")
            self._refused(self._files(bookie().key_pem(PASSWORD, form), bookie().chain_pem()), "gives no password")

    def test_password_without_need(self) -> None:
        """A password for a key that has none does no harm."""
        files = self._files(bookie().key_pem(), bookie().chain_pem(), self.password)
        self.assertEqual(read_identity(files).chain, bookie().chain)

    def test_password_as_it_is(self) -> None:
        """The password of a key loses the end of its line alone: spaces are part of it, as in Java."""
        spaced = self.folder.put("spaced", b" sesame \n")
        files = self._files(bookie().key_pem(" sesame "), bookie().chain_pem(), spaced)
        self.assertEqual(read_identity(files).chain, bookie().chain)

    def test_one_file(self) -> None:
        """Key and certificates may be in one file."""
        both = bookie().chain_pem() + bookie().key_pem(form=PrivateFormat.TraditionalOpenSSL)
        self.assertEqual(read_identity(self._files(both, both)).chain, bookie().chain)

    def test_refused(self) -> None:
        """A file without a key, without a certificate, or with another key's certificate is refused."""
        key, chain = bookie().key_pem(), bookie().chain_pem()
        self._refused(self._files(chain, chain), "tlsKeyStore = ", "/key'", "no private key in PEM")
        self._refused(self._files(key, key), "tlsCertificatePath = ", "/chain'", "no certificate in PEM")
        self._refused(self._files(key, b""), "tlsCertificatePath = ", "no certificate in PEM")
        self._refused(self._files(key, chain.replace(b"MII", b"AAA")), "no certificate in PEM, or one that cannot")
        self._refused(self._files(key, authority().chain_pem()), "is not that of the certificate", "/chain'")
        self._refused(self._files(key.replace(b"\nM", b"\nA"), chain), "its key cannot be read")
        other = generate_private_key(1024).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._refused(self._files(other, chain), "a kind that TLS does not use, DSAPrivateKey")

    def test_missing(self) -> None:
        """Files that are missing, and keys without a value, are named."""
        files = self._files(bookie().key_pem(), bookie().chain_pem())
        nowhere = str(self.folder.path / "nowhere")
        self._refused(StoreFiles("tlsKeyStore", "PEM", nowhere), f"tlsKeyStore = {nowhere!r}: No such file")
        self._refused(StoreFiles("tlsKeyStore", "PEM", ""), "tlsKeyStore is not set")
        self._refused(StoreFiles("tlsKeyStore", "PEM", files.path), "tlsCertificatePath is not set")
        self._refused(StoreFiles("tlsKeyStore", "PEM", files.path, "", nowhere), f"tlsCertificatePath = {nowhere!r}")
        self._refused(StoreFiles("tlsKeyStore", "PEM", files.path, nowhere), f"tlsKeyStorePasswordPath = {nowhere!r}")
        self._refused(StoreFiles("tlsTrustStore", "PEM", nowhere), f"tlsTrustStore = {nowhere!r}", trusted=True)

    def test_password_not_text(self) -> None:
        """A password that is not UTF-8 is refused, and the error carries none of its bytes."""
        binary = self.folder.put("binary", b"sesame\xff")
        files = StoreFiles("tlsKeyStore", "PEM", self._files(b"", b"").path, binary)
        self._refused(files, "tlsKeyStorePasswordPath = ", "not UTF-8")
        self.assertIsNone(self.assertRaises(ConfigError, read_identity, files).__context__)

    def test_trusted(self) -> None:
        """A trust store has one certificate or more, and needs no password."""
        path = self.folder.put("trust", authority().chain_pem() + b"text\n" + authority("other").chain_pem())
        self.assertEqual(
            read_trusted(StoreFiles("tlsTrustStore", "PEM", path)), authority().chain + authority("other").chain
        )
        whole, other = authority().chain_pem(), authority("other").chain_pem()
        for size in (30, 300, len(other) - 10):  # a file that is half written
            cut = self.folder.put("cut", whole + other[:size])
            self._refused(StoreFiles("tlsTrustStore", "PEM", cut), "tlsTrustStore = ", "/cut'", trusted=True)
        empty = self.folder.put("empty", b"")
        self._refused(StoreFiles("tlsTrustStore", "PEM", empty), "tlsTrustStore = ", "/empty'", trusted=True)


class StoreTests(FilesCase):
    """Files in PKCS12 and JKS."""

    def _files(self, name: str, kind: str = "JKS", password: str | None = None) -> StoreFiles:
        return StoreFiles("tlsKeyStore", kind, str(FIXTURES / name), self.password if password is None else password)

    def _put(self, data: bytes, password: str = "") -> StoreFiles:
        return StoreFiles("tlsKeyStore", "PKCS12", self.folder.put("store", data), password)

    def test_keytool(self) -> None:
        """Java's stores of both kinds give the same, whatever kind is configured: Java reads both as either."""
        identities = [
            read_identity(self._files(name, kind)) for name in ("chain.jks", "chain.p12") for kind in ("JKS", "PKCS12")
        ]
        names = {tuple(c.subject.rfc4514_string() for c in identity.chain) for identity in identities}
        self.assertEqual(names, {("CN=bookie,OU=0:bookie\\;1:fixtures", "CN=Fixture CA")})
        for name in ("trust.jks", "trust.p12"):
            trusted = read_trusted(self._files(name))
            self.assertEqual([c.subject.rfc4514_string() for c in trusted], ["CN=Fixture CA"])

    def test_trimmed(self) -> None:
        """The password of a store is trimmed, as in Java."""
        spaced = self.folder.put("spaced", b" \tsesame \n")
        for name in ("trust.jks", "trust.p12"):
            self.assertEqual(len(read_trusted(self._files(name, password=spaced))), 1)

    def test_mixed(self) -> None:
        """Of a store with a key and a trusted certificate both certificates are trusted, as in Java."""
        for name in ("chain.jks", "chain.p12"):
            trusted = {c.subject.rfc4514_string() for c in read_trusted(self._files(name))}
            self.assertEqual(trusted, {"CN=Fixture CA", "CN=bookie,OU=0:bookie\\;1:fixtures"})

    def test_issuers_are_not_trusted(self) -> None:
        """The issuers of a key's own certificate are not trusted because they are in its chain."""
        trusted = read_trusted(self._put(bookie().pkcs12(""), ""))
        self.assertEqual(trusted, bookie().chain[:1])

    def test_order(self) -> None:
        """The chain of a key is put in order, and what does not belong to it is left out."""
        identity = read_identity(self._put(bookie().pkcs12(PASSWORD, authority("other").chain), self.password))
        self.assertEqual(identity.chain, bookie().chain)

    def test_other_password_of_key(self) -> None:
        """A key in JKS with another password than its store is refused, as Java does, with what to do."""
        self._refused(self._files("other_password.jks"), "other_password.jks'", "keytool -keypasswd")

    def test_wrong_password(self) -> None:
        """A wrong password is named by its key and file."""
        wrong = self.folder.put("wrong", b"mellon")
        for name in ("chain.jks", "chain.p12"):
            for trusted in (False, True):
                self._refused(self._files(name, password=wrong), f"{name}'", "tlsKeyStorePasswordPath", wrong,
                              trusted=trusted)  # fmt: skip
                self._refused(self._files(name, password=""), f"{name}'", "tlsKeyStorePasswordPath", trusted=trusted)

    def test_no_key(self) -> None:
        """A store without a key is no key store."""
        for name in ("trust.jks", "trust.p12"):
            self._refused(self._files(name), f"{name}'", "no private key with a certificate")

    def test_no_certificates(self) -> None:
        """A store without certificates is no trust store."""
        how = NoEncryption()
        bare = pkcs12.serialize_key_and_certificates(None, bookie().key, None, None, how)
        self._refused(self._put(bare), "no certificate to trust", trusted=True)
        self._refused(self._put(bare), "no private key with a certificate")

    def test_other_bytes(self) -> None:
        """Other bytes are no store."""
        self._refused(self._put(bookie().key_pem()), "neither a PKCS12 nor a JKS store")
        self._refused(self._put(b"\x30nothing"), "it is damaged")

    def test_silent(self) -> None:
        """The text of an identity shows no key."""
        shown = repr(read_identity(self._files("ec.jks")))
        self.assertIn("chain=", shown)
        self.assertNotIn("key=", shown)


class ExpiredTests(FilesCase):
    """``expired``."""

    def test_named(self) -> None:
        """A certificate that is out of date is named with its file; others are not."""
        old = issued("old", authority(), until=EXPIRED)
        files = StoreFiles("tlsKeyStore", "PEM", "/k", "", "/c")
        self.assertEqual(
            expired(files, old.chain, NOW),
            ["tlsCertificatePath = '/c': the certificate of CN=old expired at 2020-01-02 00:00 UTC"],
        )
        (sentence,) = expired(StoreFiles("tlsTrustStore", "JKS", "/t"), old.chain, NOW)
        self.assertTrue(sentence.startswith("tlsTrustStore = '/t': "))


class OtherFilesTests(FilesCase):
    """What lies where a file is expected; it is read on the reactor's thread."""

    def _all(self, path: str) -> list[StoreFiles]:
        """Stores of which this is one file."""
        good = self.folder.put("good", bookie().key_pem())
        return [
            StoreFiles("tlsKeyStore", "JKS", path), StoreFiles("tlsKeyStore", "PEM", good, "", path),
            StoreFiles("tlsKeyStore", "PEM", good, path, path),
        ]  # fmt: skip

    def test_kinds(self) -> None:
        """A FIFO, a device and a directory are refused at once, in the place of any file."""
        opened = os.open

        def noted(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
            self.assertTrue(flags & os.O_NONBLOCK, "the open of a FIFO waits for a writer")
            return opened(path, flags, mode, **more)

        self.patch(os, "open", noted)
        fifo = self.folder.path / "fifo"
        os.mkfifo(fifo)
        for path in (str(fifo), "/dev/zero", str(self.folder.path)):
            for files in self._all(path):
                self._refused(files, f"{path!r}: it is not a regular file")
            self._refused(StoreFiles("tlsTrustStore", "PEM", path), "not a regular file", trusted=True)

    def test_size(self) -> None:
        """A file that is too large is refused, one of the limit is read."""
        path = self.folder.path / "large"
        too_large = f"it has more than {MAX_SIZE} bytes"
        for size, text in ((MAX_SIZE + 1, too_large), (MAX_SIZE, "neither a PKCS12 nor a JKS store")):
            with path.open("wb") as file:
                file.truncate(size)
            self._refused(StoreFiles("tlsKeyStore", "JKS", str(path)), text)

    def test_no_path(self) -> None:
        """A text that can be no path is a mistake like another."""
        self._refused(StoreFiles("tlsKeyStore", "JKS", "a\0b"), "'a\\x00b': it is no path")

    def test_many_begins(self) -> None:
        """A file full of begins of keys without an end is refused, in a time that grows with its size."""
        path = self.folder.put("begins", b"-----BEGIN PRIVATE KEY-----\n" * 100_000)
        self._refused(StoreFiles("tlsKeyStore", "PEM", path), "it has no private key in PEM")


class StoreFilesTests(SynchronousTestCase):
    """The files of a store."""

    def test_paths(self) -> None:
        """All files of a store are looked at."""
        self.assertEqual(StoreFiles("tlsKeyStore", "PEM", "a", "b", "c").paths, ("a", "b", "c"))
        self.assertEqual(StoreFiles("tlsKeyStore", "JKS", "a").paths, ("a",))
