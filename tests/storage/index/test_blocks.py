"""Blocks of packed rows in the SQLite index: merges, damage, what a commit changes."""

import random
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.index import block_writer, blocks, run_index, stored_blocks
from bookkeeper_twisted.storage.index.index_file import IndexDamageError
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow, IRunIndex
from bookkeeper_twisted.storage.mixed_rows import PACKED_ROW
from bookkeeper_twisted.testing.contracts import index_contract

from .test_run_index import InADirectory

_LEDGERS = range(3, 33, 3)
_TABLES = ("blocks", "block_keys")


def _row(ledger_id: int, entry_id: int, log_id: int = 0) -> IndexRow:
    return IndexRow(ledger_id, entry_id, entry_id, log_id, 1024 + 60 * ledger_id + entry_id, 60, b"abcd")


class PackTests(SynchronousTestCase):
    """Rows by columns."""

    def test_pack(self) -> None:
        """Rows of less than a block, of one, and of several with a rest are packed as each of them alone."""
        for count in (1, 127, 128, 129, 300):
            rows = [(2**40 + i, i, 1, 7, 1024 + 60 * i, 60, 2**32 - 1 - i) for i in range(count)]
            before, after = list(zip(*rows, strict=True))[:3], list(zip(*rows, strict=True))[4:]
            packed = blocks.pack_rows(count, [*before, repeat(7), *after])
            self.assertEqual(packed, [PACKED_ROW.pack(*row) for row in rows])


class PackedContractTests(InADirectory, index_contract.RunIndexContract):
    """The contract with rows in blocks, which are tiny, and merged as soon as there are two block sets."""

    def setUp(self) -> None:
        self.patch(blocks, "BLOCK_ROWS", 2)
        self.patch(block_writer, "FAN_IN", 2)
        self.patch(block_writer, "STEP_BLOCKS", 2)

    def make(self) -> IRunIndex:
        """In a new directory each."""
        return cast(IRunIndex, index_contract.PackedIndex(self.new()))

    def reopen(self, index: IRunIndex) -> IRunIndex:
        """From the files."""
        index.close()
        return cast(IRunIndex, index_contract.PackedIndex(self.open()))


class _Flushes(InADirectory):
    """Flushes of one entry of each ledger; four rows are a block, four block sets are merged."""

    def setUp(self) -> None:
        self.patch(blocks, "BLOCK_ROWS", 4)
        self.patch(block_writer, "FAN_IN", 4)
        self.patch(block_writer, "STEP_BLOCKS", 8)
        self.index = self.new()

    def flush(self, entry_ids: Sequence[int], ledger_ids: Sequence[int] = _LEDGERS, log_id: int = 0) -> None:
        for entry_id in entry_ids:
            rows = [_row(ledger_id, entry_id, log_id) for ledger_id in ledger_ids]
            self.index.commit(IndexBatch(mixed=packed_rows(rows)))

    def block_sets(self) -> list[blocks.BlockSet]:
        ((packed,),) = self.index._writer.execute("SELECT generations FROM state WHERE rowid = 1").fetchall()
        return blocks.block_sets_from(packed)

    def count(self, table: str) -> int:
        ((count,),) = self.index._writer.execute(f"SELECT count(*) FROM {table}").fetchall()
        return int(count)

    def ids(self, ledger_id: int) -> list[int]:
        return [entry_id for row in self.index.rows(ledger_id) for entry_id in range(row.first, row.last + 1)]


