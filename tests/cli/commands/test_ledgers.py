"""``listledgers``, ``ledgermetadata``, ``readledger``, ``deleteledger``, ``rewrapledgerkeys``."""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from unittest import SkipTest

import attrs

from bookkeeper_twisted.client.encryption import LedgerEncryption
from bookkeeper_twisted.security.ledger_keys import KeyRing

from ..shell_case import BOOKIES, ShellCase


class ListLedgersTests(ShellCase):
    """Lists of ledgers."""

    def test_ids(self) -> None:
        """One line for each ledger; none for a cluster without."""
        self.assertEqual(self.shell("listledgers"), 0)
        self.assertEqual(self.printed, [])
        self.written(0)
        self.written(0)
        self.assertEqual(self.shell("listledgers"), 0)
        self.assertEqual(self.printed, ["log entry {ledgerId=0}", "log entry {ledgerId=1}"])

    def test_of_a_bookie(self) -> None:
        """Only the ledgers that a bookie keeps a part of."""
        for _ in range(6):
            self.written(0, ensemble_size=2, write_quorum=2)
        expected = [
            f"log entry {{ledgerId={n}}}"
            for n in range(6)
            if BOOKIES[3] in self.do(self.client.ledger_metadata(n)).segments[0].bookies
        ]
        self.assertEqual(self.shell("listledgers", "-bookieid", BOOKIES[3]), 0)
        self.assertEqual(self.printed, expected)

    def test_metadata(self) -> None:
        """With their metadata."""
        self.written(1)
        self.assertEqual(self.shell("listledgers", "-m"), 0)
        (text,) = self.printed
        self.assertRegex(text, r"^log entry \{ledgerId=0, metadata=LedgerMetadata\{formatVersion=3, .*\}\}\}$")


    def test_undecodable(self) -> None:
        """One whose metadata cannot be decoded is named with the reason, after which all others are listed; it fails.
        """
        for _ in range(3):
            self.written(0, ensemble_size=4, write_quorum=2)
        self.spoil(1)
        for options in (("-m",), ("-bookieid", BOOKIES[3])):
            self.assertEqual(self.shell("listledgers", *options), 255)
            self.assertEqual([text[:21] for text in self.printed], ["log entry {ledgerId=0", "log entry {ledgerId=2"])
            (complaint,) = self.complaints
            why = "Unable to read the ledger: its metadata cannot be decoded {ledgerId=1, reason="
            self.assertTrue(complaint.startswith(why), complaint)
            self.assertIn("ledger 1: ledger metadata: the version line is missing", complaint)
        self.assertEqual([row["ledgerId"] for row in self.rows("listledgers", "-m", status=255)], [0, 2])
        self.assertEqual((self.shell("listledgers"), self.complaints, len(self.printed)), (0, [], 3))


class LedgerMetadataTests(ShellCase):
    """Metadata of one ledger."""

    def test_print(self) -> None:
        """Its id, and what is stored."""
        self.written(5)
        self.assertEqual(self.shell("ledgermetadata", "-ledgerid", "0"), 0)
        self.assertEqual(self.printed[0], "ledgerID {ledgerId=0}")
        self.assertIn("state=CLOSED, length=150, lastEntryId=4", self.printed[1])

    def test_file(self) -> None:
        """Metadata are kept in a file and stored again, as a new ledger or over one that exists."""
        self.written(1)
        stored = self.do(self.client.ledger_metadata(0))
        self.assertEqual(self.shell("ledgermetadata", "-l", "0", "-dumptofile", "f"), 0)
        self.assertEqual((self.printed, list(self.files)), ([], ["f"]))
        self.do(self.client.delete_ledger(0))
        self.assertEqual(self.shell("ledgermetadata", "-l", "0", "-restorefromfile", "f"), 0)
        self.assertEqual(self.do(self.client.ledger_metadata(0)), stored)
        self.written(2)
        self.assertEqual(self.shell("ledgermetadata", "-l", "1", "-restorefromfile", "f"), 255)
        self.assertEqual(self.shell("ledgermetadata", "-l", "1", "-restorefromfile", "f", "-update"), 0)
        self.assertEqual(self.do(self.client.ledger_metadata(1)), stored)

    def test_no_ledger(self) -> None:
        """A ledger must be named and must exist."""
        self.assertEqual(self.shell("ledgermetadata"), 255)
        self.assertEqual(self.printed, ["Must specify a ledger id"])
        self.assertEqual(self.shell("ledgermetadata", "-l", "4242"), 255)

    def test_no_file(self) -> None:
        """A file that cannot be read is an error in one line."""
        self.assertEqual(self.shell("ledgermetadata", "-l", "0", "-restorefromfile", "gone"), 255)
        self.assertEqual(len(self.complaints), 1)


