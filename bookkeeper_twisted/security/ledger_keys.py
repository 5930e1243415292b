"""Key providers, which wrap (encrypt) the keys of encrypted ledgers with keys of their own.

The metadata of a ledger contain its wrapped key, which only the key provider can decrypt.  When the provider gets a new
key, the keys of ledgers are wrapped again with this key; the entries of the ledgers need not be encrypted again.
"""

import binascii
import os
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping

import attrs
from twisted.internet.defer import Deferred, execute
from twisted.plugin import IPlugin, getPlugins
from zope.interface import Attribute, Interface, implementer

from ..config.client import ClientConfig
from ..errors import ConfigError, UnauthorizedAccessError
from .files import read_text

KEY_SIZE = 32
MOST_BYTES = 1024 * 1024
"""Maximum number of bytes that a key file may have."""

_NONCE_SIZE = 12
_LINE = re.compile(r"([A-Za-z0-9._-]{1,64})\s+([A-Za-z0-9+/]+=*)")


@attrs.frozen
class WrappedKey:
    """The wrapped (encrypted) key of a ledger, as it is in the ledger's metadata.

    :ivar key_id: the name of the provider's key that encrypted the ledger's key.
    :ivar wrapped: the encrypted key, in the format of the provider.
    """

    key_id: str
    wrapped: bytes


class IKeyProvider(Interface):
    """A provider of keys that wrap (encrypt) the keys of ledgers.  Its methods are called on the reactor thread."""

    def wrap(key: bytes) -> "Deferred[WrappedKey]":
        """Encrypt the ``key`` of a ledger with the newest key of this provider."""

    def unwrap(wrapped: WrappedKey) -> "Deferred[bytes]":
        """Decrypt and return the key of a ledger.

        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: this provider does not have the key that encrypted
            the ledger's key, or the encrypted bytes were changed.
        """


class IKeyProviderPlugin(Interface):
    """A plugin that makes a key provider from the configuration of a client."""

    names: frozenset[str] = Attribute("Values of ``ledgerKeyProvider`` it answers to.")

    def make(config: ClientConfig) -> IKeyProvider:
        """Return a provider of the keys that encrypt the keys of ledgers.

        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration.
        """


@implementer(IKeyProvider)
class KeyRing:
    """A provider that stores its keys in memory, and wraps the keys of ledgers with AES-256-GCM.

    :param keys: keys of 32 bytes by name; the last key is the newest, and wraps the keys of new ledgers.
    :param origin: the file or the environment variable from which the keys were read, for the text of errors.
    """

    def __init__(self, keys: Mapping[str, bytes], origin: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._newest = list(keys)[-1]
        self._origin = origin

    def __repr__(self) -> str:
        return f"<KeyRing of {', '.join(self._ciphers)} from {self._origin}>"

    def wrap(self, key: bytes) -> "Deferred[WrappedKey]":
        """Encrypt the ``key`` of a ledger with the newest key of this provider."""
        return execute(self._wrap, key)

    def _wrap(self, key: bytes) -> WrappedKey:
        nonce, name = os.urandom(_NONCE_SIZE), self._newest
        return WrappedKey(name, nonce + self._ciphers[name].encrypt(nonce, key, name.encode()))

    def unwrap(self, wrapped: WrappedKey) -> "Deferred[bytes]":
        """Decrypt ``wrapped``, and return the key of the ledger.

        The errors are those of :meth:`IKeyProvider.unwrap`.
        """
        return execute(self._unwrap, wrapped)

    def _unwrap(self, wrapped: WrappedKey) -> bytes:
        from cryptography.exceptions import InvalidTag

        cipher = self._ciphers.get(wrapped.key_id)
        if cipher is None:
            raise UnauthorizedAccessError(detail=f"{self._origin} has no key {wrapped.key_id!r}")
        nonce, encrypted = wrapped.wrapped[:_NONCE_SIZE], wrapped.wrapped[_NONCE_SIZE:]
        try:
            key = cipher.decrypt(nonce, encrypted, wrapped.key_id.encode())
        except (InvalidTag, ValueError):
            key = b""
        if len(key) != KEY_SIZE:
            detail = f"key {wrapped.key_id!r} of {self._origin} is not the one that wraps the ledger's key"
            raise UnauthorizedAccessError(detail=detail)
        return key


@implementer(IPlugin, IKeyProviderPlugin)
class FileKeys:
    """The plugin that reads keys from the file that ``ledgerKeyFile`` names.

    Each line is the name of a key and its 32 bytes in base64; lines that begin with ``#`` are comments.
    """

    names = frozenset({"file"})

    def make(self, config: ClientConfig) -> IKeyProvider:
        """Return a key provider with the keys in the file that ``ledgerKeyFile`` names."""
        path = config.ledger_key_file
        if not path:
            raise config.error("ledger_key_file", "ledgerKeyProvider=file needs a file")
        return KeyRing(_parsed(read_text("ledgerKeyFile", path, MOST_BYTES, secret=True), path), path)


@implementer(IPlugin, IKeyProviderPlugin)
class EnvironmentKeys:
    """The plugin that reads keys from an environment variable, which ``ledgerKeyVariable`` names.

    The variable has the same lines as a file of :class:`FileKeys`.
    """

    names = frozenset({"environment"})

    def make(self, config: ClientConfig) -> IKeyProvider:
        """Return a key provider with the keys in the environment variable that ``ledgerKeyVariable`` names."""
        name = config.ledger_key_variable
        return KeyRing(_parsed(os.environ.get(name, ""), name), f"the environment variable {name}")


def key_provider(config: ClientConfig) -> IKeyProvider | None:
    """Return the provider that ``ledgerKeyProvider`` names, or None if it names none.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name, the extra ``tls`` is not installed, or the
        provider cannot be made.
    """
    if not config.ledger_key_provider.strip():
        return None
    plugins: Iterable[IKeyProviderPlugin] = getPlugins(IKeyProviderPlugin)
    return config.chosen("ledger_key_provider", plugins, "key provider").make(config)


def _parsed(text: str, origin: str) -> Mapping[str, bytes]:
    """Parse the lines of a key file.

    :param origin: the file or environment variable with the lines, for the text of errors.
    :raises ConfigError: there is no key, or a line is invalid; the text of the error contains no key.
    """
    keys: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ConfigError(f"{origin} line {number}: expected the name of a key and 32 bytes in base64")
        name, encoded = match.groups()
        try:
            key = b64decode(encoded, validate=True)
        except binascii.Error:
            key = b""
        if len(key) != KEY_SIZE:
            raise ConfigError(f"{origin} line {number}: the key {name} is not {KEY_SIZE} bytes in base64")
        if name in keys:
            raise ConfigError(f"{origin} line {number}: the key {name} is given twice")
        keys[name] = key
    if not keys:
        raise ConfigError(f"{origin} has no key: expected lines with a name and 32 bytes in base64")
    return keys


def random_key() -> bytes:
    """Return a new random key, with which the entries of a ledger are encrypted."""
    return os.urandom(KEY_SIZE)


def random_bytes(count: int) -> bytes:
    """Return ``count`` random bytes."""
    return os.urandom(count)
