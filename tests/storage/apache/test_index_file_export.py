"""Index files of Apache's interleaved storage are written as its bookie writes them."""

from contextlib import closing

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.apache.exporting import Exported
from bookkeeper_twisted.storage.apache.index_file_export import Regenerated, export_index_files, regenerate
from bookkeeper_twisted.storage.apache.index_files import (
    HEAD_SIZE,
    IndexFileWriter,
    files_of_ledgers,
    index_file_of,
    index_files,
    locations_of,
    states_of,
)
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.interfaces import IndexBatch, LedgerRow
from bookkeeper_twisted.storage.rebuild import rebuild_index

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...storage.entries import run
from ..index.java_stores import java_store

LEDGERS = "/ledgers/current"


def contents(disk: SimDisk) -> dict[str, bytes]:
    """The bytes of each index file by its path."""
    found = {}
    for path in index_files(disk, LEDGERS):
        file = disk.open(path)
        found[path] = file.pread(1 << 20, 0)
        file.close()
    return found


class ExportTests(SynchronousTestCase):
    """All ledgers of a directory."""

    def exported(self, disk: SimDisk) -> Exported:
        """Make an index of ours from what is there, and index files from that."""
        rebuilt = rebuild_index(
            disk, LEDGERS, LEDGERS, SimIndex.open, states=states_of(disk, index_files(disk, LEDGERS))
        )
        with closing(rebuilt.index):
            return export_index_files(disk, LEDGERS, rebuilt.index)

    def test_as_apache(self) -> None:
        """A file that Apache's bookie wrote and one that is made from its entry logs have the same bytes."""
        for name in ("interleaved-clean", "interleaved-compacted-after"):
            with self.subTest(name):
                disk = java_store(name).disk()
                before = contents(disk)
                self.exported(disk)
                after = contents(disk)
                self.assertGreater(len(before), 1)
                for path, data in before.items():  # a ledger that was deleted there is still in the entry logs
                    self.assertEqual(after[path], data, path)

    def test_parts(self) -> None:
        """Keys, fences, explicit LACs and places are read again as they were, far entries and no entries included."""
        disk = SimDisk()
        states = [LedgerRow(1, b"key", True, b"lac"), LedgerRow(0x1FF02), LedgerRow(0x1FF03, b"k")]
        disk.make_directories(LEDGERS)
        index = SimIndex.open(disk, LEDGERS)
        rows = [run(1, 0, 3), run(1, 5000, 2), run(0x1FF03, 7, 1)]
        log = EntryLogWriter.open(disk, LEDGERS, 1 << 20)
        placed = [row for each in rows for row in log.append(each)]
        log.close()
        index.commit(IndexBatch(runs=placed, ledgers=states, complete=True))
        advanced: list[int] = []
        self.assertEqual(export_index_files(disk, LEDGERS, index, advanced.append), Exported(LEDGERS, 6, 3))
        files = files_of_ledgers(index_files(disk, LEDGERS))
        self.assertEqual(files[0x1FF03], f"{LEDGERS}/ff/3/1ff03.idx")
        self.assertEqual(states_of(disk, files.values()), states)
        found = [entry_id for _, entry_id, _ in locations_of(disk, 1, files[1])]
        self.assertEqual((found, len(advanced)), ([0, 1, 2, 5000, 5001], 3))
        sizes = {ledger_id: disk.open(path).size() - HEAD_SIZE for ledger_id, path in files.items()}
        self.assertEqual(sizes, {1: 5 * 8192, 0x1FF02: 0, 0x1FF03: 8192})

    def test_no_state(self) -> None:
        """Entries without a state of their ledger are no index that could be handed over."""
        disk = java_store("interleaved-clean").disk()
        rebuilt = rebuild_index(disk, LEDGERS, LEDGERS, SimIndex.open, states=[])
        rows = rebuilt.index.page((-1, -1), 99)
        rebuilt.index.close()
        index = SimIndex.open(disk, LEDGERS, True)
        index.commit(IndexBatch(runs=rows[-1:], complete=True))
        self.assertRaises(StorageError, export_index_files, disk, LEDGERS, index)

    def test_long_head(self) -> None:
        """A key and a LAC that do not fit are refused, and leave no open file."""
        disk = SimDisk()
        row = LedgerRow(1, b"k" * 500, explicit_lac=b"l" * 510)
        self.assertRaises(StorageError, IndexFileWriter, disk, index_file_of("/x", 1), row)


class RegenerateTests(SynchronousTestCase):
    """Some ledgers, from entry logs."""

    def test_regenerated(self) -> None:
        """The places are those of Apache's bookie; the ledger is fenced and has the key that was given."""
        disk = java_store("interleaved-compacted-after").disk()
        files = files_of_ledgers(index_files(disk, LEDGERS))
        before = {i: list(locations_of(disk, i, path)) for i, path in files.items()}
        wanted = [i for i, locations in before.items() if locations]
        found = dict(regenerate(disk, [LEDGERS], [LEDGERS], [*wanted, 4242], b"new", False))
        self.assertIsNone(found.pop(4242))
        for ledger_id in wanted:
            entries = [entry_id for _, entry_id, _ in before[ledger_id]]
            self.assertEqual(found[ledger_id], Regenerated(len(entries), entries[0], entries[-1]))
            self.assertEqual(list(locations_of(disk, ledger_id, files[ledger_id])), before[ledger_id])
            self.assertEqual(states_of(disk, [files[ledger_id]]), [LedgerRow(ledger_id, b"new", True)])

    def test_lost_file(self) -> None:
        """A file that is gone is made; a dry run makes none."""
        disk = java_store("interleaved-clean").disk()
        path = index_file_of(LEDGERS, 1)
        before = list(locations_of(disk, 1, path))
        disk.unlink(path)
        list(regenerate(disk, [LEDGERS], [LEDGERS], [1], b"key", True))
        self.assertFalse(disk.exists(path))
        list(regenerate(disk, [LEDGERS], [LEDGERS], [1], b"key", False))
        self.assertEqual(list(locations_of(disk, 1, path)), before)
