"""Packed index rows, which a flush writes for short runs of many ledgers.

If each of these runs had a row of its own in the table of runs, that would cost several times as much as the entries.
A packed row is 36 bytes, big-endian, so that byte order is the order of ledgers and entries::

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
"""A run of at most so many entries is packed as one row for each entry if its records differ in size."""


@attrs.frozen
class MixedRows:
    """Packed rows of one entry log, sorted by ledger and entry; no two have an entry in common.

    :ivar ledger_ids: the ledger id of each row; ``first_ids`` and ``last_ids`` are parallel to it.
    :ivar packed: the rows as bytes.
    """

    log_id: int
    ledger_ids: Sequence[int]
    first_ids: Sequence[int]
    last_ids: Sequence[int]
    packed: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.packed)

    def but(self, left_out: Sequence[bool]) -> "MixedRows":
        """Return a copy without the rows whose items in ``left_out`` are True."""
        kept = list(map(not_, left_out))
        return MixedRows(
            self.log_id, list(compress(self.ledger_ids, kept)), list(compress(self.first_ids, kept)),
            list(compress(self.last_ids, kept)), list(compress(self.packed, kept)),
        )  # fmt: skip


def packed_of(mixed: Iterable[MixedRows]) -> list[bytes]:
    """Return the packed rows of all ``mixed``, sorted by ledger and entry."""
    return sorted(chain.from_iterable(rows.packed for rows in mixed))
