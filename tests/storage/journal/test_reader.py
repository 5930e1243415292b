"""Reading one journal file, ours and those of others."""

import struct

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import JournalDamageError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.format import FileIdentity, pack_header
from bookkeeper_twisted.storage.journal.reader import JournalEnd, JournalReader

from .journals import DIRECTORY, NOWHERE, ids, joined_group, new_disk, put, record


def foreign(version: int, *parts: bytes) -> bytes:
    """A file as others write it."""
    header = b"" if version == 1 else (b"BKLG" + struct.pack(">i", version)).ljust(512 if version >= 5 else 8, b"\0")
    return header + b"".join(parts)


class _ReaderTestCase(SynchronousTestCase):
    def reader(self, data: bytes, chunk: int = 1024, file_id: int = 1) -> JournalReader:
        """A reader of a file with these bytes."""
        disk = new_disk()
        put(disk, f"{file_id:x}.txn", data)
        return JournalReader(disk.open(f"{DIRECTORY}/{file_id:x}.txn"), file_id, chunk)

    def read(self, reader: JournalReader, offset: int = 0) -> list[int]:
        """All entry ids."""
        return [i for bodies in reader.records(offset) for i in ids(bodies)]


class OwnFileTests(_ReaderTestCase):
    """Files of ours."""

    identity = FileIdentity.of(1, b"salt")

    def build(self, *groups: list[bytes], durable: JournalPosition = NOWHERE) -> tuple[bytes, list[int]]:
        """A file, and where its groups end."""
        data, ends = pack_header(self.identity), [512]
        for records in groups:
            group, end = joined_group(self.identity, ends[-1], records, durable, 512, 512)
            data = data[: ends[-1]] + group
            ends.append(end)
        return data, ends

    def test_groups(self) -> None:
        """All records of all groups, whatever the chunk is."""
        data, ends = self.build([record(1), record(2, 900)], [record(3)], [record(4, 3000), record(5), record(6)])
        for chunk in (512, 1024, 4096, 1 << 20):
            reader = self.reader(data, chunk)
            self.assertEqual(self.read(reader), [1, 2, 3, 4, 5, 6])
            self.assertEqual((reader.end, reader.finished), (ends[-1], False))

    def test_from_a_log_mark(self) -> None:
        """Reading begins at the group at the offset; a few bytes behind its start are forgiven."""
        data, ends = self.build([record(1)], [record(2)], [record(3)])
        self.assertEqual(self.read(self.reader(data), ends[1]), [2, 3])
        self.assertEqual(self.read(self.reader(data), ends[1] + 4), [2, 3])
        self.assertEqual(self.read(self.reader(data), ends[3]), [])
        self.assertEqual(self.read(self.reader(data), 10 * ends[3]), [])

    def test_bad_group_ends_it(self) -> None:
        """Nothing of a damaged group is delivered, and nothing after it."""
        data, ends = self.build([record(1)], [record(2), record(3)], [record(4)])
        for at in range(ends[1], ends[2]):
            damaged = data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]
            reader = self.reader(damaged)
            self.assertEqual((self.read(reader), reader.end), ([1], ends[1]))

    def test_cut_anywhere(self) -> None:
        """A file that was cut gives its whole groups."""
        data, ends = self.build([record(1)], [record(2, 700)], [record(3)])
        for size in range(512, len(data), 37):
            reader = self.reader(data[:size])
            whole = sum(end <= size for end in ends[1:])
            self.assertEqual((self.read(reader), reader.end), ([1, 2, 3][:whole], ends[whole]))

    def test_last_group(self) -> None:
        """After the group that ends the file nothing is read."""
        data, ends = self.build([record(1)])
        end, _ = joined_group(self.identity, ends[1], (), JournalPosition(), 512, 512, last=True)
        following, _ = joined_group(self.identity, ends[1] + 512, [record(9)], JournalPosition(), 512, 512)
        reader = self.reader(data[: ends[1]] + end[:512] + following)
        self.assertEqual((self.read(reader), reader.finished, reader.end), ([1], True, ends[1] + 512))

    def test_groups_of_a_former_life(self) -> None:
        """What a recycled file held before is never read (safety 3.4)."""
        data, ends = self.build([record(1)])
        former, _ = joined_group(FileIdentity.of(0, b"salt"), ends[1], [record(9)], JournalPosition(), 512, 512)
        reader = self.reader(data[: ends[1]] + former)
        self.assertEqual(self.read(reader), [1])
        self.assertEqual(reader.tail(), JournalEnd(True, JournalPosition()))

    def test_entry_that_looks_like_a_group(self) -> None:
        """Bytes inside an entry are no group, even if they are one."""
        inner, _ = joined_group(self.identity, 512, [record(66)], JournalPosition(1, 1 << 40), 512, 512)
        body = bytes(16) + bytes(512 - 20) + inner
        data, _ = self.build([struct.pack(">i", len(body)) + body], [record(2)])
        self.assertEqual(self.read(self.reader(data)), [0, 2])

    def test_huge_length_costs_nothing(self) -> None:
        """A damaged length that claims gigabytes ends the file; nothing is read on its word."""
        data, ends = self.build([record(1)])
        reader = self.reader(data[: ends[1]] + struct.pack(">i", 0x7FFFFFF0) + bytes(5000))
        self.assertEqual((self.read(reader), reader.end), ([1], ends[1]))

    def test_tail(self) -> None:
        """Behind the end: nothing, something torn, or proof that more was durable."""
        durable = JournalPosition(1, 4096)
        data, ends = self.build([record(1)], [record(2, 600)], [record(3)], durable=durable)
        reader = self.reader(data)
        self.read(reader)
        self.assertEqual(reader.tail(), JournalEnd(False, JournalPosition()))
        torn = self.reader(data[: ends[1]] + bytes(ends[2] - ends[1]) + data[ends[2] :])
        self.read(torn)
        self.assertEqual((torn.end, torn.tail()), (ends[1], JournalEnd(True, durable)))
        damaged_group = self.reader(data[: ends[1]] + bytes(ends[2] - 512 - ends[1]) + data[ends[2] - 512 : ends[2]])
        self.read(damaged_group)
        self.assertEqual(damaged_group.tail(), JournalEnd(True, durable))

    def test_zeros_before_other_bytes(self) -> None:
        """Zeros end the groups of a recycled file, whatever its former life left behind them: nothing is torn."""
        data, ends = self.build([record(1)])
        other = FileIdentity.of(0, b"salt")
        former, _ = joined_group(other, ends[1] + 512, [record(9, 700)], JournalPosition(), 512, 512)
        for rest in (former, b"\xff" * 3000, bytes(5) + former):
            reader = self.reader(data[: ends[1]] + bytes(512) + rest)
            self.assertEqual((self.read(reader), reader.end), ([1], ends[1]))
            self.assertEqual(reader.tail(), JournalEnd(False, JournalPosition()))

    def test_torn_sector(self) -> None:
        """A sector that begins with zeros and holds anything is torn, at any byte of it."""
        data, ends = self.build([record(1)])
        for at in (4, 100, 511):
            reader = self.reader(data[: ends[1]] + bytes(at) + b"x" + bytes(700))
            self.assertEqual((self.read(reader), reader.tail().torn), ([1], True))

    def test_group_of_another_place(self) -> None:
        """A group that lies where another was written is none: the disk has put it there by mistake."""
        data, ends = self.build([record(1)], [record(2)])
        moved = self.reader(data[: ends[2]] + data[ends[0] : ends[1]] + bytes(512))
        self.assertEqual((self.read(moved), moved.end), ([1, 2], ends[2]))
        swapped = self.reader(data[: ends[0]] + data[ends[1] : ends[2]] + data[ends[0] : ends[1]] + bytes(512))
        self.assertEqual(self.read(swapped), [])

    def test_first_durable(self) -> None:
        """The first group says where the journal ended before; without one that is unknown."""
        data, _ = self.build([record(1)], durable=JournalPosition(7, 1024))
        self.assertEqual(self.reader(data).first_durable(), JournalPosition(7, 1024))
        self.assertIsNone(self.reader(self.build()[0]).first_durable())

    def test_wrong_name(self) -> None:
        """A file under the name of another is refused."""
        error = self.assertRaises(JournalDamageError, self.reader, self.build()[0], file_id=2)
        self.assertIn("2.txn", str(error))

    def test_short_body(self) -> None:
        """A body without room for ledger and entry id is damage."""
        data, _ = self.build([struct.pack(">i", 8) + bytes(8)])
        self.assertRaises(JournalDamageError, self.read, self.reader(data))


