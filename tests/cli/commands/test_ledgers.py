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
        self.assertEqual(self.shell("rewrapledgerkeys", "-l", "1"), 0)
        self.assertEqual(self.printed, ["Ledger keys wrapped {examined=1, rewrapped=0, failed=0}"])
        self.assertEqual(self.do(self.client.ledger_metadata(1)).custom_metadata["bk-encryption-key-id"], b"k3")
