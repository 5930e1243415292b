"""Encrypts the entries of one ledger by AES-256-GCM, with a key that only this ledger has.

The payload of an encrypted entry, which bookies and digests treat as any other payload, is::

    0     4   random bytes of the writer
    4     n   the encrypted payload, as long as the payload itself
    4+n   16  the authentication tag of GCM

The nonce of an entry is the random bytes of the writer, followed by the entry id (8 bytes, big-endian).  GCM is not
secure if two different payloads are encrypted with the same key and nonce.  This does not happen: a writer encrypts
each entry id only once, and repeats an add with the same encrypted bytes.  Two writers of the same ledger have
different random bytes.

The tag authenticates the payload, the nonce (and so the entry id), the ledger id, and the length of the ledger up to
the entry.  So a bookie cannot return the encrypted bytes of one entry as another entry, or with another length.  The
last add confirmed in the header of an entry is not authenticated.
"""

import struct
from collections.abc import Sequence
from operator import add

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..errors import DigestMatchError

_COVERED = struct.Struct(">qq")
_LEDGER_ID = struct.Struct(">q")
_NONCE = struct.Struct(">4sQ")
PREFIX_SIZE, TAG_SIZE = 4, 16
OVERHEAD = PREFIX_SIZE + TAG_SIZE
"""Number of bytes by which an encrypted payload is longer than the payload."""


class EntryCipher:
    """Encrypts and decrypts the payloads of one ledger.

    :param key: the key of the ledger, of 32 bytes.
    :param prefix: the random bytes of the writer.  A reader does not need them, because each entry contains them.
    :ivar overhead: bytes by which an encrypted payload is longer than the payload.
    """

    overhead = OVERHEAD

    __slots__ = ("_ledger_id", "_encrypt", "_decrypt", "_prefix")

    def __init__(self, ledger_id: int, key: bytes, prefix: bytes = bytes(PREFIX_SIZE)) -> None:
        self._ledger_id = ledger_id
        aead = AESGCM(key)
        self._encrypt, self._decrypt = aead.encrypt, aead.decrypt
        self._prefix = prefix

    def encrypt(self, entry_id: int, payload: bytes, length: int) -> bytes:
        """Return the encrypted ``payload`` of the entry ``entry_id``.

        :param length: total bytes of the encrypted payloads of all earlier entries in the ledger.
        """
        prefix, covered = self._prefix, _COVERED.pack(self._ledger_id, length + len(payload) + OVERHEAD)
        return prefix + self._encrypt(_NONCE.pack(prefix, entry_id), payload, covered)

    def encrypt_many(self, first: int, payloads: Sequence[bytes], length: int) -> list[bytes]:
        """Return the encrypted ``payloads`` of consecutive entries.

        :param first: id of the first entry.
        :param length: total bytes of the encrypted payloads of all entries before ``first`` in the ledger.
        """
        prefix, ledger_id, encrypt = self._prefix, self._ledger_id, self._encrypt
        cover, nonce = _COVERED.pack, _NONCE.pack
        encrypted: list[bytes] = []
        for entry_id, payload in enumerate(payloads, first):
            length += len(payload) + OVERHEAD
            encrypted.append(prefix + encrypt(nonce(prefix, entry_id), payload, cover(ledger_id, length)))
        return encrypted

    def decrypt(self, entry_id: int, encrypted: bytes, length: int) -> bytes:
        """Return the payload of an entry.

        :param length: total bytes of the encrypted payloads up to and including this entry, from the header of the
            entry.
        :raises bookkeeper_twisted.errors.DigestMatchError: these bytes were not encrypted with this key for this entry.
        """
        nonce = _NONCE.pack(encrypted[:PREFIX_SIZE], entry_id)
        try:
            covered = _COVERED.pack(self._ledger_id, length)
            return self._decrypt(nonce, encrypted[PREFIX_SIZE:], covered)
        except InvalidTag:
            detail = "it cannot be decrypted: the bytes were changed, or were encrypted with another key"
            raise DigestMatchError(self._ledger_id, entry_id, detail) from None

    def decrypt_many(
        self, first: int, ids: Sequence[bytes], lengths: Sequence[bytes], prefixes: Sequence[bytes],
        encrypted: Sequence[bytes],
    ) -> list[bytes]:  # fmt: skip
        """Return the decrypted payloads of consecutive entries; each sequence argument has one item for each entry.

        :param first: id of the first entry.
        :param ids: the entry ids, as eight big-endian bytes.
        :param lengths: the total bytes of encrypted payloads up to and including the entry, as eight big-endian bytes.
        :param prefixes: the random bytes of the writer at the beginning of the encrypted payload.
        :param encrypted: the rest of the encrypted payload, with the tag.
        :raises bookkeeper_twisted.errors.DigestMatchError: the bytes of an entry were not encrypted with this key for
            this entry; the error contains the id of the first such entry.
        """
        ledger_id = _LEDGER_ID.pack(self._ledger_id)
        try:
            return list(map(self._decrypt, map(add, prefixes, ids), encrypted, map(ledger_id.__add__, lengths)))
        except InvalidTag:
            for at, (prefix, rest) in enumerate(zip(prefixes, encrypted, strict=True)):
                self.decrypt(first + at, prefix + rest, int.from_bytes(lengths[at], "big"))
            raise
