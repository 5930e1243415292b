"""The encryption of ledgers: the key of a new ledger, the cipher of a stored one, and the change of the wrapping key.

A client encrypts a payload before it computes the entry's digest, and decrypts it after it has verified the digest.  So
bookies, recoveries, replication and checks need no key.  A wrapped key is a key that a key provider has encrypted.  The
custom metadata of an encrypted ledger contain the algorithm, the wrapped key and the id of the wrapping key.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from ..config.client import ClientConfig
from ..errors import ConfigError, IncorrectParameterError, UnauthorizedAccessError, UnexpectedConditionError
from ..metadata.interfaces import ILedgerManager
from ..metadata.update_loop import update
from ..model import LedgerMetadata
from ..security.ledger_keys import IKeyProvider, WrappedKey, key_provider, random_bytes, random_key

if TYPE_CHECKING:
    from ..security.entry_cipher import EntryCipher

ALGORITHM, KEY_ID, KEY = "bk-encryption", "bk-encryption-key-id", "bk-encryption-key"
"""Names of the custom metadata that an encrypted ledger has."""

_AES = b"AES-256-GCM"


def is_encrypted(metadata: LedgerMetadata) -> bool:
    """Test whether the ``metadata`` of a ledger say that its entries are encrypted."""
    return ALGORITHM in metadata.custom_metadata


def check_names(custom_metadata: Mapping[str, bytes]) -> None:
    """Check that a caller's custom metadata do not contain the keys that this module adds for an encrypted ledger.

    :param custom_metadata: the custom metadata of a new ledger.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: they contain such a key.
    """
    for name in (ALGORITHM, KEY_ID, KEY):
        if name in custom_metadata:
            raise IncorrectParameterError(f"custom_metadata: {name!r} is the name of a key of encrypted ledgers")


@attrs.frozen
class NewKey:
    """A key for the entries of a ledger that does not exist yet.

    :ivar custom_metadata: the custom metadata to store with the ledger; they contain the key, wrapped (encrypted) by
        the key provider.
    """

    key: bytes = attrs.field(repr=False)
    custom_metadata: Mapping[str, bytes]

    def cipher(self, ledger_id: int) -> "EntryCipher":
        """Return the cipher for the writer of the ledger that was created with this key and has the id ``ledger_id``.
        """
        from ..security.entry_cipher import PREFIX_SIZE, EntryCipher

        return EntryCipher(ledger_id, self.key, random_bytes(PREFIX_SIZE))


@attrs.frozen
class LedgerEncryption:
    """Encrypts and decrypts the entries of ledgers for one client.

    :ivar provider: the key provider, which wraps (encrypts) and unwraps the keys of ledgers.
    :ivar encrypts: whether the client encrypts the ledgers that it creates.
    """

    provider: IKeyProvider
    encrypts: bool = False

    async def new_key(self) -> NewKey:
        """Make the key of a new ledger.

        :raises bookkeeper_twisted.errors.BookKeeperError: the provider failed.
        """
        key = random_key()
        return NewKey(key, _described(await self.provider.wrap(key)))

    async def cipher_of(self, ledger_id: int, metadata: LedgerMetadata) -> "EntryCipher":
        """Return the cipher for the readers of an encrypted ledger.

        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: the provider cannot unwrap the key of the ledger.
        :raises bookkeeper_twisted.errors.UnexpectedConditionError: the metadata name an unknown algorithm, or no key.
        """
        from ..security.entry_cipher import EntryCipher

        return EntryCipher(ledger_id, await self._key_of(ledger_id, metadata))

    async def _key_of(self, ledger_id: int, metadata: LedgerMetadata) -> bytes:
        custom = metadata.custom_metadata
        if custom.get(ALGORITHM) != _AES or KEY not in custom or KEY_ID not in custom:
            given = custom.get(ALGORITHM, b"").decode("ascii", "replace")
            text = f"ledger {ledger_id}: its metadata name the encryption {given!r}, or lack its key"
            raise UnexpectedConditionError(text)
        try:
            return await self.provider.unwrap(WrappedKey(custom[KEY_ID].decode("utf-8", "replace"), custom[KEY]))
        except UnauthorizedAccessError as error:
            raise UnauthorizedAccessError(ledger_id, detail=f"its key cannot be unwrapped: {error.detail}") from None

    async def rewrap(self, ledgers: ILedgerManager, ledger_id: int) -> bool:
        """Wrap the key of a ledger with the newest key of the provider, and store it in the ledger's metadata.

        :returns: False if the ledger is not encrypted, or its key is wrapped with the newest key already.
        :raises bookkeeper_twisted.errors.BookKeeperError: the key cannot be unwrapped or wrapped, or the metadata
            cannot be read or written.
        """
        stored = await ledgers.read(ledger_id)
        if not is_encrypted(stored.value):
            return False
        described = _described(await self.provider.wrap(await self._key_of(ledger_id, stored.value)))
        if described[KEY_ID] == stored.value.custom_metadata[KEY_ID]:
            return False

        def needs_update(metadata: LedgerMetadata) -> bool:
            return metadata.custom_metadata.get(KEY_ID) != described[KEY_ID]

        def transform(metadata: LedgerMetadata) -> LedgerMetadata:
            return attrs.evolve(metadata, custom_metadata={**metadata.custom_metadata, **described})

        await update(ledgers, ledger_id, stored, needs_update, transform)
        return True


def ledger_encryption(config: ClientConfig) -> LedgerEncryption | None:
    """Return the encryption that a configuration describes; None if it names no key provider.

    :raises bookkeeper_twisted.errors.ConfigError: the provider cannot be made, or the extra ``tls`` is not installed.
    """
    if not config.ledger_key_provider.strip():
        if config.ledger_encryption:
            raise config.error("ledger_encryption", "needs ledgerKeyProvider, which is not set")
        return None
    try:
        from ..security import entry_cipher  # noqa: F401
    except ImportError:
        reason = "encrypted ledgers need the extra tls: pip install 'bookkeeper-twisted[tls]'"
        raise ConfigError(f"ledgerKeyProvider = {config.ledger_key_provider!r}: {reason}") from None
    provider = key_provider(config)
    return None if provider is None else LedgerEncryption(provider, config.ledger_encryption)


def _described(wrapped: WrappedKey) -> Mapping[str, bytes]:
    return {ALGORITHM: _AES, KEY_ID: wrapped.key_id.encode(), KEY: wrapped.wrapped}
