"""Makes digesters that verify and decrypt entries, on Spark's driver and in tasks, by the code of the client.

The metadata of an encrypted ledger contain its key, which a key provider has encrypted ("wrapped").  Plans and
partitions contain the key only in this form.  Each process makes a key provider from the options, and decrypts
("unwraps") the keys of the ledgers that it reads.  The provider runs in the reactor thread of the process, so it can
also use a network service.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...client.encryption import is_encrypted, ledger_encryption
from ...client.reading.decryption import DecryptingDigester
from ...codec.digest import Digester
from ...config.client import ClientConfig
from ...errors import UnauthorizedAccessError
from ...model import LedgerMetadata
from ..reactor import THREAD, results_of
from .security import KeySettings

if TYPE_CHECKING:
    from ...security.entry_cipher import EntryCipher

_OPTION = "option bookkeeper.ledgerKeyProvider"
_NO_PROVIDER = f"its entries are encrypted, and {_OPTION} is not set; with decrypt = false they are read as stored"


def digesters_of(ledgers: Mapping[int, LedgerMetadata], keys: KeySettings, password: bytes) -> dict[int, Digester]:
    """Return, by ledger id, digesters that verify entries, and decrypt the entries of encrypted ledgers.

    :param ledgers: metadata by ledger id, at least with digest type and custom metadata.
    :param keys: settings of the key provider, as :func:`.key_settings` returns them.
    :param password: password of the ledgers, with which HMAC digests are verified.
    :raises ConfigError: a file of the provider cannot be used, or an extra is not installed.
    :raises UnauthorizedAccessError: a ledger is encrypted, and there is no provider, or it does not have the key.
    """
    ciphers = _ciphers({n: metadata for n, metadata in ledgers.items() if is_encrypted(metadata)}, keys)
    return {
        n: DecryptingDigester(metadata.digest_type, password, n, ciphers[n]) if n in ciphers
        else Digester(metadata.digest_type, password)
        for n, metadata in ledgers.items()
    }  # fmt: skip


def check_keys(ledgers: Mapping[int, LedgerMetadata], keys: KeySettings) -> None:
    """Check on the driver, before tasks are started, that the entries of all ``ledgers`` can be decrypted.

    :param ledgers: metadata by ledger id, at least with the custom metadata.
    :param keys: settings of the key provider, as :func:`.key_settings` returns them.
    :raises ConfigError: a file of the provider cannot be used, or an extra is not installed.
    :raises UnauthorizedAccessError: a ledger is encrypted, and there is no provider, or it does not have the key.
    """
    _ciphers({n: metadata for n, metadata in ledgers.items() if is_encrypted(metadata)}, keys)


def _ciphers(encrypted: Mapping[int, LedgerMetadata], keys: KeySettings) -> "dict[int, EntryCipher]":
    """Return the ciphers of encrypted ledgers by ledger id; unwrap their keys concurrently.

    The key provider is made even if no ledger is encrypted, so that a wrong configuration is found early.
    """
    encryption = ledger_encryption(ClientConfig(**cast(Any, dict(keys))))
    if encryption is None:
        for ledger_id in sorted(encrypted):
            raise UnauthorizedAccessError(ledger_id, detail=_NO_PROVIDER)
        return {}

    async def cipher_of(ledger_id: int) -> "EntryCipher":
        try:
            return await encryption.cipher_of(ledger_id, encrypted[ledger_id])
        except UnauthorizedAccessError as error:
            raise UnauthorizedAccessError(ledger_id, detail=f"{error.detail}, {_OPTION}") from None

    return THREAD.wait(partial(results_of, sorted(encrypted), cipher_of)) if encrypted else {}
