"""``recover``."""

from bookkeeper_twisted.model import BookieServiceInfo, Endpoint, LedgerState

from ..shell_case import BOOKIES, ShellCase


class QueryTests(ShellCase):
    """What a loss concerns."""

    def test_query(self) -> None:
        """Ledgers that name a bookie are listed, with their ensembles and the bookie marked."""
        self.written(1)
        self.written(0, ensemble_size=1, write_quorum=1, ack_quorum=1)
        self.assertEqual(self.shell("recover", "-q", BOOKIES[3]), 0)
        bookies = self.do(self.client.ledger_metadata(0)).segments[0].bookies
        marked = " ".join(b + "*" * (b == BOOKIES[3]) for b in bookies)
        self.assertEqual(self.printed[1:4], ["ledger 0 : CLOSED", f"0:\t{marked}", "summary: [0=1]"])
        self.assertEqual(self.printed[-1], "Done")

    def test_one_ledger(self) -> None:
        """The list can be of one ledger."""
        self.written(1)
        self.written(1)
        self.assertEqual(self.shell("recover", "-q", "-l", "1", BOOKIES[3]), 0)
        self.assertEqual([text for text in self.printed if text.startswith("ledger")], ["ledger 1 : CLOSED"])

    def test_undecodable(self) -> None:
        """A ledger whose metadata cannot be decoded is named at the end, which is not Done, after all others."""
        for _ in range(3):
            self.written(1)
        self.spoil(1)
        self.assertEqual(self.shell("recover", "-q", BOOKIES[3]), 255)
        listed = [text for text in self.printed if text.startswith("ledger")]
        self.assertEqual(listed, ["ledger 0 : CLOSED", "ledger 2 : CLOSED"])
        self.assertNotIn("Done", self.printed)
        (complaint,) = self.complaints
        why = "1 ledger cannot be inspected, as its metadata cannot be read or decoded, such as ledger 1 {reason="
        self.assertTrue(complaint.startswith(f"recover: {why}"), complaint)

    def test_mistakes(self) -> None:
        """A question names bookies, and a ledger that exists."""
        self.assertEqual(self.shell("recover", "-q", "-l", "0"), 255)
        self.assertEqual(self.printed, ["Must specify bookies"])
        self.assertEqual(self.shell("recover", "-q", "-l", "7", BOOKIES[3]), 255)
        self.assertEqual(self.complaints, ["recover: ledger 7 does not exist"])


