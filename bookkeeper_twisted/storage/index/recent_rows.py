"""Index rows of the newest flushes, in memory, so that reads of new entries need not search the index file.

These are the unpacked rows; :mod:`.recent_blocks` has the packed rows (36 bytes each).

One thread adds rows, any thread reads.  No lock is needed: the table of a ledger's rows is never changed, only replaced
by a new one.  So a search sees either all old rows or all new rows.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, pairwise
from operator import is_

from ..interfaces import IndexRow

ROW_OVERHEAD = 340
"""The memory cost in bytes of an index row in addition to its sizes and checksums."""

COMMIT_OVERHEAD = 420
"""The memory cost in bytes of each ledger in a commit (the index rows of one flush), besides the cost of its rows."""

MOST_TOGETHER = 256
"""Maximum number of rows of a chunk.

A ledger's table of rows is split into chunks.  No chunk is ever changed: a change of the table copies the chunks that
it affects, so small chunks make it cheap.
"""

_Rows = tuple[IndexRow, ...]
_Chunk = tuple[tuple[int, ...], _Rows]
"""A chunk, a part of a ledger's table: the first entry id of each of its index rows, and these rows, at least one."""


class SortedRows:
    """The table of a ledger's index rows, sorted by entry; no entry is in two of them.

    It never changes, so any thread may read it.
    """

    __slots__ = ("_starts", "_chunks")

    def __init__(self, chunks: tuple[_Chunk, ...] = ()) -> None:
        self._chunks = chunks
        self._starts = tuple([firsts[0] for firsts, _ in chunks])

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def find(self, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id``; None if no row of this table contains it."""
        index = bisect_right(self._starts, entry_id) - 1
        if index < 0:
            return None
        firsts, rows = self._chunks[index]
        row = rows[bisect_right(firsts, entry_id) - 1]
        return row if row.last >= entry_id else None

    def packed_between(self, low: int, high: int, most: int) -> bytes | None:
        """Return None, because the index rows in this table are not in packed (36-byte) form.

        :param low, high, most: not used here.
        """
        return None

    def replaced(self, rows: _Rows) -> "SortedRows":
        """Return a copy without the index rows that have an entry in common with any of the sorted ``rows``."""
        if self._chunks[-1][1][-1].last < rows[0].first:
            return self
        return self._each(rows, _not_overlapped)

    def joined(self, rows: _Rows) -> "SortedRows":
        """Return a copy with additional index ``rows``, which are sorted; none of their entries is in this table."""
        firsts, held = self._chunks[-1] if self else ((), ())
        if held and held[-1].last < rows[0].first and len(held) + len(rows) <= MOST_TOGETHER:
            return SortedRows((*self._chunks[:-1], ((*firsts, *map(_first, rows)), held + rows)))
        return self._each(rows, lambda part, held: sorted(held + part, key=_first))

    def without(self, rows: _Rows) -> "SortedRows":
        """Return a copy without the index ``rows``, which must be the same objects as in this table."""
        firsts, held = self._chunks[0]
        # usual case: the rows are those of the oldest commit, and are at the beginning of the table
        if all(map(is_, rows, chain(held, (None,)))):
            rest = self._chunks[1:]
            return SortedRows(((firsts[len(rows) :], held[len(rows) :]), *rest) if len(held) > len(rows) else rest)
        gone = set(map(id, rows))
        return self._each(rows, lambda _, held: (row for row in held if id(row) not in gone))

    def outside(self, first: int, last: int) -> "SortedRows":
        """Return a copy without the index rows that contain any of the entries ``first`` to ``last``."""
        if self._chunks[-1][1][-1].last < first:
            return self
        return self._changed(first, last, lambda held: (row for row in held if row.last < first or row.first > last))

    def _each(self, rows: _Rows, change: Callable[[_Rows, _Rows], Iterable[IndexRow]]) -> "SortedRows":
        """Return a copy of the table, changed where it may have entries in common with ``rows``.

        :param change: called for each part of the table that may have such entries.  The arguments are those of
            ``rows`` that belong to this part, and the stored rows of the part.  It returns the rows to store instead.
        """
        changed, begin = self, 0
        while begin < len(rows):
            index = bisect_right(changed._starts, rows[begin].first)
            end = len(rows)
            if index < len(changed._starts):
                end = bisect_left(rows, changed._starts[index], begin, key=_first)
            part = rows[begin:end]
            changed = changed._changed(part[0].first, part[-1].last, partial(change, part))
            begin = end
        return changed

    def _changed(self, first: int, last: int, change: Callable[[_Rows], Iterable[IndexRow]]) -> "SortedRows":
        """Return a copy of the table, changed where it may contain any of the entries ``first`` to ``last``.

        :param change: called with the stored rows of this part of the table; it returns the rows to store instead.
        """
        low = max(bisect_right(self._starts, first) - 1, 0)
        high = max(bisect_right(self._starts, last), low + 1)
        held = [rows for _, rows in self._chunks[low:high]]
        rows = tuple(change(held[0] if len(held) == 1 else tuple(chain.from_iterable(held))))
        return SortedRows(self._chunks[:low] + _chunks(rows) + self._chunks[high:])


def _chunks(rows: _Rows) -> tuple[_Chunk, ...]:
    """Cut a ledger's sorted index rows into chunks (parts), so that a later change copies only some of them.

    If there are several chunks, each gets only half the maximum number of rows, to leave room for more rows.
    """
    if len(rows) <= MOST_TOGETHER:
        return ((tuple(map(_first, rows)), rows),) if rows else ()
    count = -(-2 * len(rows) // MOST_TOGETHER)
    bounds = [len(rows) * number // count for number in range(count + 1)]
    parts = [rows[low:high] for low, high in pairwise(bounds)]
    return tuple([(tuple(map(_first, part)), part) for part in parts])


class RecentRows:
    """The unpacked index rows of the newest commits (packed rows have 36 bytes, and are stored elsewhere).

    If the rows exceed the limit, the rows of the oldest commit are dropped.

    :ivar limit: maximum number of bytes of all rows.
    :ivar cost: memory cost in bytes of the rows in memory.
    """

    __slots__ = ("limit", "cost", "_ledgers", "_order")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cost = 0
        self._ledgers: dict[int, SortedRows] = {}
        self._order: deque[tuple[_Rows, int]] = deque()

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id`` of ``ledger_id``, or None if it is not in memory."""
        held = self._ledgers.get(ledger_id)
        return None if held is None else held.find(entry_id)

    def rows_of(self, ledger_id: int) -> SortedRows | None:
        """Return all index rows of ``ledger_id`` in memory, or None if there are none."""
        return self._ledgers.get(ledger_id)

    def add(self, committed: Sequence[IndexRow]) -> None:
        """Add the index rows of one commit; drop older rows that have an entry in common with them.

        :param committed: the rows, sorted by ledger and entry.
        """
        begin = self._newest(committed)
        if begin:  # the rows of this commit alone exceed the limit: drop all older rows
            self._ledgers.clear()
            self._order.clear()
            self.cost = 0
        for ledger_id, group in groupby(committed[begin:], key=_ledger):
            rows = tuple(group)
            held = self._ledgers.get(ledger_id)
            if held is not None:
                held = held.replaced(rows)
            self._hold(ledger_id, held.joined(rows) if held else SortedRows(_chunks(rows)))
            cost = COMMIT_OVERHEAD + sum(map(cost_of, rows))
            self._order.append((rows, cost))
            self.cost += cost
        while self.cost > self.limit:
            self._drop(*self._order.popleft())

    def _hold(self, ledger_id: int, rows: SortedRows) -> None:
        if rows:
            self._ledgers[ledger_id] = rows
        else:
            self._ledgers.pop(ledger_id, None)

    def _newest(self, rows: Sequence[IndexRow]) -> int:
        """Return the number of index rows to remove from the beginning of ``rows``, so that the rest fits the limit."""
        left, index, ledger_id = self.limit, len(rows), -1
        while index:
            row = rows[index - 1]
            left -= cost_of(row) if row.ledger_id == ledger_id else cost_of(row) + COMMIT_OVERHEAD
            if left < 0:
                break
            index, ledger_id = index - 1, row.ledger_id
        return index

    def _drop(self, rows: _Rows, cost: int) -> None:
        self.cost -= cost
        held = self._ledgers.get(rows[0].ledger_id)
        if held is not None:
            self._hold(rows[0].ledger_id, held.without(rows))

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Drop the index rows of ``ledger_id`` that contain any of the entries ``first`` to ``last``."""
        held = self._ledgers.get(ledger_id)
        if held is not None:
            self._hold(ledger_id, held.outside(first, last))


def _not_overlapped(rows: _Rows, held: _Rows) -> Iterator[IndexRow]:
    """Yield the index rows in ``held`` that have no entry in common with any of ``rows``; both are sorted by entry."""
    for row in held:
        index = bisect_right(rows, row.last, key=_first) - 1
        if index < 0 or rows[index].last < row.first:
            yield row


def _first(row: IndexRow) -> int:
    return row.first


def _ledger(row: IndexRow) -> int:
    return row.ledger_id


def cost_of(row: IndexRow) -> int:
    """Return the number of bytes of memory that an index ``row`` takes."""
    sizes = 0 if isinstance(row.sizes, int) else len(row.sizes)
    return ROW_OVERHEAD + sizes + len(row.checksums)
