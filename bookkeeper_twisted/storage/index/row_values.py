"""Index rows and ledger states as rows of SQLite tables, each with a CRC32C of its other values.

If all records of an index row have the same size, this size is stored as an integer.  Otherwise the sizes are stored
in the shortest of three forms.  Two of them begin with the least size::

    0   u32         the least size
    4   u8 or u16   for each record, the difference between its size and the least size

The third form is a ``u32`` for each record: its size.  The reader knows the form from the length of the bytes and the
number of records.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import starmap
from operator import add, itemgetter
from typing import Any

from ...crc32c import crc32c_of_bytes
from ...errors import DamageError
from ..interfaces import IndexRow, LedgerRow

Values = tuple[Any, ...]
_NUMBERS = struct.Struct(">5q")
_EVEN = struct.Struct(">6q")
"""The numbers of an index row whose records all have the same size: ledger, first, last, log, offset, and this size."""
_LEDGER_NUMBERS = struct.Struct(">qqqq")
_LEAST = struct.Struct(">I")
_WIDTHS = {1: "B", 2: "H"}


def values_of(rows: Sequence[IndexRow]) -> Iterable[Values]:
    """Return the values to insert into the SQLite table ``runs``, for each index row in ``rows``.

    This is much faster if, in each row, all records have the same size.
    """
    if bytes in set(map(type, map(_sizes, rows))):
        return map(_row_values, rows)
    packed = map(add, starmap(_EVEN.pack, map(_numbers, rows)), map(_checksums, rows))
    return map(add, rows, zip(map(crc32c_of_bytes, packed)))


_numbers, _sizes, _checksums = itemgetter(slice(6)), itemgetter(5), itemgetter(6)


def _row_values(row: IndexRow) -> Values:
    sizes = row.sizes if isinstance(row.sizes, int) else _narrowed(row.sizes)
    return (*row[:5], sizes, row.checksums, _crc(row))


def _narrowed(sizes: bytes) -> bytes:
    count = len(sizes) // _LEAST.size
    each = struct.unpack(f">{count}I", sizes)
    least = min(each)
    width = 1 if max(each) - least < 1 << 8 else 2
    if max(each) - least >= 1 << 16 or _LEAST.size + width * count >= len(sizes):
        return sizes
    return struct.pack(f">I{count}{_WIDTHS[width]}", least, *[size - least for size in each])


def _parts(sizes: bytes, count: int) -> tuple[int, Sequence[int]]:
    """Decode stored record sizes into the least size, and the difference of each record's size from it.

    :raises struct.error: the number of sizes is not ``count``.
    """
    width = 4 if len(sizes) == _LEAST.size * count else (len(sizes) - _LEAST.size) // count
    if width == _LEAST.size:
        return 0, struct.unpack(f">{count}I", sizes)
    least, *more = struct.unpack(f">I{count}{_WIDTHS.get(width, 'Q')}", sizes)
    return least, more


def stored_bytes(sizes: bytes, count: int) -> int:
    """Return the number of bytes that the records of an index row take in the entry log.

    :param sizes: the record sizes in their stored form, which the docstring of this module describes.
    :param count: number of records.
    """
    least, more = _parts(sizes, count)
    return least * count + sum(more)


def _crc(row: IndexRow) -> int:
    if isinstance(row.sizes, int):
        return crc32c_of_bytes(_EVEN.pack(*row[:6]) + row.checksums)
    return crc32c_of_bytes(b"".join((_NUMBERS.pack(*row[:5]), row.sizes, row.checksums)))


def row_from(values: Values) -> IndexRow:
    """Decode an index row from the values of its columns in the table.

    :param values: the values, in the order in which :func:`values_of` returns them.
    :raises DamageError: the values differ from those that were written.
    """
    try:
        ledger_id, first, last, log_id, offset, sizes, checksums, _ = values
        row = IndexRow(ledger_id, first, last, log_id, offset, _widened(sizes, last - first + 1), checksums)
        good = _crc(row) == values[7] and row.first <= row.last
    except (TypeError, AttributeError, struct.error, ArithmeticError):  # damage can change the type of a value
        good = False
    if not good:
        raise DamageError(f"index row of ledger {values[0]} at entry {values[1]} is damaged")
    return row


def _widened(sizes: int | bytes, count: int) -> int | bytes:
    """Convert stored record sizes to one ``u32`` for each record; return an integer (one size for all) unchanged."""
    if isinstance(sizes, int) or len(sizes) == _LEAST.size * count:
        return sizes
    least, more = _parts(sizes, count)
    return struct.pack(f">{count}I", *[least + each for each in more])


def ledger_values(row: LedgerRow) -> Values:
    """Return the values of the ledger state ``row`` for the columns of its table."""
    return (
        row.ledger_id, row.master_key, int(row.fenced), row.explicit_lac, row.forgotten_at, _ledger_crc(row),
    )  # fmt: skip


def _ledger_crc(row: LedgerRow) -> int:
    numbers = _LEDGER_NUMBERS.pack(row.ledger_id, row.fenced, len(row.master_key), row.forgotten_at)
    return crc32c_of_bytes(b"".join((numbers, row.master_key, row.explicit_lac)))


def ledger_from(values: Values) -> LedgerRow:
    """Decode a ledger state from the values of its columns.

    :param values: the values, in the order in which :func:`ledger_values` returns them.
    :raises DamageError: the values differ from those that were written.
    """
    ledger_id, master_key, fenced, explicit_lac, forgotten_at, crc = values
    try:
        row = LedgerRow(ledger_id, master_key, bool(fenced), explicit_lac, forgotten_at)
        good = _ledger_crc(row) == crc and fenced in (0, 1)
    except (TypeError, struct.error):
        good = False
    if not good:
        raise DamageError(f"index row of ledger {ledger_id} is damaged")
    return row
