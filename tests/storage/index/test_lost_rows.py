"""Rows that are lost from an index file while it is open: the index tells that they are missing (S3, S5, S8)."""

import contextlib
from collections.abc import Iterator
from random import Random

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import block_writer, blocks, run_index
from bookkeeper_twisted.storage.index.index_file import IndexDamageError, TableSizes, count_rows, read_totals
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow, LedgerRow

from .test_run_index import InADirectory

_LEAVES = (0x0A, 0x0D)
"""The types of the pages of SQLite that have rows and no pages below them."""

_PAGE = 4096


def _row(ledger_id: int, first: int, last: int, log_id: int = 0) -> IndexRow:
    return IndexRow(ledger_id, first, last, log_id, 1024 + 60 * ledger_id + first, 60, b"abcd")


def _state(ledger_id: int) -> LedgerRow:
    return LedgerRow(ledger_id, b"key", True)


def _totals(index: SqliteRunIndex) -> TableSizes | None:
    return read_totals(index._writer)


class TotalsTests(InADirectory):
    """The numbers of rows that each commit stores."""

    def test_any_commits(self) -> None:
        """They are the numbers of rows in the tables after commits of any kind."""
        self.patch(blocks, "BLOCK_ROWS", 3)
        self.patch(block_writer, "FAN_IN", 2)
        self.patch(block_writer, "STEP_BLOCKS", 4)
        for seed in range(20):
            chance, index, ends = Random(seed), self.new(), dict[int, int]()

            def fresh(ledger_id: int, chance: Random = chance, ends: dict[int, int] = ends) -> IndexRow:
                first = max(0, ends.get(ledger_id, 0) - chance.choice((0, 0, 0, 4)))
                ends[ledger_id] = max(first + chance.randint(1, 5), ends.get(ledger_id, 0))
                return _row(ledger_id, first, first + chance.randint(0, 4), chance.randrange(3))

            for number in range(40):
                some = sorted(chance.sample(range(12), chance.randint(0, 8)))
                batch = IndexBatch(
                    runs=[fresh(ledger_id) for ledger_id in some if chance.random() < 0.3],
                    mixed=packed_rows([fresh(ledger_id) for ledger_id in some]),
                    ledgers=[_state(ledger_id) for ledger_id in some if chance.random() < 0.5],
                    deleted_ledgers=[each for each in range(12) if chance.random() < 0.05],
                    without_runs=chance.random() < 0.03,
                )  # fmt: skip
                if number % 7 == 6:
                    moved = [_row(ledger_id, 0, 9, 7 + number) for ledger_id in some]
                    batch = IndexBatch(moved=moved, moved_from=frozenset([chance.randrange(3)]))
                index.commit(batch)
                self.assertEqual(_totals(index), tuple(count_rows(index._writer)), f"seed {seed}, commit {number}")
            index.close()

    def test_states(self) -> None:
        """A state that is stored twice by one commit counts once, and states beside a damaged one count."""
        index = self.new()
        index.commit(IndexBatch(ledgers=[_state(ledger_id) for ledger_id in (1, 2, 2, 3)]))
        self.assertEqual(_totals(index), (0, 3, 0))
        index._writer.execute("UPDATE ledgers SET crc = crc + 1 WHERE ledger = 1")
        index.commit(IndexBatch(ledgers=[_state(ledger_id) for ledger_id in (1, 2, 3, 4)]))
        self.assertEqual(_totals(index), (0, 4, 0))

    def test_of_earlier_versions(self) -> None:
        """A file without them, or with the list that earlier versions write instead, gets them by the next commit."""
        index = self.new()
        index.commit(IndexBatch(runs=[_row(1, 0, 9)]))
        by_list = "UPDATE state SET generations = (SELECT generations FROM state WHERE rowid = 1)"
        for change in ("DELETE FROM state WHERE rowid = 3", by_list):
            index._writer.execute(change)
            self.assertIsNone(_totals(index))
            index.check()
            index.commit(IndexBatch(runs=[_row(_fresh_id(index), 0, 9)], ledgers=[_state(5)]))
            self.assertEqual(_totals(index), tuple(count_rows(index._writer)))

    def test_of_a_small_file(self) -> None:
        """A start adds them to a small file of an earlier version, before a page can be damaged."""
        index = self.new()
        index.commit(IndexBatch(runs=[_row(1, 0, 9)]))
        index._writer.execute("DELETE FROM state WHERE rowid = 3")
        index.close()
        self.assertEqual(_totals(self.open()), (1, 0, 0))

    def test_damaged(self) -> None:
        """If they are damaged, nothing is committed, and the file is not opened again."""
        index = self.new()
        index.commit(IndexBatch(runs=[_row(1, 0, 9)]))
        index._writer.execute("UPDATE state SET generations = zeroblob(28) WHERE rowid = 3")
        self.assertRaises(DamageError, index.commit, IndexBatch(runs=[_row(2, 0, 9)]))
        index.close()
        self.assertRaises(IndexDamageError, self.open)


