"""Layout of entry logs, against Java's files."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.entry_log import format as layout

from ..index.java_stores import java_store


class FormatTests(SynchronousTestCase):
    """Header and ledgers map."""

    def test_header(self) -> None:
        """A new header is what Java writes."""
        self.assertEqual(layout.new_header(), b"BKLO\0\0\0\1".ljust(1024, b"\0"))
        self.assertEqual(layout.parse_header(layout.new_header(), "x"), layout.LogHeader(1, 0, 0))

    def test_damaged_header(self) -> None:
        """Wrong magic, wrong version, too few bytes: damage that names the file."""
        for data in (b"BKLG\0\0\0\1" + bytes(16), b"BKLO\0\0\0\2" + bytes(16), b"BKLO", bytes(1024)):
            error = self.assertRaises(DamageError, layout.parse_header, data, "/d/7.log")
            self.assertIn("/d/7.log", str(error))

    def test_java_map(self) -> None:
        """A sealed log of Java's decodes to its map, and the map encodes to the same number of bytes."""
        data = java_store("db-compacted-before").files["ledgers/current/0.log"]
        header = layout.parse_header(data, "0.log")
        decoded = layout.decode_map(data[header.map_offset :], header.map_ledgers)
        assert decoded is not None
        self.assertEqual(sum(decoded.values()), header.map_offset - 1024)
        ours = layout.encode_map(decoded)
        self.assertEqual(sorted(ours), sorted(data[header.map_offset :]))
        self.assertEqual(layout.seal(header.map_offset, header.map_ledgers), (data[8:20], 8))

    def test_map_in_batches(self) -> None:
        """A map of more than 10,000 ledgers is several records."""
        sizes = {i: i + 100 for i in range(25_001)}
        data = layout.encode_map(sizes)
        self.assertEqual(len(data), 3 * 24 + 16 * 25_001)
        self.assertEqual(int.from_bytes(data[20:24], "big"), 10_000)
        self.assertEqual(layout.decode_map(data, 25_001), sizes)
        self.assertEqual(layout.decode_map(data + bytes(4000), 25_001), sizes)

    def test_broken_map(self) -> None:
        """A map that is cut, changed, of another count or empty is no map."""
        data = layout.encode_map({1: 10, 2: 20})
        for cut in range(len(data)):
            self.assertIsNone(layout.decode_map(data[:cut], 2), cut)
        self.assertIsNone(layout.decode_map(data, 3))
        self.assertIsNone(layout.decode_map(b"", 0))
        for index in range(24):
            changed = bytearray(data)
            changed[index] ^= 1
            self.assertIsNone(layout.decode_map(bytes(changed), 2), index)

    def test_reserved_ids(self) -> None:
        """Logs, and what compaction makes of them, take an id."""
        for name, expected in (
            ("0.log", 0), ("1f.log", 31), ("a.log.compacting", 10), ("b.log.a.compacted", 11),
            ("7ffffffe.log", 2**31 - 2),
            ("x.log", None), ("lastId", None), ("1a.txn", None), (".log", None), ("80000000.log", None),
        ):  # fmt: skip
            self.assertEqual(layout.reserved_id_of(name), expected, name)
