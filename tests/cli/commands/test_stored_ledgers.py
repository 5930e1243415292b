"""``ledger``, ``activeledgers``, ``localconsistencycheck``."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.errors import DamageError

from ...storage.entries import run, uneven
from ...storage.index.java_stores import STORES, java_store
from ..stored_case import StoredCase


class LedgerTests(StoredCase):
    """Places of entries."""

    def test_as_apache(self) -> None:
        """A directory that Apache's bookie wrote is read through its logs."""
        self.java("db-killed")
        self.assertPrintsAs("offline-ledger")

    def test_ours(self) -> None:
        """Every entry of a ledger, where its newest copy lies."""
        self.stored([uneven(1, 0, [5, 9, 70]), run(2, 0, 2)])
        self.assertEqual(self.shell("ledger", "1"), 0)
        expected = [f"entry {n}\t:\t(log: 0, pos: {at})" for n, at in enumerate((1028, 1069, 1114))]
        self.assertEqual(self.printed, expected)

    def test_meta(self) -> None:
        """What is known of a ledger comes first where it is asked for."""
        self.stored([run(1, 0, 3), run(2, 0, 2)])
        self.assertEqual(self.shell("-ledgeridformat", "hex", "ledger", "-m", "2"), 0)
        title = "===== LEDGER: 2 ====="
        self.assertEqual(
            self.printed[:6],
            [title, "master key  : 6b6579", "size         : 112", "entries      : 2", "isFenced     : true", title],
        )
        self.assertEqual(len(self.printed), 8)
        self.java("db-killed")
        self.assertEqual(self.shell("ledger", "--meta", "0"), 0)
        self.assertEqual((self.printed[1], self.printed[4]), ("master key  : NULL", "isFenced     : unknown"))

    def test_directories(self) -> None:
        """A ledger is found in whichever directory it is; of one that is not there, that is said."""
        self.stored([run(0, 0, 3), run(1, 0, 5)], count=2)
        for ledger_id, count in ((0, 3), (1, 5)):
            self.assertEqual(self.shell("ledger", str(ledger_id)), 0)
            self.assertEqual(len(self.printed), count)
        self.assertEqual(self.shell("ledger", "2"), 0)
        self.assertEqual(self.printed, ["No entry of ledger 2 is stored here"])
        self.assertEqual(self.shell("ledger"), 255)


class ActiveLedgersTests(StoredCase):
    """Ledgers of a log that still exist."""

    def test_some(self) -> None:
        """Only ledgers that the metadata store knows are listed."""
        self.assertEqual([self.written(0), self.written(0)], [0, 1])
        self.stored([run(ledger_id, 0, 2) for ledger_id in (0, 1, 5)])
        self.assertEqual(self.shell("activeledgers", "-l", "0"), 0)
        self.assertEqual(self.printed, ["Active ledgers on entry log 0 as follow:", "0", "1"])

    def test_undecodable(self) -> None:
        """A ledger whose metadata cannot be decoded is one that the metadata store knows."""
        self.assertEqual([self.written(0), self.written(0)], [0, 1])
        self.spoil(0)
        self.stored([run(ledger_id, 0, 2) for ledger_id in (0, 1, 5)])
        self.assertEqual(self.shell("activeledgers", "-l", "0"), 0, self.complaints)
        self.assertEqual(self.printed, ["Active ledgers on entry log 0 as follow:", "0", "1"])

    def test_none(self) -> None:
        """A log of deleted ledgers has none."""
        self.stored([run(5, 0, 2)])
        self.assertEqual(self.shell("activeledgers", "--logId", "0.log", "-t", "1000"), 0)
        self.assertEqual(self.printed, ["No active ledgers on log file 0"])
        self.assertEqual(self.shell("activeledgers"), 255)

    def test_timeout(self) -> None:
        """A metadata store that does not answer in time makes the command fail."""
        self.stored([run(5, 0, 2)])
        self.connect = lambda *asked: Deferred()
        self.assertEqual(self.shell("activeledgers", "-l", "0", "-t", "0"), 255)
        self.assertEqual(self.printed, ["Read active ledgers id from metadata store timeout"])


class LocalConsistencyCheckTests(StoredCase):
    """Everything that is stored is what was written."""

    def test_as_apache(self) -> None:
        """A sound directory passes, those that Apache's bookies wrote included."""
        self.java("db-killed")
        self.assertPrintsAs("offline-localconsistencycheck")
        for name in STORES:
            self.environ["BK_ledgerDirectories"] = ",".join(
                path.removesuffix("/current") for path in java_store(name).ledger_directories()
            )
            self.java(name)
            self.assertEqual(self.shell("localconsistencycheck"), 0, name)

    def test_damage(self) -> None:
        """Every row that is not what was written is reported, and the others are checked all the same."""
        self.stored([run(1, 0, 3), run(2, 0, 2), run(3, 0, 2)])
        self.assertEqual(self.shell("localconsistencycheck"), 0)
        self.assertEqual(self.progress, [("/ledgers/current", 7 * 56, 7 * 56)])
        log = self.disk.open("/ledgers/current/0.log")
        log.pwrite(b"?", 1024 + 50)  # a payload of ledger 1
        log.pwrite(b"?", 1024 + 5 * 56 + 10)  # an id of ledger 3
        self.assertEqual(self.shell("localconsistencycheck"), 1)
        self.assertEqual(self.printed[1], "=== Check returned errors: ===")
        reports = "Inconsistency detected for ledger entry {entryId=0, ledgerId=%d, error="
        self.assertEqual(len(self.printed), 4)
        for text, ledger_id in zip(self.printed[2:], (1, 3), strict=True):
            self.assertTrue(text.startswith(reports % ledger_id), text)

    def test_missing_log(self) -> None:
        """An index that names a log that is gone is inconsistent."""
        self.stored([run(1, 0, 3)])
        self.disk.unlink("/ledgers/current/0.log")
        self.assertEqual(self.shell("localconsistencycheck"), 1)

    def test_damaged_log_without_index(self) -> None:
        """Where there is no index, a sealed log is compared with its ledgers map."""
        self.stored([run(1, 0, 3)])
        self.disk.unlink("/ledgers/current/index.sim")
        self.assertEqual(self.shell("localconsistencycheck"), 0)
        ((title, total, done),) = self.progress
        self.assertEqual((title, total), ("/ledgers/current", done))
        self.disk.open("/ledgers/current/0.log").pwrite((9).to_bytes(8, "big"), 1024 + 4)
        self.assertEqual(self.shell("localconsistencycheck"), 1)
        self.assertTrue(
            self.printed[2].startswith("Inconsistency detected for entry log {error=/ledgers/current/0.log")
        )

    def test_index_closed(self) -> None:
        """The indexes are closed, also when one of them cannot be read."""
        self.stored([run(1, 0, 3)])
        closed = []

        class Damaged:
            complete = True

            def live(self) -> dict[int, tuple[int, int]]:
                return {}

            def page(self, after: tuple[int, int], limit: int) -> list[object]:
                raise DamageError("row 5 is damaged")

            def close(self) -> None:
                closed.append(True)

        damaged: Any = Damaged()
        self.store = attrs.evolve(self.store, open_index=lambda fs, path: damaged)
        self.assertEqual(self.shell("localconsistencycheck"), 255)
        self.assertEqual((closed, self.complaints), ([True], ["localconsistencycheck: row 5 is damaged"]))
