"""Look-ups of single entries of one ledger in any order, all in memory.

Entries that are not in a write cache are read from the page cache, by one call for each entry log.
"""

from collections.abc import Callable, Sequence

from ...errors import DamageError
from ..cache.mixed_entries import LedgerEntries, Scattered
from ..cache.run_list import NO_ENTRY, RunList
from ..interfaces import CHECKSUM_BLOCK, IndexRow
from .looked_up import FoundRows
from .recent_blocks import LedgerBlocks
from .recent_rows import SortedRows

ScatteredRecord = tuple[int, int, int, int, bytes]
"""A record to read from a log.

A tuple of the index of its entry in the request, its entry id, its size in bytes, its offset in the log, and its
checksum.  The checksum is empty unless the index row has one for this record alone.
"""


class Lookup:
    """A look-up of single entries of one ledger in the write caches, and of their index rows in memory.

    :param halves: what the write caches hold of the ledger; the cache with the newer copies first.
    :param tables: the index rows of the ledger that are in memory.
    :param offsets_of: returns the record offsets of an index row with records of several sizes; may raise DamageError.
    :ivar found: the entries found in the write caches; None for each other entry.
    :ivar logs: the records to be read, by entry log id.
    """

    __slots__ = ("found", "logs", "_halves", "_tables", "_offsets_of", "_lowest")

    def __init__(
        self,
        halves: Sequence[RunList | LedgerEntries],
        tables: Sequence[SortedRows | LedgerBlocks | FoundRows],
        offsets_of: Callable[[IndexRow], Sequence[int]],
    ) -> None:
        self.found = Scattered()
        self.logs: dict[int, list[ScatteredRecord]] = {}
        self._halves = halves
        self._tables = tables
        self._offsets_of = offsets_of
        self._lowest = min([runs.first for runs in halves], default=NO_ENTRY)

    def find(self, entry_ids: Sequence[int], max_bytes: int) -> None:
        """Look up entries: put those in the write caches into :attr:`found`, and records to be read into :attr:`logs`.

        :param entry_ids: the entry ids, in any order.
        :param max_bytes: the look-up ends when it has found so many bytes; it looks up at least one entry.
        """
        entries, lowest = self.found.entries, self._lowest
        finds = [table.find for table in self._tables]
        for position, entry_id in enumerate(entry_ids):
            entry = self._in_halves(entry_id) if entry_id >= lowest else None
            entries.append(entry)
            if entry is not None:
                max_bytes -= len(entry)
            else:
                for find in finds:
                    row = find(entry_id)
                    if row is not None:
                        max_bytes -= self._note(row, position, entry_id)
                        break
            if max_bytes <= 0:
                return

    def _in_halves(self, entry_id: int) -> bytes | None:
        for runs in self._halves:
            entry = runs.entry(entry_id)
            if entry is not None:
                self.found.cached += 1
                return entry
        return None

    def _note(self, row: IndexRow, position: int, entry_id: int) -> int:
        """Add an entry to those to be read, unless only a read of its whole index row could verify it.

        :param row: the index row that holds the entry.
        :param position: index of the entry in the request.
        :returns: the bytes of the record, 0 if the entry is not to be read.
        """
        _, first, last, log_id, offset, size, checksum = row
        if isinstance(size, int):
            start = (entry_id - first) * size
        else:
            try:
                offsets = self._offsets_of(row)
            except DamageError:
                return 0
            start = offsets[entry_id - first]
            size = offsets[entry_id - first + 1] - start
        if entry_id != last:
            checksum = b""
            if size >= CHECKSUM_BLOCK:
                return 0
        elif start or size > CHECKSUM_BLOCK:
            checksum = b""
            if start <= (start + size - 1) // CHECKSUM_BLOCK * CHECKSUM_BLOCK:
                return 0  # it has a checksummed block, which only a full read verifies
        if log_id not in self.logs:
            self.logs[log_id] = []
        self.logs[log_id].append((position, entry_id, size, offset + start, checksum))
        return size
