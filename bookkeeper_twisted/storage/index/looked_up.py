"""A cache of index rows that were found in the index file, so that a reader need not search the file for each entry.

Rows that have a packed form (36 bytes) are kept in this form.  They take a seventh of the memory of an
:class:`~..interfaces.IndexRow`, and most of them are needed once or never.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain

from ...errors import StorageError
from ..interfaces import IndexRow, IRunIndex
from ..mixed_rows import MOST_APART
from .blocks import ROW_BYTES, firsts_of, last_of, pack_row, row_of_packed, unpack_rows
from .recent_rows import cost_of
from .rows import can_be_packed

_PACKED_COST = (ROW_BYTES + 8) * 9 // 8 + 1
"""The memory cost in bytes of a packed index row.

These are its 36 bytes, 8 bytes for its first entry id, and 1/8 more, because the two arrays that store these reserve
space for growth.
"""

_LEDGER_COST = 800

_ROWS_AHEAD = 2048
"""Maximum number of index rows that one search reads.  A separate search for each row would cost two thread switches
(100 us).
"""

_NEAR = 2048
"""A ledger is probably read in order if a search begins at most this many entries after the end of the last search.

The search then also reads the index rows that follow.  Searches rarely begin exactly at the next entry, because
several read threads serve one client.
"""

_MOST_AHEAD = 64
"""Maximum number of ledgers for which the index rows of the last search are remembered, for clients that read in order.
"""


class FoundRows:
    """The cached index rows of one ledger, sorted by entry; no entry is in two rows.

    :param rows: the rows.  An item is an IndexRow, or a byte string of one or more packed rows (36 bytes each).
    """

    __slots__ = ("ledger_id", "_firsts", "_packed", "_other_firsts", "_others", "_cost_of_others")

    def __init__(self, ledger_id: int, rows: Iterable[IndexRow | bytes]) -> None:
        self.ledger_id = ledger_id
        self._packed = bytearray()
        self._others: list[IndexRow] = []  # rows whose values do not fit the packed form (36 bytes)
        for row in rows:
            if isinstance(row, bytes):
                self._packed += row
            elif can_be_packed(row):
                self._packed += pack_row(row)
            else:
                self._others.append(row)
        self._firsts = firsts_of(self._packed)
        self._other_firsts = array("q", map(_first, self._others))
        self._cost_of_others = sum(map(cost_of, self._others))

    def __len__(self) -> int:
        return len(self._firsts) + len(self._others)

    @property
    def cost(self) -> int:
        """Return the number of bytes of memory that the rows take."""
        return _LEDGER_COST + len(self._firsts) * _PACKED_COST + self._cost_of_others

    @property
    def first(self) -> int:
        """Return the lowest entry id in the cached index rows of the ledger."""
        return min([*self._firsts[:1], *[row.first for row in self._others[:1]]])

    @property
    def last(self) -> int:
        """Return the highest entry id in the cached index rows of the ledger."""
        return max([*map(last_of, self._cut(len(self._firsts) - 1)), *[row.last for row in self._others[-1:]]])

    def rows(self) -> Sequence[IndexRow]:
        """Return all cached index rows of the ledger, decoded, in no particular order."""
        return [*unpack_rows(self._packed), *self._others]

    def find(self, entry_id: int) -> IndexRow | None:
        """Return the cached index row that contains ``entry_id``; None if no cached row contains it."""
        index = bisect_right(self._firsts, entry_id) - 1
        if index >= 0:
            packed = bytes(self._packed[ROW_BYTES * index : ROW_BYTES * (index + 1)])
            if last_of(packed) >= entry_id:
                return row_of_packed(packed)
        index = bisect_right(self._other_firsts, entry_id) - 1
        return self._others[index] if index >= 0 and self._others[index].last >= entry_id else None

    def packed_between(self, low: int, high: int, most: int) -> bytes | None:
        """Return, in one byte string, the packed index rows that may contain any of the entries ``low`` to ``high``.

        :returns: the rows, 36 bytes each; None if there are more than ``most`` rows, or if a row that has no packed
            form contains an entry of the range.
        """
        begin, end = max(bisect_right(self._firsts, low) - 1, 0), bisect_right(self._firsts, high)
        first_other, end_of_others = self._others_between(low, high)
        if end - begin > most or first_other < end_of_others:
            return None
        return bytes(self._packed[ROW_BYTES * begin : ROW_BYTES * end])

    def add(self, found: "FoundRows") -> None:
        """Add ``found``, rows of another search in this ledger; they replace rows with the same first entry."""
        if found._firsts:
            begin, end = bisect_left(self._firsts, found._firsts[0]), bisect_right(self._firsts, found._firsts[-1])
            packed = bytes(found._packed)
            if begin < end:
                rows = dict(zip(self._firsts[begin:end], self._cut(begin, end), strict=True))
                rows.update(zip(found._firsts, found._cut(), strict=True))
                packed = b"".join([rows[first] for first in sorted(rows)])
            self._replace(begin, end, packed)
        if found._others:
            begin = bisect_left(self._other_firsts, found._other_firsts[0])
            end = bisect_right(self._other_firsts, found._other_firsts[-1])
            others = {row.first: row for row in chain(self._others[begin:end], found._others)}
            self._replace_others(begin, end, [others[first] for first in sorted(others)])

    def discard(self, first: int, last: int) -> None:
        """Remove the index rows that contain any of the entries ``first`` to ``last``."""
        begin, end = bisect_right(self._firsts, first), bisect_right(self._firsts, last)
        if begin and last_of(*self._cut(begin - 1, begin)) >= first:
            begin -= 1
        self._replace(begin, end, b"")
        self._replace_others(*self._others_between(first, last), [])

    def _others_between(self, low: int, high: int) -> tuple[int, int]:
        """Return the begin and end, in ``_others``, of the rows that contain any of the entries ``low`` to ``high``.

        The list ``_others`` has the rows that cannot be packed to 36 bytes.
        """
        return bisect_left(self._others, low, key=_last), bisect_right(self._other_firsts, high)

    def _cut(self, begin: int = 0, end: int | None = None) -> list[bytes]:
        """Return the packed rows from index ``begin`` to index ``end``, each as a byte string of 36 bytes."""
        part = bytes(self._packed[ROW_BYTES * max(begin, 0) : None if end is None else ROW_BYTES * end])
        return [part[at : at + ROW_BYTES] for at in range(0, len(part), ROW_BYTES)]

    def _replace_others(self, begin: int, end: int, rows: Sequence[IndexRow]) -> None:
        self._cost_of_others += sum(map(cost_of, rows)) - sum(map(cost_of, self._others[begin:end]))
        self._other_firsts[begin:end] = array("q", map(_first, rows))
        self._others[begin:end] = rows

    def _replace(self, begin: int, end: int, packed: bytes) -> None:
        self._firsts[begin:end] = firsts_of(packed)
        self._packed[ROW_BYTES * begin : ROW_BYTES * end] = packed


class LookedUpRows:
    """A size-limited cache of the index rows that searches of the index file found.  Only one thread may use it.

    If the rows exceed the limit, the rows of the least recently used ledger are dropped.

    :ivar limit: maximum number of bytes of the cached rows.
    :ivar cost: size in bytes of the cached rows.
    """

    __slots__ = ("limit", "cost", "_ledgers")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cost = 0
        self._ledgers: OrderedDict[int, FoundRows] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def rows_of(self, ledger_id: int) -> FoundRows | None:
        """Return all cached index rows of ``ledger_id``, or None if there are none."""
        return self._ledgers.get(ledger_id)

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the cached index row that contains ``entry_id`` of ``ledger_id``, or None."""
        held = self._ledgers.get(ledger_id)
        return None if held is None else held.find(entry_id)

    def add(self, found: FoundRows) -> None:
        """Cache the index rows in ``found``, the result of a search of the index file.

        ``found`` itself stays unchanged, because other threads use it.
        """
        held = self._ledgers.pop(found.ledger_id, None)
        if held is not None:
            self.cost -= held.cost
        if held is None or held.cost + found.cost > self.limit:
            held = FoundRows(found.ledger_id, [])  # the rows of this ledger would exceed the limit: drop its old rows
        held.add(found)
        self._ledgers[found.ledger_id] = held
        self.cost += held.cost
        while self.cost > self.limit:
            _, dropped = self._ledgers.popitem(last=False)
            self.cost -= dropped.cost

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Remove the cached index rows of ``ledger_id`` that contain any of the entries ``first`` to ``last``."""
        held = self._ledgers.get(ledger_id)
        if held is None:
            return
        self.cost -= held.cost
        held.discard(first, last)
        if held:
            self.cost += held.cost
        else:
            del self._ledgers[ledger_id]


class LastSearches:
    """The index rows that the last search in each ledger found, for clients that read in order.

    Rows have few entries if clients write to many ledgers in turn, or if the ledger is striped, so that this bookie
    has only, say, every third entry.  Readers of such a ledger need many rows, so one search reads several of them.
    Read threads call the methods.

    :param index: the index that is searched.
    """

    def __init__(self, index: IRunIndex) -> None:
        self._index = index
        # by ledger: the rows that the last search in this ledger found, and the number of changes before it
        self._rows: dict[int, tuple[int, FoundRows]] = {}

    def find(self, ledger_id: int, entry_id: int, n_written: int) -> IndexRow | None:
        """Return an entry's index row from the rows that the last search in its ledger found.

        Return None if these rows do not contain the entry, or may have changed since the search.

        :param n_written: the number of changes after which rows that an earlier search found may be wrong.
        """
        known = self._rows.get(ledger_id)
        return known[1].find(entry_id) if known is not None and known[0] == n_written else None

    def search(self, ledger_id: int, entry_id: int, n_written: int) -> tuple[IndexRow | None, FoundRows | None]:
        """Search for the index row of an entry, and for the next rows if a reader will probably need them.

        :param n_written: see :meth:`find`.
        :returns: the row, and all rows that were found; None and None if the index has no such entry.
        """
        row = self._index.find(ledger_id, entry_id)
        if row is None:
            return None, None
        found = self._rows_ahead(row)
        before = self._last_rows(ledger_id)
        # Do not replace the remembered rows if they begin shortly after this entry: they probably belong to another
        # client, which is ahead of this one in the ledger and still needs them.
        is_onward = before is None or not 0 < before.first - entry_id <= _NEAR
        if row.last - row.first < MOST_APART and is_onward:
            self._rows[ledger_id] = n_written, found
        return row, found

    def _last_rows(self, ledger_id: int) -> FoundRows | None:
        """Return the index rows that the last search in a ledger found, or None; the rows may be out of date.

        They are remembered only if the rows of the ledger have few entries, because its readers then need many rows.
        """
        known = self._rows.get(ledger_id)
        return known[1] if known is not None else None

    def _rows_ahead(self, row: IndexRow) -> FoundRows:
        """Return an index row and, if a client probably reads the ledger in order, the next index rows of the ledger.

        A client probably reads in order if the last search in this ledger ended shortly before this row.  If the rows
        that this search found have few entries, the client soon needs the next rows, too, and a separate search for
        each of them would be slow.
        """
        if len(self._rows) >= _MOST_AHEAD:
            self._rows.clear()
        before = self._last_rows(row.ledger_id)
        if before is not None and 0 < row.first - before.last <= _NEAR:
            # the next rows are only read ahead: if they cannot be read, return the row of the wanted entry alone
            with suppress(StorageError):
                found = FoundRows(row.ledger_id, self._index.rows_ahead(row.ledger_id, row.first, _ROWS_AHEAD))
                if found.find(row.first) == row:
                    return found
        return FoundRows(row.ledger_id, [row])


def _first(row: IndexRow) -> int:
    return row.first


def _last(row: IndexRow) -> int:
    return row.last