class DeleteLedgerTests(ShellCase):
    """Deletion."""

    def test_question(self) -> None:
        """It is deleted if the answer is yes; both answers are fine."""
        self.written(1)
        self.answers = [False, True]
        self.assertEqual(self.shell("deleteledger", "-ledgerid", "0"), 0)
        self.shell("listledgers")
        self.assertEqual(len(self.printed), 1)
        self.assertEqual(self.shell("deleteledger", "-ledgerid", "0"), 0)
        self.shell("listledgers")
        self.assertEqual(self.printed, [])
        self.assertEqual(self.questions, ["Are your sure to delete Ledger : 0?"] * 2)

    def test_no_answer(self) -> None:
        """The end of the input deletes nothing, and is no success."""
        self.written(1)
        self.answers = [None]
        self.assertEqual(self.shell("deleteledger", "-l", "0"), 255)
        self.assertEqual(self.complaints, ["deleteledger: not confirmed: nothing was done; -force does not ask"])
        self.shell("listledgers")
        self.assertEqual(len(self.printed), 1)

    def test_force(self) -> None:
        """Nothing is asked if it is forced; a ledger that does not exist is an error."""
        self.written(1)
        self.assertEqual(self.shell("deleteledger", "-l", "0", "-f"), 0)
        self.assertEqual(self.shell("deleteledger", "-l", "0", "-f"), 255)
        self.assertEqual(self.questions, [])

    def test_no_ledger(self) -> None:
        """A ledger must be named."""
        self.assertEqual(self.shell("deleteledger"), 255)
        self.assertEqual(self.printed, ["Ledger id error."])


class ReadLedgerTests(ShellCase):
    """Entries of a ledger."""

    def test_range(self) -> None:
        """A range of entries with their data."""
        self.written(5)
        self.assertEqual(
            self.shell("readledger", "-ledgerid", "0", "-firstentryid", "0", "-lastentryid", "2", "-msg"), 0
        )
        expected = [f"Entry {{entryId={n}, entrySize={10 * n + 10}, ledgerId=0}}" for n in range(3)]
        self.assertEqual(self.printed[::2], expected)
        self.assertEqual(self.printed[1], "\0\a\x0e\x15\x1c#*18?")

    def test_all(self) -> None:
        """All entries, without data, where nothing else is said; no more than there are."""
        self.written(3)
        self.assertEqual(self.shell("readledger", "-l", "0"), 0)
        self.assertEqual(len(self.printed), 3)
        self.assertEqual(self.shell("readledger", "-l", "0", "-fe", "1", "-le", "99"), 0)
        self.assertEqual(len(self.printed), 2)

    def test_hex(self) -> None:
        """Data as a dump."""
        self.written(1)
        self.assertEqual(self.shell("-entryformat", "hex", "readledger", "-l", "0", "-m"), 0)
        self.assertEqual(self.printed[1], "00000000 00 07 0E 15 1C 23 2A 31 38 3F                   .....#*18?")

    def test_bookie(self) -> None:
        """Only what one bookie holds."""
        self.written(4)
        position = self.do(self.client.ledger_metadata(0)).segments[0].bookies.index(BOOKIES[0])
        held = [n for n in range(4) if (position - n) % 4 < 3]
        self.assertEqual(self.shell("readledger", "-l", "0", "-b", BOOKIES[0]), 0)
        self.assertEqual([int(text.split("=")[1].split(",")[0]) for text in self.printed], held)
        left = f"Not to be on this bookie, and not there {{count=1, bookieId={BOOKIES[0]}, ledgerId=0}}"
        self.assertEqual(self.complaints, [left])

    def of_first(self, *arguments: str, status: int = 255) -> list[str]:
        """What is said about the entries that the first bookie lacks."""
        self.assertEqual(self.shell("readledger", "-l", "0", "-b", BOOKIES[0], *arguments), status)
        return self.complaints

    def test_missing(self) -> None:
        """Entries that the bookie should have are named, and fail the command; ranges are joined, stripes too."""
        self.written(9, ensemble_size=4, write_quorum=4)
        stored = self.bookies[BOOKIES[0]].entries[0]
        for entry_id in (2, 5, 6, 7):
            del stored[entry_id]
        missing = [
            "Failed to read entry {entryId=2, error=No such entry}",
            "Failed to read entries {entryIds=5-7, count=3, error=No such entry}",
            f"Missing on this bookie {{count=4, ranges=2, bookieId={BOOKIES[0]}, ledgerId=0}}",
        ]
        self.assertEqual(self.of_first(), missing)
        self.assertEqual(len(self.printed), 5)
        rows = self.rows("readledger", "-l", "0", "-b", BOOKIES[0], status=255)
        self.assertEqual([row["entryId"] for row in rows], [0, 1, 3, 4, 8])
        self.assertEqual(self.complaints, missing)
        only = f"Missing on this bookie {{count=1, ranges=1, bookieId={BOOKIES[0]}, ledgerId=0}}"
        self.assertEqual(self.of_first("-fe", "6", "-le", "6"), [missing[0].replace("=2", "=6"), only])
        self.assertEqual(self.of_first("-fe", "3", "-le", "4", status=0), [])

    def test_missing_ledger(self) -> None:
        """A bookie that has nothing of a ledger lacks all entries; it is not asked to have those of other bookies."""
        self.written(8)
        position = self.do(self.client.ledger_metadata(0)).segments[0].bookies.index(BOOKIES[0])
        held = [n for n in range(8) if (position - n) % 4 < 3]
        del self.bookies[BOOKIES[0]].entries[0]
        where = f"bookieId={BOOKIES[0]}, ledgerId=0"
        span = f"entryIds={held[0]}-{held[-1]}, count=6"
        self.assertEqual(self.of_first(), [
            f"Failed to read entries {{{span}, error=No such entry}}",
            f"Missing on this bookie {{count=6, ranges=1, {where}}}",
            f"Not to be on this bookie, and not there {{count=2, {where}}}",
        ])  # fmt: skip

    def test_many_missing(self) -> None:
        """The output about missing entries has a bound."""
        self.written(250, ensemble_size=4, write_quorum=4)
        stored = self.bookies[BOOKIES[0]].entries[0]
        for entry_id in range(0, 250, 2):
            del stored[entry_id]
        said = self.of_first()
        self.assertEqual(len(said), 101)
        total = f"Missing on this bookie {{count=125, ranges=125, bookieId={BOOKIES[0]}, ledgerId=0}}"
        self.assertEqual(said[-1], total)

    def test_behind_the_end(self) -> None:
        """Entries behind the last add confirmed are told from missing ones; nothing read from a bookie is a failure."""
        self.written(3, ensemble_size=4, write_quorum=4)
        behind = "Not read: behind the last add confirmed {ledgerId=0, entryIds=3-9, lastAddConfirmed=2}"
        self.assertEqual(self.of_first("-fe", "1", "-le", "9", status=0), [behind])
        self.assertEqual(self.of_first("-fe", "7", "-le", "7"), [behind.replace("3-9", "7")])
        self.assertEqual(self.shell("readledger", "-l", "0", "-fe", "5"), 0)
        self.assertEqual(self.complaints, [behind.replace("3-9", "5")])

    def test_other_bookie(self) -> None:
        """A bookie of which the ledger has no entry fails the command; an empty ledger has none to lack."""
        self.written(2, ensemble_size=2, write_quorum=2)
        other = next(b for b in BOOKIES if b not in self.do(self.client.ledger_metadata(0)).bookies)
        self.assertEqual(self.shell("readledger", "-l", "0", "-b", other), 255)
        left = f"Not to be on this bookie, and not there {{count=2, bookieId={other}, ledgerId=0}}"
        self.assertEqual(self.complaints, [left])
        self.written(0)
        self.assertEqual((self.shell("readledger", "-l", "1", "-b", other), self.complaints), (0, []))

    def test_no_ledger(self) -> None:
        """A ledger must be named and must exist."""
        self.assertEqual(self.shell("readledger"), 255)
        self.assertEqual(self.printed, ["Must specify a ledger id"])
        self.assertEqual(self.shell("readledger", "-l", "4242"), 255)


