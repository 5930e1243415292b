"""Searches for many entries of one ledger together, with ids in any order, without waiting for the disk.

A search finds entries in the write caches.  For the other entries, it finds the locations of their records in entry
logs, as far as their index rows are in memory; the caller then reads these records from the kernel's page cache.  The
locations are stored as columns: one list for each field, with one item for each entry.  One operation on a list takes a
fraction of the time of an operation for each entry.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress, repeat
from operator import add, eq, itemgetter, le, lt, mul, not_, sub
from typing import Any, cast

from ...errors import DamageError
from ..cache.mixed_entries import LedgerEntries, Scattered
from ..cache.run_list import NO_ENTRY, RunList
from ..interfaces import CHECKSUM_BLOCK, IndexRow
from .blocks import columns_of
from .looked_up import FoundRows
from .recent_blocks import LedgerBlocks
from .recent_rows import SortedRows

MOST_ROWS = 16
"""A search unpacks all packed index rows in one step if there are at most this many rows for each wanted entry.

If there are more, it unpacks only the needed rows, one by one, which takes some 30 times as long for each unpacked row.
"""

Table = SortedRows | LedgerBlocks | FoundRows


class LogRecords:
    """The records (stored entries) that a search must read from one entry log, as one list for each field.

    :ivar positions: for each record, the index of its entry in the list of requested entry ids.
    :ivar entry_ids: the entry id of each record.
    :ivar sizes, offsets: the size in bytes of each record, and its offset in the log.
    :ivar checksums: the CRC32C of each record; None for a record that shares one checksum with others, because its
        index row covers several records.
    """

    __slots__ = ("positions", "entry_ids", "sizes", "offsets", "checksums")

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.entry_ids: list[int] = []
        self.sizes: list[int] = []
        self.offsets: list[int] = []
        self.checksums: list[int | None] = []

    def extend(
        self, positions: Iterable[int], entry_ids: Iterable[int], sizes: Iterable[int], offsets: Iterable[int],
        checksums: Iterable[int | None],
    ) -> None:  # fmt: skip
        """Add records that must be read from this log.

        :param positions, entry_ids, sizes, offsets, checksums: one value for each record, with the meaning of the
            attribute of the same name.
        """
        self.positions.extend(positions)
        self.entry_ids.extend(entry_ids)
        self.sizes.extend(sizes)
        self.offsets.extend(offsets)
        self.checksums.extend(checksums)

    def before(self, end: int) -> "LogRecords":
        """Return the records of those entries that are among the first ``end`` requested entries."""
        kept, records = [position < end for position in self.positions], LogRecords()
        records.extend(
            compress(self.positions, kept), compress(self.entry_ids, kept), compress(self.sizes, kept),
            compress(self.offsets, kept), compress(self.checksums, kept),
        )  # fmt: skip
        return records


class Lookup:
    """A search for some entries of one ledger, in the write caches and in the index rows in memory.

    :param cached: the entries of the ledger in each write cache, in the form in which the cache stores them.  The cache
        with the newest copies comes first.
    :param tables: the index rows of the ledger that are in memory, in several tables; newer rows first.
    :param offsets_of: a function that returns the offset of each record of an index row whose records differ in size;
        it may raise DamageError.
    :ivar found: the result: entries found in the write caches, and None for each other entry.
    :ivar logs: the records that must be read from entry logs, by entry log id.
    """

    __slots__ = ("found", "logs", "_cached", "_tables", "_offsets_of", "_lowest")

    def __init__(
        self,
        cached: Sequence[RunList | LedgerEntries],
        tables: Sequence[Table],
        offsets_of: Callable[[IndexRow], Sequence[int]],
    ) -> None:
        self.found = Scattered()
        self.logs: dict[int, LogRecords] = {}
        self._cached = cached
        self._tables = tables
        self._offsets_of = offsets_of
        self._lowest = min([runs.first for runs in cached], default=NO_ENTRY)

    def find(self, entry_ids: Sequence[int], max_bytes: int) -> None:
        """Look up entries: add cached entries to :attr:`found`, and locations of other entries to :attr:`logs`.

        :param entry_ids: the entry ids, at least one, in any order.
        :param max_bytes: stop after the entry with which the found entries reach this number of bytes; the ids after it
            in ``entry_ids`` are not looked up.
        """
        found, low, high = self.found, min(entry_ids), max(entry_ids)
        left: Sequence[int] = range(len(entry_ids))
        if high < self._lowest:
            found.entries.extend(repeat(None, len(entry_ids)))
        else:
            found.entries = self._in_write_caches(entry_ids, max_bytes)
            left = [position for position, entry in enumerate(found.entries) if entry is None]
            found.cached = len(found.entries) - len(left)
        for table in self._tables:
            if not left:
                break
            wanted = entry_ids if len(left) == len(entry_ids) else [entry_ids[position] for position in left]
            packed = table.packed_between(low, high, MOST_ROWS * len(wanted))
            if packed is None:
                left = self._each(table, left, wanted)
            elif packed:
                left = self._together(packed, left, wanted)
        self._stop_after(max_bytes)

    def _in_write_caches(self, entry_ids: Sequence[int], max_bytes: int) -> list[bytes | None]:
        """Return the entries that are in write caches, and None for each other entry.

        The result ends with the entry with which the found entries reach ``max_bytes`` bytes.
        """
        found = self._cached[0].entries(entry_ids, max_bytes)
        for each in self._cached[1:]:
            if all(found):
                break
            older = each.entries(entry_ids[: len(found)], max_bytes)
            found = [newest or entry for newest, entry in zip(found, older, strict=False)]
        return found

    def _each(self, table: Table, positions: Sequence[int], entry_ids: Sequence[int]) -> Sequence[int]:
        """Search a table of index rows for each entry; add the location of each found entry's record to :attr:`logs`.

        :param positions: for each entry, its index in the request.
        :returns: the indexes in the request of the entries that the table does not contain.
        """
        rows, missing = list(map(table.find, entry_ids)), list[int]()
        if not all(rows):
            missing = [position for position, row in zip(positions, rows, strict=True) if row is None]
            positions, entry_ids = list(compress(positions, rows)), list(compress(entry_ids, rows))
            rows = list(filter(None, rows))
        if rows:
            self._of_rows(cast(Sequence[IndexRow], rows), positions, entry_ids)
        return missing

    def _of_rows(self, rows: Sequence[IndexRow], positions: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Add the location of each entry's record to :attr:`logs`.

        :param rows: for each entry, the index row that contains it; at least one.
        """
        _, firsts, lasts, log_ids, offsets, sizes, _ = zip(*rows, strict=True)
        # usual case: no wanted entry is the last of its row, so there is no checksum to look up for its record alone
        if _is_plain(sizes) and not any(map(eq, entry_ids, lasts)):
            at = list(map(add, offsets, map(mul, map(sub, entry_ids, firsts), sizes)))
            self._found_in(log_ids, positions, entry_ids, sizes, at, [None] * len(rows))
            return
        records = [
            (row.log_id, position, entry_id, *record)
            for row, position, entry_id in zip(rows, positions, entry_ids, strict=True)
            if (record := self._record(row, entry_id)) is not None
        ]
        if records:
            self._found_in(*zip(*records, strict=True))

    def _together(self, packed: bytes, positions: Sequence[int], entry_ids: Sequence[int]) -> Sequence[int]:
        """Search packed index rows for many entries together; add the locations of their records to :attr:`logs`.

        :param packed: one or more packed rows (36 bytes each) of the ledger in one byte string, in the order of their
            entries.
        :param positions: for each entry, its index in the request.
        :returns: the indexes in the request of the entries that are in none of the rows.
        """
        columns: Sequence[Sequence[int]] = columns_of(packed)
        if columns[2].count(1) == len(entry_ids) and columns[1] == tuple(entry_ids):
            # the usual case of a striped ledger: each row has exactly one entry, a wanted one
            self._found_in(columns[3], positions, entry_ids, columns[5], columns[4], columns[6])
            return ()
        missing = list[int]()
        if not _one_each(entry_ids, *columns[1:3]):
            # for each entry, pick the last row that begins at or before the entry; if no row does, the index is -1 and
            # picks the last row of all, which begins after the entry, so that the next lines reject it
            columns = _picked(columns, map(sub, map(bisect_right, repeat(columns[1]), entry_ids), repeat(1)))
            skipped = list(map(sub, entry_ids, columns[1]))
            if min(skipped) < 0 or not all(map(lt, skipped, columns[2])):
                held = [0 <= number < count for number, count in zip(skipped, columns[2], strict=True)]
                missing = list(compress(positions, map(not_, held)))
                positions, entry_ids = list(compress(positions, held)), list(compress(entry_ids, held))
                columns = [list(compress(column, held)) for column in columns]
        _, firsts, counts, log_ids, offsets, sizes, checksums = columns
        at = list(map(add, offsets, map(mul, map(sub, entry_ids, firsts), sizes)))
        # the checksum of an index row covers all its records: it can verify one record only if the row has no others
        own = [checksum if count == 1 else None for checksum, count in zip(checksums, counts, strict=True)]
        self._found_in(log_ids, positions, entry_ids, sizes, at, own)
        return missing

    def _found_in(self, log_ids: Sequence[int], *columns: Sequence[Any]) -> None:
        """Add located records to :attr:`logs`, because they must be read from entry logs.

        :param log_ids: the entry log of each record.
        :param columns: the other fields of all records, in the order of :meth:`LogRecords.extend`.
        """
        if log_ids and log_ids.count(log_ids[0]) == len(log_ids):
            self._of_log(log_ids[0]).extend(*columns)
            return
        by_log: dict[int, list[int]] = {}
        for index, log_id in enumerate(log_ids):
            by_log.setdefault(log_id, []).append(index)
        for log_id, indexes in by_log.items():
            self._of_log(log_id).extend(*_picked(columns, indexes))

    def _of_log(self, log_id: int) -> LogRecords:
        if log_id not in self.logs:
            self.logs[log_id] = LogRecords()
        return self.logs[log_id]

    def _record(self, row: IndexRow, entry_id: int) -> tuple[int, int, int | None] | None:
        """Return the size, the offset in the log, and the checksum of an entry's record.

        :param row: the index row that contains the entry.
        :returns: None if the record must be read by the ordinary read instead: a block of the log that has a checksum
            may lie completely in the record, and only that read verifies it; or the index row is damaged.  The checksum
            is None if none covers exactly this record.
        """
        _, first, last, _, offset, size, checksum = row
        if isinstance(size, int):
            start = (entry_id - first) * size
        else:
            try:
                offsets = self._offsets_of(row)
            except DamageError:
                return None
            start = offsets[entry_id - first]
            size = offsets[entry_id - first + 1] - start
        if entry_id != last:
            return (size, offset + start, None) if size < CHECKSUM_BLOCK else None
        if start or size > CHECKSUM_BLOCK:
            # a block with a checksum may lie completely in the record: return None, so that the record is read by
            # EntryLogReader.read, which verifies the block
            whole = start <= (start + size - 1) // CHECKSUM_BLOCK * CHECKSUM_BLOCK
            return None if whole else (size, offset + start, None)
        return size, offset + start, int.from_bytes(checksum, "big") if checksum else None

    def _stop_after(self, max_bytes: int) -> None:
        """Cut the result after the first entries that together have at least ``max_bytes`` bytes."""
        found, logs = self.found, self.logs.values()
        cached = [len(entry or b"") for entry in found.entries] if found.cached else []
        if sum(cached) + sum([sum(records.sizes) for records in logs]) < max_bytes:
            return
        sizes = cached or [0] * len(found.entries)
        for records in logs:
            for position, size in zip(records.positions, records.sizes, strict=True):
                sizes[position] = size
        end = bisect_left(list(accumulate(sizes)), max_bytes) + 1
        if end >= len(sizes):
            return
        found.cached -= len(list(filter(None, found.entries[end:])))
        del found.entries[end:]
        kept = {log_id: records.before(end) for log_id, records in self.logs.items()}
        self.logs = {log_id: records for log_id, records in kept.items() if records.positions}


