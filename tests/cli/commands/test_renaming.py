"""``updateledgers`` and ``updateBookieInLedger``."""

from ..shell_case import BOOKIES, ShellCase

_OLD, _NEW = BOOKIES[0], "localhost:3281"


class RenamingCase(ShellCase):
    """Two ledgers that name the first bookie, which is down and has a cookie under another id."""

    def setUp(self) -> None:
        super().setUp()
        self.tick = 1.0
        self.ids = [self.written(1), self.written(2)]
        self.do(self.cluster.registration.write_cookie(_NEW, b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(_OLD))

    def assertRenamed(self) -> None:
        """The new id is in the place of the old one."""
        for ledger_id in self.ids:
            bookies = self.do(self.client.ledger_metadata(ledger_id)).segments[0].bookies
            self.assertNotIn(_OLD, bookies)
            self.assertIn(_NEW, bookies)


class UpdateBookieInLedgerTests(RenamingCase):
    """``updateBookieInLedger``."""

    def test_all(self) -> None:
        """All ledgers change, and the end says how many."""
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", _OLD, "-db", _NEW), 0, self.complaints)
        self.assertEqual(self.printed, ["Ledgers updated {examined=2, updated=2}"])
        self.assertRenamed()

    def test_progress(self) -> None:
        """Lines of progress, where they are wanted."""
        options = ("-srcBookie", _OLD, "-destBookie", _NEW, "-v", "-p", "0", "-r", "1", "-l", "1")
        self.assertEqual(self.shell("updateBookieInLedger", *options), 0, self.complaints)
        self.assertEqual(
            self.printed, ["Progress {examined=1, updated=1}", "Ledgers updated {examined=1, updated=1}"]
        )  # fmt: skip

    def test_no_ledger(self) -> None:
        """It is said where no ledger names the bookie."""
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", "rubbish", "-db", _NEW), 0, self.complaints)
        self.assertEqual(self.printed[0], "No ledger names bookie rubbish")
        self.assertIn("updated=0", self.printed[1])

    def test_refused(self) -> None:
        """Missing ids, a source that runs, a destination that nobody knows, numbers that make no sense."""
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", _OLD), 255)
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", BOOKIES[1], "-db", _NEW), 1)
        self.assertEqual(self.printed, [f"Bookie {BOOKIES[1]} is running: its ledgers keep its name"])
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", _OLD, "-db", "unknown:1"), 255)
        self.assertEqual(self.complaints, ["updateBookieInLedger: no bookie unknown:1 is known: it has no cookie"])
        self.assertEqual(self.shell("updateBookieInLedger", "-sb", _OLD, "-db", _NEW, "-s", "0"), 255)


class UpdateLedgersTests(RenamingCase):
    """``updateledgers``."""

    def setUp(self) -> None:
        super().setUp()
        self.environ["BK_bookiePort"] = "3281"

    def test_host_name(self) -> None:
        """From the address of this machine to its name."""
        self.environ["BK_useHostNameAsBookieID"] = "true"
        self.own_host_of = lambda config: "localhost" if config.use_host_name_as_bookie_id else "127.0.0.1"
        self.assertEqual(self.shell("updateledgers", "-bookieId", "ip"), 255)
        self.assertEqual(self.shell("updateledgers", "-bookieId", "hostname"), 0, (self.complaints, self.printed))
        self.assertRenamed()

    def test_no_kind(self) -> None:
        """The kind of id must be named."""
        self.assertEqual(self.shell("updateledgers"), 255)
        self.assertEqual(self.printed, ["-bookieId hostname or -bookieId ip must be specified"])
