"""A cache of index rows that look-ups in the index found, so that a reader needs no look-up for each entry.

Rows that the index stores in packed form (36 bytes) stay packed here.  They take a quarter of the memory of an
:class:`~..interfaces.IndexRow`, and most of them are needed once or never.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain

from ..interfaces import IndexRow
from .blocks import ROW_BYTES, last_of, row_of_packed
from .recent_rows import cost_of

_PACKED_COST = ROW_BYTES + 49
"""The memory cost in bytes of a packed row: its bytes, the bytes object, a reference to it, and its first entry id."""

_LEDGER_COST = 600


class FoundRows:
    """The cached index rows of one ledger, sorted by entry; no entry is in two rows.

    :ivar cost: bytes of memory that the rows take.
    """

    __slots__ = ("ledger_id", "cost", "_firsts", "_rows")

    def __init__(self, ledger_id: int, rows: Sequence[IndexRow | bytes]) -> None:
        self.ledger_id = ledger_id
        self._firsts = array("q", map(_first_of, rows))
        self._rows = list(rows)
        self.cost = _LEDGER_COST + _cost(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def first(self) -> int:
        """Return the first entry id in these rows."""
        return self._firsts[0]

    @property
    def last(self) -> int:
        """Return the last entry id in these rows."""
        return _last_of(self._rows[-1])

    def rows(self) -> Sequence[IndexRow]:
        """Return all these index rows, unpacked."""
        return list(map(_unpacked, self._rows))

    def find(self, entry_id: int) -> IndexRow | None:
        """Return the row that contains ``entry_id``, or None."""
        index = bisect_right(self._firsts, entry_id) - 1
        if index < 0 or _last_of(self._rows[index]) < entry_id:
            return None
        return _unpacked(self._rows[index])

    def packed_between(self, low: int, high: int, most: int) -> bytes | None:
        """Return the packed rows, joined, that may contain any of the entries ``low`` to ``high``.

        :returns: None if there are more than ``most`` rows, or if one of them is not packed.
        """
        begin, end = max(bisect_right(self._firsts, low) - 1, 0), bisect_right(self._firsts, high)
        if end - begin > most:
            return None
        rows = [row for row in self._rows[begin:end] if isinstance(row, bytes)]
        return b"".join(rows) if len(rows) == end - begin else None

    def add(self, found: "FoundRows") -> None:
        """Add ``found``, rows of another look-up in the same ledger; they replace rows with the same first entry."""
        if not self or self.last < found.first:
            begin = end = len(self)
            firsts, rows = found._firsts, found._rows
        else:
            begin, end = bisect_left(self._firsts, found.first), bisect_right(self._firsts, found.last)
            held = zip(self._firsts[begin:end], self._rows[begin:end], strict=True)
            both = dict(chain(held, zip(found._firsts, found._rows, strict=True)))
            firsts = array("q", sorted(both))
            rows = [both[first] for first in firsts]
        self._replace(begin, end, firsts, rows)

    def discard(self, first: int, last: int) -> None:
        """Remove the index rows that contain any of the entries ``first`` to ``last``."""
        begin, end = bisect_right(self._firsts, first), bisect_right(self._firsts, last)
        if begin and _last_of(self._rows[begin - 1]) >= first:
            begin -= 1
        if begin < end:
            self._replace(begin, end, array("q"), [])

    def _replace(self, begin: int, end: int, firsts: "array[int]", rows: Sequence[IndexRow | bytes]) -> None:
        self.cost += _cost(rows) - _cost(self._rows[begin:end])
        self._firsts[begin:end] = firsts
        self._rows[begin:end] = rows


class LookedUpRows:
    """A size-limited cache of the index rows that look-ups found.  Only one thread may use it.

    If the rows exceed the limit, the rows of the least recently used ledger are dropped.

    :ivar limit: most bytes of the cached rows.
    :ivar cost: bytes of the cached rows.
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
        """Cache the index rows that a look-up ``found``.

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


def _unpacked(row: IndexRow | bytes) -> IndexRow:
    return row_of_packed(row) if isinstance(row, bytes) else row


def _first_of(row: IndexRow | bytes) -> int:
    return int.from_bytes(row[8:16], "big") if isinstance(row, bytes) else row.first


def _last_of(row: IndexRow | bytes) -> int:
    return last_of(row) if isinstance(row, bytes) else row.last


def _cost(rows: Sequence[IndexRow | bytes]) -> int:
    return sum([_PACKED_COST if isinstance(row, bytes) else cost_of(row) for row in rows])
