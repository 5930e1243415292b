"""Plants in the encryption of ledgers."""

from .plant import Plant

_CIPHER, _KEYS = "security/entry_cipher.py", "security/ledger_keys.py"
_CIPHERS, _RINGS = ["tests.security.test_entry_cipher"], ["tests.security.test_ledger_keys"]
_LEDGERS, _READ = ["tests.client.test_encryption"], ["tests.client.reading.test_decryption"]

PLANTS = (
    Plant(
        "all entries of a writer have one nonce", _CIPHER,
        "nonce(prefix, entry_id)", "nonce(prefix, 0)", _CIPHERS, where="EntryCipher.encrypt_many",
    ),
    Plant(
        "all writers use the same random bytes", "client/encryption.py",
        "random_bytes(PREFIX_SIZE)", "bytes(PREFIX_SIZE)", _LEDGERS, where="NewKey.cipher",
    ),
    Plant(
        "the tag does not cover the ledger", _CIPHER,
        "_COVERED.pack(self._ledger_id, length)", "_COVERED.pack(7, length)", _CIPHERS, where="EntryCipher.decrypt",
    ),
    Plant(
        "the tag does not cover the length", _CIPHER,
        "_COVERED.pack(self._ledger_id, length)", "_COVERED.pack(self._ledger_id, 7 + OVERHEAD)", _CIPHERS,
        where="EntryCipher.decrypt",
    ),
    Plant(
        "the tags of many entries do not cover the length", _CIPHER,
        "map(ledger_id.__add__, lengths)", "map(ledger_id.__add__, lengths[:1] * len(lengths))", _READ,
        where="EntryCipher.decrypt_many",
    ),
    Plant(
        "the nonces of many entries do not contain their ids", _CIPHER,
        "map(add, prefixes, ids)", "map(add, prefixes, ids[:1] * len(ids))", _READ, where="EntryCipher.decrypt_many",
    ),
    Plant(
        "the wrong one of many entries is named", _CIPHER,
        "first + at", "first", _READ, where="EntryCipher.decrypt_many",
    ),
    Plant(
        "entries too short for the random bytes of a writer are cut as others", "client/reading/decryption.py",
        "run.offsets is None and run.stride >= text", "run.offsets is None", _READ,
        where="DecryptingDigester._decrypted",
    ),
    Plant(
        "the length of an encrypted batch is that of its payloads", "client/writing/encrypted_writers.py",
        "size + len(payloads) * cipher.overhead", "size", _LEDGERS, where="_EncryptingWriter._push_many",
    ),
    Plant(
        "all ledgers have one key", _KEYS, "os.urandom(KEY_SIZE)", "bytes(KEY_SIZE)", _LEDGERS, where="random_key",
    ),
    Plant(
        "keys are wrapped with one nonce", _KEYS, "os.urandom(_NONCE_SIZE)", "bytes(_NONCE_SIZE)", _RINGS,
        where="KeyRing._wrap",
    ),
    Plant(
        "the oldest key wraps", _KEYS, "list(keys)[-1]", "list(keys)[0]", _RINGS, where="KeyRing.__init__",
    ),
    Plant(
        "the name of a wrapping key is not verified", _KEYS,
        "cipher.decrypt(nonce, encrypted, wrapped.key_id.encode())", 'cipher.decrypt(nonce, encrypted, b"k1")', _RINGS,
        where="KeyRing._unwrap",
    ),
    Plant(
        "a key of a wrong size is taken", _KEYS, "len(key) != KEY_SIZE", "False", _RINGS, where="_parsed",
    ),
    Plant(
        "an entry of a bookie that lies is an error although others have it", "client/reading/decryption.py",
        "self._cipher is not None", "False", _LEDGERS, where="DecryptingDigester.verify",
    ),
    Plant(
        "many entries are not encrypted", "client/writing/encrypted_writers.py",
        "super()._push_many(encrypted, size + len(payloads) * cipher.overhead, waiter)",
        "super()._push_many(payloads, size, waiter)",
        _LEDGERS, where="_EncryptingWriter._push_many",
    ),
    Plant(
        "threads append to an encrypted ledger in clear", "client/writing/encrypted_writers.py",
        "LedgerWriter(ledger) if ledger.cipher is None else EncryptedLedgerWriter(ledger)", "LedgerWriter(ledger)",
        _LEDGERS, where="writer_of",
    ),
    Plant(
        "the largest payload leaves no room for the tag", "client/writing/context.py",
        "0 if self.cipher is None else self.cipher.overhead", "0", _LEDGERS, where="OpenLedger.overhead",
    ),
    Plant(
        "a caller may use the names of encrypted ledgers", "client/encryption.py",
        "name in custom_metadata", "False", _LEDGERS, where="check_names",
    ),
    Plant(
        "an unknown encryption is taken for ours", "client/encryption.py",
        "custom.get(ALGORITHM) != _AES", "False", _LEDGERS, where="LedgerEncryption._key_of",
    ),
    Plant(
        "a key that is wrapped anew keeps its old name", "client/encryption.py",
        "{**metadata.custom_metadata, **described}", "{**described, **metadata.custom_metadata}", _LEDGERS,
        where="LedgerEncryption.rewrap",
    ),
)  # fmt: skip
