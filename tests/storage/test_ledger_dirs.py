"""Names below the configured directories."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage import ledger_dirs

from ..simulated_disk.sim_disk import SimDisk


class NameTests(SynchronousTestCase):
    """Names of files."""

    def test_names(self) -> None:
        """Ids are lower-case hexadecimal without padding."""
        self.assertEqual(ledger_dirs.journal_name(0x1A1FBB5930D), "1a1fbb5930d.txn")
        self.assertEqual(ledger_dirs.entry_log_name(10), "a.log")
        self.assertEqual(ledger_dirs.current("/data/j"), "/data/j/current")

    def test_log_marks(self) -> None:
        """One journal has one log mark; of several each has its number."""
        self.assertEqual(ledger_dirs.log_mark_name(0, 1), "lastMark")
        self.assertEqual([ledger_dirs.log_mark_name(i, 2) for i in range(2)], ["lastMark.0", "lastMark.1"])

    def test_directory_of_a_ledger(self) -> None:
        """A ledger belongs to directory and journal number id mod n, never a negative one."""
        self.assertEqual([ledger_dirs.directory_index(i, 3) for i in (0, 1, 5, 1 << 62, -1)], [0, 1, 2, 1, 2])

    def test_distinct(self) -> None:
        """A directory that serves several purposes is taken once, in order."""
        self.assertEqual(ledger_dirs.distinct(["/j"], ["/l", "/j"], ["/l", "/i"]), ["/j", "/l", "/i"])


class ListingTests(SynchronousTestCase):
    """Ids of files."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.disk.make_directories("/d")
        for name in ("10.txn", "9.txn", "1a1.txn", "3.spare", "VERSION", "ff.log", "0.log", "1.log.compacting"):
            self.disk.open(f"/d/{name}", create=True)

    def test_ids(self) -> None:
        """Ids ascend by value; other files are none."""
        self.assertEqual(ledger_dirs.journal_ids(self.disk, "/d"), [9, 0x10, 0x1A1])
        self.assertEqual(ledger_dirs.entry_log_ids(self.disk, "/d"), [0, 0xFF])

    def test_not_hexadecimal(self) -> None:
        """A journal or entry log with another name is refused, whatever Python's ``int`` makes of it."""
        for name in ("x.txn", ".txn", "-1.txn", "0x1.txn", "1_0.txn", " 1.txn"):
            self.disk.open(f"/d/{name}", create=True)
            error = self.assertRaises(StorageError, ledger_dirs.journal_ids, self.disk, "/d")
            self.assertIn(name, str(error))
            self.disk.unlink(f"/d/{name}")
        self.disk.open("/d/last.log", create=True)
        self.assertRaises(StorageError, ledger_dirs.entry_log_ids, self.disk, "/d")


class CurrentTests(SynchronousTestCase):
    """The directory everything lives in."""

    def setUp(self) -> None:
        self.disk = SimDisk()

    def test_made(self) -> None:
        """It is created with its parents; what exists stays."""
        ledger_dirs.make_currents(self.disk, ["/data/l"])
        self.disk.open("/data/l/current/0.log", create=True)
        ledger_dirs.make_currents(self.disk, ["/data/l", "/data/m"])
        self.assertEqual(self.disk.list("/data/m"), ["current"])
        self.assertEqual(self.disk.list("/data/l/current"), ["0.log"])

    def test_old_layouts(self) -> None:
        """A layout older than 3 is refused with the file that shows it, and nothing is created."""
        for name in ("VERSION", "1.txn", "0.log", "7.idx"):
            disk = SimDisk()
            disk.make_directories("/old")
            disk.open(f"/old/{name}", create=True)
            error = self.assertRaises(StorageError, ledger_dirs.make_currents, disk, ["/new", "/old"])
            self.assertIn(name, str(error))
            self.assertEqual((disk.list("/old"), disk.exists("/new")), ([name], False))

    def test_other_files_are_no_layout(self) -> None:
        """Unknown files beside ``current`` do not matter."""
        self.disk.make_directories("/data/lost+found")
        self.disk.open("/data/notes.txt", create=True)
        ledger_dirs.make_currents(self.disk, ["/data"])
        self.assertTrue(self.disk.is_directory("/data/current"))
