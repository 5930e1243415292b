"""The files of a bookie."""

import errno
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.bookie.records import key_record
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import IndexBatch, JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ...simulated_disk.sim_disk import Operation, SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..rig import KEY, Rig, entry, run


class StoreTests(SynchronousTestCase):
    """Opening, recovering, closing."""

    def test_paths(self) -> None:
        """A directory that serves several purposes is one directory."""
        paths = StorePaths(("/d",), ("/d", "/e"), ("/d", "/e"))
        self.assertEqual(paths.all(), ["/d", "/e"])

    def test_recover(self) -> None:
        """After a start everything is in the entry logs, and every log mark at the end of its journal."""
        rig = Rig(journals=2, ledger_dirs=2)
        for ledger_id in range(4):
            rig.add(run(ledger_id, 0, 5))
        rig.drain()
        after = Rig(rig.disk.crash(), journals=2, ledger_dirs=2)
        self.assertEqual(after.store.n_replayed, 20)
        self.assertEqual(after.storage.pending_bytes(), 0)
        for log_mark, journal in zip(after.store.log_marks, after.store.journals, strict=True):
            self.assertEqual(log_mark.position, journal.durable)
            self.assertGreater(log_mark.position, JournalPosition())
        self.assertEqual(Rig(after.disk.crash(), journals=2, ledger_dirs=2).store.n_replayed, 0)

    def _start(self, disk: SimDisk) -> Store:
        """Files that are opened and recovered, with journals that keep nothing below their log marks."""
        paths = StorePaths(("/journal0", "/journal1"), ("/ledger0", "/ledger1"), ("/ledger0", "/ledger1"))
        paths.make(disk)
        small = JournalSettings(max_size=2000, preallocate=4096, max_backups=0, reuse=False)
        store = Store.open(disk, paths, SimIndex.open, 1, b"salt", small, StorageSettings())
        try:
            store.recover()
        except BaseException:
            store.close()
            raise
        return store

    def _with_journals(self) -> SimDisk:
        """A disk on which both journals have several files."""
        disk = SimDisk()
        store = self._start(disk)
        for ledger_id in range(4):
            journal = store.journals[ledger_id % 2]
            journal.write_group([key_record(ledger_id, KEY)])
            for entry_id in range(8):
                body = entry(ledger_id, entry_id, bytes(600))
                journal.write_group([len(body).to_bytes(4, "big") + body])
        return disk

    def test_failed_flush(self) -> None:
        """A start that cannot flush what it replayed fails; no log mark moves and no journal goes (S7)."""
        kinds: tuple[tuple[str, Callable[[str], bool]], ...] = (
            ("pwrite", lambda path: path.endswith(".log")),
            ("sync", lambda path: path.endswith(".log")),
            ("commit", lambda path: path.startswith("/ledger1/")),
            ("commit", lambda path: path.startswith("/ledger0/")),
            ("rename", lambda path: path.startswith("/ledger1/") and "lastMark" in path),
        )
        for name, matches in kinds:
            with self.subTest(name):
                disk = self._with_journals().crash()
                before = {path: disk.list(f"/{path}/current") for path in ("journal0", "journal1")}
                failed: list[str] = []

                def hits(operation: Operation, name=name, matches=matches, failed=failed) -> bool:
                    hit = operation.name == name and matches(operation.path)
                    failed.extend([operation.path] if hit else [])
                    return bool(hit)

                disk.fail(errno.EIO, when=hits)
                self.assertRaises((StorageError, OSError), self._start, disk)
                self.assertTrue(failed, name)
                for path, names in before.items():
                    self.assertLessEqual({n for n in names if n.endswith(".txn")}, set(disk.list(f"/{path}/current")))
                disk.kill()
                again = self._start(disk.crash())
                self.assertEqual(again.n_replayed, 16 if name == "rename" else 32)  # one of two log marks was written
                for ledger_id in range(4):
                    self.assertEqual(again.storage.last_entry(ledger_id), 7)

    def test_older_index(self) -> None:
        """The log marks of both journals tell that an index is older than them; a newer index is none (S5)."""
        disk = self._with_journals()
        indexes = [f"/ledger{number}/current/index.sim" for number in range(2)]
        first = [disk.committed(path) for path in indexes]
        self._start(disk.crash()).close()
        for path, state in zip(indexes, first, strict=True):
            for journal in range(2):
                after = self._recovered()
                after.unlink(f"{path.rpartition('/')[0]}/lastMark.{journal}")
                after.commit(path, state, b"")
                self.assertRaisesRegex(StorageError, f"the index in {path[:8]}.* is older", self._start, after)
        after = self._recovered()
        store = self._start(after)
        # as a crash before the log mark leaves it
        store.storage.directories[0].index.commit(IndexBatch(deleted_ledgers=[99]))
        store.close()
        self._start(after.crash())

    def _recovered(self) -> SimDisk:
        """A disk after a start that has replayed both journals."""
        disk = self._with_journals().crash()
        self._start(disk).close()
        return disk

    def test_close(self) -> None:
        """Everything is closed whatever fails, and the failure is told."""
        rig = Rig()
        rig.add(run(1, 0))
        rig.drain()
        rig.fail("sync", "/journal0/")
        self.assertRaises((StorageError, OSError), rig.store.close)
        self.assertRaises(StorageError, rig.store.journals[0].sync)
