"""The newest index rows in memory: a reader that follows a writer needs no look-up in the index.

One thread adds rows, any looks: a ledger's rows are replaced as a whole, so a look-up sees the old ones or
the new ones.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby

from ..interfaces import IndexRow

ROW_OVERHEAD = 400

_Rows = tuple[IndexRow, ...]
HeldRows = tuple[tuple[int, ...], _Rows]
"""First entries, and the rows they belong to."""

_NONE: HeldRows = ((), ())


class RecentRows:
    """Rows that were committed last, up to a number of bytes; the oldest commits go first.

    :ivar limit: bytes it may hold.
    :ivar cost: of what it holds.
    """

    __slots__ = ("limit", "cost", "_ledgers", "_order")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cost = 0
        self._ledgers: dict[int, HeldRows] = {}
        self._order: deque[tuple[_Rows, int]] = deque()

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row of ``entry_id`` of ``ledger_id``, None if it is not among the newest."""
        held = self._ledgers.get(ledger_id)
        if held is None:
            return None
        index = bisect_right(held[0], entry_id) - 1
        if index < 0:
            return None
        row = held[1][index]
        return row if row.last >= entry_id else None

    def rows_of(self, ledger_id: int) -> HeldRows | None:
        """Return all rows of ``ledger_id`` that are here, None if there are none."""
        return self._ledgers.get(ledger_id)

    def add(self, committed: Sequence[IndexRow]) -> None:
        """Add the rows of one commit; what they overlap is forgotten.

        :param committed: in the order of ledgers and entries.
        """
        for ledger_id, group in groupby(committed, key=_ledger):
            rows = tuple(group)
            held = self._ledgers.pop(ledger_id, _NONE)[1]
            if held and held[-1].last >= rows[0].first:
                held = tuple(_not_overlapped(held, rows))
            newest, cost = self._newest(rows)
            if held and held[-1].last >= rows[0].first:
                self._hold(ledger_id, tuple(sorted(held + newest, key=_first)))
            else:
                self._hold(ledger_id, held + newest)
            self._order.append((newest, cost))
            self.cost += cost
        while self.cost > self.limit:
            self._drop(*self._order.popleft())

    def _hold(self, ledger_id: int, rows: _Rows) -> None:
        if rows:
            self._ledgers[ledger_id] = tuple(map(_first, rows)), rows
        else:
            self._ledgers.pop(ledger_id, None)

    def _newest(self, rows: _Rows) -> tuple[_Rows, int]:
        """The last rows, as many as fit at all, and their cost."""
        cost = 0
        for index in range(len(rows) - 1, -1, -1):
            more = _cost(rows[index])
            if cost + more > self.limit:
                return rows[index + 1 :], cost
            cost += more
        return rows, cost

    def _drop(self, rows: _Rows, cost: int) -> None:
        self.cost -= cost
        if not rows:
            return
        gone = set(map(id, rows))
        ledger_id = rows[0].ledger_id
        held = self._ledgers.get(ledger_id, _NONE)[1]
        self._hold(ledger_id, tuple(row for row in held if id(row) not in gone))

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Remove the rows of ``ledger_id`` that hold any entry of ``first .. last``, both included."""
        held = self._ledgers.get(ledger_id)
        if held is not None and held[1][-1].last >= first:
            self._hold(ledger_id, tuple(row for row in held[1] if row.last < first or row.first > last))


def _not_overlapped(held: _Rows, rows: _Rows) -> Iterator[IndexRow]:
    """Rows of ``held`` that share no entry with ``rows``; both are ascending and disjoint."""
    for row in held:
        index = bisect_right(rows, row.last, key=_first) - 1
        if index < 0 or rows[index].last < row.first:
            yield row


def _first(row: IndexRow) -> int:
    return row.first


def _ledger(row: IndexRow) -> int:
    return row.ledger_id


def _cost(row: IndexRow) -> int:
    sizes = 0 if isinstance(row.sizes, int) else len(row.sizes)
    return ROW_OVERHEAD + sizes + len(row.checksums)
