"""A shell beside a bookie whose directories are on a simulated disk, for the tests of offline commands."""

from collections.abc import Sequence

from bookkeeper_twisted.cli.shell_command import StoreAccess
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from ..simulated_disk.sim_key_values import SimKeyValues
from ..storage.index.java_stores import java_store
from ..storage.ledger_storages import checkpoint, open_storage
from ..vectors.shell import capture
from .shell_case import ShellCase, sim_index


class StoredCase(ShellCase):
    """The journal is in ``/journal``, the ledgers are in ``/ledgers``."""

    def setUp(self) -> None:
        super().setUp()
        self.environ["BK_journalDirectories"] = "/journal"
        self.environ["BK_ledgerDirectories"] = "/ledgers"

    def put(self, disk: SimDisk) -> None:
        """Gives the bookie this disk."""
        self.disk = disk
        self.store = StoreAccess(disk, sim_index, disk, SimIndex.open, SimKeyValues.open)

    def java(self, name: str) -> None:
        """Gives the bookie the directories of a store that Apache's bookie wrote."""
        self.put(java_store(name).disk())

    def stored(self, runs: Sequence[EntryRun], size_limit: int = 1 << 20, count: int = 1) -> None:
        """Gives the bookie entries in ``/ledgers``, or in ``/ledgers0`` and so on; ledger 2 is fenced."""
        directories = ["/ledgers"] if count == 1 else [f"/ledgers{number}" for number in range(count)]
        self.environ["BK_ledgerDirectories"] = ",".join(directories)
        paths = [f"{directory}/current" for directory in directories]
        self.put(SimDisk())
        for path in ("/journal/current", *paths):
            self.disk.make_directories(path)
        storage = open_storage(self.disk, settings=StorageSettings(log_size_limit=size_limit), directories=paths)
        for run in runs:
            storage.put_ledger(LedgerRow(run.ledger_id, b"key", fenced=run.ledger_id == 2))
            storage.add(run)
        checkpoint(storage)
        storage.close()

    def assertPrintsAs(self, name: str) -> None:
        """The command of a capture prints what Apache's shell printed, and succeeds."""
        expected = capture(name)
        self.assertEqual(self.shell(*expected.arguments), 0, self.complaints)
        self.assertEqual("\n".join(self.printed).split("\n"), expected.printed)
