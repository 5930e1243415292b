"""Computations with index rows: offsets of records, rows for some of the entries of a row, checksums.

An index row describes contiguous records of an entry log: those of a run (consecutive entries of one ledger), the
first at ``offset``.  In this module, the offset of a record counts from the beginning of the first record.
"""

import struct
from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, pairwise, repeat
from operator import sub

from ...crc32c import Buffer, crc32c_of_block, crc32c_of_blocks, crc32c_of_bytes
from ...entries.entry_run import EntryRun
from ...errors import DamageError
from ..cache.mixed_entries import PART, SortedEntries
from ..interfaces import CHECKSUM_BLOCK, IndexRow, IRunIndex
from ..mixed_rows import MOST_APART, MixedRows
from .blocks import pack_rows

MANY_ROWS = 1024
"""A flush packs its index rows, to 36 bytes each, only if at least this many of them can be packed."""


def row_of(run: EntryRun, log_id: int, offset: int) -> IndexRow:
    """Return the index row, with checksums, of a ``run`` of entries at ``offset`` of the entry log ``log_id``."""
    return IndexRow(run.ledger_id, run.first, run.last, log_id, offset, _sizes_of(run), block_checksums(run.data))


def rows_of(entries: SortedEntries, log_id: int, offset: int) -> list[IndexRow]:
    """Return index rows for sorted ``entries`` of several ledgers: one row for each run of consecutive entries.

    :param log_id: id of the entry log that has their records.
    :param offset: offset of the first record in this log.
    """
    rows: list[IndexRow] = []
    for run in entries.runs():
        rows.append(row_of(run, log_id, offset))
        offset += run.size
    return rows


def mixed_rows_of(
    entries: SortedEntries, data: bytes, offsets: Sequence[int], log_id: int, offset: int
) -> MixedRows | None:
    """Return index rows for sorted ``entries`` of several ledgers, in packed form (36 bytes each).

    :param data: the records of the entries.
    :param offsets: the offset of each record in ``data``, and the end of the last one.
    :param log_id: id of the entry log that has the records.
    :param offset: offset of ``data`` in this log.
    :returns: None if the rows cannot be packed: a packed row has one size and one checksum for all its records, so it
        cannot describe records of more than :data:`~..interfaces.CHECKSUM_BLOCK` bytes.  Also None if more than
        :data:`~..mixed_rows.MOST_APART` consecutive entries have records of different sizes, because each of these
        entries would need a row of its own.
    """
    bounds = [*entries.starts, len(entries)]
    ledger_ids, first_ids, last_ids, ends = entries.ledger_ids, entries.entry_ids, entries.entry_ids, offsets
    counts: Iterable[int] = repeat(1)
    sizes: Iterable[int] = map(sub, offsets[1:], offsets)
    if isinstance(offsets, range):
        sizes = repeat(offsets.step)
        if len(entries.starts) < len(entries):
            ledger_ids = [entries.ledger_ids[start] for start in entries.starts]
            first_ids = [entries.entry_ids[start] for start in entries.starts]
            last_ids = [entries.entry_ids[end - 1] for end in bounds[1:]]
            counts = map(sub, bounds[1:], bounds)
            ends = [offsets[bound] for bound in bounds]
    elif max(map(sub, bounds[1:], bounds)) > MOST_APART:
        return None
    records = [data[begin:end] for begin, end in pairwise(ends)]
    if max(map(len, records)) > CHECKSUM_BLOCK:
        return None
    offsets = [offset + begin for begin in ends[:-1]]
    columns = (ledger_ids, first_ids, counts, repeat(log_id), offsets, sizes, map(crc32c_of_bytes, records))
    return MixedRows(log_id, ledger_ids, first_ids, last_ids, pack_rows(len(records), columns))


def packed_where_many(rows: Sequence[IndexRow]) -> tuple[list[IndexRow], list[MixedRows]]:
    """If there are many index ``rows`` that have few entries each, pack them to 36 bytes each.

    The rows of a ledger are packed only if all of them can be packed.

    :returns: the rows that stay unpacked, and the packed rows.
    """
    long = {row.ledger_id for row in rows if not can_be_packed(row)}
    short = [row for row in rows if row.ledger_id not in long]
    if len(short) < MANY_ROWS:
        return list(rows), []
    return [row for row in rows if row.ledger_id in long], packed_rows(short)


def packed_rows(rows: Iterable[IndexRow]) -> list[MixedRows]:
    """Encode index ``rows`` in their packed form of 36 bytes, some thousand rows in each object.

    :param rows: the rows; no entry is in two rows, and :func:`can_be_packed` is true for each row.
    """
    by_log = dict[int, list[IndexRow]]()
    for row in sorted(rows):
        by_log.setdefault(row.log_id, []).append(row)
    parts = [found[at : at + PART] for found in by_log.values() for at in range(0, len(found), PART)]
    return list(map(_packed, parts))


def _packed(rows: Sequence[IndexRow]) -> MixedRows:
    ledger_ids, first_ids, last_ids, log_ids, offsets, sizes, checksums = zip(*rows, strict=True)
    counts = [last - first + 1 for first, last in zip(first_ids, last_ids, strict=True)]
    numbers = [int.from_bytes(checksum, "big") for checksum in checksums]
    columns = (ledger_ids, first_ids, counts, log_ids, offsets, sizes, numbers)
    return MixedRows(log_ids[0], ledger_ids, first_ids, last_ids, pack_rows(len(rows), columns))


