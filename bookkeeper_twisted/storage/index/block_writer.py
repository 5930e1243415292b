"""Adds, merges and removes blocks of packed index rows (36 bytes each), within the commits of an index.

The blocks that one flush writes are a block set of level 0.  When :data:`FAN_IN` block sets of one level exist, they
are merged into one block set of the next level, because a search takes longer with more block sets.  Each commit
merges only a part of the rows, beginning with the lowest key, so that no commit takes long.

A packed row leaves its block in three cases.  If a newer copy of one of its entries arrives, or if a compaction copies
its entries to another log, the row moves to the SQLite table of runs, in which rows can be changed one by one.  If its
ledger is deleted, the row is deleted.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...errors import DamageError
from ..interfaces import IndexRow
from ..mixed_rows import MixedRows, packed_of
from .blocks import (
    SOURCE,
    TARGET,
    WHOLE,
    Block,
    BlockSet,
    blocks_of,
    cut_rows,
    key_of,
    last_of,
    log_of,
    pack_block_sets,
    packed_logs,
    rows_of_packed,
)
from .index_file import Connection, mark_misled
from .stored_blocks import Cursor, StoredBlocks
from .stored_runs import MAX_ID

FAN_IN = 8
"""Number of block sets of one level that a merge combines to one.

A block set is the blocks that one flush or merge wrote.
"""

MERGED_FOR_EACH = 3
"""Number of index rows in blocks that a commit merges for each row that it adds to a block.

