"""A table of packed index rows that unpacks several rows at once: the next look-up is mostly for one of them."""

from bisect import bisect_right
from collections.abc import Sequence

from ..interfaces import IndexRow

MOST_TOGETHER = 32
"""Most rows that are unpacked together, which takes half the time of unpacking each alone."""


class UnpackedRows:
    """A table of the packed index rows of one ledger; rows near the last look-up are kept unpacked, too.

    Only one thread may use it.

    Subclasses (FoundRows, LedgerBlocks) store the packed rows, and implement :meth:`_from`, which unpacks some of them.
    """

    __slots__ = ("_unpacked", "_unpacked_firsts", "_next_index", "_n_together")

    def __init__(self) -> None:
        self._next_index = self._n_together = 0
        self._keep(())

    def _keep(self, rows: Sequence[IndexRow]) -> None:
        self._unpacked = rows
        self._unpacked_firsts = [row.first for row in rows]

    def find(self, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id``, or None."""
        index = bisect_right(self._unpacked_firsts, entry_id) - 1
        if index >= 0 and self._unpacked[index].last >= entry_id:
            return self._unpacked[index]
        rows = self._from(entry_id)
        self._keep(rows)
        return rows[0] if rows and rows[0].last >= entry_id else None

    def _from(self, entry_id: int) -> Sequence[IndexRow]:
        """Return the last row that begins at or before ``entry_id``, unpacked, and perhaps some rows behind it."""
        raise NotImplementedError

    def _count_from(self, index: int) -> int:
        """Return the number of rows to unpack, beginning with the row at ``index``.

        If this look-up continues where the previous look-up ended, the number is twice the previous number; else it is
        one.

        :param index: index of the row among the packed rows.
        """
        goes_on = 0 <= index - self._next_index <= self._n_together
        self._n_together = min(2 * self._n_together, MOST_TOGETHER) if goes_on and self._n_together else 1
        self._next_index = index + self._n_together
        return self._n_together
