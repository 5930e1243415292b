"""The blocks of a run index: look-ups in one state of the table of blocks.

Any number of generations may hold rows of a ledger, but no entry is in two of them, nor in the table of runs besides.
Their list is in the order of time: the rows of a ledger in one lie after those in older ones.  So a look-up halves
the rest of the list with each generation that it asks, but denies an entry only after it asked all.

A row that it does not find may exist under a damaged key: as in the table of runs, an absence counts only after the
blocks on both sides of its key were verified, of whatever generations they are, and so does the end of a generation.
"""

from collections.abc import Collection, Iterator
from heapq import merge
from itertools import islice, takewhile

from ...errors import DamageError
from ..interfaces import IndexRow
from .blocks import (
    SOURCE,
    Block,
    Generation,
    block_from,
    cut_rows,
    key_of,
    last_of,
    live_of,
    log_of,
    packed_logs,
    row_of_packed,
    rows_of_packed,
)
from .index_file import Connection, read_generations
from .stored_runs import MAX_ID

_COLUMNS = ", ".join(
    # Select only values of the right type: a damaged text value may not be UTF-8.
    f"CASE typeof({name}) WHEN '{kind}' THEN {name} END"
    for name, kind in (("generation", "integer"), ("first", "blob"), ("packed", "blob"), ("crc", "integer"))
)
_BLOCKS = f"SELECT {_COLUMNS} FROM block_keys LEFT JOIN blocks ON id = block"
"""A search compares keys only.  In one table with the rows it would read those of each block that it compares."""

_FLOOR = f"{_BLOCKS} WHERE (generation, first) <= (?, ?) ORDER BY generation DESC, first DESC LIMIT 1"
_FIRST = f"{_BLOCKS} WHERE generation = ? ORDER BY first LIMIT ?"
_FROM = f"{_BLOCKS} WHERE (generation, first) >= (?, ?) ORDER BY generation, first LIMIT 1"