class RewrapTests(ShellCase):
    """New keys around the keys of ledgers."""

    def setUp(self) -> None:
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra tls") from None
        super().setUp()
        self.keys = self.mktemp()

    def write_keys(self, *names: str) -> None:
        lines = [f"{name} {b64encode(name.encode() * 16).decode()}" for name in names]
        Path(self.keys).write_text("\n".join(lines))
        self.environ |= {"BK_ledgerKeyProvider": "file", "BK_ledgerKeyFile": self.keys}

    def describe(self, ledger_id: int, custom_metadata: Mapping[str, bytes]) -> None:
        ledgers = self.client.metadata.ledgers
        stored = self.do(ledgers.read(ledger_id))
        changed = attrs.evolve(stored.value, custom_metadata=dict(custom_metadata))
        self.do(ledgers.write(ledger_id, changed, stored.version))

    def test_rewrap(self) -> None:
        """Each encrypted ledger gets the newest key once; a ledger whose key is missing is named."""
        self.assertEqual(self.shell("rewrapledgerkeys"), 255)
        self.assertEqual(self.printed, ["ledgerKeyProvider is not set: there is no key to wrap with"])
        self.written(1)
        for name in ("k1", "k2"):
            self.write_keys(name)
            provider = KeyRing({name: name.encode() * 16}, "test")
            key = self.do(LedgerEncryption(provider, True).new_key())
            self.describe(self.written(1), key.custom_metadata)
        self.write_keys("k1", "k3")
        self.assertEqual(self.shell("rewrapledgerkeys"), 255)
        self.assertIn("has no key 'k2'", self.printed[0])
        self.assertEqual(self.printed[1], "Ledger keys wrapped {examined=3, rewrapped=1, failed=1}")
        self.spoil(0)
        self.assertEqual(self.shell("rewrapledgerkeys"), 255)
        self.assertIn("ledger 0: ", self.printed[0])
        self.assertEqual(self.printed[2], "Ledger keys wrapped {examined=3, rewrapped=0, failed=2}")
        self.assertEqual(self.shell("rewrapledgerkeys", "-l", "1"), 0)
        self.assertEqual(self.printed, ["Ledger keys wrapped {examined=1, rewrapped=0, failed=0}"])
        self.assertEqual(self.do(self.client.ledger_metadata(1)).custom_metadata["bk-encryption-key-id"], b"k3")
