"""Columns of records."""

import struct

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.columns import column


class ColumnTests(SynchronousTestCase):
    """:func:`column`."""

    def test_agrees_with_slices(self) -> None:
        """One, a few, a power of two and more than a block of records give what single slices give."""
        for count in (1, 2, 3, 64, 65, 1024, 1025, 3000):
            data = b"".join(struct.pack(">q", i) for i in range(count))
            expected = [data[8 * i + 2 : 8 * i + 7] for i in range(count)]
            self.assertEqual(list(column(data, 8, count, 2, 7)), expected)

    def test_ignores_what_follows(self) -> None:
        """Bytes after the records are not taken for more of them."""
        self.assertEqual(list(column(b"aabbccdd", 2, 3, 0, 1)), [b"a", b"b", b"c"])
