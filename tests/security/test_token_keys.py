"""Keys of tokens in files, files that change, and the keys of the configuration."""

import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.dsa import generate_private_key as generate_dsa_key
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.security.files import REFRESH_SECONDS, read_small_file
from bookkeeper_twisted.security.token_keys import TokenKey, read_public_keys, read_secrets
from bookkeeper_twisted.security.tokens import TokenVerifier, sign_token, token_verifier

from .signed_tokens import NOW, OTHER, SECRET, claims, issued, public_pem, signers


class FolderCase(SynchronousTestCase):
    """Has a directory and a clock."""

    def setUp(self) -> None:
        """Makes them."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.now = NOW

    def put(self, name: str, content: str | bytes, mode: int = 0o600) -> str:
        """Writes a file."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return str(path)

    def put_secrets(self, *keys: TokenKey) -> str:
        """Writes the file of secrets."""
        lines = (f"{key.key_id} \t{key.material.decode()} \r\n" for key in keys)
        return self.put("keys", f"# ours\n\n{''.join(lines)}")

    def lines(self, events: Any) -> list[tuple[str, str]]:
        """The level and text of each event."""
        return [(event["log_level"].name, formatEvent(event)) for event in events]


class SecretFileTests(FolderCase):
    """The file of ``tokenKeyFile``."""

    def refused(self, content: str | bytes, *texts: str) -> None:
        """A file is refused with texts, and nothing of it is shown."""
        path = self.put("keys", content)
        error = self.assertRaises(ConfigError, read_secrets, path)
        for text in (f"tokenKeyFile = {path!r}: ", *texts):
            self.assertIn(text, str(error))
        self.assertNotIn("secret-that", str(error))
        self.assertIsNone(error.__context__)

    def test_read(self) -> None:
        """Keys are read in the order of their lines, without empty lines and comments."""
        self.assertEqual(read_secrets(self.put_secrets(OTHER, SECRET)), (OTHER, SECRET))
        self.assertNotIn("secret", repr(SECRET))

    def test_refused(self) -> None:
        """Anything else than lines of id and secret is refused, and so are short secrets."""
        good = f"a {SECRET.material.decode()}\n"
        self.refused("", "it has no key")
        self.refused("# only this\n", "it has no key")
        self.refused(f"{good}b\n", "line 2 is not KEYID SECRET")
        self.refused(f"{good}b secret-that has spaces\n", "line 2 is not KEYID SECRET")
        self.refused(f"/ {SECRET.material.decode()}\n", "line 1 is not KEYID SECRET")
        self.refused(f"{good}b secret-that-is-31-bytes-long-xx\n", "the secret of line 2 has less than 32 bytes")
        read_secrets(self.put("keys", f"{good}b secret-that-is-32-bytes-long-xxx\n"))
        self.refused(good + good, "line 2 has the key id of a line before")
        self.refused(b"a secret-that-is-not-text-\xff\xff\xff\xff\xff\xff\xff\xff\n", "it is not UTF-8")

    def test_readable(self) -> None:
        """A file that everybody may read is a warning."""
        path = self.put_secrets(SECRET)
        for mode, expected in ((0o600, 0), (0o640, 0), (0o604, 1), (0o644, 1)):
            Path(path).chmod(mode)
            with capturedLogs() as events:
                read_secrets(path)
            self.assertEqual(len(events), expected)
        self.assertEqual(
            self.lines(events),
            [("warn", f"tokenKeyFile = {path!r}: every user of this machine can read the file (chmod o-r)")],
        )

    def test_readable_once(self) -> None:
        """The parts of a process that read one file log one warning, and another when the file was changed."""
        path = self.put_secrets(SECRET)
        Path(path).chmod(0o604)
        with capturedLogs() as events:
            read_secrets(path)
            read_secrets(path)
            self.assertEqual(len(events), 1)
            Path(path).chmod(0o644)
            read_secrets(path)
            self.assertEqual(len(events), 2)