class RecoverTests(ShellCase):
    """Recoveries."""

    def _state(self, ledger_id: int) -> LedgerState:
        state: LedgerState = self.do(self.client.ledger_metadata(ledger_id)).state
        return state

    def _bookie_of(self, ledger_id: int) -> str:
        name: str = self.do(self.client.ledger_metadata(ledger_id)).segments[0].bookies[0]
        return name

    def test_nothing(self) -> None:
        """Something to recover must be named."""
        self.assertEqual(self.shell("recover"), 255)
        self.assertEqual(self.printed, ["Must specify bookies, or a ledger with -l"])

    def test_bookies(self) -> None:
        """What lost bookies kept is copied to others, with a summary; cookies go where that is wanted."""
        ids = [self.written(3, ensemble_size=3) for _ in range(4)]
        gone = BOOKIES[0]
        self.do(self.cluster.registration.write_cookie(gone, b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(gone))
        named = [i for i in ids if gone in self.do(self.client.ledger_metadata(i)).segments[0].bookies]
        self.assertEqual(self.shell("recover", "-dr", gone), 0, self.complaints)
        self.assertEqual(self.printed[-1], f"Ledgers to recover {{count={len(named)}, bytes={60 * len(named)}}}")
        self.answers = [True]
        self.assertEqual(self.shell("recover", "-d", gone), 0, (self.printed, self.complaints))
        self.assertEqual(
            self.printed,
            [
                f"Bookies : [{gone}]",
                f"Recovered {{ledgers={len(named)}, skipped=0, failed=0, entriesRead={3 * len(named)},"
                f" entriesWritten={3 * len(named)}}}",
                f"Cookie deleted {{bookieId={gone}}}",
            ],
        )
        self.assertEqual(self.progress[1], ("recovering", 60 * len(named), 60 * len(named)))
        for ledger_id in ids:
            self.assertNotIn(gone, self.do(self.client.ledger_metadata(ledger_id)).segments[0].bookies)
        self.assertNotIn(gone, self.do(self.cluster.registration.all_bookies()))

    def test_unknown_bookie(self) -> None:
        """An id that nothing is known of is named, so that a misspelled one is noticed."""
        named = self._bookie_of(self.written(1, ensemble_size=3))
        for option in ("-dr", "-f"):
            self.assertEqual(self.shell("recover", option, f"{named},other:1"), 0)
            self.assertEqual(
                self.printed[0], "No ledger names this bookie, and it has no cookie {bookieId=other:1}", option
            )
        self.assertEqual(self.shell("recover", "-f", "no id"), 255)
        self.assertEqual(self.complaints, ["recover: not a bookie id: 'no id'"])

    def test_cookie_of_a_running_bookie(self) -> None:
        """Nothing is copied where the cookie could not be deleted at the end."""
        ledger_id = self.written(1, ensemble_size=4, write_quorum=2)
        before = self.do(self.client.ledger_metadata(ledger_id))
        self.assertEqual(self.shell("recover", "-f", "-d", BOOKIES[3]), 255)
        self.assertIn("is running", self.complaints[0])
        self.assertEqual(self.do(self.client.ledger_metadata(ledger_id)), before)

    def test_interrupted(self) -> None:
        """A recovery that is cancelled releases its locks, says so, and has the status of an interrupted process."""
        ledger_id = self.written(1, ensemble_size=3)
        named = self._bookie_of(ledger_id)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].silent = True
        running = self.begin("recover", "-f", named)
        self.settle()
        self.assertEqual(list(self.do(self.cluster.underreplication.locked_ledgers())), [ledger_id])
        running.cancel()
        self.settle()
        self.assertEqual((self.successResultOf(running), self.complaints), (130, ["recover: interrupted"]))
        summary = "Recovered {ledgers=0, skipped=0, failed=0, entriesRead=0, entriesWritten=0}"
        self.assertEqual(self.printed, [summary])
        self.assertEqual(self.do(self.cluster.underreplication.locked_ledgers()), {})

    def test_what_cannot_be_recovered(self) -> None:
        """A ledger without another copy fails the command, unless that is allowed for; the cookie stays then."""
        self.tick = 1.0
        ledger_id = self.written(1, ensemble_size=1, write_quorum=1, ack_quorum=1)
        (gone,) = self.do(self.client.ledger_metadata(ledger_id)).segments[0].bookies
        self.do(self.cluster.registration.unregister_bookie(gone))
        self.assertEqual(self.shell("recover", "-f", gone), 255)
        self.assertIn(f"Not recovered {{ledgerId={ledger_id}, reason=", self.printed[0])
        lack = "Not recovered for lack of another copy: start the bookies that have one, or find the old disk"
        self.assertEqual(self.printed[2:], [f"{lack} {{ledgers=1}}"])
        self.assertEqual(self.shell("recover", "-f", "-sku", gone), 0)

    def test_no_bookie_to_copy_to(self) -> None:
        """In a cluster without another bookie the summary says so, and what helps; with a new bookie it is done."""
        self.tick = 1.0
        gone = BOOKIES[3]
        for ack_quorum in (2, 4):
            for close in (True, False):
                self.written(2, close, ensemble_size=4, write_quorum=4, ack_quorum=ack_quorum)
        self.do(self.cluster.registration.unregister_bookie(gone))
        self.bookies[gone].up = False
        self.assertEqual(self.shell("recover", "-f", gone), 255)
        lack = "Not recovered for lack of bookies: add a bookie with a new id, then recover again"
        summary = "Recovered {ledgers=0, skipped=0, failed=4, entriesRead=0, entriesWritten=0}"
        self.assertEqual(self.printed[4:], [summary, f"{lack} {{ledgers=4}}"])
        fifth = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", 3285, "bookie-rpc"),))
        self.do(self.cluster.registration.register_bookie("127.0.0.1:3285", False, fifth))
        self.assertEqual(self.shell("recover", "-f", gone), 0, self.printed)
        self.assertEqual(len(self.printed), 1)

    def test_one_ledger_of_a_bookie(self) -> None:
        """The other ledgers of the bookie stay; a ledger without it is a mistake."""
        first, second = self.written(1), self.written(1)
        gone = BOOKIES[3]
        self.written(1, ensemble_size=4, write_quorum=2)
        self.do(self.cluster.registration.unregister_bookie(gone))
        fifth = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", 3285, "bookie-rpc"),))
        self.do(self.cluster.registration.register_bookie("127.0.0.1:3285", False, fifth))
        self.assertEqual(self.shell("recover", "-f", "-l", str(second), gone), 0, (self.printed, self.complaints))
        self.assertIn(gone, self.do(self.client.ledger_metadata(first)).segments[0].bookies)
        self.assertNotIn(gone, self.do(self.client.ledger_metadata(second)).segments[0].bookies)
        self.assertEqual(self.shell("recover", "-f", "-l", str(second), gone), 255)
        self.assertIn("names none of these bookies", self.complaints[0])

    def test_open_ledgers(self) -> None:
        """They are skipped, or closed and copied."""
        ledger_id = self.written(2, close=False, ensemble_size=3)
        gone = self.do(self.client.ledger_metadata(ledger_id)).segments[0].bookies[0]
        self.do(self.cluster.registration.unregister_bookie(gone))
        self.assertEqual(self.shell("recover", "-f", "-sk", gone), 0)
        self.assertIn(f"Skipped: the ledger is open {{ledgerId={ledger_id}}}", self.printed)
        self.assertEqual(self.shell("recover", "-f", gone), 0, (self.printed, self.complaints))
        self.assertIs(self._state(ledger_id), LedgerState.CLOSED)

    def test_undecodable(self) -> None:
        """Recoveries go on past a ledger whose metadata cannot be decoded, and name it; the cookie stays."""
        ids = [self.written(2, ensemble_size=3) for _ in range(12)]
        gone = BOOKIES[3]
        self.do(self.cluster.registration.write_cookie(gone, b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(gone))
        self.spoil(ids[10])
        named = [i for i in ids if i != ids[10] and gone in self.do(self.client.ledger_metadata(i)).bookies]
        why = "as its metadata cannot be read or decoded"
        left_out = f"Not recovered: 1 ledger may need the bookie, {why}, such as ledger a "
        for options in (("-dr", "-f"), ("-f", "-d")):
            self.assertEqual(self.shell("-ledgeridformat", "hex", "recover", *options, gone), 255)
            self.assertTrue(self.printed[-1].startswith(left_out), self.printed)
            self.assertIn("the version line is missing", self.printed[-1])
        self.assertIn(f"Recovered {{ledgers={len(named)}, skipped=0, failed=0,", self.printed[-2])
        self.assertIn(gone, self.do(self.cluster.registration.all_bookies()))
        self.assertEqual(self.shell("recover", "-f", "other:1"), 255)
        self.assertNotIn("No ledger names this bookie", self.printed[0])
        self.assertEqual(self.shell("recover", "-f", "-l", str(ids[10]), gone), 255)
        self.assertEqual(self.shell("recover", "-f", "-sku", "-d", gone), 0)
        self.assertNotIn(gone, self.do(self.cluster.registration.all_bookies()))

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
        """A closed ledger stays as it is."""
        self.written(2)
        self.assertEqual(self.shell("recover", "-f", "-l", "0"), 0)
        self.assertEqual(self.printed, ["Closed {ledgerId=0, lastEntryId=1, length=30}"])

    def test_open(self) -> None:
        """A ledger that was left open is closed after its last entry."""
        self.written(2, close=False)
        self.answers = [True]
        self.assertEqual(self.shell("recover", "-ledger", "0"), 0)
        self.assertEqual(self.printed, ["Closed {ledgerId=0, lastEntryId=1, length=30}"])
        self.assertIs(self._state(0), LedgerState.CLOSED)