class ForeignFileTests(_ReaderTestCase):
    """Files of others."""

    def test_versions(self) -> None:
        """All versions, with their header sizes."""
        for version in (1, 2, 3, 4, 5, 6):
            data = foreign(version, record(1), record(2), bytes(600))
            reader = self.reader(data)
            self.assertEqual((self.read(reader), reader.identity), ([1, 2], None))
            self.assertEqual(reader.end, len(data) - 600)

    def test_padding(self) -> None:
        """Padding is skipped from version 5 on, also where it is empty; before, it is an error."""
        parts = (record(1), struct.pack(">ii", -256, 3), b"xyz", struct.pack(">ii", -256, 0), record(2))
        self.assertEqual(self.read(self.reader(foreign(5, *parts))), [1, 2])
        self.assertRaises(JournalDamageError, self.read, self.reader(foreign(4, *parts)))

    def test_endings(self) -> None:
        """Zero, too few bytes for a length, a short body and short padding end the file."""
        for ending in (
            bytes(4),
            b"\0\0\0",
            record(2)[:-1],
            struct.pack(">i", -256),
            struct.pack(">ii", -256, 9) + b"x",
        ):
            reader = self.reader(foreign(6, record(1), ending))
            self.assertEqual((self.read(reader), reader.end), ([1], 512 + len(record(1))))

    def test_negative_lengths(self) -> None:
        """Any other negative length is damage, with file and offset."""
        error = self.assertRaises(JournalDamageError, self.read, self.reader(foreign(6, record(1), b"\xff" * 8)))
        self.assertIn(f"1.txn: record of -1 bytes at offset {512 + len(record(1))}", str(error))
        padding = foreign(6, record(1), struct.pack(">ii", -256, -1))
        self.assertRaises(JournalDamageError, self.read, self.reader(padding))

    def test_short_body(self) -> None:
        """A body without room for ledger and entry id is damage."""
        self.assertRaises(JournalDamageError, self.read, self.reader(foreign(6, struct.pack(">i", 15) + bytes(15))))

    def test_from_a_log_mark(self) -> None:
        """A log mark is taken as it is."""
        data = foreign(4, record(1), record(2), bytes(100))
        self.assertEqual(self.read(self.reader(data), 8 + len(record(1))), [2])
        self.assertEqual(self.read(self.reader(data), len(data) - 96), [])

    def test_empty_files(self) -> None:
        """No bytes, a few zeros, a whole file of zeros, a header alone: no records."""
        for data in (b"", bytes(3), bytes(5000), foreign(6), foreign(2)):
            self.assertEqual(self.read(self.reader(data)), [])

    def test_junk(self) -> None:
        """A file that begins with junk is damage: no crash leaves one."""
        for junk in (b"x" * 3000, b"\x7f\xff\xff\xff" * 100, b"\0\0\0\0" + b"y" * 2000, b"BKLH" + bytes(1000)):
            self.assertRaises(JournalDamageError, self.read, self.reader(junk))
