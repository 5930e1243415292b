"""Searches in the blocks of packed rows (36 bytes each) of an index of entries, within one transaction.

A block set is the blocks that one flush or one merge wrote.  Several block sets may have rows of a ledger, but each
entry is in only one row: in one block set, or in the SQLite table of unpacked rows.

The list of block sets begins with the oldest.  In a younger block set, the entries of a ledger have higher ids than
in an older block set.  So a search can use bisection on the list.  But it reports an entry as missing only after it
has searched all block sets.

A damaged key can mislead a search, so that it misses a row that exists.  So a search reports an entry as missing only
after it has verified the blocks before and after the key, even if these blocks are of other block sets.  For the same
reason, a search that has reached the end of a block set verifies the first block of the next block set.  This is enough
because each insertion of blocks is verified in the same way (:meth:`StoredBlocks.verify_places`).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from itertools import islice, takewhile

from ...errors import DamageError
from ..interfaces import IndexRow
from .blocks import (
    SOURCE,
    Block,
    BlockSet,
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
from .index_file import Connection, read_block_sets
from .row_values import Values
from .stored_runs import MAX_ID, StoredRuns

_COLUMNS = ", ".join(
    # select only values of the right type: damage may change a type to text, and SQLite cannot decode such a text
    f"CASE typeof({name}) WHEN '{kind}' THEN {name} END"
    for name, kind in (
        ("generation", "integer"), ("first", "blob"), ("block", "integer"), ("packed", "blob"), ("crc", "integer"),
    )
)  # fmt: skip
_BLOCKS = f"SELECT {_COLUMNS} FROM block_keys LEFT JOIN blocks ON id = block"
"""The beginning of each query.  The keys of blocks are in a table of their own, so that searches read fewer bytes."""

_FLOOR = f"{_BLOCKS} WHERE (generation, first) <= (?, ?) ORDER BY generation DESC, first DESC LIMIT 1"
_FIRST = f"{_BLOCKS} WHERE generation = ? ORDER BY first LIMIT ?"
_WITHIN = f"{_BLOCKS} WHERE generation = ? AND first > ? AND first <= ? ORDER BY first"
_BACK = f"{_BLOCKS} WHERE generation = ? AND first <= ? ORDER BY first DESC"
_BEFORE = f"{_BLOCKS} WHERE (generation, first) < (?, ?) ORDER BY generation DESC, first DESC LIMIT 1"
_FROM = f"{_BLOCKS} WHERE (generation, first) >= (?, ?) ORDER BY generation, first LIMIT 1"
_NUMBERS = (
    "SELECT CASE typeof(block) WHEN 'integer' THEN block END FROM block_keys WHERE (generation, first) >= (?, ?)"
    " ORDER BY generation, first LIMIT ?"
)


class StoredBlocks:
    """The blocks of packed index rows (36 bytes each) that an SQLite connection sees in its present transaction.

    :ivar block_sets: the block sets (each: the blocks that one flush or merge wrote), the oldest first.
    :raises DamageError: the list of block sets is damaged.  All methods also raise this error if they find damage.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.block_sets = read_block_sets(connection)

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the index row that contains ``entry_id`` of ``ledger_id``; None if no block has such a row."""
        found = self._search(key_of(ledger_id, entry_id), entry_id)
        return row_of_packed(found[1]) if found is not None else None

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> list[bytes]:
        """Return the packed index row of an entry, and the ledger's next rows that the same flush or merge wrote.

        :param limit: maximum number of rows to return.
        :returns: for each block, a byte string of its rows (36 bytes each); empty if no block contains the entry.
        """
        key = key_of(ledger_id, entry_id)
        found = self._search(key, entry_id)
        parts: list[bytes] = []
        for block, begin in self._blocks_from(found[0], key) if found is not None else ():
            ends = block.last[:8] != key[:8]
            end = block.floor(key_of(ledger_id, MAX_ID)) + 1 if ends else len(block)
            parts.append(block.packed(begin, min(end - begin, limit)))
            limit -= end - begin
            if ends or limit <= 0:
                break
        return parts

    def _search(self, key: bytes, entry_id: int) -> tuple[int, bytes] | None:
        """Return the index row (36 bytes) that contains an entry, and the id of its block set, or None.

        A block set is the blocks that one flush or merge wrote; newer block sets usually have higher entry ids of a
        ledger.  So if a block set has only lower ids of the ledger than the entry, newer block sets are searched first;
        if it has only higher ids, older ones are.

        :raises DamageError: no intact block set contains the entry, and another block set is damaged.
        """
        likely, others = list(self.block_sets), list[BlockSet]()
        at_ends: list[int] = []
        damage: DamageError | None = None
        while likely or others:
            middle = len(likely) // 2
            block_set = likely.pop(middle) if likely else others.pop()
            try:
                packed, behind = self._around(block_set.set_id, key)
            except DamageError as error:
                damage = error
                continue
            if packed[:8] == key[:8]:
                if last_of(packed) >= entry_id:
                    return block_set.set_id, packed
                others += likely[:middle]
                del likely[:middle]
            elif behind[:8] == key[:8]:
                others += likely[middle:]
                del likely[middle:]
            elif not packed and block_set.role == SOURCE:
                # this block set is a source of a merge in progress, which has moved rows with low keys, as the wanted
                # one, to its target: search the other sources of this merge last
                others += [each for each in likely if each[1:3] == block_set[1:3]]
                likely = [each for each in likely if each[1:3] != block_set[1:3]]
            if not behind:
                at_ends.append(block_set.set_id)
        if damage is not None:
            raise damage
        for set_id in at_ends:
            self._behind(set_id, key)
        return None

    def last_entry(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the blocks; -1 if they have no rows of the ledger."""
        key = key_of(ledger_id, MAX_ID)
        found = -1
        for block_set in self.block_sets:
            packed, behind = self._around(block_set.set_id, key)
            if not behind:
                self._behind(block_set.set_id, key)
            if packed[:8] == key[:8]:
                found = max(found, last_of(packed))
        return found

    def _around(self, set_id: int, key: bytes) -> tuple[bytes, bytes]:
        """Return a block set's last index row (36 bytes) whose key is ``key`` or lower, and the key of the next row.

        A block set is the blocks that one flush or merge wrote.

        :returns: the row and the key.  The row is empty if all rows have higher keys.  The key is empty if the row is
            the last one of its block.
        """
        block = self.floor(set_id, key)
        return block.around(key) if block is not None else (b"", b"")

    def rows(self, ledger_id: int, first: int, limit: int) -> list[IndexRow]:
        """Return the index rows of a ledger, sorted by entry, beginning with the row that contains ``first``.

        :param first: an entry id; rows that end before this entry are left out.
        :param limit: maximum number of rows to return.
        """
        key = key_of(ledger_id, first)
        found = merge(*[self._packed(block_set.set_id, key) for block_set in self.block_sets])
        up_to_last = takewhile(lambda packed: packed[:8] <= key[:8], found)
        from_first = (packed for packed in up_to_last if packed[:8] == key[:8] and last_of(packed) >= first)
        return rows_of_packed(islice(from_first, limit))

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        """Return the next index rows of all ledgers, sorted by ledger and entry.

        :param after: ledger id and first entry id of the row after which to begin.
        :param limit: maximum number of rows to return.
        :param log_ids: if given, return only rows that refer to these entry logs.
        """
        key = key_of(*after)
        chosen = [each.set_id for each in self.block_sets if log_ids is None or each.has_one_of(log_ids)]
        found = (packed for packed in merge(*[self._packed(set_id, key) for set_id in chosen]) if packed[:16] > key)
        if log_ids is not None:
            wanted = packed_logs(log_ids)
            found = (packed for packed in found if log_of(packed) in wanted)
        return rows_of_packed(islice(found, limit))

    def _packed(self, set_id: int, key: bytes) -> Iterator[bytes]:
        """Yield the rows (36 bytes each) of a block set, beginning with the last row whose key is ``key`` or lower.

        :param set_id: id of the block set: the blocks that one flush or merge wrote.
        """
        for block, begin in self._blocks_from(set_id, key):
            yield from cut_rows(block.rows)[begin:]

    def _blocks_from(self, set_id: int, key: bytes) -> Iterator[tuple[Block, int]]:
        """Yield the blocks of a block set from ``key`` on, each with the position of the row at which to begin.

        In the first block, this is the last row whose key is ``key`` or lower; in all others, it is the first row.

        :param set_id: id of the block set: the blocks that one flush or merge wrote.
        """
        block = self.floor(set_id, key)
        if block is not None:
            yield block, block.floor(key)
            key = block.last
        while (block := self.following(set_id, key)) is not None:
            yield block, 0
            key = block.last

    def live(self) -> dict[int, tuple[int, int]]:
        """Return, for each entry log, the number of entries and the size of their records; this reads all blocks.

        Damaged blocks are left out.  This is safe, because other checks find the damage before an entry log is deleted.
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

    def floor(self, set_id: int, key: bytes) -> Block | None:
        """Return the last block of a block set that begins at or before ``key``, or None.

        :param set_id: id of the block set (the blocks that one flush or merge wrote).
        """
        values = self._connection.execute(_FLOOR, (set_id, key)).fetchone()
        block = block_from(values) if values is not None else None
        return block if block is not None and block.set_id == set_id else None

    def intact(self, set_id: int, key: bytes, end: bytes) -> list[Block]:
        """Return the blocks of a block set that may have rows from ``key`` to ``end``; damaged blocks are left out.

        :param set_id: id of the block set (the blocks that one flush or merge wrote).
        """
        found: list[Block] = []
        for query, values in ((_FLOOR, (set_id, key)), (_WITHIN, (set_id, key, end))):
            for stored in self._connection.execute(query, values).fetchall():
                with suppress(DamageError):
                    found.append(block_from(stored))
        return [block for block in found if block.set_id == set_id]

    def last_intact(self, set_id: int, ledger_id: int) -> int:
        """Return the highest entry id of a ledger in the intact blocks of a block set; -1 if they have no rows of it.

        :param set_id: id of the block set (the blocks that one flush or merge wrote).
        """
        key = key_of(ledger_id, MAX_ID)
        for values in self._connection.execute(_BACK, (set_id, key)):
            with suppress(DamageError):
                packed, _ = block_from(values).around(key)
                return last_of(packed) if packed[:8] == key[:8] else -1
        return -1

    def heads(self, set_id: int, limit: int) -> list[Block]:
        """Return the first blocks, at most ``limit``, of a block set (the blocks that one flush or merge wrote).

        If fewer blocks are found, verify the next block in the table: if the key of a block is damaged, a search may
        miss this block.

        :raises DamageError: a block is damaged.  This method does not notice that a block before the first returned
            block was missed; :meth:`following` does.
        """
        found = [block_from(values) for values in self._connection.execute(_FIRST, (set_id, limit))]
        if len(found) < limit:
            self.following(set_id, found[-1].last if found else b"")
        return found

    def following(self, set_id: int, key: bytes) -> Block | None:
        """Return the block after ``key`` in a block set: the first block that begins with a higher key, or None.

        Verify the block before this position in the table, too, and at the end of the block set the first block of the
        next block set.  So a block that a search missed because of a damaged key is noticed.

        :param set_id: id of the block set (the blocks that one flush or merge wrote).
        """
        self.floor(set_id, key)
        return self._behind(set_id, key)

    def _behind(self, set_id: int, key: bytes) -> Block | None:
        """Return the first block after a key; the caller has verified the block before the key with :meth:`floor`.

        For a condition ``(generation, first) > (?, ?)``, SQLite would search for ``>=`` and then skip rows with equal
        keys.  One of these rows may be a block whose damaged key is equal to ``key`` by accident.  So the query asks
        for keys of at least ``key`` plus a zero byte instead.
        """
        values = self._connection.execute(_FROM, (set_id, key + b"\0")).fetchone()
        block = block_from(values) if values is not None else None
        return block if block is not None and block.set_id == set_id else None

    def verify_places(self, keys: Sequence[Values], last: bytes) -> None:
        """Verify that a damaged key has not misled the insertion of blocks whose keys follow one another.

        :param keys: id of the block set, first key and number of each inserted block, in ascending order.
        :param last: the key of the last row of the last block.
        :raises DamageError: the block before or after the inserted blocks is damaged, or these are not between the two.
        """
        set_id, first, _ = keys[0]
        before = self._connection.execute(_BEFORE, (set_id, first)).fetchall()
        behind = self._connection.execute(_FROM, (set_id, keys[-1][1] + b"\0")).fetchall()
        neighbours = [block_from(values) for values in (*before, *behind)]
        begin = before[0][:2] if before else (set_id, first)
        numbers = [(values[2],) for values in (*before, *keys, *behind)]
        # read one stretch of the table, which no damaged key between the two blocks can mislead
        found = self._connection.execute(_NUMBERS, (*begin, len(numbers) + (not behind))).fetchall()
        overlap = [each for each in neighbours if each.set_id == set_id and first <= each.last and each.first <= last]
        if found != numbers or overlap:
            raise DamageError(f"keys of index block set {set_id} are not in order")


class Cursor:
    """A cursor that moves to ascending keys of one block set (the blocks that one flush or one merge wrote).

    :ivar block: the last block whose first key is not higher than the key at which the cursor is; None if there is no
        such block.
    :ivar following: the block after :attr:`block`, or None at the end of the block set.
    """

    __slots__ = ("block", "following", "_stored", "_set_id", "_begun")

    def __init__(self, stored: StoredBlocks, block_set: BlockSet) -> None:
        self.block: Block | None = None
        self.following: Block | None = None
        self._stored = stored
        self._set_id = block_set.set_id
        self._begun = False

    def leaves(self, key: bytes) -> bool:
        """Test whether the cursor must move to another block for ``key``."""
        return not self._begun or (self.following is not None and key >= self.following.first)

    def go(self, key: bytes) -> None:
        """Move the cursor to ``key``, which must not be lower than the present key.

        :raises DamageError: a block next to the key is damaged; the cursor has not moved.
        """
        if self.leaves(key) and not self._stepped(key):
            block = self._stored.floor(self._set_id, key)
            self.following = self._stored.following(self._set_id, key if block is None else max(block.last, key))
            self.block, self._begun = block, True

    def _stepped(self, key: bytes) -> bool:
        """Move the cursor to the next block, if it is intact; return whether ``key`` belongs to that next block."""
        if self.following is None:
            return False
        try:
            behind = self._stored.following(self._set_id, self.following.last)
        except DamageError:  # ignore it: go() now searches by key, and the key may be after the damaged block
            return False
        self.block, self.following = self.following, behind
        return not self.leaves(key)

    def around(self, key: bytes) -> tuple[bytes, bytes]:
        """Return the last index row (36 bytes) whose key is ``key`` or lower, and the key of the next row.

        Each of the two is empty if the block set has no such row.
        """
        behind = self.following.first if self.following is not None else b""
        if self.block is None:
            return b"", behind
        packed, within = self.block.around(key)
        return packed, within or behind


def find_row(connection: Connection, ledger_id: int, entry_id: int) -> IndexRow | None:
    """Return the index row that contains ``entry_id`` of ``ledger_id``; None if the index does not have the entry.

    The row is in a block of rows, or in the SQLite table of single rows.  If a block is damaged, this table is searched
    before the error is raised.

    :param connection: a connection to the index file, in a transaction.
    """
    damage: DamageError | None = None
    try:
        found = StoredBlocks(connection).find(ledger_id, entry_id)
    except DamageError as error:
        found, damage = None, error
    if found is None:
        found = StoredRuns(connection).find(ledger_id, entry_id)
    if found is None and damage is not None:
        raise damage
    return found
