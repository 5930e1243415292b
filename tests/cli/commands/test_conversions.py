"""``convert-to-db-storage``."""

from bookkeeper_twisted.storage.apache.database import has_index
from bookkeeper_twisted.storage.cookies import DirectoryLocks, stamp
from bookkeeper_twisted.testing.disk.sim_key_values import SimKeyValues

from ...storage.entries import run
from ..stored_case import StoredCase

CONVERT = "convert-to-db-storage"


class ConvertTests(StoredCase):
    """The way to Apache's bookie."""

    def ours(self, count: int = 1) -> list[str]:
        """Directories of ours with a cookie.

        :returns: all of them.
        """
        self.environ["BK_journalPreAllocSizeMB"] = self.environ["BK_journalMaxSizeMB"] = "1"
        self.stored([run(ledger_id, 0, 3) for ledger_id in (0, 1, 2)], count=count)
        directories = ["/journal", *self.environ["BK_ledgerDirectories"].split(",")]
        stamp(self.disk, directories, b"cookie")
        return directories

    def test_converted(self) -> None:
        """It says what it did for each directory, with a bar; cookies and indexes are exchanged."""
        directories = self.ours(count=2)
        SimKeyValues.open(self.disk, "/ledgers0/current/metadata-cache", True).close()
        self.assertEqual(self.shell(CONVERT), 0, self.complaints)
        self.assertEqual(self.printed, [
            "=== Converting to DbLedgerStorage ===",
            "Converted ledgers {directory=/ledgers0/current, convertedLedgers=2, entries=6}",
            "Converted ledgers {directory=/ledgers1/current, convertedLedgers=1, entries=3}",
            "---- Done Converting ----",
        ])  # fmt: skip
        self.assertEqual([total for _, total, _ in self.progress], [done for _, _, done in self.progress])
        self.assertEqual(len(self.progress), 2)
        for directory in directories:
            names = self.disk.list(f"{directory}/current")
            self.assertEqual(("VERSION" in names, "IDENTITY" in names), (True, False))
        self.assertTrue(has_index(self.disk, "/ledgers1/current"))
        self.assertEqual(self.disk.list("/ledgers0/current/metadata-cache"), [])

    def test_again(self) -> None:
        """Directories that are Apache's already are left alone."""
        self.ours()
        self.assertEqual(self.shell(CONVERT), 0)
        state = self.disk.digest()
        self.assertEqual(self.shell(CONVERT), 255)
        self.assertIn("nothing to hand back", self.complaints[0])
        self.assertEqual(self.disk.digest(), state)

    def test_locked(self) -> None:
        """Where a bookie runs, nothing is done; the locks are free again after each command."""
        self.ours()
        state = self.disk.digest()
        locks = DirectoryLocks(self.disk, ["/ledgers"])
        self.assertEqual(self.shell(CONVERT), 255)
        self.assertIn("/ledgers/current", self.complaints[0])
        self.assertEqual(self.disk.digest(), state)
        locks.release()
        self.assertEqual(self.shell(CONVERT), 0)
        DirectoryLocks(self.disk, ["/journal", "/ledgers"])

    def test_no_directory(self) -> None:
        """A mistyped directory is named, and not made."""
        self.ours()
        self.environ["BK_indexDirectories"] = "/indexes"
        self.assertEqual(self.shell(CONVERT), 255)
        self.assertIn("there is no directory /indexes/current: ", self.complaints[0])
        self.assertFalse(self.disk.exists("/indexes"))

    def test_no_index(self) -> None:
        """Where the index is lost it has to be rebuilt first."""
        self.ours()
        self.disk.unlink("/ledgers/current/index.sim")
        self.assertEqual(self.shell(CONVERT), 255)
        self.assertIn("rebuild-db-ledger-locations-index", self.complaints[0])
