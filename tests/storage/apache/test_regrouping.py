"""Interleaved and sorted storage over several directories."""

import hashlib
import posixpath

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError, NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.apache.importing import Imported
from bookkeeper_twisted.storage.apache.index_files import files_of_ledgers, index_files, states_of
from bookkeeper_twisted.storage.apache.regrouping import Pairs, regroup
from bookkeeper_twisted.storage.apache.take_over import discard_index_files, take_over
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ...simulated_disk.crash import Facts, enumerate_crashes
from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.sim_key_values import SimKeyValues
from ..index.java_stores import JavaStore, java_store
from ..ledger_storages import read

PATHS = ["/a", "/b", "/c"]
PAIRS = Pairs(PATHS, PATHS)
STORES = [
    "interleaved-clean", "interleaved-compacted-after", "interleaved-killed", "sorted-clean", "sorted-killed",
    "sorted-log-per-ledger-clean",
]  # fmt: skip


def spread(store: JavaStore) -> SimDisk:
    """A disk with the files of a store, logs and index files in turn in three directories, as Java leaves them."""
    disk, turn = SimDisk(), 0
    for path in PATHS:
        disk.make_directories(path)
    for name, data in sorted(store.files.items()):
        if not name.startswith("ledgers/current/") or not name.endswith((".log", ".idx")):
            continue
        path = PATHS[turn % 3] + name.removeprefix("ledgers/current")
        turn += 1
        disk.make_directories(posixpath.dirname(path))
        disk.open(path, create=True).pwrite(data, 0)
    return disk.crash()


def files_on(disk: SimDisk) -> list[str]:
    """All index files."""
    return [file for path in PATHS for file in index_files(disk, path)]


class RegroupTests(SynchronousTestCase):
    """Stores of Apache's bookie, spread over three directories."""

    def check(self, disk: SimDisk, store: JavaStore) -> int:
        """Every entry that the index names is served, by the directory of its ledger.

        :returns: how many.
        """
        storage = LedgerStorage.open(disk, PATHS, PATHS, StorageSettings(), SimIndex.open, lambda log_marks: None)
        missing = {(e["ledgerId"], e["entryId"]) for e in store.manifest.get("danglingLocations", ())}
        count = 0
        for ledger_id, entries in store.manifest["current"].items():
            for each in entries:
                data = read(storage, int(ledger_id), each["entryId"])
                assert data is not None, (ledger_id, each)
                self.assertEqual(hashlib.sha256(data).hexdigest(), each["sha256"])
            ids = {each["entryId"] for each in entries}
            found = {e for a, b in storage.entry_ranges(int(ledger_id)) for e in range(a, b + 1)}
            self.assertEqual(found - {e for owner, e in missing if owner == int(ledger_id)}, ids)
            count += len(ids)
        storage.close()
        return count

    def test_stores(self) -> None:
        """Entries and states are all there; Apache's files stay until they are discarded."""
        count = 0
        for name in STORES:
            store = java_store(name)
            disk = spread(store)
            states = states_of(disk, files_on(disk))
            imported = take_over(disk, PAIRS, SimIndex.open, SimKeyValues.open)
            n_missing = len(store.manifest.get("danglingLocations", ()))
            count += self.check(disk, store)
            self.assertEqual((imported.states, imported.dangling), (len(states), n_missing))
            rows = [row for path in PATHS for row in SimIndex.open(disk, path).ledgers()]
            self.assertEqual(sorted(rows, key=lambda row: row.ledger_id), states)
            self.assertEqual(len(files_on(disk)), len(states))
            discard_index_files(disk, PAIRS)
            self.assertEqual(files_on(disk.crash(())), [])
            count += self.check(disk.crash(()), store)
        self.assertGreater(count, 200)

    def test_new_logs(self) -> None:
        """Everything lies in new logs, whose ids no directory has, sealed and of bounded size."""
        disk = spread(java_store("sorted-clean"))
        before = {name for path in PATHS for name in disk.list(path) if name.endswith(".log")}
        regroup(disk, PAIRS, files_on(disk), SimIndex.open, log_size=1500)
        made = [int(name[:-4], 16) for path in PATHS for name in disk.list(path) if name.endswith(".log")]
        live = [log_id for path in PATHS for log_id in SimIndex.open(disk, path).live()]
        self.assertEqual(len(live), len(set(live)))
        self.assertGreater(len(live), 3)
        self.assertEqual(len(made), len(set(made)))
        self.assertGreater(min(live), max(int(name[:-4], 16) for name in before))

    def test_dangling(self) -> None:
        """An entry that is not where its file says fails to be read (S5)."""
        disk = spread(java_store("sorted-clean"))
        path = files_of_ledgers(files_on(disk))[0]
        disk.open(path).pwrite((77 << 32 | 1028).to_bytes(8, "big"), 1024 + 8 * 2)
        imported = regroup(disk, PAIRS, files_on(disk), SimIndex.open)
        self.assertEqual(imported.dangling, 1)
        storage = LedgerStorage.open(disk, PATHS, PATHS, StorageSettings(), SimIndex.open, lambda log_marks: None)
        self.assertRaises((DamageError, OSError), storage.load, 0, 2, 100)
        self.assertIsNotNone(storage.load(0, 3, 100))

    def test_same_id_twice(self) -> None:
        """Two logs of one id are refused, and so is a disk that is too small; nothing changes."""
        disk = spread(java_store("sorted-clean"))
        disk.capacity = (1 << 20, 100)
        self.assertRaises(NoWritableDirectoryError, regroup, disk, PAIRS, files_on(disk), SimIndex.open)
        disk.capacity = (1 << 40, 1 << 39)
        name = next(name for name in disk.list("/a") if name.endswith(".log"))
        disk.open(f"/b/{name}", create=True)
        state = disk.digest()
        error = self.assertRaises(StorageError, regroup, disk, PAIRS, files_on(disk), SimIndex.open)
        self.assertIn(name, str(error))
        self.assertEqual(disk.digest(), state)

    def test_power_cuts(self) -> None:
        """Cut anywhere, the index files and what they name are as they were, and the next run succeeds."""
        store = java_store("sorted-clean")
        expected: list[Imported] = []

        def work(disk: SimDisk, facts: Facts) -> None:
            expected.append(regroup(disk, PAIRS, files_on(disk), SimIndex.open))

        def recover(disk: SimDisk, facts: Facts) -> None:
            if regroup(disk, PAIRS, files_on(disk), SimIndex.open) != expected[0]:
                raise AssertionError("another number of entries")
            self.check(disk, store)

        work(spread(store), [])
        report = enumerate_crashes(
            work, recover, seed=1, build=lambda: spread(store), subsets=1, second_every=0,
            points=lambda operation: operation.name != "pread",
        )  # fmt: skip
        self.assertEqual([str(violation) for violation in report.violations[:1]], [])
        self.assertGreater(report.states, 40)
