"""Blocks of packed index rows, and their generations.

A block has up to :data:`BLOCK_ROWS` rows in the order of ledgers and entries (:mod:`..mixed_rows`).  Its CRC32C is over
the number of its generation and the rows.  The blocks of one generation share no entry and are in order, too.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from ...crc32c import crc32c_of_bytes
from ...errors import DamageError
from ..interfaces import IndexRow
from ..mixed_rows import PACKED_ROW
from .row_values import Values

BLOCK_ROWS = 128
"""With so many a block fills a page of SQLite and a little of another one."""

ROW_BYTES = PACKED_ROW.size
_FORM = PACKED_ROW.format.removeprefix(">")
_COLUMNS = len(_FORM)
_COLUMNS_OF_ROW = struct.Struct(PACKED_ROW.format.removesuffix("I") + "4s")  # the checksum as bytes
_new_row = partial(tuple.__new__, IndexRow)
_LOG = slice(20, 24)
_KEY = struct.Struct(">qq")
_NUMBER = struct.Struct(">Q")
_CRC = struct.Struct(">I")
_GENERATION = struct.Struct(">QHHII")


def key_of(ledger_id: int, entry_id: int) -> bytes:
    """Return the key of ``entry_id``, by which packed rows are ordered.

    No row has ids below 0: the key is before all rows of the ledger, or before all rows if ``ledger_id`` < 0.
    """
    if ledger_id < 0:
        return b""
    return _KEY.pack(ledger_id, entry_id) if entry_id >= 0 else ledger_id.to_bytes(8, "big")


def row_of_packed(packed: bytes) -> IndexRow:
    """Return the index row of a ``packed`` row."""
    return unpack_rows(packed)[0]


def rows_of_packed(packed: Iterable[bytes]) -> list[IndexRow]:
    """Return the index rows of ``packed`` rows."""
    return unpack_rows(b"".join(packed))


def unpack_rows(rows: bytes) -> list[IndexRow]:
    """Return the index rows of ``rows``, the joined bytes of packed rows."""
    # tuple.__new__ does what the constructor of a named tuple does, without the call of a Python function for each row.
    return [
        _new_row((ledger_id, first, first + count - 1, log_id, offset, size, checksum))
        for ledger_id, first, count, log_id, offset, size, checksum in _COLUMNS_OF_ROW.iter_unpack(rows)
    ]


def last_of(packed: bytes) -> int:
    """Return the id of the last entry of a ``packed`` row."""
    return int.from_bytes(packed[8:16], "big") + int.from_bytes(packed[16:20], "big") - 1


def log_of(packed: bytes) -> bytes:
    """Return the id of the entry log of a ``packed`` row, as the bytes in that row."""
    return packed[_LOG]


def packed_logs(log_ids: Iterable[int]) -> frozenset[bytes]:
    """Pack ``log_ids`` as packed rows contain them, to be compared with :func:`log_of`."""
    return frozenset(log_id.to_bytes(4, "big") for log_id in log_ids)


@lru_cache(4 * BLOCK_ROWS)
def _rows_of(form: str, count: int) -> struct.Struct:
    return struct.Struct(">" + form * count)


def pack_rows(count: int, columns: Sequence[Iterable[int]]) -> list[bytes]:
    """Pack rows that are given as columns, one column for each number of a packed row.

    :param count: number of rows; columns may be longer.
    """
    numbers = [0] * (_COLUMNS * count)
    for at, column in enumerate(columns):
        numbers[at::_COLUMNS] = islice(column, count)
    packed: list[bytes] = []
    for at in range(0, len(numbers), _COLUMNS * BLOCK_ROWS):
        part = numbers[at : at + _COLUMNS * BLOCK_ROWS]
        packed += cut_rows(_rows_of(_FORM, len(part) // _COLUMNS).pack(*part))
    return packed


def cut_rows(rows: bytes) -> tuple[bytes, ...]:
    """Cut ``rows``, the joined bytes of packed rows, into single rows."""
    return _rows_of(f"{ROW_BYTES}s", len(rows) // ROW_BYTES).unpack(rows)


def live_of(rows: bytes) -> list[tuple[int, int, int]]:
    """Return the entry log, the number of entries and their bytes for each row in the joined packed ``rows``."""
    numbers = _rows_of("16xII4xI4x", len(rows) // ROW_BYTES).unpack(rows)
    counts, logs, sizes = numbers[::3], numbers[1::3], numbers[2::3]
    return [(log_id, count, count * size) for log_id, count, size in zip(logs, counts, sizes, strict=True)]


class Block:
    """A block whose checksum was verified."""

    __slots__ = ("generation", "rows")

    def __init__(self, generation: int, rows: bytes) -> None:
        self.generation = generation
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows) // ROW_BYTES

    def key(self, index: int) -> bytes:
        """Return the key of the row at ``index``."""
        return self.rows[ROW_BYTES * index : ROW_BYTES * index + _KEY.size]

    @property
    def first(self) -> bytes:
        """Return the key of the first row."""
        return self.key(0)

    @property
    def last(self) -> bytes:
        """Return the key of the last row."""
        return self.key(len(self) - 1)

    def packed(self, index: int, count: int = 1) -> bytes:
        """Return the joined bytes of ``count`` packed rows from ``index`` on, or fewer at the end of the block."""
        return self.rows[ROW_BYTES * index : ROW_BYTES * (index + count)]

    def floor(self, key: bytes) -> int:
        """Return the index of the last row at or before ``key``, or -1."""
        return bisect_right(range(len(self)), key, key=self.key) - 1

    def around(self, key: bytes) -> tuple[bytes, bytes]:
        """Return the row at or before ``key``, and the key of the row after it (empty after the last row).

        :param key: at or after the first row.
        """
        index = self.floor(key)
        return self.packed(index), self.key(index + 1)


def block_values(generation: int, rows: bytes) -> Values:
    """Return the column values of a block in a ``generation``; ``rows`` are the joined bytes of packed rows."""
    return generation, rows[: _KEY.size], rows, crc32c_of_bytes(_NUMBER.pack(generation) + rows)


def joined(packed: Sequence[bytes]) -> list[bytes]:
    """Join ordered ``packed`` rows to blocks, and return the bytes of each block."""
    return [b"".join(packed[at : at + BLOCK_ROWS]) for at in range(0, len(packed), BLOCK_ROWS)]


def blocks_of(generation: int, packed: Sequence[bytes]) -> list[Values]:
    """Return the column values of the blocks of ordered ``packed`` rows in a ``generation``."""
    return [block_values(generation, rows) for rows in joined(packed)]


def block_from(values: Values) -> Block:
    """Decode a block from its column values.

    :raises DamageError: the columns are not as they were written.
    """
    generation, first, rows, crc = values
    try:
        good = rows and not len(rows) % ROW_BYTES and block_values(generation, rows) == (generation, first, rows, crc)
    except (TypeError, struct.error):  # a column has a value of a wrong type
        good = False
    if not good:
        raise DamageError(f"index block of generation {generation} is damaged")
    return Block(generation, rows)


class Generation(NamedTuple):
    """The blocks of one flush, or of several flushes after a merge.

    :ivar level: how often its rows were merged.
    :ivar role: 0, or its part in a merge that is under way: :data:`SOURCE`, :data:`TARGET`.
    :ivar lowest_log: lowest id of the logs of its entries.
    :ivar highest_log: highest id of these logs.
    """

    number: int
    level: int
    role: int
    lowest_log: int
    highest_log: int

    def has_one_of(self, log_ids: Iterable[int]) -> bool:
        """Test whether any of ``log_ids`` lies between the lowest and the highest log id of this generation."""
        return any(self.lowest_log <= log_id <= self.highest_log for log_id in log_ids)


WHOLE, SOURCE, TARGET = range(3)


def pack_generations(generations: Iterable[Generation]) -> bytes:
    """Encode a list of ``generations`` as a text with a CRC32C."""
    packed = b"".join([_GENERATION.pack(*generation) for generation in generations])
    return packed + _CRC.pack(crc32c_of_bytes(packed))


def generations_from(packed: object) -> list[Generation]:
    """Decode a list of generations.

    :raises DamageError: the list is damaged.
    """
    if isinstance(packed, bytes) and packed[-4:] == _CRC.pack(crc32c_of_bytes(packed[:-4])):
        return [Generation(*numbers) for numbers in _GENERATION.iter_unpack(packed[:-4])]
    raise DamageError("the list of generations of an index is damaged")
