"""``initbookie``, ``bookieformat``, the conversions, ``regenerate-interleaved-storage-index-file``."""

import errno

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, Endpoint
from bookkeeper_twisted.storage.apache.database import has_index
from bookkeeper_twisted.storage.apache.index_files import files_of_ledgers, index_files, locations_of, states_of
from bookkeeper_twisted.storage.cookies import DirectoryLocks, stamp
from bookkeeper_twisted.storage.interfaces import LedgerRow

from ...simulated_disk.sim_key_values import SimKeyValues
from ...storage.entries import run
from ..stored_case import StoredCase

CONVERT = "convert-to-db-storage"
INTERLEAVED = "convert-to-interleaved-storage"
REGENERATE = "regenerate-interleaved-storage-index-file"


class InitBookieTests(StoredCase):
    """What a new bookie needs."""

    ID = "127.0.0.1:3181"

    def refused(self, said: str) -> None:
        """The verb has status 1 and says why."""
        self.assertEqual(self.shell("initbookie"), 1)
        self.assertEqual(self.printed, [said])

    def test_ready(self) -> None:
        """Directories that are not there, or empty, are ready, and nothing is made."""
        self.assertEqual(self.shell("initbookie"), 0)
        self.assertEqual(
            self.printed, [f"Directories and metadata store are ready for a new bookie {{bookieId={self.ID}}}"]
        )
        self.assertFalse(self.disk.exists("/ledgers"))
        self.disk.make_directories("/ledgers/current")
        self.assertEqual(self.shell("initbookie"), 0)

    def test_used(self) -> None:
        """A directory that holds something is named, be it ours or that of a bookie of Apache."""
        self.stored([run(1, 0, 3)])
        self.refused("Directory is not empty, try formatting the bookie {directory=/ledgers}")
        self.java("db-clean")
        self.refused("Directory is not empty, try formatting the bookie {directory=/journal}")

    def test_known(self) -> None:
        """A bookie that is registered, or has a cookie in the metadata store, is not a new one."""
        self.do(self.cluster.registration.write_cookie(self.ID, b"5\n", None))
        self.refused(f"Cookie still exists, try formatting the bookie with -deleteCookie {{bookieId={self.ID}}}")
        self.do(self.cluster.registration.register_bookie(self.ID, False, BookieServiceInfo()))
        self.refused(f"Bookie is still registered, try stopping it first {{bookieId={self.ID}}}")

    def test_running(self) -> None:
        """Where a bookie runs on the directories the verb fails."""
        self.disk.make_directories("/ledgers/current")
        locks = DirectoryLocks(self.disk, ["/ledgers"])
        self.addCleanup(locks.release)
        self.assertEqual(self.shell("initbookie"), 255)
        self.assertIn("/ledgers/current", self.complaints[0])


