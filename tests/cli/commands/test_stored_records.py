"""``readlog`` and ``readjournal``."""

from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.journal.journal import Journal

from ...storage.entries import entry, run
from ..stored_case import StoredCase


class ReadLogTests(StoredCase):
    """Entries of an entry log."""

    def test_as_apache(self) -> None:
        """A whole log, one entry, a range of offsets, and dumps are printed as Apache's shell prints them."""
        self.java("db-killed")
        for name in ("readlog", "readlog-ledger-entry", "readlog-position", "readlog-msg-hex"):
            with self.subTest(name):
                self.assertPrintsAs(f"offline-{name}")

    def test_ledger(self) -> None:
        """All entries of one ledger."""
        self.stored([run(1, 0, 3), run(2, 0, 2)])
        self.assertEqual(self.shell("readlog", "-l", "2", "0"), 0)
        self.assertEqual(self.printed[0], "Scan entry log for LedgerId {file=0.log, ledgerId=2, logId=0}")
        self.assertEqual(
            self.printed[1:3],
            [
                "Entry {entryId=0, entrySize=52, ledgerId=2, position=1192}",
                "Entry {entryId=0, lastAddConfirmed=-1, ledgerId=2, type=DATA}",
            ],
        )
        self.assertEqual(len(self.printed), 5)

    def test_range(self) -> None:
        """An entry is in a range that touches one of its bytes; an end alone, or -1, is a range, too."""
        self.stored([run(1, 0, 4)])
        for ends, expected in (
            (("-sp", "1079", "-ep", "1080"), [0, 1]),
            (("-sp", "1080"), [1, 2, 3]),
            (("-ep", "1080"), [0, 1]),
            (("-ep", "1079"), [0]),
            (("-sp", "1136", "-ep", "-1"), [2, 3]),
        ):
            with self.subTest(ends):
                self.assertEqual(self.shell("readlog", *ends, "0"), 0)
                found = [int(text.split("=")[1].split(",")[0]) for text in self.printed[1::2]]
                self.assertEqual(found, expected)

    def test_nothing(self) -> None:
        """Where no entry is found, that is said."""
        self.stored([run(1, 0, 4)])
        for asked in (("-l", "9"), ("-l", "1", "-e", "4"), ("-sp", "5000")):
            self.assertEqual(self.shell("readlog", *asked, "0"), 0)
            self.assertEqual(self.printed[1:], ["The entry log holds no such entry"])
        self.assertEqual(self.shell("readlog"), 255)
        self.assertEqual(self.shell("readlog", "-e", "4", "0"), 255)
        self.assertEqual(self.printed, [])

    def test_damage(self) -> None:
        """A file that is no entry log is an error that names it."""
        self.stored([run(1, 0, 4)])
        self.disk.open("/ledgers/current/0.log").pwrite(b"XXXX", 0)
        self.assertEqual(self.shell("readlog", "0"), 255)
        self.assertIn("/ledgers/current/0.log", self.complaints[0])


class ReadJournalTests(StoredCase):
    """Records of a journal file."""

    def test_as_apache(self) -> None:
        """A file is printed as Apache's shell prints it, named by its id, its file or its path."""
        self.java("db-killed")
        self.assertPrintsAs("offline-readjournal")
        printed = self.printed
        for name in ("1795224343310", "/journal/current/1a1fbb5930e.txn"):
            self.assertEqual(self.shell("readjournal", name), 0)
            self.assertEqual(self.printed, printed)

    def test_ours(self) -> None:
        """Of a file of ours, every record is printed with its place, and its data if they are wanted."""
        self.stored([])
        journal = Journal.open(self.disk, "/journal/current", JournalSettings(preallocate=8192), 1)
        list(journal.replay(JournalPosition()))
        bodies = [entry(7, n, 10) for n in range(3)]
        records = [len(body).to_bytes(4, "big") + body for body in bodies]
        journal.write_group(records[:2])
        journal.write_group(records[2:])
        self.assertEqual(self.shell("-entryformat", "hex", "readjournal", "-msg", "1"), 0)
        self.assertEqual(
            self.printed[:2], ["Scan journal {file=1.txn, journalId=1}", "Journal Version {journalVersion=6}"]
        )
        positions = [int(text.split("position=")[1][:-1]) for text in self.printed[2::3]]
        file = self.disk.open("/journal/current/1.txn")
        for position, record in zip(positions, records, strict=True):
            self.assertEqual(file.pread(len(record), position), record)
        self.assertTrue(self.printed[4].startswith("00000000 00 07 0E"))

    def test_directories(self) -> None:
        """Where there are several journals, the directory has to be named, and has to be one of them."""
        self.java("db-two-dirs-killed")
        self.environ["BK_journalDirectories"] = "/j0,/j1"
        (name, *_) = self.disk.list("/j1/current")
        self.assertEqual(self.shell("readjournal", name), 255)
        self.assertEqual(self.complaints, ["readjournal: several journal directories: name one with -dir: /j0, /j1"])
        self.assertEqual(self.shell("readjournal", "-dir", "/j2", name), 255)
        self.assertEqual(self.complaints, ["readjournal: /j2 is not a journal directory: /j0, /j1"])
        self.assertEqual(self.shell("readjournal", "-dir", "/j1", name), 0)
        self.assertGreater(len(self.printed), 3)

    def test_missing(self) -> None:
        """A file that is not there, and no file, fail."""
        self.java("db-killed")
        self.assertEqual(self.shell("readjournal", "5.txn"), 255)
        self.assertIn("5.txn", self.complaints[0])
        self.assertEqual(self.shell("readjournal"), 255)
