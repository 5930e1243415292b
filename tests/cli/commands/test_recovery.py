"""``recover``."""

from bookkeeper_twisted.model import LedgerState

from ..shell_case import BOOKIES, ShellCase


class QueryTests(ShellCase):
    """What a loss concerns."""

    def test_query(self) -> None:
        """Ledgers that name a bookie are listed, with their ensembles and the bookie marked."""
        self.written(1)
        self.written(0, ensemble_size=1, write_quorum=1, ack_quorum=1)
        self.assertEqual(self.shell("recover", "-q", BOOKIES[3]), 0)
        bookies = self.do(self.client.ledger_metadata(0)).value.segments[0].bookies
        marked = " ".join(b + "*" * (b == BOOKIES[3]) for b in bookies)
        self.assertEqual(self.printed[1:4], ["ledger 0 : CLOSED", f"0:\t{marked}", "summary: [0=1]"])
        self.assertEqual(self.printed[-1], "Done")

    def test_one_ledger(self) -> None:
        """The list can be of one ledger."""
        self.written(1)
        self.written(1)
        self.assertEqual(self.shell("recover", "-q", "-l", "1", BOOKIES[3]), 0)
        self.assertEqual([text for text in self.printed if text.startswith("ledger")], ["ledger 1 : CLOSED"])


class RecoverTests(ShellCase):
    """Recoveries."""

    def _state(self, ledger_id: int) -> LedgerState:
        state: LedgerState = self.do(self.client.ledger_metadata(ledger_id)).value.state
        return state

    def test_nothing(self) -> None:
        """Something to recover must be named."""
        self.assertEqual(self.shell("recover"), 255)
        self.assertEqual(self.printed, ["Must specify bookies, or a ledger with -l"])

    def test_bookies(self) -> None:
        """A bookie's entries are not copied here: nothing is done, and the status says so."""
        ledger_id = self.written(1, close=False)
        self.assertEqual(self.shell("recover", "-f", ",".join(BOOKIES[:2])), 255)
        self.assertIn("not available", self.printed[0])
        self.assertIs(self._state(ledger_id), LedgerState.OPEN)

    def test_question(self) -> None:
        """A ledger is recovered only if the answer is yes."""
        self.written(1, close=False)
        self.answers = [False]
        self.assertEqual(self.shell("recover", "-l", "0"), 255)
        self.assertEqual(self.printed, ["Give up!"])
        self.assertIs(self._state(0), LedgerState.OPEN)

    def test_dry_run(self) -> None:
        """A dry run says what would be done."""
        self.written(1, close=False)
        self.written(1)
        self.assertEqual(self.shell("recover", "-dr", "-l", "0"), 0)
        self.assertEqual(self.printed, ["the ledger would be closed {ledgerId=0}"])
        self.assertEqual(self.shell("recover", "-dr", "-l", "1"), 0)
        self.assertEqual(self.printed, ["nothing to do: the ledger is closed {ledgerId=1}"])
        self.assertIs(self._state(0), LedgerState.OPEN)

    def test_skip(self) -> None:
        """Open ledgers are left alone where that is wanted."""
        self.written(1, close=False)
        self.assertEqual(self.shell("recover", "-f", "-sk", "-l", "0"), 0)
        self.assertIs(self._state(0), LedgerState.OPEN)

    def test_closed(self) -> None:
        """A closed ledger stays as it is; that it still names a lost bookie is a failure."""
        self.written(2)
        self.assertEqual(self.shell("recover", "-f", "-l", "0"), 0)
        self.assertEqual(self.printed, ["Closed {ledgerId=0, lastEntryId=1, length=30}"])
        self.assertEqual(self.shell("recover", "-f", "-l", "0", BOOKIES[0]), 255)
        self.assertIn("still names 127.0.0.1:3281", self.printed[1])

    def test_open(self) -> None:
        """A ledger that was left open is closed after its last entry."""
        self.written(2, close=False)
        self.answers = [True]
        self.assertEqual(self.shell("recover", "-ledger", "0"), 0)
        self.assertEqual(self.printed, ["Closed {ledgerId=0, lastEntryId=1, length=30}"])
        self.assertIs(self._state(0), LedgerState.CLOSED)