def can_be_packed(row: IndexRow) -> bool:
    """Test whether a ``row`` can be packed to 36 bytes: its records have one size, and one checksum covers them."""
    return isinstance(row.sizes, int) and len(row.checksums) == 4


def _sizes_of(run: EntryRun) -> int | bytes:
    if run.offsets is None:
        return run.stride
    return pack_sizes(list(map(sub, run.offsets[1:], run.offsets)))


def pack_sizes(sizes: Sequence[int]) -> int | bytes:
    """Encode record ``sizes`` for an index row: as one number if all are equal, else as a ``u32`` each."""
    if sizes.count(sizes[0]) == len(sizes):
        return sizes[0]
    return struct.pack(f">{len(sizes)}I", *sizes)


def block_checksums(data: bytes) -> bytes:
    """Return the CRC32C of each block of ``CHECKSUM_BLOCK`` bytes of ``data``, joined in one byte string.

    The last block may be short.
    """
    if len(data) <= CHECKSUM_BLOCK:
        return crc32c_of_block(data).to_bytes(4, "big")
    crcs = crc32c_of_blocks(data, CHECKSUM_BLOCK)
    return struct.pack(f">{len(crcs)}I", *crcs)


def record_offsets(row: IndexRow) -> Sequence[int]:
    """Return the offset of each record of an index ``row``, and the end of the last record.

    The offsets count from the beginning of the first record.

    :raises DamageError: the row does not have one size for each of its entries.
    """
    count = row.last - row.first + 1
    sizes = row.sizes
    if isinstance(sizes, int):
        return range(0, count * sizes + 1, sizes)
    if len(sizes) != 4 * count:
        raise DamageError(f"index row of ledger {row.ledger_id} at {row.first}: {len(sizes)} bytes for {count} sizes")
    return array("Q", accumulate(struct.unpack(f">{count}I", sizes), initial=0))


def cut(row: IndexRow, first: int, last: int) -> IndexRow:
    """Return an index row with only the entries ``first`` to ``last`` of ``row``.

    The result has checksums only if it has all entries of ``row``.  A checksum covers a block of many records, and
    cannot be used for a part of them.
    """
    if first == row.first and last == row.last:
        return row
    skipped, count = first - row.first, last - first + 1
    if isinstance(row.sizes, int):
        offset = row.offset + skipped * row.sizes
        return row._replace(first=first, last=last, offset=offset, checksums=b"")
    before = sum(struct.unpack(f">{skipped}I", row.sizes[: 4 * skipped]))
    sizes = row.sizes[4 * skipped : 4 * (skipped + count)]
    return row._replace(first=first, last=last, offset=row.offset + before, sizes=sizes, checksums=b"")


def without(row: IndexRow, first: int, last: int) -> list[IndexRow]:
    """Return index rows for the entries of ``row`` except the entries ``first`` to ``last``, which a newer row has.

    :returns: zero, one or two index rows.
    """
    left = []
    if row.first < first:
        left.append(cut(row, row.first, min(row.last, first - 1)))
    if row.last > last:
        left.append(cut(row, max(row.first, last + 1), row.last))
    return left


def still_at(moved: IndexRow, stored: Sequence[IndexRow], moved_from: Collection[int]) -> list[IndexRow]:
    """Return the parts of a compaction's new index row that may replace the stored rows of the same entries.

    An entry is left out if it was deleted, or written again to another log, after the compaction had copied it.

    :param moved: the new index row, which refers to the copies.
    :param stored: the rows of these entries that are in the index now, sorted.
    :param moved_from: ids of the entry logs from which the compaction has copied.
    """
    parts: list[tuple[int, int]] = []
    for row in stored:
        if row.log_id not in moved_from:
            continue
        first, last = max(row.first, moved.first), min(row.last, moved.last)
        if parts and parts[-1][1] == first - 1:
            parts[-1] = parts[-1][0], last
        else:
            parts.append((first, last))
    return [cut(moved, first, last) for first, last in parts]


def live_bytes(index: IRunIndex) -> int:
    """Return the number of bytes of all records that an ``index`` refers to; this reads all its rows."""
    return live_totals(index)[1]


def live_totals(index: IRunIndex) -> tuple[int, int]:
    """Return the number of entries that an ``index`` refers to, and the bytes of their records; this reads all rows."""
    live = index.live().values()
    return sum(entries for entries, _ in live), sum(n_bytes for _, n_bytes in live)


def row_bytes(row: IndexRow) -> int:
    """Return the number of bytes of the records of an index ``row``, size fields included."""
    if isinstance(row.sizes, int):
        return row.sizes * (row.last - row.first + 1)
    return sum(struct.unpack(f">{len(row.sizes) // 4}I", row.sizes))


def first_bad_block(row: IndexRow, total: int, start: int, data: Buffer) -> int | None:
    """Verify the checksum of each block that lies completely in ``data``.

    :param total: number of bytes of all records of the row.
    :param start: offset of ``data`` from the first record of the row.
    :returns: the offset, from the first record of the row, of the first block that does not match its checksum; None if
        all blocks match.
    """
    if not row.checksums:
        return None
    view = memoryview(data)
    end = start + len(data)
    for block in range(-(-start // CHECKSUM_BLOCK), len(row.checksums) // 4):
        low, high = block * CHECKSUM_BLOCK, min((block + 1) * CHECKSUM_BLOCK, total)
        if high > end:
            return None
        expected = int.from_bytes(row.checksums[4 * block : 4 * block + 4], "big")
        if crc32c_of_block(view[low - start : high - start]) != expected:
            return low
    return None