def _is_plain(sizes: Sequence[int | bytes]) -> bool:
    """Test whether the records of each index row have one size, which is below ``CHECKSUM_BLOCK``.

    A record of this size cannot contain a whole block of ``CHECKSUM_BLOCK`` bytes, which has a checksum of its own.

    :param sizes: the field ``sizes`` of each index row.
    """
    return set(map(type, sizes)) == {int} and max(cast(Sequence[int], sizes)) < CHECKSUM_BLOCK


def _picked(columns: Sequence[Sequence[Any]], indexes: Iterable[int]) -> Sequence[Sequence[Any]]:
    """Return, for each column, its values at ``indexes``; there must be at least one index."""
    pick = itemgetter(0, *indexes)  # a getter of one index would not return a tuple
    return [pick(column)[1:] for column in columns]


def _one_each(entry_ids: Sequence[int], firsts: Sequence[int], counts: Sequence[int]) -> bool:
    """Test whether the first index row contains the first wanted entry, the second row the second entry, and so on.

    Then no search for the rows is needed.  This is common if the write quorum of a ledger is above 1 and below its
    ensemble size: a bookie then has only a few consecutive entries at a time, so each index row has few entries.
    """
    return (
        len(firsts) == len(entry_ids)
        and all(map(le, firsts, entry_ids))
        and all(map(lt, map(sub, entry_ids, firsts), counts))
    )
