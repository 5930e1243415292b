"""Our index becomes that of ``DbLedgerStorage``."""

import struct

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.apache.exporting import Exported, export_index
from bookkeeper_twisted.storage.apache.importing import Imported, import_index
from bookkeeper_twisted.storage.apache.ledger_data import LedgerData, decode
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.index.rows import row_bytes
from bookkeeper_twisted.storage.interfaces import IndexBatch, LedgerRow

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.sim_key_values import SimKeyValues
from ..entries import run, uneven

STATES = [LedgerRow(1, b"key"), LedgerRow(2, b"", True), LedgerRow(3, b"k", False, b"lac"), LedgerRow(777, b"k", True)]


class ExportTests(SynchronousTestCase):
    """Entries in two logs, with states."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        log = EntryLogWriter.open(self.disk, "/", 2000)
        runs = [run(1, 0, 20), uneven(2, 0, [5, 9, 0, 70]), run(1, 20, 30), run(3, 7, 9)]
        rows = [row for each in runs for row in log.append(each)]
        log.sync()
        log.close()
        self.index = SimIndex.open(self.disk, "/")
        self.index.commit(IndexBatch(runs=rows, ledgers=STATES, complete=True))
        self.advanced: list[int] = []

    def export(self) -> Exported:
        """Do it."""
        return export_index(self.disk, "/", self.index, SimKeyValues.open, self.advanced.append)

    def test_pairs(self) -> None:
        """Each entry has its place, behind the size word; each ledger its state."""
        self.assertEqual(self.export(), Exported("/", 63, 4))
        database = SimKeyValues.open(self.disk, "/locations", False)
        for key, value in database.items():
            (location,) = struct.unpack(">q", value)
            file = self.disk.open(f"/{location >> 32:x}.log")
            self.assertEqual(file.pread(16, location & 0xFFFFFFFF), key)
        self.assertEqual(len([*database.items()]), 63)
        states = SimKeyValues.open(self.disk, "/ledgers", False).items()
        self.assertEqual([decode(*pair) for pair in states], [LedgerData(row) for row in STATES])
        self.assertEqual(sum(self.advanced), sum(row_bytes(row) for row in self.index.page((-1, -1), 99)))

    def test_and_back(self) -> None:
        """What is imported again is what there was."""
        before = [(r.ledger_id, r.first, r.last, r.log_id, r.offset, r.sizes) for r in self.index.page((-1, -1), 99)]
        self.export()
        self.assertTrue(SimIndex.open(self.disk, "/").complete)
        imported = import_index(self.disk, "/", "/", SimIndex.open, SimKeyValues.open)
        self.assertEqual(imported, Imported(63, 4))
        index = SimIndex.open(self.disk, "/")
        after = [(r.ledger_id, r.first, r.last, r.log_id, r.offset, r.sizes) for r in index.page((-1, -1), 99)]
        self.assertEqual(after, before)
        self.assertEqual([*index.ledgers()], STATES)

    def test_begun_anew(self) -> None:
        """What an export before has left is not in this one."""
        self.export()
        self.index.commit(IndexBatch(deleted_ledgers=[1, 777]))
        self.assertEqual(self.export(), Exported("/", 13, 2))
        database = SimKeyValues.open(self.disk, "/locations", False)
        self.assertEqual(len([*database.items()]), 13)

    def test_deleted_fence(self) -> None:
        """A fenced ledger that was deleted is exported as a fenced one (S3)."""
        self.index.commit(IndexBatch(ledgers=[LedgerRow(9, b"", True, forgotten_at=1_700_000_000)]))
        self.export()
        pairs = [decode(*pair) for pair in SimKeyValues.open(self.disk, "/ledgers", False).items()]
        self.assertIn(LedgerData(LedgerRow(9, b"", True)), pairs)
