"""The files of a bookie."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.store import StorePaths
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import JournalPosition

from ..rig import Rig, run


class StoreTests(SynchronousTestCase):
    """Opening, recovering, closing."""

    def test_paths(self) -> None:
        """A directory that serves several purposes is one directory."""
        paths = StorePaths(("/d",), ("/d", "/e"), ("/d", "/e"))
        self.assertEqual(paths.all(), ["/d", "/e"])

    def test_recover(self) -> None:
        """After a start everything is in the entry logs, and every mark at the end of its journal."""
        rig = Rig(journals=2, ledger_dirs=2)
        for ledger_id in range(4):
            rig.add(run(ledger_id, 0, 5))
        rig.drain()
        after = Rig(rig.disk.crash(), journals=2, ledger_dirs=2)
        self.assertEqual(after.store.n_replayed, 20)
        self.assertEqual(after.storage.pending_bytes(), 0)
        for mark, journal in zip(after.store.marks, after.store.journals, strict=True):
            self.assertEqual(mark.position, journal.durable)
            self.assertGreater(mark.position, JournalPosition())
        self.assertEqual(Rig(after.disk.crash(), journals=2, ledger_dirs=2).store.n_replayed, 0)

    def test_close(self) -> None:
        """Everything is closed whatever fails, and the failure is told."""
        rig = Rig()
        rig.add(run(1, 0))
        rig.drain()
        rig.fail("sync", "/journal0/")
        self.assertRaises((StorageError, OSError), rig.store.close)
        self.assertRaises(StorageError, rig.store.journals[0].sync)