It is 3 because each row is merged once for each level, and three levels are enough for 100 million rows.
"""

STEP_BLOCKS = 64
"""Number of blocks that one step of a merge processes."""

_INSERT = "INSERT INTO blocks(id, packed, crc) VALUES (?, ?, ?)"
_INSERT_KEY = "INSERT OR IGNORE INTO block_keys(generation, first, block) VALUES (?, ?, ?)"
_DELETE = "DELETE FROM blocks WHERE id = ?"
_DELETE_KEY = "DELETE FROM block_keys WHERE generation = ? AND first = ? AND block = ?"

Span = tuple[int, int, int]
"""(ledger id, first entry id, last entry id): a range of entries of a ledger."""


class BlockWriter(StoredBlocks):
    """Changes the blocks of an index within one transaction; call :meth:`save` before the end of the transaction.

    :ivar change: number of blocks by which the index has grown; negative if it has shrunk.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.change = 0
        self._saved = list(self.block_sets)
        ((self._next_id,),) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM blocks").fetchall()

    def add(self, mixed: Sequence[MixedRows]) -> None:
        """Store ``mixed``, the packed index rows (36 bytes each) of a flush, as the blocks of a new block set.

        The index must not contain any entry of these rows yet.
        """
        packed = packed_of(mixed)
        if not packed:
            return
        log_ids = [rows.log_id for rows in mixed]
        self.block_sets.append(self._new(0, WHOLE, min(log_ids), max(log_ids)))
        self._insert(self.block_sets[-1].set_id, packed, despite_damage=True)
        self._merge(MERGED_FOR_EACH * len(packed))

    def _new(self, level: int, role: int, lowest_log: int, highest_log: int) -> BlockSet:
        set_id = 1 + max([each.set_id for each in self.block_sets], default=0)
        return BlockSet(set_id, level, role, lowest_log, highest_log)

    def _insert(self, set_id: int, packed: Sequence[bytes], despite_damage: bool = False) -> None:
        """Add packed index rows (36 bytes each) to a block set: the blocks that one flush or merge wrote.

        :param set_id: id of the block set.
        :param packed: the packed rows, sorted by ledger and entry.
        :param despite_damage: whether to add the rows, and mark the index (:func:`~.index_file.mark_misled`), if a
            block beside the new blocks is damaged.
        :raises DamageError: a block beside the new blocks is damaged; or the key of a new block exists already, because
            a stored key is damaged.
        """
        blocks = list(enumerate(blocks_of(set_id, packed), self._next_id))
        self._next_id += len(blocks)
        self._connection.executemany(_INSERT, [(block_id, rows, crc) for block_id, (_, _, rows, crc) in blocks])
        keys = [(set_id, first, block_id) for block_id, (_, first, _, _) in blocks]
        if not keys:
            return
        if self._connection.executemany(_INSERT_KEY, keys).rowcount != len(keys):
            raise DamageError(f"keys of index block set {set_id} are damaged")
        self.change += len(keys)
        try:
            self.verify_places(keys, packed[-1][: len(keys[-1][1])])
        except DamageError:
            if not despite_damage:
                raise
            mark_misled(self._connection)

    def clear(self) -> None:
        """Remove all blocks from the index."""
        self._connection.execute("DELETE FROM blocks")
        self._connection.execute("DELETE FROM block_keys")
        self.block_sets = []

    def save(self) -> None:
        """Write the list of block sets to the index file if it has changed.

        A block set is the blocks that one flush or merge wrote.
        """
        if self.block_sets != self._saved:
            packed = pack_block_sets(self.block_sets)
            self._connection.execute("UPDATE state SET generations = ? WHERE rowid = 1", (packed,))

    def last_entries(self, ledger_ids: Sequence[int]) -> dict[int, int]:
        """Return, for each given ledger that has index rows in blocks, its highest entry id in the blocks.

        A commit needs these ids, because only a new row that begins at or before such an id can replace stored rows.
        Damage does not stop the commit: where a block next to the end of a ledger is damaged, the highest entry id in
        the intact blocks is returned.  No search returns a row of a damaged block, so no new row has to replace it.

        :param ledger_ids: the ledger ids, in ascending order.
        """
        found: dict[int, int] = {}
        for block_set in self.block_sets:
            cursor, index = Cursor(self, block_set), 0
            while index < len(ledger_ids):
                ledger_id = ledger_ids[index]
                key = key_of(ledger_id, MAX_ID)
                index += 1
                try:
                    cursor.go(key)
                except DamageError:
                    found[ledger_id] = max(self.last_intact(block_set.set_id, ledger_id), found.get(ledger_id, -1))
                    continue
                packed, behind = cursor.around(key)
                if packed[:8] == key[:8]:
                    found[ledger_id] = max(last_of(packed), found.get(ledger_id, -1))
                index = bisect_left(ledger_ids, int.from_bytes(behind[:8], "big"), index) if behind else len(ledger_ids)
        return found

    # -- removing rows --

    def take_out(self, spans: Iterable[Span], log_ids: Collection[int]) -> list[IndexRow]:
        """Remove and return the packed index rows (36 bytes each) with any of the entries in ``spans``.

        :param spans: ledger id, first and last entry id of each range of entries.
        :param log_ids: remove only rows that refer to these entry logs.
        :returns: the removed rows, unpacked.
        """
        ordered = sorted(spans)
        taken: list[bytes] = []
        for block_set in list(self.block_sets):
            if block_set.has_one_of(log_ids):
                taken += self._cut(block_set, ordered, log_ids)
        return rows_of_packed(taken)

    def take_out_older(self, spans: Iterable[Span]) -> list[IndexRow]:
        """Remove and return the packed index rows (36 bytes each) of entries that are written again.

        Rows in damaged blocks stay, so that the commit can still succeed: no search returns them.  Every row in an
        intact block is removed, even beside a damaged block, or a search would return this older row.

        :param spans: ledger id, first and last entry id of each range of entries.
        :returns: the removed rows, unpacked.
        """
        ordered = sorted(spans)
        taken: list[bytes] = []
        for block_set in list(self.block_sets):
            cut: list[bytes] | None = None
            with self._undone_if_damaged():
                cut = self._cut(block_set, ordered, None)
            taken += self._cut_intact(block_set.set_id, ordered) if cut is None else cut
        return rows_of_packed(taken)

    def _cut_intact(self, set_id: int, spans: Sequence[Span]) -> list[bytes]:
        """Remove and return the rows with an entry in ``spans`` from the intact blocks of a block set.

        :param set_id: id of the block set (the blocks that one flush or merge wrote).
        """
        taken: list[bytes] = []
        for ledger_id, first, last in spans:
            key, end = key_of(ledger_id, first), key_of(ledger_id, last)
            for block in self.intact(set_id, key, end):
                left: list[bytes] = []
                for packed in cut_rows(block.rows):
                    is_in = packed[:8] == key[:8] and packed[:16] <= end and last_of(packed) >= first
                    (taken if is_in else left).append(packed)
                if len(left) < len(block):
                    self.replace(block, left, despite_damage=True)
        return taken

    def delete(self, ledger_ids: Iterable[int]) -> None:
        """Remove all index rows of deleted ledgers from the blocks.

        If the search for these rows meets a damaged block, no rows are removed from the blocks of the same flush or
        merge, so that the commit can still succeed.

        :param ledger_ids: ids of the deleted ledgers.
        """
        ordered = [(ledger_id, 0, MAX_ID) for ledger_id in sorted(ledger_ids)]
        for block_set in list(self.block_sets):
            with self._undone_if_damaged():
                self._cut(block_set, ordered, None)

    def _cut(self, block_set: BlockSet, spans: Sequence[Span], log_ids: Collection[int] | None) -> list[bytes]:
        taken = _Knife(self, block_set, log_ids).cut(spans)
        if taken:
            self._drop_empty(block_set)
        return taken

    @contextmanager
    def _undone_if_damaged(self) -> Iterator[None]:
        """If the body of a ``with`` statement finds a damaged block, undo its changes and suppress the error.

        The rest of the commit can still succeed.
        """
        before, change = list(self.block_sets), self.change
        self._connection.execute("SAVEPOINT part")
        try:
            yield
        except DamageError:
            self._connection.execute("ROLLBACK TO part")
            self.block_sets, self.change = before, change
        self._connection.execute("RELEASE part")

    def replace(self, block: Block, packed: Sequence[bytes], despite_damage: bool = False) -> None:
        """Replace the index rows of a ``block`` by the rows ``packed`` (36 bytes each); without rows, remove the block.

        :param despite_damage: whether to replace them even if a block beside this one is damaged.
        :raises DamageError: the block is not found by its key, because a stored key is damaged.
        """
        key = block.set_id, block.first, block.number
        for statement, values in ((_DELETE_KEY, key), (_DELETE, key[2:])):
            if self._connection.execute(statement, values).rowcount != 1:
                raise DamageError(f"keys of index block set {block.set_id} are damaged")
        self.change -= 1
        self._insert(block.set_id, packed, despite_damage)

    def _drop_empty(self, block_set: BlockSet) -> None:
        """Remove a block set (the blocks that one flush or merge wrote) from the list if it has no blocks left."""
        if self.following(block_set.set_id, b"") is None:
            self.block_sets.remove(block_set)

    # -- merging --

    def _merge(self, n_rows: int) -> None:
        """Continue the merges of blocks, those of the lowest level first: move about ``n_rows`` index rows."""
        for level in sorted({block_set.level for block_set in self.block_sets}):
            with self._undone_if_damaged():
                while n_rows > 0 and (sources := self._sources(level)):
                    n_rows -= self._merge_step(sources, self._target(level + 1, sources))

    def _sources(self, level: int) -> list[BlockSet]:
        """Return the block sets of a level that are being merged, or should be merged now, oldest first.

        A block set is the blocks that one flush or merge wrote.
        """
        of_level = [each for each in self.block_sets if each.level == level]
        sources = [each for each in of_level if each.role == SOURCE]
        if sources:
            return sources
        for each in list(self.block_sets):
            if each.level == level + 1 and each.role == TARGET:
                self._change(each, WHOLE)  # this merge has ended: its sources have no rows left
        whole = [each for each in of_level if each.role == WHOLE]
        return [self._change(each, SOURCE) for each in whole[:FAN_IN]] if len(whole) >= FAN_IN else []

    def _target(self, level: int, sources: Sequence[BlockSet]) -> BlockSet:
        """Return the block set to which a merge moves the rows of ``sources``; create it if the merge begins now.

        A block set is the blocks that one flush or merge wrote.
        """
        logs = [log_id for each in sources for log_id in (each.lowest_log, each.highest_log)]
        for each in self.block_sets:
            if each.level == level and each.role == TARGET:
                return each
        target = self._new(level, TARGET, min(logs), max(logs))
        self.block_sets.insert(self.block_sets.index(sources[0]), target)
        return target

    def _change(self, block_set: BlockSet, role: int) -> BlockSet:
        index = self.block_sets.index(block_set)
        self.block_sets[index] = block_set._replace(role=role)
        return self.block_sets[index]

    def _merge_step(self, sources: Sequence[BlockSet], target: BlockSet) -> int:
        """Do one step of a merge: move the 36-byte index rows with the lowest keys from ``sources`` to ``target``.

        :param sources: the block sets that are merged; each is the blocks that one flush or merge wrote.
        :param target: the block set that the merge writes; the rows are added at its end.
        :returns: the number of moved rows.
        """
        count = STEP_BLOCKS // len(sources)
        heads = [self.heads(each.set_id, count) for each in sources]
        ends = [blocks[-1].last for blocks in heads if len(blocks) == count]
        bound = min(ends, default=b"\xff")
        moved: list[bytes] = []
        for blocks in heads:
            moved += self._remove_rows_up_to(blocks, bound)
        self._insert(target.set_id, sorted(moved))
        for each, blocks in zip(sources, heads, strict=True):
            if not blocks or blocks[-1].last <= bound:
                self._drop_empty(each)
        return len(moved)

    def _remove_rows_up_to(self, blocks: Sequence[Block], bound: bytes) -> list[bytes]:
        """Remove and return the packed index rows (36 bytes each) with keys up to ``bound``, inclusive.

        :param blocks: the blocks with the lowest keys among the blocks of one flush or merge.
        """
        taken: list[bytes] = []
        for block in blocks:
            end = block.floor(bound) + 1
            rows = cut_rows(block.rows)
            if end:
                self.replace(block, rows[end:])
            taken += rows[:end]
        return taken


