"""Commits to an index file in which a key was damaged while the index is open: no stored entry is denied (S5).

A damaged key misleads the insertion of a new row in the same way as it misleads a search.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from bookkeeper_twisted.errors import DamageError, StorageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import block_writer, blocks, run_index
from bookkeeper_twisted.storage.index.index_file import IndexDamageError
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow, LedgerRow
from bookkeeper_twisted.storage.mixed_rows import packed_of

from .test_run_index import InADirectory


def _row(ledger_id: int, first: int, count: int = 10) -> IndexRow:
    return IndexRow(ledger_id, first, first + count - 1, 2, 4096, 100, b"%02d%02d" % (ledger_id, first))


class _Damaged(InADirectory):
    """An index whose file is damaged while it is open.

    :ivar rows: the rows that were committed, by ledger.
    """

    def begin(self) -> None:
        self.index = self.new()
        self.index._writer.execute("PRAGMA synchronous = OFF")
        self.rows = dict[int, list[IndexRow]]()
        self.commit([], complete=True)

    def commit(self, rows: Sequence[IndexRow], mixed: bool = False, complete: bool = False) -> None:
        """Commit rows with new entries, in blocks or not."""
        batch = IndexBatch(mixed=packed_rows(rows)) if mixed else IndexBatch(runs=[*rows], complete=complete)
        self.index.commit(batch)
        for row in rows:
            self.rows.setdefault(row.ledger_id, []).append(row)

    def delete(self, ledger_ids: Sequence[int]) -> None:
        """Delete ledgers."""
        self.index.commit(IndexBatch(deleted_ledgers=[*ledger_ids]))
        for ledger_id in ledger_ids:
            self.rows.pop(ledger_id, None)

    def flip(self, cell: bytes, byte: int, mask: int) -> None:
        """Flip bits of a byte of a cell in the file, of which no connection keeps a copy in memory."""
        with open(self.path, "r+b") as file:
            data = file.read()
            self.assertEqual(data.count(cell), 1)
            at = data.index(cell) + byte
            file.seek(at)
            file.write(bytes((data[at] ^ mask,)))
        for connection in (self.index._writer, *self.index._readers):
            connection.execute("PRAGMA shrink_memory")

    def look(self, index: SqliteRunIndex) -> int:
        """Look up all that is stored: the index finds it, or raises a DamageError.

        :returns: the number of searches that raise a DamageError.
        """
        refused = 0

        def compare(look: Callable[[], object], expected: object) -> None:
            nonlocal refused
            try:
                self.assertEqual(look(), expected)
            except DamageError:
                refused += 1

        for ledger_id, rows in self.rows.items():
            for row in rows:
                compare(lambda row=row: index.find(row.ledger_id, row.last), row)  # type: ignore[misc]
            compare(lambda ledger_id=ledger_id: [*index.rows(ledger_id)], rows)  # type: ignore[misc]
            compare(lambda ledger_id=ledger_id: index.last_entry(ledger_id), rows[-1].last)  # type: ignore[misc]
        return refused

    def look_everywhere(self) -> None:
        """Look up all that is stored: in this index, as another process, and after a restart, in each if it opens."""
        self.look(self.index)
        for limit in (0, 1 << 30):  # a small index is checked as it is opened
            self.patch(run_index, "CHECKED_WHOLE", limit)
            with contextlib.suppress(DamageError):
                reader = SqliteRunIndex.open_to_read(RealFileSystem(), self.directory)
                assert reader is not None
                self.addCleanup(reader.close)
                if reader.complete:  # else the shell scans the entry logs
                    self.look(reader)
        self.index.close()
        for limit in (0, 1 << 30):
            self.patch(run_index, "CHECKED_WHOLE", limit)
            try:
                index = self.open(check_later=True)
                index.check()
            except DamageError:
                continue
            self.look(index)
            index.close()


class RunTests(_Damaged):
    """Rows in the table ``runs``."""

    def damage(self, row: IndexRow, byte: int, bit: int) -> None:
        """Flip a bit in the key of a row in the file: in the ledger (byte 0) or the first entry (byte 1)."""
        key = bytes((row.ledger_id, row.first, row.last, row.log_id))
        self.flip(key + b"\x10\x00\x64" + row.checksums, byte, 1 << bit)

    def damaged(self, ledgers: range, in_blocks: Sequence[int] = ()) -> Iterator[int]:
        """Make an index for each key and each bit of it, and damage the file; yield the ledger id."""
        for ledger_id, first in ((ledgers[0], 10), (12, 30), (20, 20), (ledgers[-1], 30)):
            for byte, bit in [(byte, bit) for byte in (0, 1) for bit in range(8)]:
                self.begin()
                if in_blocks:
                    self.commit([_row(known, 10) for known in in_blocks], mixed=True)
                for start in (10, 20, 30):
                    self.commit([_row(known, start) for known in ledgers])
                self.damage(_row(ledger_id, first), byte, bit)
                with self.subTest(f"ledger {ledger_id}, entry {first}, byte {byte}, bit {bit}"):
                    yield ledger_id

    def test_known_ledgers(self) -> None:
        """Rows that are added to other ledgers hide no row, wherever they are inserted."""
        for ledger_id in self.damaged(range(2, 42, 2)):
            others = [known for known in range(2, 42, 2) if known != ledger_id]
            for known in (others[::3], others[1::3], others[2::3]):
                self.commit([_row(other, 40) for other in known])
            self.commit([_row(other, start) for start in (50, 60) for other in others])
            self.look_everywhere()

    def test_ledgers_in_blocks(self) -> None:
        """First rows of ledgers that had only rows in blocks hide no row; the rows are then in order, as it seems."""
        others = [known for known in range(3, 64) if known % 8 != 4]
        for _ in self.damaged(range(4, 44, 8), others):
            for known in (others[::2], others[1::2]):
                self.commit([_row(other, 40) for other in known])
            self.look_everywhere()

    def test_deleted_ledgers(self) -> None:
        """The deletion of a ledger deletes no row of another ledger, whose ledger id was damaged."""
        for ledger_id in self.damaged(range(2, 42, 2)):
            for known in range(2, 42, 2):
                if known != ledger_id:
                    self.delete([known])
            self.look_everywhere()

    def test_rows_written_again(self) -> None:
        """Rows that replace others replace no row of another ledger; some of these commits fail for damage."""
        for ledger_id in self.damaged(range(2, 42, 2)):
            for known in range(2, 42, 2):
                newer = _row(known, 10, 27)
                if known != ledger_id:
                    with contextlib.suppress(DamageError):
                        self.index.commit(IndexBatch(runs=[newer]))
                        self.rows[known] = [newer, _row(known, 30)._replace(first=37, offset=4796, checksums=b"")]
            self.look_everywhere()

    def test_moved_last_row(self) -> None:
        """The last row of a ledger is not taken for another one after a compaction has put rows behind that one."""
        self.begin()
        self.commit([_row(4, 10), _row(36, 10)])
        self.commit([_row(4, 20)], mixed=True)
        moved = _row(4, 20)._replace(log_id=3)
        self.index.commit(IndexBatch(moved=[moved], moved_from=frozenset([2])))
        self.rows[4][-1] = moved
        self.damage(moved, 0, 3)
        self.commit([_row(4, 30)])
        self.look_everywhere()

    def test_compaction(self) -> None:
        """A compaction that would insert rows beside a damaged row fails, and the index still knows what it lacks."""
        self.begin()
        self.commit([_row(6, 10)], mixed=True)
        self.commit([_row(4, 10), _row(36, 10)])
        self.damage(_row(4, 10), 1, 0)
        moved = IndexBatch(moved=[_row(6, 10)._replace(log_id=3)], moved_from=frozenset([2]))
        self.assertRaises(DamageError, self.index.commit, moved)
        self.assertEqual(self.index.find(6, 10), _row(6, 10))
        self.assertIsNone(self.index.find(50, 10))
        self.assertTrue(self.index.complete)
        self.assertRaises(DamageError, self.index._stored.overlapped, 3, 10, 19)
        self.assertRaises(DamageError, self.index._stored.insert, moved.moved)

    def test_marked(self) -> None:
        """A mark in the file says that rows may be missed, from the commit on and until the index is made anew."""
        states = [LedgerRow(ledger_id, b"key", ledger_id == 4) for ledger_id in (4, 6, 36)]
        self.begin()
        self.commit([_row(6, 10)], mixed=True)
        self.commit([_row(4, 10), _row(36, 10)])
        self.index.commit(IndexBatch(ledgers=states))
        reader = SqliteRunIndex.open_to_read(RealFileSystem(), self.directory)
        assert reader is not None
        self.addCleanup(reader.close)
        self.damage(_row(4, 10), 1, 0)
        with sqlite3.connect(self.path, isolation_level=None) as other:
            other.execute("CREATE TRIGGER full BEFORE UPDATE ON state BEGIN SELECT RAISE(ABORT, 'not now'); END")
        known = dict(self.index._last)
        self.assertRaises(StorageError, self.index.commit, IndexBatch(runs=[_row(6, 40)]))
        self.index._last.update(known)
        self.assertIsNone(self.index.find(50, 10))
        other.execute("DROP TRIGGER full")
        other.close()
        self.commit([_row(6, 40)])
        self.assertFalse(self.index.complete)
        self.index.commit(IndexBatch(complete=True))
        self.assertFalse(self.index.complete)
        for index in (self.index, reader):
            for look in (index.find, lambda ledger_id, _: index.last_entry(ledger_id)):  # noqa: B023
                self.assertIn("beside a damaged row", str(self.assertRaises(DamageError, look, 50, 10)))
            self.assertRaises(DamageError, list, index.rows(50))
            self.assertEqual(index.find(6, 40), _row(6, 40))
        self.assertRaises(DamageError, self.index.check)
        self.assertRaises(DamageError, self.index.commit, IndexBatch(runs=[_row(6, 45)]))
        moved = IndexBatch(moved=[_row(36, 10)._replace(log_id=3)], moved_from=frozenset([2]))
        self.assertRaises(DamageError, self.index.commit, moved)
        self.commit([_row(36, 20)])
        self.index.close()
        for limit in (0, 1 << 30):
            self.patch(run_index, "CHECKED_WHOLE", limit)
            self.assertEqual(self.assertRaises(IndexDamageError, self.open, check_later=True).states, states)

    def test_without_runs(self) -> None:
        """A rebuild of the index in its place takes the mark away, with all rows."""
        self.begin()
        self.commit([_row(6, 10)], mixed=True)
        self.commit([_row(4, 10), _row(36, 10)])
        self.damage(_row(4, 10), 1, 0)
        self.commit([_row(6, 40)])
        self.index.commit(IndexBatch(without_runs=True))
        self.index.commit(IndexBatch(runs=[_row(4, 10)], complete=True))
        self.assertTrue(self.index.complete)
        self.assertIsNone(self.index.find(6, 40))


class StateTests(_Damaged):
    """States of ledgers."""

    def test_states(self) -> None:
        """A state under the id of another ledger is not replaced or deleted unnoticed, nor is its fence forgotten."""
        for batch in (IndexBatch(ledgers=[LedgerRow(7, b"key0")]), IndexBatch(deleted_ledgers=[7])):
            for known in (0, 200):  # ids of ledgers whose states are written, too
                self.begin()
                states = [LedgerRow(ledger_id, b"key%d" % (ledger_id - 4), True) for ledger_id in (4, 5)]
                self.index.commit(IndexBatch(ledgers=states))
                with open(self.path, "rb") as file:
                    data = file.read()
                at = data.index(b"key1")
                cell = data[at - 11 : at + 4]
                self.flip(cell, cell.index(5), 2)
                others = [LedgerRow(ledger_id, b"key") for ledger_id in range(1000, 1000 + known)]
                self.index.commit(IndexBatch(ledgers=others))
                self.assertTrue(self.index.complete)
                self.index.commit(IndexBatch(ledgers=[*others, *batch.ledgers], deleted_ledgers=batch.deleted_ledgers))
                self.assertFalse(self.index.complete)
                self.index.close()
                self.assertIn(states[0], self.assertRaises(IndexDamageError, self.open).states)


class BlockTests(_Damaged):
    """Keys of blocks: four rows are a block, four block sets are merged."""

    ledgers = range(3, 33, 3)

    def setUp(self) -> None:
        self.patch(blocks, "BLOCK_ROWS", 4)
        self.patch(block_writer, "FAN_IN", 4)
        self.patch(block_writer, "STEP_BLOCKS", 8)

    def damaged(self, n_flushes: int, changes: Sequence[tuple[int, int]]) -> Iterator[None]:
        """Make an index with one entry of each ledger for each flush, and damage each of its keys in the file.

        :param changes: byte of a key, 0 for its block set, and the bit to flip.
        """
        for number in count():
            for byte, bit in changes:
                self.begin()
                for entry_id in range(n_flushes):
                    self.commit([_row(ledger_id, entry_id, 1) for ledger_id in self.ledgers], mixed=True)
                keys = self.index._writer.execute("SELECT * FROM block_keys ORDER BY generation, first").fetchall()
                if number == len(keys):
                    return
                set_id, first, block = keys[number]
                cell = set_id.to_bytes(1, "big") + first + (block.to_bytes(1, "big") if block > 1 else b"")
                with self.subTest(f"set {set_id}, {first.hex()}, byte {byte}, bit {bit}"):
                    self.flip(cell, byte, 1 << bit)
                    yield

    def test_later_flushes(self) -> None:
        """Flushes of other ledgers hide no block, whatever set or place its damaged key names."""
        for _ in self.damaged(7, [(0, 0), (0, 1), (0, 2), (8, 4)]):
            for entry_id in range(4):
                for others in ((1, 2), (5, 10, 20), range(40, 50)):
                    self.commit([_row(other, entry_id, 1) for other in others], mixed=True)
            self.look_everywhere()

    def test_deleted_ledgers(self) -> None:
        """Deletions of ledgers and rows that are written again remove no row of another ledger."""
        for _ in self.damaged(5, [(0, 0), (0, 1), (8, 4)]):
            newer = [_row(ledger_id, 1, 3)._replace(log_id=3) for ledger_id in (6, 12)]
            with contextlib.suppress(DamageError):
                self.index.commit(IndexBatch(runs=newer))
                for row in newer:
                    self.rows[row.ledger_id][1:4] = [row]
            self.delete([3, 15, 18, 30])
            self.look_everywhere()

    def test_overlap(self) -> None:
        """Blocks of one set that overlap are not where searches expect them."""
        self.begin()
        first, between, last = (packed_of(packed_rows([_row(5, entry_id, 1)]))[0] for entry_id in (1, 5, 9))
        for added in ([between], [first], [last], [first, last]):
            writer = block_writer.BlockWriter(self.index._writer)
            writer.clear()
            writer._insert(1, [first, last])
            writer._insert(2, [first, last])
            self.assertRaises(DamageError, writer._insert, 1, added)

    def test_key_of_another_block(self) -> None:
        """A block is not replaced if its key is, by damage, the key of another block; the key of that one stays."""
        self.begin()
        self.commit([_row(5, 1, 1)], mixed=True)
        writer = block_writer.BlockWriter(self.index._writer)
        (found,) = writer.heads(1, 1)
        self.assertRaises(DamageError, writer.replace, blocks.Block(1, found.rows, found.number + 1), [])
        self.assertEqual(self.index.find(5, 1), _row(5, 1, 1))
