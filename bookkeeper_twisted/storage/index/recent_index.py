"""The index rows of the last flushes in memory: a reader that follows a writer needs no look-up in the index file.

A flush commits rows and packed rows.  They are kept apart (:mod:`.recent_rows`, :mod:`.recent_blocks`), but no entry is
in both: each discards what the other receives.  The flush lane adds and drops rows, any thread reads.
"""

from collections.abc import Collection, Sequence

from ..interfaces import IndexRow
from ..mixed_rows import MixedRows
from .recent_blocks import LedgerBlocks, RecentBlocks
from .recent_rows import RecentRows, SortedRows
from .stored_runs import MAX_ID


class RecentIndex:
    """The rows of the last flushes, each form up to a number of bytes; those of the oldest flush are dropped first.

    :ivar limit: most bytes of the rows, and of the packed rows.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows = RecentRows(limit)
        self._blocks = RecentBlocks(limit)

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the newest row of ``entry_id`` of ``ledger_id``, or None if the row is not in memory."""
        return self._blocks.find(ledger_id, entry_id) or self._rows.find(ledger_id, entry_id)

    def tables_of(self, ledger_id: int, low: int, high: int) -> list[SortedRows | LedgerBlocks]:
        """Return all rows of ``ledger_id`` that may have any entry of ``low .. high``, the newest copies first."""
        rows = self._rows.rows_of(ledger_id)
        return [*self._blocks.tables_of(ledger_id, low, high), *([rows] if rows is not None else ())]

    def add(self, rows: Sequence[IndexRow], mixed: Sequence[MixedRows]) -> None:
        """Add the rows of one flush, and drop the older rows that they overlap, which may be longer.

        :param rows: in the order of ledgers and entries.
        :param mixed: the packed rows, which share no entry with ``rows``.
        """
        for row in rows:
            self._blocks.discard(row.ledger_id, row.first, row.last)
        self._rows.add(rows)
        for packed in mixed:
            for ledger_id, first, last in zip(packed.ledger_ids, packed.first_ids, packed.last_ids, strict=True):
                self._rows.discard(ledger_id, first, last)
        self._blocks.add(mixed)

    def discard_ledgers(self, ledger_ids: Collection[int]) -> None:
        """Drop the rows of the deleted ledgers ``ledger_ids``."""
        for ledger_id in ledger_ids:
            self._rows.discard(ledger_id, 0, MAX_ID)
            self._blocks.discard(ledger_id, 0, MAX_ID)

    def discard_moved(self, rows: Sequence[IndexRow], moved_from: Collection[int]) -> None:
        """Drop the rows of entries that were copied to another log.

        :param rows: the rows of the copies.
        :param moved_from: ids of the logs that the entries were copied from.
        """
        for row in rows:
            self._rows.discard(row.ledger_id, row.first, row.last)
        self._blocks.discard_logs(moved_from)
