"""Key providers of encrypted ledgers."""

import os
from base64 import b64encode
from pathlib import Path

from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError

try:
    from bookkeeper_twisted.security import ledger_keys
    from bookkeeper_twisted.security.ledger_keys import IKeyProvider, IKeyProviderPlugin, KeyRing, WrappedKey
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

KEY, OTHER, DATA = b"k" * 32, b"o" * 32, b"d" * 32


def line(name: str, key: bytes = KEY) -> str:
    """A line of a key file."""
    return f"{name} {b64encode(key).decode()}"


class KeyRingTests(SynchronousTestCase):
    """Keys in memory."""

    skip = SKIP

    def test_rotation(self) -> None:
        """The last key wraps, all keys unwrap, and a wrapped key is never the same twice."""
        old, both = KeyRing({"k1": KEY}, "here"), KeyRing({"k1": KEY, "k2": OTHER}, "here")
        verifyObject(IKeyProvider, old)
        wrapped = self.successResultOf(old.wrap(DATA))
        self.assertEqual(wrapped.key_id, "k1")
        self.assertNotIn(DATA, wrapped.wrapped)
        self.assertNotEqual(wrapped, self.successResultOf(old.wrap(DATA)))
        newer = self.successResultOf(both.wrap(DATA))
        self.assertEqual(newer.key_id, "k2")
        self.assertEqual([self.successResultOf(both.unwrap(each)) for each in (wrapped, newer)], [DATA, DATA])
        error = self.failureResultOf(old.unwrap(newer), UnauthorizedAccessError).value
        self.assertIn("here has no key 'k2'", str(error))

    def test_changed(self) -> None:
        """Changed bytes, another name and another key of the same name are refused."""
        ring = KeyRing({"k1": KEY, "k2": KEY}, "here")
        wrapped = self.successResultOf(KeyRing({"k1": KEY}, "here").wrap(DATA))
        changed = [WrappedKey("k1", wrapped.wrapped[:-1]), WrappedKey("k1", b""), WrappedKey("k2", wrapped.wrapped)]
        for each in changed:
            error = self.failureResultOf(ring.unwrap(each), UnauthorizedAccessError).value
            self.assertIn("is not the one that wraps", str(error))
        self.failureResultOf(KeyRing({"k1": OTHER}, "here").unwrap(wrapped), UnauthorizedAccessError)

    def test_secret(self) -> None:
        """No text has a key."""
        self.assertEqual(repr(KeyRing({"k1": KEY}, "here")), "<KeyRing of k1 from here>")


class ProviderTests(SynchronousTestCase):
    """Providers that a configuration names."""

    skip = SKIP

    def setUp(self) -> None:
        self.path = self.mktemp()

    def made(self, text: str) -> object:
        Path(self.path).write_text(text)
        return ledger_keys.key_provider(ClientConfig(ledger_key_provider="file", ledger_key_file=self.path))

    def refused(self, text: str, reason: str) -> None:
        error = self.assertRaises(ConfigError, self.made, text)
        self.assertIn(reason, str(error))
        self.assertNotIn(b64encode(KEY).decode(), str(error))

    def test_names(self) -> None:
        """No name means no provider; an unknown name is refused with the known ones."""
        self.assertIsNone(ledger_keys.key_provider(ClientConfig()))
        config = ClientConfig(ledger_key_provider="vault")
        error = self.assertRaises(ConfigError, ledger_keys.key_provider, config)
        self.assertRegex(str(error), "ledgerKeyProvider = 'vault'.*environment, file")
        for plugin in (ledger_keys.FileKeys(), ledger_keys.EnvironmentKeys()):
            verifyObject(IKeyProviderPlugin, plugin)
            self.assertTrue(IPlugin.providedBy(plugin))

    def test_file(self) -> None:
        """A file has comments, and the last of its keys is the newest."""
        ring = self.made(f"# keys\n\n{line('k1')}\n  {line('k2', OTHER)}  \n")
        assert isinstance(ring, KeyRing)
        self.assertEqual(self.successResultOf(ring.wrap(DATA)).key_id, "k2")

    def test_wrong_file(self) -> None:
        """Each mistake in a file is named with its line, and no key is quoted."""
        self.refused("", "has no key")
        self.refused(f"{line('k1')}\nk2 {b64encode(KEY).decode()[:-8]}", "line 2: the key k2 is not 32 bytes")
        self.refused(f"k1:{b64encode(KEY).decode()}", "line 1: expected the name of a key")
        self.refused(f"{line('k1')}\n{line('k1', OTHER)}", "line 2: the key k1 is given twice")
        Path(self.path).write_bytes(b"\xff" * 100)
        config = ClientConfig(ledger_key_file=self.path)
        self.assertIn("UTF-8", str(self.assertRaises(ConfigError, ledger_keys.FileKeys().make, config)))

    def test_no_file(self) -> None:
        """A file that is missing, a pipe, or too large is refused without a wait."""
        os.mkfifo(self.path)
        large = self.mktemp()
        Path(large).write_bytes(bytes(ledger_keys.MOST_BYTES + 1))
        for path, reason in (("", "needs a file"), (self.mktemp(), "No such"), (self.path, "regular"), (large, "more")):
            config = ClientConfig(ledger_key_file=path)
            error = self.assertRaises(ConfigError, ledger_keys.FileKeys().make, config)
            self.assertIn(reason, str(error))

    def test_environment(self) -> None:
        """A variable has what a file has."""
        self.patch(os, "environ", {"KEYS": line("k1")})
        config = ClientConfig(ledger_key_provider="environment", ledger_key_variable="KEYS")
        self.assertIn("k1", repr(ledger_keys.key_provider(config)))
        config = ClientConfig(ledger_key_provider="environment", ledger_key_variable="NONE")
        self.assertIn("NONE has no key", str(self.assertRaises(ConfigError, ledger_keys.key_provider, config)))
