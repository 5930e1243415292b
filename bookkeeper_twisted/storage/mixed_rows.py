"""Packed index rows (36 bytes each), in which a flush stores the locations of short runs of many ledgers.

A run is a sequence of consecutive entries of one ledger.  Storing a short run as a row of an SQLite table would cost
several times as much as storing its entries.  The fields are big-endian, so that packed rows that are sorted as byte
strings are sorted by ledger and entry::

    0   i64   ledger
    8   i64   first entry
    16  u32   entries
    20  u32   entry log
    24  u32   offset of the first record
    28  u32   size in bytes of each record, its 4-byte size field included
    32  u32   CRC32C of the records
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import not_

import attrs

PACKED_ROW = struct.Struct(">qqIIIII")

MOST_APART = 16
"""Maximum number of consecutive entries with records of different sizes that are still stored in packed index rows.

A packed row (36 bytes) has only one size for all its records, so each of these entries takes a row of its own.
"""


@attrs.frozen
class MixedRows:
    """Packed index rows that refer to one entry log, sorted by ledger and entry; no entry is in two rows.

    :ivar ledger_ids: the ledger id of each row.
    :ivar first_ids, last_ids: the ids of the first and the last entry of each row.
    :ivar packed: each row in its 36-byte form.
    """

    log_id: int
    ledger_ids: Sequence[int]
    first_ids: Sequence[int]
    last_ids: Sequence[int]
    packed: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.packed)

    def but(self, left_out: Sequence[bool]) -> "MixedRows":
        """Return a copy without some index rows; ``left_out`` has one item for each row: whether it is left out."""
        kept = list(map(not_, left_out))
        return MixedRows(
            self.log_id, list(compress(self.ledger_ids, kept)), list(compress(self.first_ids, kept)),
            list(compress(self.last_ids, kept)), list(compress(self.packed, kept)),
        )  # fmt: skip


def packed_of(mixed: Iterable[MixedRows]) -> list[bytes]:
    """Return all index rows of ``mixed`` in their 36-byte form, sorted by ledger and entry."""
    return sorted(chain.from_iterable(rows.packed for rows in mixed))
