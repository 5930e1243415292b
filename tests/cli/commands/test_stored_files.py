"""``lastmark``, ``listfilesondisc``, ``readlogmetadata``."""

from ...simulated_disk.sim_disk import SimDisk
from ...storage.entries import run
from ...vectors.shell import capture
from ..stored_case import StoredCase


class LastMarkTests(StoredCase):
    """Log marks."""

    def test_as_apache(self) -> None:
        """The log mark of a directory is printed as Apache's shell prints it."""
        self.java("db-killed")
        self.assertPrintsAs("offline-lastmark")

    def test_journals(self) -> None:
        """Each journal has a line; one without a log mark begins at the beginning."""
        self.java("db-two-dirs-killed")
        self.environ["BK_ledgerDirectories"] = "/l0,/l1"
        self.environ["BK_journalDirectories"] = "/j0,/j1"
        self.assertEqual(self.shell("lastmark"), 0)
        self.assertEqual(len(self.printed), 2)
        self.assertNotIn("Journal Id - 0(", self.printed[0])
        self.environ["BK_journalDirectories"] = "/j0"
        self.assertEqual(self.shell("lastmark"), 0)
        self.assertEqual(self.printed, ["LastLogMark : Journal Id - 0(0.txn), Pos - 0"])


class ListFilesTests(StoredCase):
    """Paths of files."""

    def test_as_apache(self) -> None:
        """The same files are listed as by Apache's shell, in the order of their names."""
        self.java("db-killed")
        expected = capture("offline-listfilesondisc")
        self.assertEqual(self.shell(*expected.arguments), 0)
        printed = [text.replace("/bk/db-killed", "") for text in expected.printed]
        self.assertEqual(sorted(self.printed[:-1]), sorted(printed))
        self.assertEqual(self.printed[4:6], printed[4:6])

    def test_kinds(self) -> None:
        """All kinds are listed where none is named; an index of ours is one."""
        self.stored([run(1, 0, 3)])
        self.assertEqual(self.shell("listfilesondisc"), 0)
        everything = self.printed
        self.assertEqual(len([text for text in everything if text.startswith("---")]), 3)
        self.assertEqual(self.shell("listfilesondisc", "--entrylog"), 0)
        self.assertEqual(self.printed[1:], ["log entry {canonicalPath=/ledgers/current/0.log}", ""])
        self.disk.open("/ledgers/current/index.sqlite", create=True)
        self.assertEqual(self.shell("listfilesondisc", "-idx"), 0)
        self.assertEqual(self.printed[1:], ["log entry {canonicalPath=/ledgers/current/index.sqlite}", ""])

    def test_missing_directory(self) -> None:
        """A directory that is not there is an error, not an empty list."""
        self.assertEqual(self.shell("listfilesondisc", "-txn"), 255)
        self.assertIn("/journal/current", self.complaints[0])


class DirectoryTests(StoredCase):
    """Directories that a configuration names."""

    def test_missing(self) -> None:
        """Where a directory is missing no command answers as of a bookie without data, and none makes it."""
        self.put(SimDisk())
        for command in (
            ["lastmark"], ["listfilesondisc"], ["readlog", "1"], ["readlogmetadata", "1"], ["readjournal", "1"],
            ["ledger", "1"], ["activeledgers", "-l", "1"], ["localconsistencycheck"], ["check-db-ledgers-index"],
            ["rebuild-db-ledger-locations-index"], ["rebuild-db-ledgers-index"], ["convert-to-db-storage"],
        ):  # fmt: skip
            self.assertEqual(self.shell(*command), 255)
            self.assertIn("there is no directory /", self.complaints[0])
        self.assertFalse(self.disk.exists("/ledgers") or self.disk.exists("/journal"))


class ReadLogMetadataTests(StoredCase):
    """What an entry log holds."""

    def test_as_apache(self) -> None:
        """The ledgers of a log with a map and of one without are printed as Apache's shell prints them."""
        self.java("db-compacted-after")
        self.assertPrintsAs("offline-readlogmetadata-map")
        self.assertPrintsAs("offline-readlogmetadata-scan")

    def test_names(self) -> None:
        """A log is named by its id, by its file, by its path."""
        self.stored([run(ledger_id, 0, 2, 500) for ledger_id in range(12)], size_limit=1500)
        printed = []
        for name in ("10", "a.log", "/ledgers/current/a.log"):
            self.assertEqual(self.shell("readlogmetadata", name), 0)
            printed.append(self.printed)
        self.assertEqual(printed[0][0], "Print entryLogMetadata of entrylog {file=a.log, logId=10}")
        self.assertEqual(printed, [printed[0]] * 3)

    def test_no_log(self) -> None:
        """A log that is not there, a name that is none, and no name fail."""
        self.stored([run(1, 0, 3)])
        self.assertEqual(self.shell("readlogmetadata", "77"), 255)
        self.assertEqual(self.complaints, ["readlogmetadata: no 4d.log in /ledgers/current"])
        self.assertEqual(self.shell("readlogmetadata", "x.log"), 255)
        self.assertEqual(self.complaints, ["readlogmetadata: x.log is neither an id nor the name of a .log file"])
        self.assertEqual(self.shell("readlogmetadata"), 255)

    def test_two_directories(self) -> None:
        """Where two directories have a log of one id, the path is asked for."""
        self.stored([run(0, 0, 3), run(1, 0, 5)], count=2)
        self.assertEqual(self.shell("readlogmetadata", "0"), 255)
        self.assertEqual(
            self.complaints,
            ["readlogmetadata: 0.log is in /ledgers0/current and in /ledgers1/current: give the path of one of them"],
        )
        self.assertEqual(self.shell("readlogmetadata", "/ledgers1/current/0.log"), 0)
        self.assertEqual(self.printed[2:], ["Size of ledger's entries {ledgerId=1, size=280}"])