class BlockTests(_Flushes):
    """What commits do to blocks."""

    def test_merged(self) -> None:
        """Block sets stay few however many flushes there were; every row is found, in a full block or nearly so."""
        self.flush(range(100))
        by_level = [[each.level for each in self.block_sets()].count(level) for level in range(5)]
        self.assertLess(max(by_level), 8)
        self.assertGreater(max(each.level for each in self.block_sets()), 1)
        self.assertEqual(self.count("runs"), 0)
        self.assertLess(self.count("blocks"), 2 * 100 * len(_LEDGERS) // 4)
        for ledger_id in _LEDGERS:
            self.assertEqual(self.ids(ledger_id), [*range(100)])
            self.assertEqual(self.index.last_entry(ledger_id), 99)
        self.assertEqual(self.index.live(), {0: (100 * len(_LEDGERS), 6000 * len(_LEDGERS))})
        self.assertGreater(self.index.check(), 0)

    def test_few_are_asked(self) -> None:
        """A look-up finds a row by few of many block sets, in the middle of merges, too; it denies one by all."""
        asked = list[int]()
        floor = stored_blocks.StoredBlocks.floor

        def count(stored: stored_blocks.StoredBlocks, set_id: int, key: bytes) -> blocks.Block | None:
            asked.append(set_id)
            return floor(stored, set_id, key)

        self.patch(blocks, "BLOCK_ROWS", 8)
        self.patch(block_writer, "MERGED_FOR_EACH", 1)
        self.flush(range(60))
        block_sets = self.block_sets()
        self.assertIn(blocks.SOURCE, [each.role for each in block_sets])
        self.patch(stored_blocks.StoredBlocks, "floor", count)
        for ledger_id in _LEDGERS:
            for entry_id in range(60):
                self.assertEqual(self.index.find(ledger_id, entry_id), _row(ledger_id, entry_id))
        self.assertLess(len(asked), 5 * 60 * len(_LEDGERS))
        asked.clear()
        self.assertIsNone(self.index.find(3, 60))
        self.assertEqual(sorted(asked), sorted(each.set_id for each in block_sets))

    def test_order_of_block_sets(self) -> None:
        """What a block set has of a ledger lies behind what those before it in the list have."""
        lowest = "SELECT min(first) FROM block_keys WHERE generation = ?"
        for entry_id in range(80):
            self.flush([entry_id])
            set_ids = [each.set_id for each in self.block_sets() if each.role != blocks.SOURCE]
            begins = [self.index._writer.execute(lowest, (set_id,)).fetchone() for set_id in set_ids]
            self.assertEqual(begins, sorted(begins))

    def test_share_of_a_merge(self) -> None:
        """A commit merges a bounded number of rows, and the next ones go on, after a restart too."""
        self.flush(range(4), range(200))
        self.assertIn(blocks.TARGET, [each.role for each in self.block_sets()])
        self.flush([4], [0])
        targets = [each for each in self.block_sets() if each.role == blocks.TARGET]
        self.index.close()
        self.index = self.open()
        self.assertEqual([each for each in self.block_sets() if each.role == blocks.TARGET], targets)
        count = 5
        while targets[0] in self.block_sets():
            self.flush([count], [0, 1])
            count += 1
        self.assertIn(targets[0]._replace(role=blocks.WHOLE), self.block_sets())
        self.assertEqual([self.ids(0), self.ids(1)], [[*range(count)], [*range(4), *range(5, count)]])
        self.assertTrue(all(self.ids(ledger_id) == [*range(4)] for ledger_id in range(2, 200)))

    def test_uneven_block_sets(self) -> None:
        """Block sets of other ledgers each, of many rows or few, are merged in order."""
        drawn = random.Random(3)
        written = dict[int, list[int]]()
        for entry_id in range(60):
            low = drawn.randrange(100)
            ledger_ids = sorted(drawn.sample(range(low, low + 60), drawn.choice((1, 5, 50))))
            self.flush([entry_id], ledger_ids)
            for ledger_id in ledger_ids:
                written.setdefault(ledger_id, []).append(entry_id)
        self.assertEqual({ledger_id: self.ids(ledger_id) for ledger_id in range(170)}, {
            ledger_id: written.get(ledger_id, []) for ledger_id in range(170)
        })  # fmt: skip
        for ledger_id, entry_ids in written.items():
            self.assertTrue(all(self.index.find(ledger_id, entry_id) for entry_id in entry_ids))

    def test_deleted_sources(self) -> None:
        """A merge ends when nothing is left of what it merges; the next one has a target of its own."""
        self.flush(range(4), range(200))
        self.index.commit(IndexBatch(deleted_ledgers=[*range(100, 200)]))
        self.flush(range(4, 9), range(3))
        self.index.commit(IndexBatch(deleted_ledgers=[*range(3, 100)]))
        self.flush(range(9, 40), [1, 0, 2])
        self.assertEqual([self.ids(ledger_id) for ledger_id in range(4)], [[*range(40)]] * 3 + [[]])
        self.index.commit(IndexBatch(deleted_ledgers=[0, 1, 2]))
        self.assertEqual((self.block_sets(), self.count("blocks")), ([], 0))
        self.assertEqual(self.index.live(), {})

    def test_late_rows(self) -> None:
        """Rows that replace stored ones are in the table of runs, and so are those they replaced a part of."""
        self.flush(range(3))
        long = IndexRow(3, 3, 9, 1, 5000, 60, b"abcd")
        self.index.commit(IndexBatch(mixed=packed_rows([long, _row(6, 3, 1)])))
        self.index.commit(IndexBatch(mixed=packed_rows([_row(3, 1, 2), _row(3, 5, 2), _row(6, 4, 2)])))
        found = [(row.first, row.last, row.log_id) for row in self.index.rows(3)]
        self.assertEqual(found, [(0, 0, 0), (1, 1, 2), (2, 2, 0), (3, 4, 1), (5, 5, 2), (6, 9, 1)])
        self.assertEqual(self.ids(6), [*range(5)])
        self.assertEqual(self.count("runs"), 4)

    def test_order_of_logs(self) -> None:
        """The rows of a flush may come log by log: a ledger may have lower entries in a later one."""
        low, high = _row(3, 5, 1), IndexRow(3, 20, 29, 0, 1024, 60, b"abcd")
        self.index.commit(IndexBatch(mixed=[*packed_rows([high]), *packed_rows([low])]))
        self.flush([22, 30], [3], 2)
        self.assertEqual(self.ids(3), [5, *range(20, 31)])
        self.assertEqual([row.log_id for row in self.index.rows(3)], [1, 0, 2, 0, 2])

    def test_known_and_new_ledgers(self) -> None:
        """After a restart rows of new ledgers lie beside those of ledgers in either table, wherever these end."""
        runs = [IndexRow(ledger_id, 0, 4, 0, 1024, 60, b"abcd") for ledger_id in (5, 6, 30)]
        self.index.commit(IndexBatch(runs=runs))
        self.flush(range(3), range(10, 40, 3))
        for ledger_ids in (range(1, 50), range(2, 60, 7), (5, 6, 10, 30, 37)):
            self.index.close()
            self.index = self.open()
            self.flush([2, 4], ledger_ids, log_id=1)
        for ledger_id in range(60):
            expected = {*range(5)} if ledger_id in (5, 6, 30) else set[int]()
            if ledger_id in range(10, 40, 3):
                expected |= {0, 1, 2}
            if ledger_id in range(1, 50) or ledger_id in range(2, 60, 7):
                expected |= {2, 4}
            self.assertEqual(self.ids(ledger_id), sorted(expected))

    def test_moved(self) -> None:
        """Copies take the place of rows in blocks, of those logs only."""
        self.flush(range(5))
        self.flush(range(5, 9), log_id=1)
        copies = [IndexRow(ledger_id, 0, 7, 7, 4096, 60, b"efgh") for ledger_id in _LEDGERS]
        self.index.commit(IndexBatch(moved=copies, moved_from=frozenset([0])))
        for ledger_id in _LEDGERS:
            found = [(row.first, row.last, row.log_id) for row in self.index.rows(ledger_id)]
            self.assertEqual(found, [(0, 4, 7), *((entry_id, entry_id, 1) for entry_id in range(5, 9))])
        self.index.commit(IndexBatch(mixed=packed_rows([IndexRow(2, 0, 9, 1, 1024, 60, b"abcd")])))
        parts = [IndexRow(2, 2, 3, 7, 1024, 60, b"efgh"), IndexRow(2, 6, 7, 7, 2048, 60, b"efgh")]
        self.index.commit(IndexBatch(moved=parts, moved_from=frozenset([1])))
        found = [(row.first, row.last, row.log_id) for row in self.index.rows(2)]
        self.assertEqual(found, [(0, 1, 1), (2, 3, 7), (4, 5, 1), (6, 7, 7), (8, 9, 1)])
        self.assertEqual(self.index.live().keys(), {1, 7})
        self.assertEqual(self.index.page((-1, -1), 9999, [0]), [])

    def test_pages_of_many_block_sets(self) -> None:
        """Pages of any size, of some logs or all, give every row once and in order."""
        for log_id in range(5):
            self.flush(range(3 * log_id, 3 * log_id + 3), log_id=log_id)
        self.index.commit(IndexBatch(runs=[IndexRow(6, 20, 29, 5, 1024, 60, b"abcd")]))
        every = sorted(chain.from_iterable(map(self.index.rows, _LEDGERS)))
        for limit in (1, 7, 500):
            for log_ids in (None, [1, 3], [5]):
                found: list[IndexRow] = []
                after = (-1, -1)
                while page := self.index.page(after, limit, log_ids):
                    found += page
                    after = page[-1].ledger_id, page[-1].first
                self.assertEqual(found, [row for row in every if log_ids is None or row.log_id in log_ids])


class DamagedBlockTests(_Flushes):
    """Whatever value of a block is wrong: what a look-up finds is right, and nothing that was stored is denied (S5)."""

    def execute(self, text: str) -> None:
        self.index._writer.execute(text)

    def look(self, n_entries: int = 30) -> int:
        """Look everything up, so many entries of each ledger.

        :returns: how many entries are not given for damage.
        """
        missing = 0
        for ledger_id in _LEDGERS:
            for entry_id in range(n_entries):
                try:
                    self.assertEqual(self.index.find(ledger_id, entry_id), _row(ledger_id, entry_id))
                except DamageError:
                    missing += 1
            for look, expected in ((self.ids, [*range(n_entries)]), (self.index.last_entry, n_entries - 1)):
                try:
                    self.assertEqual(look(ledger_id), expected)
                except DamageError:
                    continue
        return missing

    def test_damage(self) -> None:
        """Look-ups of rows in damaged blocks fail, most others do not; commits go on."""
        self.flush(range(30))
        tables = {name: self.index._writer.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}
        drawn = random.Random(1)
        changes = [
            "blocks SET crc = crc + 1 WHERE id =", "blocks SET packed = x'00' WHERE id =",
            "blocks SET packed = 'text' WHERE id =", "blocks SET packed = packed || packed WHERE id =",
            "blocks SET crc = 'text' WHERE id =", "blocks SET id = 7777 WHERE id =",
            "block_keys SET block = block + 1 WHERE block =", "block_keys SET block = 'text' WHERE block =",
        ]  # fmt: skip
        for number, (set_id, first, block) in enumerate(drawn.sample(tables["block_keys"], 24)):
            change = changes[number % len(changes)]
            with self.subTest(f"{set_id}, {first.hex()}, {change}"):
                self.execute(f"UPDATE {change} {block}")
                self.assertIn(self.look(), range(1, 100))
                for name, stored in tables.items():
                    self.execute(f"DELETE FROM {name}")
                    self.index._writer.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", stored)
                self.assertEqual(self.look(), 0)

    def damaged_keys(self, above: int, every: int, changes: Sequence[tuple[int, int]]) -> Iterator[None]:
        """Open the index with one damaged key after the other, where it lies in the file.

        :param above: id of the last of the block sets that stay as they are.
        :param every: of how many keys one is damaged.
        :param changes: bytes of a key, -1 for its block set, and bits to be flipped.
        """
        self.patch(run_index, "check_to_open", lambda *_: None)
        self.flush(range(30))
        keys = f"SELECT * FROM block_keys WHERE generation > {above} AND block > 1 ORDER BY generation, first"
        stored = self.index._writer.execute(keys).fetchall()
        self.index.close()
        with open(self.path, "rb") as file:
            intact = file.read()
        for set_id, first, block in stored[::every]:
            cell = set_id.to_bytes(1, "big") + first + block.to_bytes(1 if block < 128 else 2, "big")
            self.assertEqual(intact.count(cell), 1)
            for offset, bit in changes:
                damaged = bytearray(intact)
                damaged[intact.index(cell) + 1 + offset] ^= bit
                with self.subTest(f"set {set_id}, {first.hex()}, byte {offset}, bit {bit}"):
                    with open(self.path, "wb") as file:
                        file.write(damaged)
                    self.index = self.open()
                    yield
                    self.index.close()

    def test_damaged_keys(self) -> None:
        """A block under another key than it was written with hides nothing, whatever order the keys are in."""
        for _ in self.damaged_keys(1, 5, [(offset, bit) for offset in (-1, 6, 7, 14, 15) for bit in (1, 4, 0x80)]):
            self.assertIn(self.look(), range(1, 100))

    def test_damaged_keys_of_the_last_entries(self) -> None:
        """A ledger does not end where the block with its last entry is under another key."""
        for _ in self.damaged_keys(37, 1, [(7, 0x40), (6, 0x40)]):
            self.assertIn(self.look(), range(1, 100))

    def test_merges_beside_damaged_keys(self) -> None:
        """Merges do not take such a block for one that is not there, and commits go on."""
        for _ in self.damaged_keys(22, 1, [(-1, 4), (7, 32), (15, 4)]):
            self.flush(range(30, 42))
            self.assertIn(self.look(42), range(1, 150))

    def test_damaged_block_set(self) -> None:
        """What other block sets hold is found, whichever is damaged."""
        self.flush(range(30))
        missing = 0
        for each in self.block_sets():
            damaged = f"WHERE id IN (SELECT block FROM block_keys WHERE generation = {each.set_id})"
            self.execute(f"UPDATE blocks SET crc = crc + 1 {damaged}")
            missing += self.look()
            self.execute(f"UPDATE blocks SET crc = crc - 1 {damaged}")
        self.assertEqual(missing, 30 * len(_LEDGERS))

    def test_commits_beside_damage(self) -> None:
        """A damaged block does not keep other entries from being committed, nor their ledgers from being deleted."""
        self.flush(range(30))
        fourth = "SELECT block FROM block_keys ORDER BY generation, first LIMIT 1 OFFSET 3"
        self.execute(f"UPDATE blocks SET crc = crc + 1 WHERE id = ({fourth})")
        self.index.close()
        self.index = self.open()  # which has no last entries in mind
        self.flush(range(30, 60))
        for ledger_id in _LEDGERS:
            for entry_id in range(30, 60):
                self.assertEqual(self.index.find(ledger_id, entry_id), _row(ledger_id, entry_id))
        self.assertGreater(self.look(60), 0)
        self.index.commit(IndexBatch(deleted_ledgers=[*_LEDGERS]))
        self.assertLess(self.index.live()[0][0], 30 * len(_LEDGERS))

    def test_older_copies_beside_damage(self) -> None:
        """An entry that is written again hides its older copy, whichever block beside or around it is damaged (S9)."""
        self.flush(range(6))
        self.index.commit(IndexBatch(mixed=packed_rows([_row(3, entry_id) for entry_id in range(6, 30, 2)])))
        blocks_of_rows = [number for (number,) in self.index._writer.execute("SELECT id FROM blocks ORDER BY id")]
        again = [_row(ledger_id, entry_id, 1) for ledger_id in _LEDGERS for entry_id in range(6)]
        again += [_row(3, entry_id, 1) for entry_id in range(6, 30, 2)]
        whole = IndexRow(3, 0, 29, 1, 1024, 60, b"abcd")
        self.index.close()
        with open(self.path, "rb") as file:
            intact = file.read()
        for damaged in blocks_of_rows:
            for batch in (IndexBatch(runs=again), IndexBatch(mixed=packed_rows(again)), IndexBatch(runs=[whole])):
                for is_known in (False, True):  # whether the index has the last entries in mind
                    with open(self.path, "wb") as file:
                        file.write(intact)
                    self.index = self.open()
                    if is_known:
                        self.index._learn(block_writer.BlockWriter(self.index._writer), batch)
                    self.execute(f"UPDATE blocks SET crc = crc + 1 WHERE id = {damaged}")
                    self.index.commit(batch)
                    wanted = {(row.ledger_id, row.first): row for row in again}
                    if whole in batch.runs:
                        wanted = {(3, entry_id): whole for entry_id in range(30)}
                    for (ledger_id, entry_id), row in wanted.items():
                        with self.subTest(f"{damaged}, {is_known}, {row}"):
                            self.assertEqual(self.index.find(ledger_id, entry_id), row)
                    self.index.close()

    def test_damaged_list(self) -> None:
        """Without the list of block sets nothing is denied, nothing committed, and the index not opened again."""
        self.flush(range(5))
        self.execute("UPDATE state SET generations = substr(generations, 21)")
        self.assertRaises(DamageError, self.index.find, 3, 0)
        self.assertRaises(DamageError, self.index.last_entry, 3)
        self.assertRaises(DamageError, self.flush, [5])
        self.index.close()
        self.assertRaises(IndexDamageError, self.open)