class SmallFileTests(FolderCase):
    """``read_small_file``."""

    def refused(self, path: str, reason: str) -> None:
        """A file is refused for a reason."""
        error = self.assertRaises(ConfigError, read_small_file, "aKey", path, 10)
        self.assertEqual(str(error), f"aKey = {path!r}: {reason}")

    def test_size(self) -> None:
        """A file is read up to a size."""
        self.assertEqual(read_small_file("aKey", self.put("a", "x" * 10), 10), b"x" * 10)
        self.refused(self.put("a", "x" * 11), "it has more than 10 bytes")

    def test_not_regular(self) -> None:
        """A FIFO, a directory or a device is refused, and nobody waits for it."""
        fifo = str(self.folder / "fifo")
        os.mkfifo(fifo)
        for path in (fifo, str(self.folder), "/dev/zero"):
            self.refused(path, "it is not a regular file")
        self.refused("a\0b", "it is no path of a file")
        self.refused(str(self.folder / "none"), "No such file or directory")


class PublicFileTests(FolderCase):
    """The files of ``tokenPublicKeys``."""

    def refused(self, content: bytes, *texts: str) -> None:
        """A file is refused with texts."""
        path = self.put("public.pem", content)
        error = self.assertRaises(ConfigError, read_public_keys, [path])
        for text in (f"tokenPublicKeys = {path!r}: ", *texts):
            self.assertIn(text, str(error))

    def pem(self, private: Any) -> bytes:
        """The public key of a private one."""
        return bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    def test_read(self) -> None:
        """Each kind of key gets its algorithm; a file may have several."""
        both = self.put("two", b"text\n" + public_pem("RS256") + public_pem("ES256"))
        keys = read_public_keys([both, self.put("one", public_pem("EdDSA"), 0o644)])
        self.assertEqual([key.algorithm for key in keys], ["RS256", "ES256", "EdDSA"])
        self.assertEqual([key.key_id for key in keys], ["", "", ""])

    def test_refused(self) -> None:
        """Private keys, keys of other kinds, short ones, and what is no key are refused."""
        private = signers()["ES256"].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.refused(public_pem("ES256") + private, "it has a private key")
        self.refused(b"", "it has no public key in PEM")
        self.refused(b"a 012345678901234567890123456789012", "it has no public key in PEM")
        self.refused(public_pem("ES256").replace(b"\nM", b"\nA"), "it has a block that is no public key")
        self.refused(self.pem(generate_rsa_key(65537, 1024)), "less than 2048 bits")
        self.refused(self.pem(generate_private_key(SECP384R1())), "none of RSA, of the curve P-256, or Ed25519")
        self.refused(self.pem(generate_dsa_key(2048)), "none of RSA")


