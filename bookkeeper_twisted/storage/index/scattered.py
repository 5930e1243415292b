"""Single entries of one ledger in any order: located in memory one by one, then read by one call for each log."""

from collections.abc import Callable, Sequence

from ...errors import DamageError
from ..cache.mixed_entries import LedgerEntries, Scattered
from ..cache.run_list import NO_ENTRY, RunList
from ..interfaces import CHECKSUM_BLOCK, IndexRow
from .looked_up import FoundRows
from .recent_blocks import LedgerBlocks
from .recent_rows import SortedRows


class ScatteredRecords:
    """Records to read from one log, as parallel lists.

    :ivar positions: of the records, in the list of requested entries.
    :ivar checksums: of each record, if its row has a checksum of this record alone, else empty.
    """

    __slots__ = ("positions", "entry_ids", "sizes", "offsets", "checksums")

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.entry_ids: list[int] = []
        self.sizes: list[int] = []
        self.offsets: list[int] = []
        self.checksums: list[bytes] = []


class Lookup:
    """A look-up of single entries of one ledger in memory.

    :param halves: the stores of the ledger in the write caches, the newer copies first.
    :param tables: the index rows of the ledger in memory.
    :param offsets_of: returns the offsets of the records of an uneven row; raises DamageError.
    :ivar found: the entries of the write caches, None for the others.
    :ivar logs: the records to read, by log.
    """

    __slots__ = ("found", "logs", "_halves", "_tables", "_offsets_of", "_lowest")

    def __init__(
        self,
        halves: Sequence[RunList | LedgerEntries],
        tables: Sequence[SortedRows | LedgerBlocks | FoundRows],
        offsets_of: Callable[[IndexRow], Sequence[int]],
    ) -> None:
        self.found = Scattered()
        self.logs: dict[int, ScatteredRecords] = {}
        self._halves = halves
        self._tables = tables
        self._offsets_of = offsets_of
        self._lowest = min([runs.first for runs in halves], default=NO_ENTRY)

    def find(self, entry_ids: Sequence[int], max_bytes: int) -> None:
        """Look entries up in memory; put the results into :attr:`found`, and what must be read into :attr:`logs`.

        :param entry_ids: in any order.
        :param max_bytes: the look-up ends when the entries have so many bytes; at least one is looked up.
        """
        entries, lowest = self.found.entries, self._lowest
        for position, entry_id in enumerate(entry_ids):
            entry = self._in_halves(entry_id) if entry_id >= lowest else None
            entries.append(entry)
            if entry is not None:
                max_bytes -= len(entry)
            else:
                max_bytes -= self._in_rows(position, entry_id)
            if max_bytes <= 0:
                return

    def _in_halves(self, entry_id: int) -> bytes | None:
        for runs in self._halves:
            entry = runs.entry(entry_id)
            if entry is not None:
                self.found.cached += 1
                return entry
        return None

    def _in_rows(self, position: int, entry_id: int) -> int:
        """Look up the row of an entry in the tables of rows in memory; if there is one, record the read of the entry.

        :returns: the bytes of the record, 0 if there is none to read.
        """
        for table in self._tables:
            row = table.find(entry_id)
            if row is not None:
                return self._note(row, position, entry_id)
        return 0

    def _note(self, row: IndexRow, position: int, entry_id: int) -> int:
        index, size = entry_id - row.first, row.sizes
        if isinstance(size, int):
            start = index * size
        else:
            try:
                offsets = self._offsets_of(row)
            except DamageError:
                return 0
            start = offsets[index]
            size = offsets[index + 1] - start
        checksum = b""
        if entry_id == row.last:
            if not start and size <= CHECKSUM_BLOCK:
                checksum = row.checksums
            elif start <= (start + size - 1) // CHECKSUM_BLOCK * CHECKSUM_BLOCK:
                return 0  # a checksum of the row covers the whole record, and only a read of the row can use it
        elif size >= CHECKSUM_BLOCK:
            return 0
        records = self.logs.get(row.log_id)
        if records is None:
            records = self.logs[row.log_id] = ScatteredRecords()
        records.positions.append(position)
        records.entry_ids.append(entry_id)
        records.sizes.append(size)
        records.offsets.append(row.offset + start)
        records.checksums.append(checksum)
        return size
