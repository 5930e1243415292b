"""The ledger storage passes the contract of ledger storages, on the simulated disk."""

import errno
import tempfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs

from bookkeeper_twisted.storage.entry_log.format import HEADER_SIZE
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import block_writer, blocks, looked_up, recent_blocks, rows, scattered
from bookkeeper_twisted.storage.index.blocks import columns_of, row_of_packed
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import (
    ICheckpoint,
    IFileSystem,
    IndexBatch,
    IndexRow,
    IRunIndex,
    JournalPosition,
)
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from bookkeeper_twisted.testing.contracts import ledger_storage_contract, storage_life
from bookkeeper_twisted.testing.contracts.storage_life import ENTRIES

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from .ledger_storages import DIRECTORIES, SMALL, LogMarks, compact, make_directories, open_storage


class LedgerStorageTests(ledger_storage_contract.LedgerStorageContract):
    """The contract on it, with two directories."""

    index_kind: type = SimIndex

    def setUp(self) -> None:
        self.disk: Any = make_directories(SimDisk())
        self.written = LogMarks()
        self.failing = False
        self.storage = self.open()
        self.n_unpacked = 0
        self.patch(scattered, "columns_of", self.unpack)
        for module in (recent_blocks, looked_up):
            self.patch(module, "row_of_packed", self.unpack_one)
        self.n_reopened = 0
        self.fail_when_told()

    def open(self) -> LedgerStorage:
        """Open what is stored."""
        return open_storage(self.disk, self.written.persist)

    def reopen(self) -> LedgerStorage:
        """By turns after a power cut, which leaves what was synced, and after an end."""
        self.n_reopened += 1
        before = self.disk
        if self.n_reopened % 2 == 0:
            self.disk = before.crash(())
            self.fail_when_told()
        self.storage.close()  # on the disk that it was on
        return self.open()

    def fail_when_told(self) -> None:
        """Have writes of the disk fail while :attr:`failing`."""
        self.disk.fail(errno.EIO, when=lambda op: self.failing and op.name == "pwrite", times=1 << 30)

    def unpack(self, packed: bytes) -> Sequence[tuple[int, ...]]:
        """Count the rows."""
        found = columns_of(packed)
        self.n_unpacked += len(found[0])
        return found

    def unpack_one(self, packed: bytes) -> IndexRow:
        """Count the row."""
        self.n_unpacked += 1
        return row_of_packed(packed)

    def unpacked_rows(self) -> int:
        return self.n_unpacked

    def compact(self, chance: Random) -> Callable[[], None]:
        return compact(self.disk, self.storage, lambda log_id: chance.random() < 0.6)

    def damage(self, chance: Random) -> object:
        """Change some bytes of an entry log behind its header."""
        logs = [f"{path}/{name}" for path in DIRECTORIES for name in self.disk.list(path) if name.endswith(".log")]
        if not logs:
            return None
        path = chance.choice(logs)
        file = self.disk.open(path)
        offset = chance.choice((HEADER_SIZE, chance.randrange(HEADER_SIZE, file.size() + 1)))
        data = file.pread(chance.choice((1, 512, 1 << 20)), offset)
        file.pwrite(bytes(each ^ 0x55 for each in data), offset)
        file.sync()
        return path, offset, len(data)

    def check_index(self, ledger_id: int) -> None:
        for directory in self.storage.directories:
            rows = list(directory.index.rows(ledger_id))
            self.assertEqual([row for row in directory.index.page((ledger_id, -1), 1000) if row[0] == ledger_id], rows)
            for entry_id in ENTRIES:
                holding = [row for row in rows if row.first <= entry_id <= row.last]
                self.assertEqual([directory.index.find(ledger_id, entry_id)], holding or [None])

    def while_writing(self, look: Callable[[], None], begun: ICheckpoint) -> None:
        """It looks before each operation of the disk, and when an index has committed what memory does not know."""
        kind: Any = self.index_kind
        commit = kind.commit

        def committing(index: IRunIndex, batch: IndexBatch) -> None:
            commit(index, batch)
            look()

        self.patch(kind, "commit", committing)
        self.disk.observer = lambda operation: look()
        try:
            self.write(begun)
        finally:
            self.disk.observer = None
            self.patch(kind, "commit", commit)

    def fail_writes(self, failing: bool) -> None:
        self.failing = failing

    def log_marks(self) -> tuple[JournalPosition, ...]:
        return self.written.written[-1]


class RefusedRowsTests(LedgerStorageTests):
    """The contract on one whose index often takes no rows: what is in entry logs already is not written again."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(storage_life, "_STEPS", {**storage_life._STEPS, "fail": 6, "forget": 3})

    def fail_when_told(self) -> None:
        """Have commits of the indexes fail while :attr:`failing`; on a full disk, each of them by turns."""
        self.disk.fail(errno.EIO, when=lambda op: self.failing and op.name == "commit", times=1 << 30)


class PageCacheTests(LedgerStorageTests):
    """The contract on one whose file system tells what memory holds, which is everything, and that packs its rows."""

    def setUp(self) -> None:
        super().setUp()
        self.disk.resident = lambda: True
        self.patch(rows, "MANY_ROWS", 2)

    def test_striped_ledger_is_found(self) -> None:
        """All single entries of a striped ledger that memory holds are found by one look-up, those damaged excepted."""
        self.storage.close()
        self.storage = open_storage(self.disk, self.written.persist, attrs.evolve(SMALL, log_size_limit=1 << 20))
        for entry_id in range(0, 900, 3):
            self.storage.add(ledger_storage_contract.run(1, entry_id))
        self.checkpoint()
        self.storage.load(1, 0, 0)
        directory = self.storage.directories[1]
        damaged = directory.recent.find(1, 6)
        assert damaged is not None
        self.disk.open(f"/l1/{damaged.log_id}.log").pwrite(b"\xff", damaged.offset + 40)
        before = self.n_unpacked
        found = self.storage.scattered((1,) * 128, range(0, 384, 3), 100_000)
        self.assertEqual([at for at, each in enumerate(found.entries) if each is None], [2])
        self.assertTrue(128 <= self.n_unpacked - before <= 256)


class SqliteIndexTests(LedgerStorageTests):
    """The contract on one with the index of a bookie, whose rows are packed and merged all the time."""

    index_kind = SqliteRunIndex
    n_lives = 20

    def setUp(self) -> None:
        self.indexes = tempfile.TemporaryDirectory()
        self.addCleanup(self.indexes.cleanup)
        self.patch(rows, "MANY_ROWS", 2)
        self.patch(blocks, "BLOCK_ROWS", 2)
        self.patch(block_writer, "FAN_IN", 2)
        self.patch(block_writer, "STEP_BLOCKS", 2)
        super().setUp()

    def open(self) -> LedgerStorage:
        real = RealFileSystem()
        for path in DIRECTORIES:
            real.make_directories(f"{self.indexes.name}{path}")

        def open_index(fs: IFileSystem, path: str, fresh: bool = False) -> IRunIndex:
            return SqliteRunIndex.open(real, f"{self.indexes.name}{path}", fresh)

        return open_storage(self.disk, self.written.persist, make_index=open_index)
