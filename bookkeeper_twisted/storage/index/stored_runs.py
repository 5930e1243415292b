"""Look-ups in one state of the table of runs."""

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
    """The rows of the table that a connection sees in its present transaction.

    It has the look-ups of :class:`~.stored_blocks.StoredBlocks`.

    :raises DamageError: all methods raise it for damage that they meet: it is unknown what is missing there (S5).
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row that holds ``entry_id`` of ``ledger_id``, or None."""
        row = self._floor(ledger_id, entry_id)
        if row is not None and row.last >= entry_id:
            return row
        self._check_next(ledger_id, entry_id)
        return None

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> list[IndexRow]:
        """Return the row of an entry, and those of the ledger that follow it; no row if the entry is in none.

        :param limit: most rows.
        """
        row = self._floor(ledger_id, entry_id)
        if row is None or row.last < entry_id:
            return []
        following = self._connection.execute(f"{_NEXT}{_IN_ORDER}", (ledger_id, entry_id, limit - 1))
        return [row, *map(row_from, following)]

    def rows(self, ledger_id: int, first: int, limit: int) -> list[IndexRow]:
        """Return the rows of a ledger that end at an entry or later, ascending.

        :param first: the entry.
        :param limit: most rows; if there are fewer, the rows around their end are verified.
        """
        before = self._floor(ledger_id, first)
        rows = [before] if before is not None and before.last >= first else []
        rows += map(row_from, self._connection.execute(f"{_NEXT}{_IN_ORDER}", (ledger_id, first, limit - len(rows))))
        if len(rows) < limit:
            self._check_place(ledger_id, rows[-1].first if rows else first)
        return rows

    def overlapped(self, ledger_id: int, first: int, last: int) -> list[IndexRow]:
        """Return the rows of ``ledger_id`` that hold any entry of ``first .. last``, ascending."""
        before = self._floor(ledger_id, first)
        found = [before] if before is not None and before.last >= first else []
        found += map(row_from, self._connection.execute(_WITHIN, (ledger_id, first, last)))
        self._check_place(ledger_id, found[-1].first if found else first)
        return found

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next rows, ordered by ledger and first entry.

        :param after: ledger and first entry of the last row seen.
        :param limit: most rows.
        :param log_ids: rows of these logs only.
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
        """Return the highest entry id of ``ledger_id``, or -1."""
        return self.last_entries((ledger_id,)).get(ledger_id, -1)

    def last_entries(self, ledger_ids: Sequence[int]) -> dict[int, int]:
        """Return the highest entry id of each given ledger that has rows.

        The two rows beside the place of an absent ledger stand for all ledgers between them, so that many new ledgers
        take one look-up.

        :param ledger_ids: ascending.
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
        """Return for each entry log the number of entries and the bytes of their records; reads all rows."""
        return {log_id: (count, n_bytes) for log_id, count, n_bytes in self._connection.execute(_LIVE)}

    def _floor(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Find the last row of a ledger that begins at or before an entry.

        :returns: None if the verified row at this place belongs to a ledger before it, or if there is none.
        """
        values = self._connection.execute(_UP_TO, (ledger_id, entry_id)).fetchone()
        row = row_from(values) if values is not None else None
        return row if row is not None and row.ledger_id == ledger_id else None

    def _check_next(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Verify and return the row after a key; :meth:`_floor` has verified the row before.

        The search is for the lowest key after it: SQLite would find an equal one, and skip rows beside it
        that are not greater.
        """
        if entry_id < MAX_ID:
            found = self._connection.execute(f"{_FROM_ON}{_IN_ORDER}", (ledger_id, entry_id + 1, 1))
        else:
            found = self._connection.execute(f"{_NEXT_LEDGERS}{_IN_ORDER}", (ledger_id, 1))
        values = found.fetchone()
        return row_from(values) if values is not None else None

    def _check_place(self, ledger_id: int, entry_id: int) -> None:
        """Verify the rows before and after an entry of a ledger."""
        self._floor(ledger_id, entry_id)
        self._check_next(ledger_id, entry_id)
