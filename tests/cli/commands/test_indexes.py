"""``rebuild-db-ledger-locations-index`` and ``check-db-ledgers-index``."""

import attrs

from bookkeeper_twisted.bookie.records import fence_record, key_record
from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.cookies import DirectoryLocks
from bookkeeper_twisted.storage.interfaces import IFileSystem, LedgerRow
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.ledger_dirs import journal_bytes

from ...simulated_disk.sim_index import FILE_NAME, SimIndex
from ...storage.entries import run
from ...vectors.shell import capture
from ..stored_case import StoredCase

REBUILD = "rebuild-db-ledger-locations-index"
LEDGERS = "rebuild-db-ledgers-index"
CHECK = "check-db-ledgers-index"


class RebuildTests(StoredCase):
    """Indexes made anew."""

    def test_places(self) -> None:
        """The rebuilt indexes name the same places, and keep what the old ones knew of ledgers."""
        self.stored([run(ledger_id, 0, 3) for ledger_id in (0, 1, 2)] + [run(1, 3, 9)], size_limit=1500, count=2)
        before = self._ledgers()
        self.assertEqual(self.shell(REBUILD), 0)
        self.assertEqual((self.printed[0], self.printed[-1]), (
            "=== Rebuilding DBStorage locations index ===", "-- Done rebuilding DBStorage locations index --",
        ))  # fmt: skip
        self.assertEqual(
            self.printed[1], "Index rebuilt {directory=/ledgers0/current, entries=6, logs=1, statesKept=2}"
        )
        self.assertEqual([total for _, total, _ in self.progress], [done for _, _, done in self.progress])
        self.assertEqual(self._ledgers(), before)
        self.assertEqual(self.shell(CHECK), 0)
        index = SimIndex.open(self.disk, "/ledgers0/current")
        self.assertEqual([*index.ledgers()][1], LedgerRow(2, b"key", fenced=True))

    def _ledgers(self) -> list[str]:
        printed = []
        for ledger_id in range(3):
            self.assertEqual(self.shell("ledger", str(ledger_id)), 0)
            printed += self.printed
        self.assertEqual(len(printed), 18)
        return printed

    def test_lost_index(self) -> None:
        """Where the index is lost, ledgers are fenced and their entries are found again."""
        self.stored([run(1, 0, 3)])
        before = self.shell("ledger", "1"), self.printed
        self.disk.unlink(f"/ledgers/current/{FILE_NAME}")
        self.assertEqual(self.shell(REBUILD), 0)
        self.assertEqual([*SimIndex.open(self.disk, "/ledgers/current").ledgers()], [LedgerRow(1, b"", fenced=True)])
        self.assertEqual((self.shell("ledger", "1"), self.printed), before)

    def test_locked(self) -> None:
        """Where a bookie runs, nothing is done; when it has stopped, the locks are free again after each command."""
        self.stored([run(1, 0, 3)])
        state = self.disk.digest()
        for directory in ("/journal", "/ledgers"):
            locks = DirectoryLocks(self.disk, [directory])
            self.assertEqual(self.shell(REBUILD), 255)
            self.assertEqual(self.printed, [])
            self.assertIn(f"{directory}/current", self.complaints[0])
            self.assertEqual(self.disk.digest(), state)
            locks.release()
        self.assertEqual((self.shell(REBUILD), self.shell(REBUILD)), (0, 0))

    def test_apache(self) -> None:
        """Directories of a bookie of Apache are left alone."""
        self.java("db-killed")
        state = self.disk.digest()
        self.assertEqual(self.shell(REBUILD), 1)
        self.assertIn("rebuildIndex=true", self.printed[0])
        self.assertEqual(self.disk.digest(), state)

    def test_damaged_log(self) -> None:
        """A sealed log that is damaged makes the command fail, and the directories are free afterwards."""
        self.stored([run(1, 0, 3)])
        log = self.disk.open("/ledgers/current/0.log")
        log.pwrite((9).to_bytes(8, "big"), 1024 + 4)
        self.assertEqual(self.shell(REBUILD), 255)
        self.assertIn("/ledgers/current/0.log", self.complaints[0])
        log.pwrite((1).to_bytes(8, "big"), 1024 + 4)
        self.assertEqual(self.shell(REBUILD), 0)


