"""Index rows and ledger states as the columns of a table, each with a CRC32C over the others (S9)."""

import struct
from typing import Any

from ...crc32c import crc32c
from ...errors import DamageError
from ..interfaces import IndexRow, LedgerRow

Values = tuple[Any, ...]
_NUMBERS = struct.Struct(">5q")
_LEDGER_NUMBERS = struct.Struct(">qqqq")


def row_values(row: IndexRow) -> Values:
    """Return the columns of an index ``row``."""
    return (
        row.ledger_id, row.first, row.last, row.log_id, row.offset, row.sizes, row.checksums, _crc(row),
    )  # fmt: skip


def _crc(row: IndexRow) -> int:
    numbers = _NUMBERS.pack(row.ledger_id, row.first, row.last, row.log_id, row.offset)
    sizes = row.sizes.to_bytes(8, "big", signed=True) if isinstance(row.sizes, int) else row.sizes
    return crc32c(b"".join((numbers, sizes, row.checksums)))


def row_from(values: Values) -> IndexRow:
    """Make the index row of some columns.

    :param values: in the order of :func:`row_values`.
    :raises DamageError: they are not what was written.
    """
    try:
        row = IndexRow(*values[:7])
        good = _crc(row) == values[7] and row.first <= row.last
    except (TypeError, AttributeError, struct.error, OverflowError):  # a value of another type
        good = False
    if not good:
        raise DamageError(f"index row of ledger {values[0]} at entry {values[1]} is damaged")
    return row


def ledger_values(row: LedgerRow) -> Values:
    """Return the columns of ``row``, the state of a ledger."""
    return (
        row.ledger_id, row.master_key, int(row.fenced), row.explicit_lac, row.forgotten_at, _ledger_crc(row),
    )  # fmt: skip


def _ledger_crc(row: LedgerRow) -> int:
    numbers = _LEDGER_NUMBERS.pack(row.ledger_id, row.fenced, len(row.master_key), row.forgotten_at)
    return crc32c(b"".join((numbers, row.master_key, row.explicit_lac)))


def ledger_from(values: Values) -> LedgerRow:
    """Make the state of a ledger of some columns.

    :param values: in the order of :func:`ledger_values`.
    :raises DamageError: they are not what was written.
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
