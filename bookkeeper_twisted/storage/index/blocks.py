"""The format of blocks of packed index rows, and of the list of block sets.

Each flush of a write cache writes a *block set*: one or more blocks of index rows.  A merge of several block sets
writes a new one.  The blocks of a block set are sorted, and no entry is in two rows of a block set.

A block has at most :data:`BLOCK_ROWS` packed rows of 36 bytes, sorted by ledger and entry (:mod:`..mixed_rows`).  The
CRC32C of a block covers the id of the block set and the rows.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from typing import NamedTuple

from ...crc32c import Buffer, crc32c_of_bytes
from ...errors import DamageError
from ..interfaces import IndexRow
from ..mixed_rows import PACKED_ROW
from .row_values import Values

BLOCK_ROWS = 128
"""Maximum number of index rows (36 bytes each) of a block; a full block is a little larger than one SQLite page."""

ROW_BYTES = PACKED_ROW.size
_FORM = PACKED_ROW.format.removeprefix(">")
_COLUMNS = len(_FORM)
# like PACKED_ROW, but the last field, the CRC32C, is decoded to 4 bytes instead of an integer
_COLUMNS_OF_ROW = struct.Struct(PACKED_ROW.format.removesuffix("I") + "4s")
_new_row = partial(tuple.__new__, IndexRow)
_LOG = slice(20, 24)
_FIRST = struct.Struct(f">8xq{ROW_BYTES - 16}x")
_KEY = struct.Struct(">qq")
_NUMBER = struct.Struct(">Q")
_CRC = struct.Struct(">I")
_BLOCK_SET = struct.Struct(">QHHII")


def key_of(ledger_id: int, entry_id: int) -> bytes:
    """Return the sort key (16 bytes) of an index row of ``ledger_id`` whose first entry is ``entry_id``.

    If the entry id is below 0, the key sorts before all rows of the ledger.  If the ledger id is below 0, it sorts
    before all rows.
    """
    if ledger_id < 0:
        return b""
    return _KEY.pack(ledger_id, entry_id) if entry_id >= 0 else ledger_id.to_bytes(8, "big")


def row_of_packed(packed: bytes) -> IndexRow:
    """Decode a ``packed`` index row of 36 bytes."""
    return unpack_rows(packed)[0]


def pack_row(row: IndexRow) -> bytes:
    """Encode an index ``row`` in its packed form of 36 bytes.

    The records (stored entries) that the row locates must all have the same size, and the row must have one checksum
    for all of them.
    """
    assert isinstance(row.sizes, int)
    ledger_id, first, last, log_id, offset, size, checksum = row
    return PACKED_ROW.pack(ledger_id, first, last - first + 1, log_id, offset, size, int.from_bytes(checksum, "big"))


def firsts_of(rows: Buffer) -> "array[int]":
    """Return the first entry id of each index row in ``rows``, a byte string of packed rows (36 bytes each)."""
    return array("q", chain.from_iterable(_FIRST.iter_unpack(rows)))


def rows_of_packed(packed: Iterable[bytes]) -> list[IndexRow]:
    """Decode several ``packed`` index rows of 36 bytes each."""
    return unpack_rows(b"".join(packed))


def unpack_rows(rows: Buffer) -> list[IndexRow]:
    """Decode ``rows``, a byte string of several packed index rows (36 bytes each)."""
    # tuple.__new__ does what the constructor of a named tuple does, but without calling a Python function for each row
    return [
        _new_row((ledger_id, first, first + count - 1, log_id, offset, size, checksum))
        for ledger_id, first, count, log_id, offset, size, checksum in _COLUMNS_OF_ROW.iter_unpack(rows)
    ]


def columns_of(rows: bytes) -> Sequence[tuple[int, ...]]:
    """Decode a byte string of 36-byte index ``rows`` to columns: a sequence for each field, with a value for each row.

    For many rows, this takes a quarter of the time of :func:`unpack_rows`.
    """
    return list(zip(*PACKED_ROW.iter_unpack(rows), strict=True))


def last_of(packed: bytes) -> int:
    """Return the id of the last entry of an index row in its ``packed`` form of 36 bytes."""
    return int.from_bytes(packed[8:16], "big") + int.from_bytes(packed[16:20], "big") - 1


def log_of(packed: bytes) -> bytes:
    """Return the entry log id in a ``packed`` index row of 36 bytes, as the 4 bytes that encode it."""
    return packed[_LOG]


def packed_logs(log_ids: Iterable[int]) -> frozenset[bytes]:
    """Encode ``log_ids`` as 4 bytes each, the form in which packed (36-byte) index rows contain them."""
    return frozenset(log_id.to_bytes(4, "big") for log_id in log_ids)


@lru_cache(4 * BLOCK_ROWS)
def _rows_of(form: str, count: int) -> struct.Struct:
    return struct.Struct(">" + form * count)


def pack_rows(count: int, columns: Sequence[Iterable[int]]) -> list[bytes]:
    """Encode index rows in their packed form of 36 bytes each.

    :param count: number of rows; further items of a column are ignored.
    :param columns: for each field of a packed row, in the order of the fields, the values of all rows.
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
    """Cut ``rows``, a byte string of several packed index rows, into single rows of 36 bytes."""
    return _rows_of(f"{ROW_BYTES}s", len(rows) // ROW_BYTES).unpack(rows)


def live_of(rows: bytes) -> list[tuple[int, int, int]]:
    """Return (entry log id, number of entries, total size of their records) for each 36-byte index row in ``rows``."""
    numbers = _rows_of("16xII4xI4x", len(rows) // ROW_BYTES).unpack(rows)
    counts, logs, sizes = numbers[::3], numbers[1::3], numbers[2::3]
    return [(log_id, count, count * size) for log_id, count, size in zip(logs, counts, sizes, strict=True)]


class Block:
    """A block of packed index rows (36 bytes each) whose checksum was verified.

    :ivar number: its id in the SQLite tables; 0 if the block is only in memory.
    """

    __slots__ = ("set_id", "rows", "number")

    def __init__(self, set_id: int, rows: bytes, number: int = 0) -> None:
        self.set_id = set_id
        self.rows = rows
        self.number = number

    def __len__(self) -> int:
        return len(self.rows) // ROW_BYTES

    def key(self, index: int) -> bytes:
        """Return the key (ledger id and entry id) of the index row at position ``index`` in the block."""
        return self.rows[ROW_BYTES * index : ROW_BYTES * index + _KEY.size]

    @property
    def first(self) -> bytes:
        """Return the key (ledger id and entry id) of the first index row of the block."""
        return self.key(0)

    @property
    def last(self) -> bytes:
        """Return the key (ledger id and entry id) of the last index row of the block."""
        return self.key(len(self) - 1)

    def packed(self, index: int, count: int = 1) -> bytes:
        """Return ``count`` index rows (36 bytes each) from position ``index`` on; fewer at the end of the block."""
        return self.rows[ROW_BYTES * index : ROW_BYTES * (index + count)]

    def floor(self, key: bytes) -> int:
        """Return the position of the last index row whose key is ``key`` or lower; -1 if all keys are higher."""
        return bisect_right(range(len(self)), key, key=self.key) - 1

    def around(self, key: bytes) -> tuple[bytes, bytes]:
        """Return the last index row at or before ``key``, and the key of the next row.

        The key of the next row is empty at the end of the block.

        :param key: a key that is not lower than the key of the first row.
        """
        index = self.floor(key)
        return self.packed(index), self.key(index + 1)


def block_values(set_id: int, rows: bytes) -> Values:
    """Return the values of a block to insert into the SQLite tables ``blocks`` and ``block_keys``.

    :param set_id: id of the block set (the blocks that one flush or merge wrote) to which the block belongs.
    :param rows: the packed index rows (36 bytes each) of the block in one byte string.
    :returns: the id of the block set, the key of the first row, the rows, and their CRC32C.
    """
    return set_id, rows[: _KEY.size], rows, crc32c_of_bytes(_NUMBER.pack(set_id) + rows)


def joined(packed: Sequence[bytes]) -> list[bytes]:
    """Join the sorted index rows ``packed`` (36 bytes each) to blocks of at most :data:`BLOCK_ROWS` rows."""
    return [b"".join(packed[at : at + BLOCK_ROWS]) for at in range(0, len(packed), BLOCK_ROWS)]


def blocks_of(set_id: int, packed: Sequence[bytes]) -> list[Values]:
    """Join sorted ``packed`` index rows to blocks; return the values to insert into SQLite for each block.

    :param set_id: id of the block set (the blocks that one flush or merge wrote) to which they belong.
    :param packed: the rows, 36 bytes each.
    """
    return [block_values(set_id, rows) for rows in joined(packed)]


def block_from(values: Values) -> Block:
    """Decode a block from its ``values`` in the SQLite tables ``blocks`` and ``block_keys``.

    :raises DamageError: the values differ from those that were written.
    """
    set_id, first, number, rows, crc = values
    try:
        good = rows and not len(rows) % ROW_BYTES and block_values(set_id, rows) == (set_id, first, rows, crc)
    except (TypeError, struct.error):  # damage can change the type of a value
        good = False
    if not good:
        raise DamageError(f"index block of set {set_id} is damaged")
    return Block(set_id, rows, number)


class BlockSet(NamedTuple):
    """A block set: the blocks of index rows that one flush wrote, or that a merge of several block sets wrote.

    :ivar level: number of merges that have moved its rows so far.
    :ivar role: :data:`SOURCE` while a merge moves its rows to another block set, :data:`TARGET` while a merge adds
        rows to it, else :data:`WHOLE`.
    :ivar lowest_log: the lowest id of the entry logs to which its rows refer.
    :ivar highest_log: the highest id of these logs.
    """

    set_id: int
    level: int
    role: int
    lowest_log: int
    highest_log: int

    def has_one_of(self, log_ids: Iterable[int]) -> bool:
        """Test whether an index row in these blocks may refer to any of the entry logs ``log_ids``."""
        return any(self.lowest_log <= log_id <= self.highest_log for log_id in log_ids)


WHOLE, SOURCE, TARGET = range(3)


def pack_block_sets(block_sets: Iterable[BlockSet]) -> bytes:
    """Encode the list of ``block_sets`` (each: the blocks that one flush or merge wrote), with a CRC32C."""
    packed = b"".join([_BLOCK_SET.pack(*block_set) for block_set in block_sets])
    return packed + _CRC.pack(crc32c_of_bytes(packed))


def block_sets_from(packed: object) -> list[BlockSet]:
    """Decode the list of block sets (each: the blocks that one flush or merge wrote).

    :raises DamageError: the list is damaged.
    """
    if isinstance(packed, bytes) and packed[-4:] == _CRC.pack(crc32c_of_bytes(packed[:-4])):
        return [BlockSet(*numbers) for numbers in _BLOCK_SET.iter_unpack(packed[:-4])]
    raise DamageError("the list of block sets of an index is damaged")