class VerifierTests(FolderCase):
    """``token_verifier``."""

    def verifier(self, **settings: Any) -> TokenVerifier:
        """The verifier of a configuration, without patience."""
        config = AuthenticationConfig(**{"token_clock_skew_sec": 0.0, **settings})
        found = token_verifier(config, lambda: self.now)
        assert found is not None
        return found

    def test_none(self) -> None:
        """Without a key there is no verifier."""
        self.assertIsNone(token_verifier(AuthenticationConfig(), lambda: NOW))
        self.assertIsNone(token_verifier(AuthenticationConfig(token_issuer="x"), lambda: NOW))

    def test_both(self) -> None:
        """Secrets and public keys verify side by side, and the names of the issuer and of this cluster count."""
        verifier = self.verifier(
            token_key_file=self.put_secrets(SECRET), token_public_keys=(self.put("a.pem", public_pem("EdDSA")),),
            token_issuer="https://issuer", token_audience="cluster", token_roles_claim="groups",
        )  # fmt: skip
        self.assertEqual(verifier.verify(sign_token(SECRET, claims(groups=["x"], aud="cluster"))).roles, ("x",))
        self.assertEqual(verifier.verify(issued("EdDSA")).name, "joe")
        self.assertRaises(UnauthorizedAccessError, verifier.verify, issued("EdDSA", aud="other"))
        self.assertRaises(UnauthorizedAccessError, verifier.verify, issued("EdDSA", iss="other"))

    def test_skew(self) -> None:
        """By default clocks may differ by five seconds."""
        verifier = token_verifier(AuthenticationConfig(token_key_file=self.put_secrets(SECRET)), lambda: self.now)
        assert verifier is not None
        token = sign_token(SECRET, claims())
        self.now += 64.9
        verifier.verify(token)
        self.now += 0.1
        self.assertRaises(UnauthorizedAccessError, verifier.verify, token)

    def test_issuer_missing(self) -> None:
        """Public keys without issuer or audience are refused: any token of the issuer would be taken."""
        public = (self.put("a.pem", public_pem("EdDSA")),)
        for issuer, audience in (("x", ""), ("", "x")):
            config = AuthenticationConfig(token_public_keys=public, token_issuer=issuer, token_audience=audience)
            error = self.assertRaises(ConfigError, token_verifier, config, lambda: NOW)
            self.assertIn("has to be set, as tokenPublicKeys is", str(error))

    def test_files(self) -> None:
        """A file that cannot be used ends the start."""
        for secrets, public in (("none", ()), ("", ("none",))):
            config = AuthenticationConfig(
                token_audience="x", token_issuer="x", token_key_file=secrets, token_public_keys=public
            )
            self.assertIn("No such file", str(self.assertRaises(ConfigError, token_verifier, config, lambda: NOW)))

    def test_library(self) -> None:
        """Without the library the extra is named."""
        path = self.put_secrets(SECRET)
        public = (self.put("a.pem", public_pem("EdDSA")),)
        keys: list[tuple[str, dict[str, Any]]] = [
            ("jwt", {"token_key_file": path}), ("cryptography.exceptions", {"token_public_keys": public}),
        ]  # fmt: skip
        for name, given in keys:
            with patch.dict(sys.modules, {name: None}):
                error = self.assertRaises(ConfigError, self.verifier, token_issuer="x", token_audience="x", **given)
            self.assertIn("pip install 'bookkeeper-twisted[jwt]'", str(error))

    def test_rotation(self) -> None:
        """A secret that is added counts within five seconds, one that is taken away no longer."""
        verifier = self.verifier(token_key_file=self.put_secrets(SECRET))
        old, new = (sign_token(key, claims(exp=int(NOW) + 1000)) for key in (SECRET, OTHER))
        verifier.verify(old)
        self.put_secrets(OTHER, SECRET)
        self.now += REFRESH_SECONDS - 0.1
        self.assertRaises(UnauthorizedAccessError, verifier.verify, new)
        self.now += 0.1
        with capturedLogs() as events:
            self.assertEqual(verifier.verify(new), verifier.verify(old))
        self.assertEqual(
            self.lines(events), [("info", "the files of keys for tokens have changed: the new ones are in use")]
        )
        self.put_secrets(OTHER)
        self.now += REFRESH_SECONDS
        verifier.verify(new)
        self.assertRaises(UnauthorizedAccessError, verifier.verify, old)

    def test_broken(self) -> None:
        """A file that cannot be used any more leaves the keys as they were, with one line; the next good one counts."""
        path = self.put_secrets(SECRET)
        verifier = self.verifier(token_key_file=path)
        old, new = (sign_token(key, claims(exp=int(NOW) + 1000)) for key in (SECRET, OTHER))
        self.put("keys", "nonsense")
        for number in range(3):
            self.now += REFRESH_SECONDS
            with capturedLogs() as events:
                verifier.verify(old)
            self.assertEqual([level for level, _ in self.lines(events)], ["error"] * (not number))
            if events:
                self.assertIn("the previous ones stay in use: tokenKeyFile = ", formatEvent(events[0]))
                self.assertNotIn("nonsense", formatEvent(events[0]))
        self.put_secrets(OTHER)
        self.now += REFRESH_SECONDS
        verifier.verify(new)
        Path(path).unlink()
        self.now += REFRESH_SECONDS
        verifier.verify(new)

    def test_clock_put_back(self) -> None:
        """A clock that was put back does not end the looking."""
        verifier = self.verifier(token_key_file=self.put_secrets(SECRET))
        self.put_secrets(OTHER)
        self.now -= 10_000
        verifier.verify(sign_token(OTHER, claims(exp=int(NOW) + 1000)))
