"""Packed index rows for entries of many ledgers, as a flush writes them if the ledgers alternate.

An object with a place of its own in the index for each entry would cost several times as much as the entry.  A packed
row is 36 bytes, big-endian, so that the bytes of rows sort by ledger and entry::

    0   i64   ledger
    8   i64   first entry
    16  u32   entries
    20  u32   entry log
    24  u32   offset of the first record's size word
    28  u32   bytes of each record, size word included
    32  u32   CRC32C of the records
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import not_

import attrs

PACKED_ROW = struct.Struct(">qqIIIII")

MOST_APART = 16
"""Entries of different sizes that follow each other are packed one by one, up to so many."""


@attrs.frozen
class MixedRows:
    """Rows ordered by ledger and entry, which share no entry.

    :ivar ledger_ids: one per row, as are ``first_ids`` and ``last_ids``.
    :ivar packed: the rows.
    """

    log_id: int
    ledger_ids: Sequence[int]
    first_ids: Sequence[int]
    last_ids: Sequence[int]
    packed: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.packed)

    def but(self, left_out: Sequence[bool]) -> "MixedRows":
        """Return these rows except those marked True in ``left_out``."""
        kept = list(map(not_, left_out))
        return MixedRows(
            self.log_id, list(compress(self.ledger_ids, kept)), list(compress(self.first_ids, kept)),
            list(compress(self.last_ids, kept)), list(compress(self.packed, kept)),
        )  # fmt: skip


def packed_of(mixed: Iterable[MixedRows]) -> list[bytes]:
    """Return all rows of ``mixed``, in order."""
    return sorted(chain.from_iterable(rows.packed for rows in mixed))