def _fresh_id(index: SqliteRunIndex) -> int:
    return 100 + index.commits


class LostRowTests(InADirectory):
    """One flipped bit in the number of cells of a page hides rows, from searches and from later commits."""

    def begin(self) -> None:
        self.index = self.new()
        self.index._writer.execute("PRAGMA synchronous = OFF")
        self.runs = [_row(ledger_id, 0, 9) for ledger_id in range(0, 600, 2)]
        self.mixed = [_row(ledger_id, 0, 0) for ledger_id in range(1, 12_000, 2)]
        states = [_state(ledger_id) for ledger_id in range(300)]
        self.patch(blocks, "BLOCK_ROWS", 16)
        self.index.commit(IndexBatch(runs=self.runs, ledgers=states, complete=True))
        self.index.commit(IndexBatch(mixed=packed_rows(self.mixed)))

    def damages(self) -> Iterator[None]:
        """For each page with rows, open the index, and then damage this page in the file."""
        self.begin()
        self.index.close()
        with open(self.path, "rb") as file:
            intact = file.read()
        for start in range(0, len(intact), _PAGE):
            at = start or 100  # the first page begins with the head of the file
            count = int.from_bytes(intact[at + 3 : at + 5], "big")
            if intact[at] not in _LEAVES or count < 2 or not start:
                continue
            with open(self.path, "wb") as file:
                file.write(intact)
            self.index = self.open()
            with open(self.path, "r+b") as file:
                file.seek(at + 3)
                file.write((count ^ 1 << count.bit_length() - 1).to_bytes(2, "big"))
            for connection in (self.index._writer, *self.index._readers):
                connection.execute("PRAGMA shrink_memory")
            with self.subTest(f"page {1 + start // _PAGE}, {count} cells"):
                yield
            self.index.close()

    def change(self) -> None:
        """Delete and add ledgers everywhere, so that pages are written again."""
        gone = {*range(5, 12_000, 97), *range(4, 600, 46)}
        self.runs = [row for row in self.runs if row.ledger_id not in gone]
        self.mixed = [row for row in self.mixed if row.ledger_id not in gone]
        self.index.commit(IndexBatch(deleted_ledgers=[each for each in gone if each > 300]))
        self.index.commit(IndexBatch(ledgers=[_state(ledger_id) for ledger_id in range(3, 300, 7)]))
        self.runs = [row for row in self.runs if row.ledger_id > 300 or row.ledger_id not in gone]

    def denied(self, index: SqliteRunIndex) -> int:
        """Return how many of the stored rows are denied."""
        count = 0
        for row in (*self.runs, *self.mixed[::5]):
            with contextlib.suppress(DamageError):
                count += index.find(row.ledger_id, row.first) is None
        return count

    def test_check(self) -> None:
        """A check finds it, whatever was committed meanwhile; from then on nothing is denied, nor after a restart."""
        found = 0
        for _ in self.damages():
            with contextlib.suppress(DamageError):
                self.change()
            try:
                self.index.check()
            except DamageError:
                found += 1
            self.assertEqual(self.denied(self.index), 0)
            self.index.close()
            with contextlib.suppress(DamageError):
                reader = SqliteRunIndex.open_to_read(RealFileSystem(), self.directory)
                assert reader is not None
                self.addCleanup(reader.close)
                self.assertEqual(self.denied(reader), 0)
            with contextlib.suppress(IndexDamageError):
                self.index = self.open()
                self.assertEqual(self.denied(self.index), 0)
                self.assertLessEqual({*range(300)}, {row.ledger_id for row in self.index.ledgers()})
        self.assertGreater(found, 10)

    def test_large(self) -> None:
        """In a large index, ledger states are counted at the start, and the other rows by the check after it."""
        self.patch(run_index, "CHECKED_WHOLE", 0)
        self.begin()
        self.index._writer.execute("DELETE FROM runs WHERE ledger = 300")
        self.index.close()
        self.index = self.open(check_later=True)
        self.assertRaises(DamageError, self.index.check)
        self.index._writer.execute("DELETE FROM ledgers WHERE ledger = 200")
        self.index.close()
        self.assertRaises(IndexDamageError, self.open, check_later=True)
