"""``simpletest`` and ``bookiesanity``."""

from bookkeeper_twisted.errors import BookieIOError

from ..shell_case import BOOKIES, ShellCase


class SimpleTestTests(ShellCase):
    """A ledger is written."""

    def test_success(self) -> None:
        """It says what it wrote, and leaves no ledger."""
        arguments = ["-ensemble", "3", "-writeQuorum", "3", "-ackQuorum", "3", "-numEntries", "250"]
        self.assertEqual(self.shell("simpletest", *arguments), 0)
        self.assertEqual(self.printed, ["Ledger ID {ledgerId=0}", "250 entries written to ledger 0 (lastEntryId 249)"])
        self.assertEqual(sum(len(self.bookies[b].entries.get(0, {})) for b in BOOKIES), 750)
        self.shell("listledgers")
        self.assertEqual(self.printed, [])

    def test_too_large(self) -> None:
        """More bookies than there are is an error."""
        for size, why in ((5, "5 bookies"), ((1 << 31) - 1, "ensemble_size: 2147483647 was given")):
            self.assertEqual(self.shell("simpletest", "-e", str(size)), 255)
            self.assertRegex(self.complaints[0], f"^simpletest: {why}")

    def test_failure(self) -> None:
        """Where bookies do not write the test fails, and leaves no ledger either."""
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].fail("add", lambda: BookieIOError(0))
        self.assertEqual(self.shell("simpletest", "-n", "1"), 255)
        self.shell("listledgers")
        self.assertEqual(self.printed, [])


class BookieSanityTests(ShellCase):
    """One bookie is tried."""

    def setUp(self) -> None:
        """This shell stands beside the second bookie."""
        super().setUp()
        self.environ["BK_bookiePort"] = "3282"

    def test_success(self) -> None:
        """The bookie of the configuration gets the entries, no other."""
        self.assertEqual(self.shell("bookiesanity"), 0)
        self.assertEqual(
            self.printed, ["Read entries from ledger {entries=10, ledgerId=0}", "Bookie sanity test succeeded"]
        )
        self.assertEqual([len(self.bookies[b].entries.get(0, {})) for b in BOOKIES], [0, 10, 0, 0])
        self.shell("listledgers")
        self.assertEqual(self.printed, [])

    def test_other_bookie(self) -> None:
        """Another bookie can be named before the command; without a name it is that of the configuration."""
        self.assertEqual(self.shell("-localbookie", BOOKIES[2], "bookiesanity", "-e", "3"), 0)
        self.assertEqual(len(self.bookies[BOOKIES[2]].entries[0]), 3)
        self.assertEqual(self.shell("-localbookie", "bookiesanity"), 0)
        self.assertEqual(len(self.bookies[BOOKIES[1]].entries[1]), 10)

    def test_not_there(self) -> None:
        """A bookie that is not writable fails the test."""
        self.assertEqual(self.shell("-localbookie", "127.0.0.1:9", "bookiesanity"), 255)
        self.assertEqual(self.complaints, ["bookiesanity: bookie 127.0.0.1:9 is not writable"])

    def test_fails(self) -> None:
        """A bookie that does not write fails the test; no other takes its place."""
        self.bookies[BOOKIES[1]].fail("add", lambda: BookieIOError(0))
        self.assertEqual(self.shell("bookiesanity"), 255)
        self.assertEqual(self.printed, [])
