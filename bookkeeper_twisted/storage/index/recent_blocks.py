"""Keeps packed index rows of the newest flushes in memory: reads of new entries need no search in the index file.

A flush writes the entries of a write cache to entry logs, and commits their index rows to the index file.  If the cache
has short runs of many ledgers, their rows are *packed*: written in a form of 36 bytes each, many to a block.  This
module keeps a copy of the packed rows of each of the newest flushes, for clients that read many ledgers just after the
writes.

The flush thread adds the rows of each new flush, and drops the rows of the oldest flush; any thread reads.  No lock is
needed, because the list of flushes is never changed, only replaced by a new list.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import takewhile

from ..cache.run_list import NO_ENTRY
from ..interfaces import IndexRow
from ..mixed_rows import MixedRows, packed_of
from .blocks import BLOCK_ROWS, ROW_BYTES, Block, joined, key_of, last_of, row_of_packed

BLOCK_COST = 5 * 1024
"""The memory cost in bytes of a full block: its rows, and its item in the list of the blocks of its flush."""

MOST_FLUSHES = 16
"""Maximum number of flushes whose index rows stay in memory, because a read searches all of them."""


class _Flush:
    """The packed index rows (36 bytes each) that one flush of the write cache committed.

    If a row of a ledger may be out of date, all rows of this ledger in the flush are hidden: searches skip them.

    :ivar blocks: the packed rows, sorted by ledger and entry, in blocks.
    :ivar log_ids: ids of the entry logs that the flush wrote to.
    """

    __slots__ = ("blocks", "log_ids", "_firsts", "_hidden")

    def __init__(self, blocks: Sequence[bytes], log_ids: frozenset[int]) -> None:
        self.blocks = blocks
        self.log_ids = log_ids
        self._firsts = [rows[:16] for rows in blocks]
        self._hidden: set[int] = set()

    def around(self, ledger_id: int, entry_id: int) -> tuple[bytes | None, int]:
        """Return a ledger's last index row that begins at or before an entry, and the first entry id of its next row.

        :returns: None instead of the row if there is none; ``NO_ENTRY`` instead of the id if there is no next row.
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
        """Test whether searches must skip the index rows of a ledger in this flush, as they may be out of date."""
        return ledger_id in self._hidden

    def floor(self, key: bytes) -> int:
        """Return the position, from 0, of the last index row whose key is ``key`` or lower; -1 if all are higher."""
        index = bisect_right(self._firsts, key)
        return (index - 1) * BLOCK_ROWS + Block(0, self.blocks[index - 1]).floor(key) if index else -1

    def packed(self, begin: int, end: int) -> bytes:
        """Return, in one byte string, the index rows (36 bytes each) at positions ``begin`` to ``end - 1``."""
        block = begin // BLOCK_ROWS
        rows = b"".join(self.blocks[block : -(-end // BLOCK_ROWS)])
        return rows[ROW_BYTES * (begin - block * BLOCK_ROWS) : ROW_BYTES * (end - block * BLOCK_ROWS)]

    def hide(self, ledger_id: int, last: int, first: int) -> None:
        """Make searches skip a ledger's index rows of this flush if one may contain an entry ``first`` to ``last``.

        The caller has newer rows of these entries, or the ledger was deleted.
        """
        packed, _ = self.around(ledger_id, last)
        if packed is not None and last_of(packed) >= first:
            self._hidden.add(ledger_id)


class LedgerBlocks:
    """The index rows of one ledger among the packed rows (36 bytes each) of one flush of the write cache."""

    __slots__ = ("ledger_id", "_flush")

    def __init__(self, ledger_id: int, flush: _Flush) -> None:
        self.ledger_id = ledger_id
        self._flush = flush

    def find(self, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id``; None if no row of the ledger in this flush contains it."""
        packed, _ = self._flush.around(self.ledger_id, entry_id)
        return row_of_packed(packed) if packed is not None and last_of(packed) >= entry_id else None

    def packed_between(self, low: int, high: int, most: int) -> bytes | None:
        """Return, in one byte string, the packed index rows that may contain any of the entries ``low`` to ``high``.

        :returns: the rows, 36 bytes each; None if there are more than ``most`` rows.
        """
        begin = max(self._flush.floor(key_of(self.ledger_id, low)), 0)
        end = self._flush.floor(key_of(self.ledger_id, high)) + 1
        if end - begin > most:
            return None
        rows = self._flush.packed(begin, end)
        # leave out the first index row if it is of the previous ledger
        return rows if rows[:8] == key_of(self.ledger_id, -1) else rows[ROW_BYTES:]


class RecentBlocks:
    """The packed index rows (36 bytes each) of the newest flushes of the write cache.

    If they exceed the limit, the rows of the oldest flush are dropped.

    :ivar limit: maximum number of bytes of all rows.
    """

    __slots__ = ("limit", "_flushes")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._flushes: tuple[_Flush, ...] = ()

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the newest index row that contains ``entry_id`` of ``ledger_id``, or None.

        The caller also uses the row for the entries after ``entry_id``.  So the result is None, too, if a newer row
        contains some of these: the found row would be out of date for them.
        """
        newer = NO_ENTRY
        for flush in self._flushes:
            if flush.hides(ledger_id):
                return None  # do not search older flushes: one of the skipped rows may have a newer copy of the entry
            packed, behind = flush.around(ledger_id, entry_id)
            if packed is not None and last_of(packed) >= entry_id:
                return row_of_packed(packed) if last_of(packed) < newer else None
            newer = min(newer, behind)
        return None

    def tables_of(self, ledger_id: int, low: int, high: int) -> list[LedgerBlocks]:
        """Return the index rows of ``ledger_id`` in each flush that may have any of the entries ``low`` to ``high``.

        :returns: the rows of the newest flush first.  If the rows of the ledger in a flush are hidden, because they may
            be out of date, this flush and all older flushes are left out: a hidden row may be newer than theirs.
        """
        tables: list[LedgerBlocks] = []
        for flush in takewhile(lambda flush: not flush.hides(ledger_id), self._flushes):
            packed, _ = flush.around(ledger_id, high)
            if packed is not None and last_of(packed) >= low:
                tables.append(LedgerBlocks(ledger_id, flush))
        return tables

    def add(self, mixed: Sequence[MixedRows]) -> None:
        """Add ``mixed``, the 36-byte index rows of a flush; if they exceed the limit, leave out the rows at the end."""
        packed = packed_of(mixed)[: self.limit // BLOCK_COST * BLOCK_ROWS]
        if not packed:
            return
        newest = _Flush(joined(packed), frozenset(rows.log_id for rows in mixed))
        flushes = (newest, *self._flushes[: MOST_FLUSHES - 1])
        while sum(len(flush.blocks) for flush in flushes) * BLOCK_COST > self.limit:
            flushes = flushes[:-1]
        self._flushes = flushes

    def discard(self, ledger_id: int, first: int, last: int) -> None:
        """Make searches skip the rows of ``ledger_id`` in each flush that may have an entry from ``first`` to ``last``.

        All rows of the ledger in such a flush are skipped from now on, because some of them are out of date.
        """
        for flush in self._flushes:
            flush.hide(ledger_id, last, first)

    def discard_logs(self, log_ids: Collection[int]) -> None:
        """Drop the rows of the flushes that wrote to any of the entry logs ``log_ids``, and of all older flushes.

        The older flushes may have older copies of the same entries, which searches would find instead.
        """
        self._flushes = tuple(takewhile(lambda flush: flush.log_ids.isdisjoint(log_ids), self._flushes))
