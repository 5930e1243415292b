"""Geometry of index rows."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.crc32c import crc32c
from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.index import rows
from bookkeeper_twisted.storage.index.blocks import rows_of_packed
from bookkeeper_twisted.storage.index.rows import (
    block_checksums,
    cut,
    first_bad_block,
    pack_sizes,
    packed_where_many,
    record_offsets,
    row_of,
    without,
)
from bookkeeper_twisted.storage.interfaces import CHECKSUM_BLOCK, IndexRow
from bookkeeper_twisted.storage.mixed_rows import packed_of

from ..entries import row, run, uneven


class RowTests(SynchronousTestCase):
    """Making and cutting rows."""

    def test_even_run(self) -> None:
        """A run of one record size keeps the size as a number."""
        entries = run(7, 3, 10)
        made = row_of(entries, 5, 2000)
        self.assertEqual(made, IndexRow(7, 3, 12, 5, 2000, 56, crc32c(entries.data).to_bytes(4, "big")))
        self.assertEqual([*record_offsets(made)], [56 * i for i in range(11)])

    def test_uneven_run(self) -> None:
        """A run of several sizes keeps each of them."""
        entries = uneven(7, 3, [1, 20, 0])
        made = row_of(entries, 5, 2000)
        self.assertEqual(made.sizes, bytes.fromhex("00000025 00000038 00000024"))
        self.assertEqual([*record_offsets(made)], [0, 0x25, 0x5D, 0x81])

    def test_joined_run_of_equal_sizes(self) -> None:
        """Sizes that turn out to be equal are one number."""
        self.assertEqual(pack_sizes([50, 50, 50]), 50)
        self.assertEqual(pack_sizes([50]), 50)

    def test_packed_where_many(self) -> None:
        """Short rows are packed by logs if they are many, but none of a ledger that has others, too."""
        self.patch(rows, "MANY_ROWS", 6)
        short = [row_of(run(ledger_id, 0, 3), ledger_id // 4, 2000) for ledger_id in range(1, 7)]
        others = [
            row_of(run(7, 0, 3), 1, 2000), row_of(uneven(7, 3, [1, 20]), 1, 3000),
            row_of(run(8, 0, 20, size=8000), 1, 4000), row_of(run(8, 20), 1, 5000),
        ]  # fmt: skip
        left, mixed = packed_where_many([*short, *others])
        self.assertEqual(left, others)
        self.assertEqual([(each.log_id, list(each.ledger_ids)) for each in mixed], [(0, [1, 2, 3]), (1, [4, 5, 6])])
        self.assertEqual(rows_of_packed(packed_of(mixed)), short)
        self.assertEqual(packed_where_many([*short[1:], *others]), ([*short[1:], *others], []))

    def test_missing_sizes(self) -> None:
        """A row without a size for each entry is damaged."""
        self.assertRaises(DamageError, record_offsets, IndexRow(1, 0, 2, 0, 1024, b"\0" * 8))

    def test_whole(self) -> None:
        """A row cut to all of itself is the same row, checksums included."""
        made = row_of(run(1, 0, 4), 0, 1024)
        self.assertIs(cut(made, 0, 3), made)

    def test_without(self) -> None:
        """What is left of a row: nothing, a head, a tail, or both."""
        old = row(1, 10, 19)
        self.assertEqual(without(old, 10, 19), [])
        self.assertEqual(without(old, 0, 30), [])
        self.assertEqual(without(old, 15, 19), [row(1, 10, 14)])
        self.assertEqual(without(old, 0, 14), [row(1, 15, 19, offset=1024 + 5 * 56)])
        self.assertEqual(without(old, 12, 16), [row(1, 10, 11), row(1, 17, 19, offset=1024 + 7 * 56)])
        self.assertEqual(without(old, 20, 30), [old])
        self.assertEqual(without(old, 0, 9), [old])

    @settings(max_examples=60)
    @given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.data())
    def test_cut_keeps_places(self, sizes: list[int], data: st.DataObject) -> None:
        """Each entry of a part lies where it lay in the whole."""
        whole = row_of(uneven(1, 5, sizes), 0, 1024)
        first = data.draw(st.integers(whole.first, whole.last))
        last = data.draw(st.integers(first, whole.last))
        part = cut(whole, first, last)
        offsets, parts = record_offsets(whole), record_offsets(part)
        for i in range(last - first + 2):
            self.assertEqual(part.offset + parts[i], whole.offset + offsets[first - whole.first + i])
        self.assertEqual(part.checksums, whole.checksums if part is whole else b"")


class ChecksumTests(SynchronousTestCase):
    """One checksum a block."""

    def setUp(self) -> None:
        self.entries = run(1, 0, 300, 1000)
        self.row = row_of(self.entries, 0, 1024)
        self.total = self.entries.size

    def test_blocks(self) -> None:
        """A checksum for each 64 KiB, the last one for what remains."""
        blocks = [self.entries.data[i : i + CHECKSUM_BLOCK] for i in range(0, self.total, CHECKSUM_BLOCK)]
        self.assertEqual(len(blocks), 5)
        self.assertEqual(self.row.checksums, b"".join(crc32c(b).to_bytes(4, "big") for b in blocks))
        self.assertEqual(len(block_checksums(bytes(CHECKSUM_BLOCK))), 4)
        self.assertEqual(len(block_checksums(bytes(CHECKSUM_BLOCK + 1))), 8)

    def test_good(self) -> None:
        """What was written passes, whatever part of it is looked at."""
        for start in (0, 1, 65536, 70000, self.total - 1):
            for end in (start + 1, start + 65536, start + 140000, self.total):
                self.assertIsNone(first_bad_block(self.row, self.total, start, self.entries.data[start:end]))

    def test_bad(self) -> None:
        """A changed byte is found in every slice that covers its block whole, and only there."""
        changed = bytearray(self.entries.data)
        changed[70000] ^= 1
        for start, end, expected in (
            (0, self.total, 65536), (65536, 131072, 65536), (60000, 131072, 65536), (65537, self.total, None),
            (65536, 131071, None),
        ):  # fmt: skip
            found = first_bad_block(self.row, self.total, start, bytes(changed[start:end]))
            self.assertEqual(found, expected, (start, end))

    def test_bad_tail(self) -> None:
        """The last, short block counts as whole at the end of the row."""
        changed = self.entries.data[:-1] + b"\xee"
        self.assertEqual(first_bad_block(self.row, self.total, 262144, changed[262144:]), 262144)

    def test_unknown(self) -> None:
        """A row without checksums is not judged."""
        self.assertIsNone(first_bad_block(row(1, 0, 9), 560, 0, bytes(560)))
