"""Searches in the SQLite table ``runs`` of an index, within one transaction.

Each row of this table is one index row.  Other index rows are packed in blocks instead (:mod:`.stored_blocks`).
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence

from ..interfaces import IndexRow
from .index_file import Connection
from .row_values import row_from

MAX_ID = 2**63 - 1

RUN_COLUMNS = "ledger, first, last, log, offset, sizes, checksums, crc"
_NEXT = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger = ? AND first > ?"
_NEXT_LEDGERS = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger > ?"
_IN_ORDER = " ORDER BY ledger, first LIMIT ?"
_UP_TO = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) <= (?, ?) ORDER BY ledger DESC, first DESC LIMIT 1"
_FROM_ON = f"SELECT {RUN_COLUMNS} FROM runs WHERE (ledger, first) >= (?, ?)"
_WITHIN = f"SELECT {RUN_COLUMNS} FROM runs WHERE ledger = ? AND first > ? AND first <= ?"
_LIVE = (
    "SELECT log, sum(last - first + 1), sum(CASE typeof(sizes) WHEN 'integer' THEN sizes * (last - first + 1)"
    " ELSE stored_bytes(sizes, last - first + 1) END) FROM runs GROUP BY log"
)


class StoredRuns:
    """The index rows in the SQLite table ``runs``, as a connection sees them in its present transaction.

    It has the same search methods as :class:`~.stored_blocks.StoredBlocks`.  All methods raise a DamageError if they
    find damage, because a damaged key may make a search miss a row.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id`` of ``ledger_id``; None if the table has no such row."""
        row = self._floor(ledger_id, entry_id)
        if row is not None and row.last >= entry_id:
            return row
        self._check_next(ledger_id, entry_id)
        return None

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> list[IndexRow]:
        """Return the index row that contains an entry, and the ledger's next rows; empty if there is no such row.

        :param limit: maximum number of rows to return.
        """
        row = self._floor(ledger_id, entry_id)
        if row is None or row.last < entry_id:
            return []
        following = self._connection.execute(f"{_NEXT}{_IN_ORDER}", (ledger_id, entry_id, limit - 1))
        return [row, *map(row_from, following)]

    def rows(self, ledger_id: int, first: int, limit: int) -> list[IndexRow]:
        """Return the index rows of a ledger, sorted by entry, beginning with the row that contains ``first``.

        :param first: an entry id; rows that end before this entry are left out.
        :param limit: maximum number of rows to return.  If there are fewer rows, the next row in the table, which is of
            another ledger, is verified, too: a damaged key could make this search miss a row of the ledger.
        """
        before = self._floor(ledger_id, first)
        rows = [before] if before is not None and before.last >= first else []
        rows += map(row_from, self._connection.execute(f"{_NEXT}{_IN_ORDER}", (ledger_id, first, limit - len(rows))))
        if len(rows) < limit:
            self._check_place(ledger_id, rows[-1].first if rows else first)
        return rows

    def overlapped(self, ledger_id: int, first: int, last: int) -> list[IndexRow]:
        """Return the index rows of ``ledger_id`` that contain any of the entries ``first`` to ``last``, sorted."""
        before = self._floor(ledger_id, first)
        found = [before] if before is not None and before.last >= first else []
        found += map(row_from, self._connection.execute(_WITHIN, (ledger_id, first, last)))
        self._check_place(ledger_id, found[-1].first if found else first)
        return found

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next index rows of all ledgers, sorted by ledger and entry.

        :param after: ledger id and first entry id of the row after which to begin.
        :param limit: maximum number of rows to return.
        :param log_ids: if given, return only rows that refer to these entry logs.
        """
        only = "" if log_ids is None else f" AND log IN ({', '.join('?' * len(log_ids))})"
        execute = self._connection.execute
        self._floor(*after)
        rows = list(map(row_from, execute(f"{_NEXT}{only}{_IN_ORDER}", (*after, *(log_ids or ()), limit))))
        if len(rows) < limit:
            self._check_place(after[0], rows[-1].first if rows else after[1])
            self._floor(after[0], MAX_ID)
            more = (after[0], *(log_ids or ()), limit - len(rows))
            rows += map(row_from, execute(f"{_NEXT_LEDGERS}{only}{_IN_ORDER}", more))
        return rows

    def last_entry(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the table; -1 if the table has no rows of the ledger."""
        return self.last_entries((ledger_id,)).get(ledger_id, -1)

    def last_entries(self, ledger_ids: Sequence[int]) -> dict[int, int]:
        """Return, for each given ledger that has index rows in the table, its highest entry id.

        The search for a ledger without rows ends between a row of a lower ledger and a row of a higher ledger.  All
        ledgers between these two have no rows either, so one search is enough for many new ledgers.

        :param ledger_ids: the ledger ids, in ascending order.
        """
        found: dict[int, int] = {}
        index = 0
        while index < len(ledger_ids):
            ledger_id = ledger_ids[index]
            row = self._floor(ledger_id, MAX_ID)
            behind = self._check_next(ledger_id, MAX_ID)
            if row is not None:
                found[ledger_id] = row.last
            if behind is None:
                break
            index = bisect_left(ledger_ids, behind.ledger_id, index + 1)
        return found

    def live(self) -> dict[int, tuple[int, int]]:
        """Return, for each entry log, how many entries rows of this table refer to, and the bytes of their records.

        This reads all rows.
        """
        return {log_id: (count, n_bytes) for log_id, count, n_bytes in self._connection.execute(_LIVE)}

    def _floor(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the last index row of a ledger that begins at or before an entry.

        :returns: None if the ledger has no such row.  Then the row before this position in the table, which is of
            another ledger, was verified.
        """
        values = self._connection.execute(_UP_TO, (ledger_id, entry_id)).fetchone()
        row = row_from(values) if values is not None else None
        return row if row is not None and row.ledger_id == ledger_id else None

    def _check_next(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Verify and return the first index row that begins after an entry.

        The caller has verified the row before it with :meth:`_floor`.  For a condition ``(ledger, first) > (?, ?)``,
        SQLite would search for ``>=`` and then skip rows with equal keys.  One of these may be a row whose damaged key
        is equal to the wanted key by accident.  So the query asks for ids of at least ``entry_id + 1`` instead.
        """
        if entry_id < MAX_ID:
            found = self._connection.execute(f"{_FROM_ON}{_IN_ORDER}", (ledger_id, entry_id + 1, 1))
        else:
            found = self._connection.execute(f"{_NEXT_LEDGERS}{_IN_ORDER}", (ledger_id, 1))
        values = found.fetchone()
        return row_from(values) if values is not None else None

    def _check_place(self, ledger_id: int, entry_id: int) -> None:
        """Verify the two rows between which a row that begins with this entry is, or would be, in the table."""
        self._floor(ledger_id, entry_id)
        self._check_next(ledger_id, entry_id)
