"""Packed rows of the last flushes in memory, for readers that follow writers of many ledgers.

The flush lane adds flushes and drops them, any thread looks: the list of flushes is replaced as a whole.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from ..interfaces import IndexRow
from ..mixed_rows import MixedRows, packed_of
from ..run_list import NO_ENTRY
from .blocks import BLOCK_ROWS, Block, joined, key_of, last_of, row_of_packed, rows_of_packed
from .recent_rows import LedgerRows
from .stored_runs import MAX_ID

BLOCK_COST = 5 * 1024
"""The cost of a full block: its rows, and its place."""

MOST_FLUSHES = 16
"""Flushes that are looked through at most."""


class _Flush:
    """The rows of one flush, of which ledgers may be hidden.

    :ivar blocks: packed rows, in order.
    :ivar log_ids: in which its entries are.
    """

    __slots__ = ("blocks", "log_ids", "_firsts", "_hidden")

    def __init__(self, blocks: Sequence[bytes], log_ids: frozenset[int]) -> None:
        self.blocks = blocks
        self.log_ids = log_ids
        self._firsts = [rows[:16] for rows in blocks]
        self._hidden: set[int] = set()

    def around(self, ledger_id: int, entry_id: int) -> tuple[bytes | None, int]:
        """Return the last row of a ledger that begins at or before an entry, and the entry that the next one begins at.

        :returns: None and ``NO_ENTRY`` where there are none.
        """
        key = key_of(ledger_id, entry_id)
        index = bisect_right(self._firsts, key)
        packed = behind = b""
        if index:
            packed, behind = Block(0, self.blocks[index - 1]).around(key)
        if not behind and index < len(self._firsts):
            behind = self._firsts[index]
        follows = behind[:8] == key[:8]
        return packed if packed[:8] == key[:8] else None, int.from_bytes(behind[8:], "big") if follows else NO_ENTRY

    def hides(self, ledger_id: int) -> bool:
        """Test whether the rows of a ledger are hidden."""
        return ledger_id in self._hidden

    def rows_of(self, ledger_id: int) -> list[IndexRow]:
        """Return the rows of a ledger, ascending."""
        return rows_of_packed(self._packed_of(ledger_id))

    def _packed_of(self, ledger_id: int) -> Iterator[bytes]:
        key, end = key_of(ledger_id, 0), key_of(ledger_id, MAX_ID)
        index = max(bisect_right(self._firsts, key) - 1, 0)
        while index < len(self.blocks) and self._firsts[index] <= end:
            block = Block(0, self.blocks[index])
            for at in range(max(block.floor(key), 0), block.floor(end) + 1):
                if block.key(at) >= key:
                    yield block.packed(at)
            index += 1

    def hide(self, ledger_id: int, last: int, first: int) -> None:
        """Give no row of a ledger from now on if any may have one of the entries ``first .. last``."""
        packed, _ = self.around(ledger_id, last)
        if packed is not None and last_of(packed) >= first:
            self._hidden.add(ledger_id)


class RecentBlocks:
    """Rows of the last flushes, up to a number of bytes; the oldest ones go first.

    :ivar limit: bytes it may hold.
    """

    __slots__ = ("limit", "_flushes")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._flushes: tuple[_Flush, ...] = ()

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row of ``entry_id`` of ``ledger_id`` whose entries from there on are the newest copies; None if it
        is not here, or goes on behind an entry that a newer row has.
        """
        newer = NO_ENTRY
        for flush in self._flushes:
            if flush.hides(ledger_id):
                return None  # older flushes may have copies that its rows replaced
            packed, behind = flush.around(ledger_id, entry_id)
            if packed is not None and last_of(packed) >= entry_id:
                return row_of_packed(packed) if last_of(packed) < newer else None
            newer = min(newer, behind)
        return None

    def tables_of(self, ledger_id: int) -> list[LedgerRows]:
        """Return the rows of ``ledger_id`` by flush, the newest first."""
        flushes = takewhile(lambda flush: not flush.hides(ledger_id), self._flushes)
        found = [flush.rows_of(ledger_id) for flush in flushes]
        return [LedgerRows().joined(tuple(rows)) for rows in found if rows]

    def add(self, mixed: Sequence[MixedRows]) -> None:
        """Add the rows of a flush, ``mixed``; where these are too many for the limit, the first ones."""
        packed = packed_of(mixed)[: self.limit // BLOCK_COST * BLOCK_ROWS]
        if not packed:
            return
        newest = _Flush(joined(packed), frozenset(rows.log_id for rows in mixed))
        flushes = (newest, *self._flushes[: MOST_FLUSHES - 1])
        while sum(len(flush.blocks) for flush in flushes) * BLOCK_COST > self.limit:
            flushes = flushes[:-1]
        self._flushes = flushes

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Give no row of ``ledger_id`` any more if some may hold an entry of ``first .. last``, both included."""
        for flush in self._flushes:
            flush.hide(ledger_id, last, first)

    def discard_logs(self, log_ids: Collection[int]) -> None:
        """Forget the flushes that wrote to any of the logs ``log_ids``, and all older ones."""
        # What is newer in a flush that goes may be older in one before it.
        self._flushes = tuple(takewhile(lambda flush: flush.log_ids.isdisjoint(log_ids), self._flushes))