class _Knife:
    """Removes index rows from the blocks of one block set (the blocks that one flush or one merge wrote)."""

    def __init__(self, writer: BlockWriter, block_set: BlockSet, log_ids: Collection[int] | None) -> None:
        self._writer = writer
        self._cursor = Cursor(writer, block_set)
        self._wanted = packed_logs(log_ids) if log_ids is not None else None
        self._taken: list[bytes] = []
        self._gone: set[int] = set()  # positions, in the present block, of the index rows to remove

    def cut(self, spans: Iterable[Span]) -> list[bytes]:
        """Remove and return the packed index rows (36 bytes each) with an entry in ``spans``, which are ascending."""
        cursor = self._cursor
        for ledger_id, first, last in spans:
            key, end = key_of(ledger_id, first), key_of(ledger_id, last)
            self._go(key)
            self._take(key, end)
            while cursor.following is not None and cursor.following.first <= end:
                self._go(cursor.following.first)
                self._take(key, end)
        self._rewrite()
        return self._taken

    def _go(self, key: bytes) -> None:
        if self._cursor.leaves(key):
            self._rewrite()
            self._cursor.go(key)

    def _take(self, key: bytes, end: bytes) -> None:
        """Choose the rows of the present block to remove: those that contain an entry from ``key`` to ``end``.

        Both are keys: a ledger id and an entry id.
        """
        block = self._cursor.block
        if block is None:
            return
        first = int.from_bytes(key[8:], "big")
        for index in range(max(block.floor(key), 0), block.floor(end) + 1):
            packed = block.packed(index)
            if packed[:8] == key[:8] and last_of(packed) >= first and index not in self._gone and self._wants(packed):
                self._gone.add(index)
                self._taken.append(packed)

    def _wants(self, packed: bytes) -> bool:
        return self._wanted is None or log_of(packed) in self._wanted

    def _rewrite(self) -> None:
        block, gone, self._gone = self._cursor.block, self._gone, set()
        if block is not None and gone:
            self._writer.replace(block, [each for i, each in enumerate(cut_rows(block.rows)) if i not in gone])