class StoredBlocks:
    """The blocks that a connection sees in its present transaction.

    :ivar generations: the generations with blocks, the oldest first.
    :raises DamageError: their list cannot be read; all methods raise it for damage that they meet.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.generations = read_generations(connection)

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row that holds ``entry_id`` of ``ledger_id``, or None."""
        found = self._search(key_of(ledger_id, entry_id), entry_id)
        return row_of_packed(found[1]) if found is not None else None

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> list[bytes]:
        """Return the packed row of an entry, and those of the ledger that follow it in the same generation.

        :param limit: most rows.
        :returns: no row if the entry is in no block.
        """
        key = key_of(ledger_id, entry_id)
        found = self._search(key, entry_id)
        if found is None:
            return []
        of_ledger = takewhile(lambda packed: packed[:8] == key[:8], self._packed(found[0], key))
        return list(islice(of_ledger, limit))

    def _search(self, key: bytes, entry_id: int) -> tuple[int, bytes] | None:
        """Return the number of the generation that holds an entry, and the entry's packed row.

        The rows beside its key in one generation show whether to go on with younger or older ones.  Damage raises an
        error only if the entry is not found elsewhere.
        """
        likely, others = list(self.generations), list[Generation]()
        at_ends: list[int] = []
        damage: DamageError | None = None
        while likely or others:
            middle = len(likely) // 2
            generation = likely.pop(middle) if likely else others.pop()
            try:
                packed, behind = self._around(generation.number, key)
            except DamageError as error:
                damage = error
                continue
            if packed[:8] == key[:8]:
                if last_of(packed) >= entry_id:
                    return generation.number, packed
                others += likely[:middle]
                del likely[:middle]
            elif behind[:8] == key[:8]:
                others += likely[middle:]
                del likely[middle:]
            elif not packed and generation.role == SOURCE:  # the merge has moved the rows around this key to its target
                others += [each for each in likely if each[1:3] == generation[1:3]]
                likely = [each for each in likely if each[1:3] != generation[1:3]]
            if not behind:
                at_ends.append(generation.number)
        if damage is not None:
            raise damage
        for number in at_ends:
            self._behind(number, key)
        return None

    def last_entry(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id``, or -1."""
        key = key_of(ledger_id, MAX_ID)
        found = -1
        for generation in self.generations:
            packed, behind = self._around(generation.number, key)
            if not behind:
                self._behind(generation.number, key)
            if packed[:8] == key[:8]:
                found = max(found, last_of(packed))
        return found

    def _around(self, number: int, key: bytes) -> tuple[bytes, bytes]:
        """Return a generation's row at or before a key, and the key of the next row in the same block.

        :returns: empty without one; a next row in another block is not verified.
        """
        block = self.floor(number, key)
        return block.around(key) if block is not None else (b"", b"")

    def rows(self, ledger_id: int, first: int, limit: int) -> list[IndexRow]:
        """Return the rows of a ledger that end at or after an entry, ascending.

        :param first: the entry.
        :param limit: most rows.
        """
        key = key_of(ledger_id, first)
        found = merge(*[self._packed(generation.number, key) for generation in self.generations])
        up_to_last = takewhile(lambda packed: packed[:8] <= key[:8], found)
        from_first = (packed for packed in up_to_last if packed[:8] == key[:8] and last_of(packed) >= first)
        return rows_of_packed(islice(from_first, limit))

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next rows, ordered by ledger and first entry.

        :param after: ledger and first entry of the last row seen.
        :param limit: most rows.
        :param log_ids: rows of these logs only.
        """
        key = key_of(*after)
        chosen = [each.number for each in self.generations if log_ids is None or each.has_one_of(log_ids)]
        found = (packed for packed in merge(*[self._packed(number, key) for number in chosen]) if packed[:16] > key)
        if log_ids is not None:
            wanted = packed_logs(log_ids)
            found = (packed for packed in found if log_of(packed) in wanted)
        return rows_of_packed(islice(found, limit))

    def _packed(self, number: int, key: bytes) -> Iterator[bytes]:
        """Yield the rows of a generation, from the last row at or before a key onwards."""
        block = self.floor(number, key)
        if block is not None:
            yield from cut_rows(block.rows)[block.floor(key) :]
            key = block.last
        while (block := self.following(number, key)) is not None:
            yield from cut_rows(block.rows)
            key = block.last

    def live(self) -> dict[int, tuple[int, int]]:
        """Return for each entry log the number of entries and the bytes of their records; reads all blocks.

        Damaged blocks are left out.  As with rows left out of the sums over the table of runs, the removal of a log
        does not rely on that: its checks find them.
        """
        found: dict[int, tuple[int, int]] = {}
        for values in self._connection.execute(_BLOCKS):
            try:
                block = block_from(values)
            except DamageError:
                continue
            for log_id, count, n_bytes in live_of(block.rows):
                before, bytes_before = found.get(log_id, (0, 0))
                found[log_id] = before + count, bytes_before + n_bytes
        return found

    # -- blocks --

    def floor(self, number: int, key: bytes) -> Block | None:
        """Return the last block of the generation ``number`` that begins at or before ``key``, or None."""
        values = self._connection.execute(_FLOOR, (number, key)).fetchone()
        block = block_from(values) if values is not None else None
        return block if block is not None and block.generation == number else None

    def heads(self, number: int, limit: int) -> list[Block]:
        """Return the first blocks of the generation ``number``, at most ``limit``.

        Nothing is hidden among them or behind the last; what is in front of the first is verified by :meth:`following`.
        """
        found = [block_from(values) for values in self._connection.execute(_FIRST, (number, limit))]
        if len(found) < limit:
            self.following(number, found[-1].last if found else b"")
        return found

    def following(self, number: int, key: bytes) -> Block | None:
        """Return the first block of the generation ``number`` that begins after ``key``, or None.

        The block before the key is verified, and so is the one after the last of a generation.
        """
        self.floor(number, key)
        return self._behind(number, key)

    def _behind(self, number: int, key: bytes) -> Block | None:
        """Return the block after a key; :func:`floor` has verified the block before.

        The search is for the lowest key after it: SQLite would skip a damaged block behind an equal one.  It reads one
        block at a time, as SQLite would skip damaged ones among several, too.
        """
        values = self._connection.execute(_FROM, (number, key + b"\0")).fetchone()
        block = block_from(values) if values is not None else None
        return block if block is not None and block.generation == number else None


class Cursor:
    """A cursor through a generation by ascending keys.

    :ivar block: the last block that begins at or before the present key, None if there is none.
    :ivar following: the block behind it, None at the end.
    """

    __slots__ = ("block", "following", "_stored", "_number", "_begun")

    def __init__(self, stored: StoredBlocks, generation: Generation) -> None:
        self.block: Block | None = None
        self.following: Block | None = None
        self._stored = stored
        self._number = generation.number
        self._begun = False

    def leaves(self, key: bytes) -> bool:
        """Test whether ``key`` lies outside the present block."""
        return not self._begun or (self.following is not None and key >= self.following.first)

    def go(self, key: bytes) -> None:
        """Move to ``key``.

        :raises DamageError: a block beside it is damaged; the cursor does not move.
        """
        if self.leaves(key) and not self._stepped(key):
            block = self._stored.floor(self._number, key)
            self.following = self._stored.following(self._number, key if block is None else max(block.last, key))
            self.block, self._begun = block, True

    def _stepped(self, key: bytes) -> bool:
        """Try to reach a key by moving to the next block; return whether the key is there."""
        if self.following is None:
            return False
        try:
            behind = self._stored.following(self._number, self.following.last)
        except DamageError:  # the key may not need the damaged block: leave it to a full search
            return False
        self.block, self.following = self.following, behind
        return not self.leaves(key)

    def around(self, key: bytes) -> tuple[bytes, bytes]:
        """Return the row at or before the present ``key``, and the key of the next row; empty if a row is missing."""
        behind = self.following.first if self.following is not None else b""
        if self.block is None:
            return b"", behind
        packed, within = self.block.around(key)
        return packed, within or behind
