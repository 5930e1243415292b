"""``readledger``."""

from ..shell_case import BOOKIES, ShellCase


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
        position = self.do(self.client.ledger_metadata(0)).value.segments[0].bookies.index(BOOKIES[0])
        held = [n for n in range(4) if (position - n) % 4 < 3]
        self.assertEqual(self.shell("readledger", "-l", "0", "-b", BOOKIES[0]), 0)
        self.assertEqual([int(text.split("=")[1].split(",")[0]) for text in self.printed], held)

    def test_no_ledger(self) -> None:
        """A ledger must be named and must exist."""
        self.assertEqual(self.shell("readledger"), 255)
        self.assertEqual(self.printed, ["Must specify a ledger id"])
        self.assertEqual(self.shell("readledger", "-l", "4242"), 255)
