"""The encryption of entries."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DigestMatchError

try:
    from bookkeeper_twisted.security.entry_cipher import OVERHEAD, EntryCipher
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

KEY = bytes(range(32))


class EntryCipherTests(SynchronousTestCase):
    """Payloads of one ledger."""

    skip = SKIP

    def setUp(self) -> None:
        self.cipher = EntryCipher(7, KEY, b"abcd")

    def test_known(self) -> None:
        """The form is the documented one: AES-256-GCM with this nonce; ledger id and length are under the tag."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        found = self.cipher.encrypt(9, b"payload", 50)
        covered = (7).to_bytes(8, "big") + (50 + 7 + OVERHEAD).to_bytes(8, "big")
        nonce = b"abcd" + (9).to_bytes(8, "big")
        self.assertEqual(found, b"abcd" + AESGCM(KEY).encrypt(nonce, b"payload", covered))
        self.assertEqual(len(found), 7 + OVERHEAD)

    @given(st.lists(st.binary(max_size=100), max_size=5), st.integers(0, 2**62))
    def test_round_trip(self, payloads: list[bytes], first: int) -> None:
        """What was encrypted together or alone is decrypted by a cipher with other random bytes."""
        many = self.cipher.encrypt_many(first, payloads, 1000)
        reader, length = EntryCipher(7, KEY), 1000
        for entry_id, (payload, encrypted) in enumerate(zip(payloads, many, strict=True), first):
            self.assertEqual(self.cipher.encrypt(entry_id, payload, length), encrypted)
            length += len(encrypted)
            self.assertEqual(reader.decrypt(entry_id, encrypted, length), payload)

    def test_nonces(self) -> None:
        """No two entries of a writer, and no two writers, use a nonce twice: equal payloads differ."""
        other = EntryCipher(7, KEY, b"abce")
        found = [cipher.encrypt(entry_id, b"x", 0) for cipher in (self.cipher, other) for entry_id in range(100)]
        self.assertEqual(len({each[:4] + each[4:] for each in found}), 200)
        self.assertEqual(len({each[4:] for each in found}), 200)

    @given(st.data())
    def test_changed(self, data: st.DataObject) -> None:
        """Changed bytes are refused."""
        encrypted = bytearray(self.cipher.encrypt(5, b"payload", 0))
        encrypted[data.draw(st.integers(0, len(encrypted) - 1))] ^= data.draw(st.integers(1, 255))
        self.assertRaises(DigestMatchError, self.cipher.decrypt, 5, bytes(encrypted), 7 + OVERHEAD)

    def test_others(self) -> None:
        """The bytes of an entry are those of no other entry, ledger, length and key; short bytes are none."""
        encrypted, length = self.cipher.encrypt(5, b"payload", 0), 7 + OVERHEAD
        self.assertEqual(self.cipher.decrypt(5, encrypted, length), b"payload")
        error = self.assertRaises(DigestMatchError, self.cipher.decrypt, 6, encrypted, length)
        self.assertIn("cannot be decrypted", str(error))
        self.assertRaises(DigestMatchError, EntryCipher(8, KEY).decrypt, 5, encrypted, length)
        self.assertRaises(DigestMatchError, self.cipher.decrypt, 5, encrypted, length + 1)
        self.assertRaises(DigestMatchError, EntryCipher(7, bytes(32)).decrypt, 5, encrypted, length)
        for size in range(OVERHEAD):
            self.assertRaises(DigestMatchError, self.cipher.decrypt, 5, encrypted[:size], length)
