"""The index rows of the newest flushes, in memory: a read of a new entry needs no search in the index file.

A flush writes the entries of a write cache to entry logs, and commits their index rows to the index file: some rows
packed (in a form of 36 bytes), the other rows unpacked.  This module keeps copies of both kinds, in two parts
(:mod:`.recent_rows` for unpacked rows, :mod:`.recent_blocks` for packed rows).  No entry is in both: when a row is
added to one, the rows of the same entries are dropped from the other.  The flush thread adds and drops rows; any thread
reads.
"""

from collections.abc import Collection, Sequence

from ..interfaces import IndexRow
from ..mixed_rows import MixedRows
from .recent_blocks import LedgerBlocks, RecentBlocks
from .recent_rows import RecentRows, SortedRows
from .stored_runs import MAX_ID


class RecentIndex:
    """The index rows of the newest flushes of the write cache.  If they exceed the limit, the oldest rows are dropped.

    :ivar limit: maximum number of bytes of the unpacked rows; the packed rows (36 bytes each) have a limit of the same
        size.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows = RecentRows(limit)
        self._blocks = RecentBlocks(limit)

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the newest index row that contains ``entry_id`` of ``ledger_id``, or None if it is not in memory."""
        return self._blocks.find(ledger_id, entry_id) or self._rows.find(ledger_id, entry_id)

    def tables_of(self, ledger_id: int, low: int, high: int) -> list[SortedRows | LedgerBlocks]:
        """Return tables of the index rows of ``ledger_id`` that may contain any of the entries ``low`` to ``high``.

        Each table has the packed rows (36 bytes each) of one flush; the last table has the unpacked rows of all flushes
        in memory.  The newest rows come first: if two tables have a row of the same entry, the row in the first of the
        two is newer.
        """
        rows = self._rows.rows_of(ledger_id)
        return [*self._blocks.tables_of(ledger_id, low, high), *([rows] if rows is not None else ())]

    def add(self, rows: Sequence[IndexRow], mixed: Sequence[MixedRows]) -> None:
        """Add the index rows of one flush; drop older rows that have an entry in common with them.

        :param rows: the unpacked rows, sorted by ledger and entry.
        :param mixed: the packed rows (36 bytes each), which have no entry in common with ``rows``.
        """
        for row in rows:
            self._blocks.discard(row.ledger_id, row.first, row.last)
        self._rows.add(rows)
        for packed in mixed:
            for ledger_id, first, last in zip(packed.ledger_ids, packed.first_ids, packed.last_ids, strict=True):
                self._rows.discard(ledger_id, first, last)
        self._blocks.add(mixed)

    def discard_ledgers(self, ledger_ids: Collection[int]) -> None:
        """Drop the index rows of ``ledger_ids``, because these ledgers were deleted."""
        for ledger_id in ledger_ids:
            self._rows.discard(ledger_id, 0, MAX_ID)
            self._blocks.discard(ledger_id, 0, MAX_ID)

    def discard_moved(self, rows: Sequence[IndexRow], moved_from: Collection[int]) -> None:
        """Drop the rows that still refer to the old places of entries that a compaction has copied to another log.

        :param rows: the new rows of these entries, which refer to the copies.
        :param moved_from: ids of the entry logs that the compaction copied from; only rows of these logs are dropped.
        """
        for row in rows:
            self._rows.discard(row.ledger_id, row.first, row.last)
        self._blocks.discard_logs(moved_from)
