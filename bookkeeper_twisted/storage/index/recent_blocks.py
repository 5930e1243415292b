"""Packed rows of the last flushes in memory, for readers that follow the writers of many ledgers.

The flush lane adds and drops flushes, any thread reads: the list of flushes is replaced as a whole.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import takewhile

from ..cache.run_list import NO_ENTRY
from ..interfaces import IndexRow
from ..mixed_rows import MixedRows, packed_of
from .blocks import BLOCK_ROWS, Block, joined, key_of, last_of, row_of_packed, unpack_rows
from .unpacked_rows import UnpackedRows

BLOCK_COST = 5 * 1024
"""The cost of a full block: its rows, and its place."""

MOST_FLUSHES = 16
"""Flushes that are looked through at most."""

_END = b"\xff" * 16
"""Behind every place of a row."""


class LedgerBlocks(UnpackedRows):
    """The rows of one ledger in a flush, for one thread.

    :param blocks: the packed rows of the flush, in order.
    :param firsts: the key of the first row of each block.
    """

    __slots__ = ("ledger_id", "_blocks", "_firsts", "_begin", "_end", "_block")

    def __init__(self, ledger_id: int, blocks: Sequence[bytes], firsts: Sequence[bytes]) -> None:
        super().__init__()
        self.ledger_id = ledger_id
        self._blocks = blocks
        self._firsts = firsts
        self._begin = self._end = b""
        self._block = Block(0, b"")

    def _from(self, entry_id: int) -> Sequence[IndexRow]:
        if entry_id < 0:
            return ()
        key = key_of(self.ledger_id, entry_id)
        if not self._begin <= key < self._end:
            self._move(key)
        index = self._block.floor(key)
        if index < 0:
            return ()
        rows = unpack_rows(self._block.packed(index, self._count_from(index)))
        return [row for row in rows if row.ledger_id == self.ledger_id]

    def _move(self, key: bytes) -> None:
        """Go to the block that holds the last row at or before ``key``; before the first row there is an empty one."""
        index = bisect_right(self._firsts, key)
        self._begin = self._firsts[index - 1] if index else b""
        self._end = self._firsts[index] if index < len(self._firsts) else _END
        self._block = Block(0, self._blocks[index - 1] if index else b"")


class _Flush:
    """The rows of one flush; rows of a ledger are hidden once they may be out of date.

    :ivar blocks: the packed rows, in order.
    :ivar log_ids: ids of the logs of its entries.
    """

    __slots__ = ("blocks", "log_ids", "_firsts", "_hidden", "_table")

    def __init__(self, blocks: Sequence[bytes], log_ids: frozenset[int]) -> None:
        self.blocks = blocks
        self.log_ids = log_ids
        self._firsts = [rows[:16] for rows in blocks]
        self._hidden: set[int] = set()
        self._table: LedgerBlocks | None = None

    def around(self, ledger_id: int, entry_id: int) -> tuple[bytes | None, int]:
        """Return a ledger's last row that begins at or before an entry, and the first entry of the next row.

        :returns: None and ``NO_ENTRY`` for missing ones.
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

    def table_of(self, ledger_id: int) -> LedgerBlocks:
        """Return the rows of a ledger: the same table as the last time if that was for this ledger.  One thread."""
        if self._table is None or self._table.ledger_id != ledger_id:
            self._table = LedgerBlocks(ledger_id, self.blocks, self._firsts)
        return self._table

    def hide(self, ledger_id: int, last: int, first: int) -> None:
        """Hide the rows of a ledger if one of them may hold an entry of ``first .. last``."""
        packed, _ = self.around(ledger_id, last)
        if packed is not None and last_of(packed) >= first:
            self._hidden.add(ledger_id)


class RecentBlocks:
    """The rows of the last flushes, up to a number of bytes; the rows of the oldest flush are dropped first.

    :ivar limit: most bytes.
    """

    __slots__ = ("limit", "_flushes")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._flushes: tuple[_Flush, ...] = ()

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the newest row of ``entry_id`` of ``ledger_id``, or None.

        None also if a newer row holds some of the later entries of that row.
        """
        newer = NO_ENTRY
        for flush in self._flushes:
            if flush.hides(ledger_id):
                return None  # older flushes may have copies of entries that the hidden rows replaced
            packed, behind = flush.around(ledger_id, entry_id)
            if packed is not None and last_of(packed) >= entry_id:
                return row_of_packed(packed) if last_of(packed) < newer else None
            newer = min(newer, behind)
        return None

    def tables_of(self, ledger_id: int, low: int, high: int) -> list[LedgerBlocks]:
        """Return the rows of ``ledger_id`` for each flush with any entry of ``low .. high``, newest flush first.

        For one thread: the table of a flush is the one of the last call for this ledger, with the rows that it has
        unpacked.
        """
        tables: list[LedgerBlocks] = []
        for flush in takewhile(lambda flush: not flush.hides(ledger_id), self._flushes):
            packed, _ = flush.around(ledger_id, high)
            if packed is not None and last_of(packed) >= low:
                tables.append(flush.table_of(ledger_id))
        return tables

    def add(self, mixed: Sequence[MixedRows]) -> None:
        """Add the rows ``mixed`` of a flush; if they exceed the limit, add only the first rows."""
        packed = packed_of(mixed)[: self.limit // BLOCK_COST * BLOCK_ROWS]
        if not packed:
            return
        newest = _Flush(joined(packed), frozenset(rows.log_id for rows in mixed))
        flushes = (newest, *self._flushes[: MOST_FLUSHES - 1])
        while sum(len(flush.blocks) for flush in flushes) * BLOCK_COST > self.limit:
            flushes = flushes[:-1]
        self._flushes = flushes

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Hide the rows of ``ledger_id`` if one of them may hold an entry of ``first .. last``, inclusive."""
        for flush in self._flushes:
            flush.hide(ledger_id, last, first)

    def discard_logs(self, log_ids: Collection[int]) -> None:
        """Drop the flushes that wrote to any of the logs ``log_ids``, and all older flushes."""
        # Drop older flushes too: they may have older copies of the entries in a dropped flush.
        self._flushes = tuple(takewhile(lambda flush: flush.log_ids.isdisjoint(log_ids), self._flushes))
