"""Ledger states as ``DbLedgerStorage`` keeps them."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.apache.ledger_data import (
    FLAGS_KEY,
    LedgerData,
    decode,
    encode,
    needs_integrity_check,
)
from bookkeeper_twisted.storage.interfaces import LedgerRow

from ..index.java_stores import STORES, java_store

_SIZES = (1, 20, 127, 128, 300, 20_000)
_ROWS = [
    LedgerRow(ledger_id, b"k" * key_size, fenced, b"l" * lac_size)
    for key_size in _SIZES
    for lac_size in (0, *_SIZES)
    for ledger_id, fenced in ((0, False), (2**63 - 1, True))
]


class LedgerDataTests(SynchronousTestCase):
    """Pairs of the database ``ledgers``."""

    def test_apache(self) -> None:
        """The pairs that Apache's bookies wrote are understood, and written the same."""
        n_checked = 0
        for name in STORES:
            for path, pairs in java_store(name).manifest.get("rocksdb", {}).items():
                for pair in pairs if path.endswith("/ledgers") else ():
                    key, value = bytes.fromhex(pair["key"]), bytes.fromhex(pair["value"])
                    data = decode(key, value)
                    assert data is not None
                    decoded = pair["decoded"]
                    row = LedgerRow(
                        pair["ledgerId"], bytes.fromhex(decoded["masterKey"]), decoded["fenced"],
                        bytes.fromhex(decoded.get("explicitLac", "")),
                    )  # fmt: skip
                    self.assertEqual(data, LedgerData(row, decoded["exists"], decoded.get("limbo", False)))
                    self.assertEqual(encode(row), (key, value))
                    n_checked += 1
        self.assertGreater(n_checked, 50)

    def test_both_ways(self) -> None:
        """What is written is read."""
        for row in _ROWS:
            self.assertEqual(decode(*encode(row)), LedgerData(row))

    def test_damage(self) -> None:
        """A value that was cut is refused or is one of fewer optional fields, never another state."""
        for row in _ROWS:
            key, value = encode(row)
            for cut in range(min(len(value), 400)):
                try:
                    found = decode(key, value[:cut])
                except DamageError:
                    continue
                self.assertEqual(found, LedgerData(LedgerRow(row.ledger_id, row.master_key, row.fenced)))

    def test_unknown_fields(self) -> None:
        """Fields of later versions are passed over, limbo and the flag that it is gone are seen."""
        value = bytes.fromhex("08001001 1a016b 2801 3203616263 390000000000000000 4500000000".replace(" ", ""))
        self.assertEqual(decode(bytes(8), value), LedgerData(LedgerRow(0, b"k", True), exists=False, limbo=True))

    def test_odd_values(self) -> None:
        """What is no message, or lacks a field, is damage; zeros are no key."""
        for text in ("", "0801", "08011000", "080110001a05", "08011000180b", "0b", "0801100018ff"):
            self.assertRaises(DamageError, decode, bytes(8), bytes.fromhex(text))
        zeros = decode(bytes(8), bytes.fromhex("080110001a020000"))
        assert zeros is not None
        self.assertEqual(zeros.row, LedgerRow(0))

    def test_keys(self) -> None:
        """The flags are of no ledger; of a key of 16 bytes 8 count."""
        self.assertIsNone(decode(FLAGS_KEY, b"\0" * 7 + b"\1"))
        self.assertTrue(needs_integrity_check(b"\0" * 7 + b"\1"))
        self.assertFalse(needs_integrity_check(b"\0" * 7 + b"\2"))
        key, value = encode(LedgerRow(7, b"k"))
        self.assertEqual(decode(key + bytes(8), value), decode(key, value))
