"""Bytes of a journal file."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.crc32c import crc32c
from bookkeeper_twisted.errors import JournalDamageError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.format import (
    TRAILER_SIZE,
    FileHeader,
    FileIdentity,
    group_matches,
    pack_header,
    padding_size,
    parse_header,
    parse_trailer,
)

from . import apache_journal
from .journals import joined_group, record

IDENTITY = FileIdentity.of(0x1A1, b"salt")


class HeaderTests(SynchronousTestCase):
    """The first sector."""

    def test_layout(self) -> None:
        """Magic and version as in Apache's files, then the identity of the file, then zeros."""
        header = pack_header(IDENTITY)
        self.assertEqual(len(header), 512)
        self.assertEqual(header[:8], b"BKLG\0\0\0\x06")
        self.assertEqual(header[8:32], b"BKTWJRNL" + struct.pack(">q", 0x1A1) + IDENTITY.nonce)
        self.assertEqual(header[32:36], struct.pack(">I", crc32c(header[:32])))
        self.assertEqual(header[36:], bytes(476))

    def test_round_trip(self) -> None:
        """A header gives back its identity."""
        self.assertEqual(parse_header(pack_header(IDENTITY), "p"), FileHeader(6, 512, IDENTITY))

    def test_foreign(self) -> None:
        """Headers of others have no identity; what begins otherwise is version 1."""
        for version, size in ((1, 8), (3, 8), (4, 8), (5, 512), (6, 512)):
            sector = (b"BKLG" + struct.pack(">i", version)).ljust(512, b"\0")
            self.assertEqual(parse_header(sector, "p"), FileHeader(version, size, None))
        for sector in (b"", b"BKL", b"\0" * 512, b"x" * 512):
            self.assertEqual(parse_header(sector, "p"), FileHeader(1, 0, None))

    def test_unknown_version(self) -> None:
        """An unknown version is refused with the name of the file."""
        for version in (0, 7, -1):
            sector = (b"BKLG" + struct.pack(">i", version)).ljust(512, b"\0")
            error = self.assertRaises(JournalDamageError, parse_header, sector, "/j/1.txn")
            self.assertIn("/j/1.txn", str(error))

    def test_damaged_identity(self) -> None:
        """No single damaged byte turns one of our files into one of others."""
        header = pack_header(IDENTITY)
        for at in range(8, 36):
            damaged = header[:at] + bytes([header[at] ^ 1]) + header[at + 1 :]
            self.assertRaises(JournalDamageError, parse_header, damaged, "p")
        self.assertRaises(JournalDamageError, parse_header, header[:100], "p")

    def test_nonce(self) -> None:
        """The nonce depends on the file and on the salt."""
        nonces = {FileIdentity.of(i, salt).nonce for i in (1, 2) for salt in (b"", b"x")}
        self.assertEqual(len(nonces), 4)


class GroupTests(SynchronousTestCase):
    """Groups."""

    def test_layout(self) -> None:
        """Records, padding record, trailer at the end of a sector, zeros."""
        records = [record(1), record(2, 100)]
        group, end = joined_group(IDENTITY, 512, records, JournalPosition(0x1A0, 7168), 512, 512)
        size = sum(map(len, records))
        self.assertEqual((end, len(group)), (1024, 1024))
        self.assertTrue(group.startswith(b"".join(records)))
        self.assertEqual(struct.unpack_from(">ii", group, size), (-256, 512 - size - 8))
        self.assertEqual(group[size + 8 : 460], bytes(460 - size - 8))
        fields = struct.unpack_from(">8sqqqqI", group, 460)
        self.assertEqual(fields, (IDENTITY.nonce, 0x1A1, 512, 0x1A0, 7168, 0))
        crcs = struct.unpack_from(">II", group, 504)
        self.assertEqual(crcs, (crc32c(group[:504]), crc32c(group[460:508])))
        self.assertEqual(group[512:], bytes(512))

    def test_zeros_fill_the_block(self) -> None:
        """At least one sector of zeros follows, up to the end of a block."""
        for start, expected in ((512, 4096), (2560, 4096), (3072, 4096), (3584, 8192)):
            group, end = joined_group(IDENTITY, start, [record(1)], JournalPosition(), 512, 4096)
            self.assertEqual(start + len(group), expected)
            self.assertFalse(any(group[end - start :]))
            self.assertGreaterEqual(expected - end, 512)

    def test_padding_has_room(self) -> None:
        """However a group ends, its padding has room for a trailer and reaches the alignment."""
        for alignment in (512, 1024, 4096):
            for length in range(1100):
                padding = padding_size(length, alignment)
                self.assertEqual((length + padding) % alignment, 0)
                self.assertTrue(8 + TRAILER_SIZE <= padding < alignment + 8 + TRAILER_SIZE)

    @settings(max_examples=60)
    @given(st.lists(st.integers(0, 900), max_size=5), st.sampled_from((512, 1024)), st.booleans())
    def test_apache_reads_it(self, sizes: list[int], alignment: int, last: bool) -> None:
        """Apache's reader finds exactly the records, whatever follows the zeros."""
        records = [record(i, size) for i, size in enumerate(sizes)]
        group, _ = joined_group(IDENTITY, 512, records, JournalPosition(), alignment, 512, last)
        found = apache_journal.read(pack_header(IDENTITY) + group + b"\xff" * 600)
        self.assertEqual([body for _, body in found], [r[4:] for r in records])

    def test_every_bit_counts(self) -> None:
        """A change of any byte of a group is noticed."""
        group, end = joined_group(IDENTITY, 512, [record(1)], JournalPosition(1, 2), 512, 512, last=True)
        group = group[: end - 512]
        trailer = parse_trailer(group[-TRAILER_SIZE:], IDENTITY)
        assert trailer is not None
        self.assertTrue(group_matches(group, trailer))
        self.assertEqual((trailer.start, trailer.durable, trailer.last), (512, JournalPosition(1, 2), True))
        for at in range(len(group)):
            damaged = group[:at] + bytes([group[at] ^ 0x10]) + group[at + 1 :]
            found = parse_trailer(damaged[-TRAILER_SIZE:], IDENTITY)
            self.assertFalse(found is not None and group_matches(damaged, found))

    def test_trailer_of_another_file(self) -> None:
        """A trailer belongs to one file: neither another id nor another salt will do (safety 3.4)."""
        group, end = joined_group(IDENTITY, 512, [record(1)], JournalPosition(), 512, 512)
        data = group[end - 512 - TRAILER_SIZE : end - 512]
        self.assertIsNotNone(parse_trailer(data, IDENTITY))
        salted = FileIdentity.of(0x1A2, b"salt"), FileIdentity.of(0x1A1, b"")
        for other in (*salted, FileIdentity(0x1A2, IDENTITY.nonce)):
            self.assertIsNone(parse_trailer(data, other))
        self.assertIsNone(parse_trailer(data[:-1], IDENTITY))
