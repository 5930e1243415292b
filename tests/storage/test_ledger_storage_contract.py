"""The ledger storage passes the contract of ledger storages, on the simulated disk."""

import errno
from collections.abc import Callable
from typing import Any

import attrs

from bookkeeper_twisted.storage.index import recent_blocks, rows
from bookkeeper_twisted.storage.index.blocks import row_of_packed
from bookkeeper_twisted.storage.interfaces import ICheckpoint, IndexBatch, IndexRow, JournalPosition
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from bookkeeper_twisted.testing.contracts import ledger_storage_contract
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk
from bookkeeper_twisted.testing.disk.sim_index import SimIndex

from .ledger_storages import SMALL, Marks, compact, make_directories, open_storage


class LedgerStorageTests(ledger_storage_contract.LedgerStorageContract):
    """The contract on it, with two directories."""

    def setUp(self) -> None:
        self.disk: Any = make_directories(SimDisk())
        self.written = Marks()
        self.failing = False
        self.storage = open_storage(self.disk, self.written.persist)
        self.n_unpacked = 0
        self.patch(recent_blocks, "row_of_packed", self.unpack)
        self.disk.fail(errno.EIO, when=lambda op: self.failing and op.name == "pwrite", times=1 << 30)

    def reopen(self) -> LedgerStorage:
        self.storage.close()
        return open_storage(self.disk, self.written.persist)

    def unpack(self, packed: bytes) -> IndexRow:
        """Count a row."""
        self.n_unpacked += 1
        return row_of_packed(packed)

    def unpacked_rows(self) -> int:
        return self.n_unpacked

    def compact(self) -> Callable[[], None]:
        return compact(self.disk, self.storage)

    def while_writing(self, look: Callable[[], None], begun: ICheckpoint) -> None:
        """It looks before each operation of the disk, and when an index has committed what memory does not know."""
        commit = SimIndex.commit

        def committing(index: SimIndex, batch: IndexBatch) -> None:
            commit(index, batch)
            look()

        self.patch(SimIndex, "commit", committing)
        self.disk.observer = lambda operation: look()
        try:
            self.write(begun)
        finally:
            self.disk.observer = None
            self.patch(SimIndex, "commit", commit)

    def fail_writes(self, failing: bool) -> None:
        self.failing = failing

    def marks(self) -> tuple[JournalPosition, ...]:
        return self.written.written[-1]


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
        damaged = directory.recent_blocks.find(1, 6)
        assert damaged is not None
        self.disk.open(f"/l1/{damaged.log_id}.log").pwrite(b"\xff", damaged.offset + 40)
        before = self.n_unpacked
        found = self.storage.scattered(1, range(0, 384, 3), 100_000)
        self.assertEqual([at for at, each in enumerate(found.entries) if each is None], [2])
        self.assertEqual(self.n_unpacked - before, 128)