class FormatTests(StoredCase):
    """Directories are emptied."""

    ID = "127.0.0.1:3181"

    def setUp(self) -> None:
        super().setUp()
        self.stored([run(1, 0, 3)])
        self.disk.make_directories("/ledgers/current/deep/er")
        self.disk.open("/ledgers/current/deep/er/file", create=True).close()
        self.disk.open("/ledgers/metadata.db", create=True).close()
        stamp(self.disk, ["/journal", "/ledgers"], b"cookie")
        self.do(self.cluster.registration.write_cookie(self.ID, b"5\n", None))

    def held(self) -> list[str]:
        """What is in the directories, but for the locks."""
        names = self.disk.list("/journal/current") + self.disk.list("/ledgers/current")
        return [name for name in names if name != "LOCK"]

    def test_after_a_question(self) -> None:
        """Answered with N nothing is removed; with Y everything that is the bookie's, and not what lies beside it."""
        before = self.held()
        self.answers = [False, True]
        self.assertEqual((self.shell("bookieformat"), self.held()), (1, before))
        self.assertEqual(self.printed, ["Bookie format aborted!!"])
        self.assertEqual((self.shell("bookieformat"), self.held()), (0, []))
        self.assertEqual(self.printed, ["Bookie format completed successfully"])
        self.assertEqual(self.questions, ["Are you sure to format Bookie data..?"] * 2)
        self.assertTrue(self.disk.exists("/ledgers/metadata.db"))
        self.assertIn(self.ID, self.do(self.cluster.registration.all_bookies()))

    def test_without_a_question(self) -> None:
        """With -n it refuses to touch data, unless it is forced; force alone does not ask either."""
        before = self.held()
        self.assertEqual((self.shell("bookieformat", "-n"), self.held()), (1, before))
        self.assertEqual((self.shell("bookieformat", "-n", "-f"), self.held()), (0, []))
        self.assertEqual(self.shell("bookieformat", "-n"), 0)  # nothing to lose any more
        self.stored([run(1, 0, 3)])
        self.assertEqual((self.shell("bookieformat", "-force"), self.held(), self.questions), (0, [], []))

    def test_with_the_cookie(self) -> None:
        """The cookie goes as well where that is asked for, and a bookie that has none is no mistake."""
        for _ in range(2):
            self.assertEqual(self.shell("bookieformat", "-f", "-d"), 0, self.complaints)
        self.assertNotIn(self.ID, self.do(self.cluster.registration.all_bookies()))
        self.assertEqual(self.shell("initbookie"), 0)

    def test_named(self) -> None:
        """With its cookie gone, the verb says how many ledgers still name the bookie."""
        info = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", 3181, "bookie-rpc"),))
        self.do(self.cluster.registration.register_bookie(self.ID, False, info))
        for _ in range(2):
            self.written(1, ensemble_size=5, write_quorum=5)
        self.written(1, ensemble_size=2, write_quorum=2)
        self.do(self.cluster.registration.unregister_bookie(self.ID))
        named = sum(self.ID in self.do(self.client.ledger_metadata(n)).bookies for n in range(3))
        self.assertEqual(self.shell("bookieformat", "-f", "-d"), 0, self.complaints)
        left = "Ledgers still name this bookie, which has none of their entries now: recover it before it starts"
        fields = f"{{bookieId={self.ID}, ledgers={named}}}"
        self.assertEqual(self.printed, ["Bookie format completed successfully", f"{left} {fields}"])
        self.assertEqual(self.held(), [])
        self.spoil(0)
        self.assertEqual(self.shell("bookieformat", "-f", "-d"), 0, self.complaints)
        self.assertEqual(self.printed[1], f"{left} {{bookieId={self.ID}, ledgers={named - 1}}}")
        unknown = "1 ledger may name this bookie, too, as its metadata cannot be read or decoded, such as ledger 0"
        self.assertTrue(self.printed[2].startswith(f"{unknown} {{bookieId={self.ID}, reason="), self.printed)

    def test_running(self) -> None:
        """Where a bookie runs on the directories, or is registered, nothing is removed."""
        before = self.held()
        locks = DirectoryLocks(self.disk, ["/ledgers"])
        self.assertEqual((self.shell("bookieformat", "-f"), self.held()), (255, before))
        locks.release()
        self.do(self.cluster.registration.register_bookie(self.ID, False, BookieServiceInfo()))
        self.assertEqual((self.shell("bookieformat", "-f", "-d"), self.held()), (255, before))
        self.assertIn("is running", self.complaints[0])

    def test_cut_off(self) -> None:
        """Cut off anywhere, a directory without its data has no cookie that a bookie would start with."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == "unlink" and op.path.endswith("0.log"))
        self.assertEqual(self.shell("bookieformat", "-f"), 255)
        self.assertFalse(self.disk.exists("/journal/current/IDENTITY"))
        self.assertFalse(self.disk.exists("/ledgers/current/IDENTITY"))
        self.assertEqual((self.shell("bookieformat", "-f"), self.held()), (0, []))

    def test_of_apache(self) -> None:
        """Directories of Apache's bookie, of which nobody knows here whether it runs, are left alone."""
        self.java("db-clean")
        state = self.disk.digest()
        self.assertEqual((self.shell("bookieformat", "-f"), self.disk.digest()), (1, state))


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

    def test_interleaved(self) -> None:
        """Index files take the place of our index, with keys, fences and places, and the cookies are exchanged."""
        directories = self.ours()
        self.assertEqual(self.shell(INTERLEAVED), 0, self.complaints)
        self.assertEqual(self.printed, [
            "=== Converting to InterleavedLedgerStorage ===",
            "Converted ledgers {directory=/ledgers/current, convertedLedgers=3, entries=9}",
            "---- Done Converting ----",
        ])  # fmt: skip
        files = files_of_ledgers(index_files(self.disk, "/ledgers/current"))
        self.assertEqual(
            states_of(self.disk, files.values()),
            [LedgerRow(ledger_id, b"key", ledger_id == 2) for ledger_id in (0, 1, 2)],
        )
        self.assertEqual(len(list(locations_of(self.disk, 1, files[1]))), 3)
        for directory in directories:
            names = self.disk.list(f"{directory}/current")
            self.assertEqual(("VERSION" in names, "IDENTITY" in names), (True, False))

    def test_interleaved_of_several(self) -> None:
        """Logs of several directories may have the same id, so there the verb refuses and names another."""
        self.ours(count=2)
        state = self.disk.digest()
        self.assertEqual((self.shell(INTERLEAVED), self.disk.digest()), (1, state))
        self.assertIn("convert-to-db-storage converts them", self.printed[0])