class LedgersTests(StoredCase):
    """States of ledgers made anew."""

    def _journal(self, *records: bytes) -> None:
        journal = Journal.open(self.disk, "/journal/current", JournalSettings(preallocate=1 << 16), 1000, b"salt")
        journal.write_group(records)
        journal.close()

    def test_states(self) -> None:
        """Ledgers are fenced, with the keys of the journals; entries lie where they lay."""
        self.stored([run(ledger_id, 0, 3) for ledger_id in (0, 1, 2)], count=2)
        self._journal(key_record(1, b"old"), key_record(5, b"five"), key_record(1, b"one"), fence_record(8))
        self.shell("ledger", "1")
        before = self.printed
        self.assertEqual(self.shell(LEDGERS), 0, self.complaints)
        self.assertEqual(self.printed, [
            "=== Rebuilding DBStorage ledgers index ===", "-- Done rebuilding DBStorage ledgers index --",
        ])  # fmt: skip
        self.assertEqual([total for _, total, _ in self.progress], [done for _, _, done in self.progress])
        self.assertEqual(self.progress[0][:2], ("journals", journal_bytes(self.disk, "/journal/current")))
        states = [[*SimIndex.open(self.disk, f"/ledgers{number}/current").ledgers()] for number in (0, 1)]
        self.assertEqual(states, [
            [LedgerRow(0, b"", True), LedgerRow(2, b"", True), LedgerRow(8, b"", True)],
            [LedgerRow(1, b"one", True), LedgerRow(5, b"five", True)],
        ])  # fmt: skip
        self.shell("ledger", "1")
        self.assertEqual(self.printed, before)

    def test_verbose(self) -> None:
        """It says where each ledger was found."""
        self.stored([run(1, 0, 3)])
        self._journal(key_record(5, b"five"))
        self.assertEqual(self.shell(LEDGERS, "-v"), 0)
        self.assertEqual(self.printed[1:-1], [
            "Found ledger in entry log {ledgerId=1}", "Found ledger in journal {ledgerId=5}",
        ])  # fmt: skip

    def test_refused(self) -> None:
        """Where a bookie runs, and on directories of Apache's, nothing is done."""
        self.stored([run(1, 0, 3)])
        state = self.disk.digest()
        locks = DirectoryLocks(self.disk, ["/journal"])
        self.assertEqual(self.shell(LEDGERS), 255)
        self.assertEqual(self.disk.digest(), state)
        locks.release()
        self.java("db-killed")
        state = self.disk.digest()
        self.assertEqual(self.shell(LEDGERS), 1)
        self.assertEqual(self.disk.digest(), state)

    def test_aborted(self) -> None:
        """A damaged entry log ends it, says so, and leaves no index that passes for complete."""
        self.stored([run(1, 0, 3)])
        self.disk.open("/ledgers/current/0.log").pwrite((9).to_bytes(8, "big"), 1024 + 4)
        self.assertEqual(self.shell(LEDGERS), 255)
        self.assertEqual(self.printed[-1], "-- Aborted rebuilding DBStorage ledgers index --")
        self.assertIn("/ledgers/current/0.log", self.complaints[0])
        self.assertFalse(SimIndex.open(self.disk, "/ledgers/current").complete)


class CheckTests(StoredCase):
    """Indexes read from begin to end."""

    def test_as_apache(self) -> None:
        """What is printed begins and ends as in Apache's shell; in between are the ledgers if they are wanted."""
        self.stored([run(1, 0, 3), run(2, 0, 2)])
        expected = capture("offline-check-db-ledgers-index")
        self.assertEqual(self.shell(CHECK), 0)
        self.assertEqual(self.printed, expected.printed)
        self.assertEqual(self.shell(*expected.arguments), 0)
        ledgers = [f"Scanned ledger {{directory=/ledgers/current, fenced={fenced}, ledgerId={ledger_id}}}"
                   for ledger_id, fenced in ((1, "false"), (2, "true"))]  # fmt: skip
        self.assertEqual(self.printed, [expected.printed[0], *ledgers, expected.printed[1]])

    def test_progress(self) -> None:
        """Each directory has a bar, which ends full."""
        self.stored([run(ledger_id, 0, 3) for ledger_id in range(4)], count=2)
        self.assertEqual(self.shell(CHECK), 0)
        self.assertEqual([title for title, _, _ in self.progress], ["/ledgers0/current", "/ledgers1/current"])
        self.assertEqual([total for _, total, _ in self.progress], [done for _, _, done in self.progress])
        self.assertTrue(all(total for _, total, _ in self.progress))

    def test_running(self) -> None:
        """It does not matter that a bookie runs."""
        self.stored([run(1, 0, 3)])
        DirectoryLocks(self.disk, ["/journal", "/ledgers"])
        self.assertEqual(self.shell(CHECK), 0)

    def test_damage(self) -> None:
        """A damaged row makes the command fail, be it of a ledger or of entries."""
        self.stored([run(1, 0, 3)])
        for method in ("ledgers", "page"):
            with self.subTest(method):
                damaged = type("Damaged", (SimIndex,), {method: _raise})

                def opened(fs: IFileSystem, path: str, kind: type[SimIndex] = damaged) -> SimIndex:
                    return kind.open(fs, path)

                self.store = attrs.evolve(self.store, open_index=opened)
                self.assertEqual(self.shell(CHECK), 255)
                self.assertEqual(self.complaints, [f"{CHECK}: a row is damaged"])

    def test_no_index(self) -> None:
        """A directory without an index fails."""
        self.stored([run(1, 0, 3)])
        self.disk.unlink(f"/ledgers/current/{FILE_NAME}")
        self.assertEqual(self.shell(CHECK), 255)
        self.assertEqual(self.printed[1:], ["/ledgers/current has no complete index"])


def _raise(*given: object) -> object:
    raise DamageError("a row is damaged")
