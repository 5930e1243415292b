"""Look-ups of single entries of one ledger, with ids in any order, in memory only.

Entries that are not in a write cache are read from the kernel's page cache, by one call for each entry log.
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
"""A record to read from an entry log.

The items are: index of its entry in the request, entry id, size in bytes, offset in the log, checksum.  The checksum is
empty unless the index row has a checksum for this record alone.
"""


class Lookup:
    """A look-up of some entries of one ledger, in the write caches and in the index rows in memory.

    :param halves: the runs and single entries of the ledger in the write caches; the cache with the newer copies first.
    :param tables: the index rows of the ledger that are in memory, in several tables.
    :param offsets_of: returns the record offsets of an index row with records of several sizes; may raise DamageError.
    :ivar found: the result: entries found in the write caches, and None for each other entry.
    :ivar logs: the records that must be read from entry logs, by entry log id.
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
        """Look up entries: add entries in write caches to :attr:`found`, and records that must be read to :attr:`logs`.

        :param entry_ids: the entry ids, in any order.
        :param max_bytes: the look-up stops after so many bytes of found entries; it looks up at least one entry.
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
        """Add the record of an entry to :attr:`logs`, unless it can only be verified together with its whole index row.

        :param row: the index row that contains the entry.
        :param position: index of the entry in the request.
        :returns: the number of bytes of the record; 0 if it was not added.
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
                # the record contains a complete checksummed block, which only a read of the whole index row can verify
                return 0
        if log_id not in self.logs:
            self.logs[log_id] = []
        self.logs[log_id].append((position, entry_id, size, offset + start, checksum))
        return size