class RegenerateTests(StoredCase):
    """Index files in directories of Apache's bookie."""

    def test_regenerated(self) -> None:
        """The file of a ledger is made anew, with the key of its password; what nobody has is said."""
        self.java("interleaved-clean")
        (path,) = [path for path in index_files(self.disk, "/ledgers/current") if path.endswith("/1.idx")]
        before = list(locations_of(self.disk, 1, path))
        key = Digester(DigestType.HMAC, b"pw").master_key
        for arguments in (["-password", "pw"], ["-b64password", "cHc="]):
            self.disk.unlink(path)
            self.assertEqual(self.shell(REGENERATE, "-l", "1,4242", "-dryRun", *arguments), 0, self.complaints)
            self.assertFalse(self.disk.exists(path))
            self.assertEqual(self.shell(REGENERATE, "-ledgerIds", "1,4242", *arguments), 0, self.complaints)
            self.assertEqual(list(locations_of(self.disk, 1, path)), before)
            self.assertEqual(states_of(self.disk, [path]), [LedgerRow(1, key, True)])
        self.assertEqual(self.printed, [
            "Rebuilding index file {ledgerIds=[1, 4242]}",
            f"Found entries {{ledgerId=1, numEntries={len(before)}, firstEntry=0, lastEntry={len(before) - 1}}}",
            "- No entries found {ledgerId=4242}",
            "Done rebuilding index file {ledgerIds=[1, 4242]}",
        ])  # fmt: skip

    def test_refused(self) -> None:
        """Directories of ours, and those of another storage of Apache's, have another verb."""
        self.stored([run(1, 0, 3)])
        state = self.disk.digest()
        self.assertEqual((self.shell(REGENERATE, "-l", "1", "-password", "x"), self.disk.digest()), (1, state))
        self.assertIn("rebuild-db-ledger-locations-index", self.printed[0])
        self.java("db-clean")
        self.assertEqual(self.shell(REGENERATE, "-l", "1", "-password", "x"), 1)
        self.assertIn("DbLedgerStorage", self.printed[0])

    def test_arguments(self) -> None:
        """Without ledgers the usage is printed; without a password, or with half a one, the verb fails."""
        self.stored([])
        self.assertEqual(self.shell(REGENERATE, "-password", "x"), 255)
        self.assertIn("required: -l", self.complaints[0])
        self.assertEqual(self.shell(REGENERATE, "-l", "1,x", "-password", "x"), 255)
        self.assertIn("invalid list of ledger ids value: '1,x'", self.complaints[0])
        self.assertEqual(self.shell(REGENERATE, "-l", "1"), 255)
        self.assertIn("The password must be specified", self.printed[0])
        self.assertEqual(self.shell(REGENERATE, "-l", "1", "-b64password", "?"), 255)
        self.assertIn("is no base64", self.complaints[0])
