"""A quorum writer that finds no bookie for the place of one that failed: what it says, when it goes on, and waits."""

from twisted.internet.defer import Deferred, fail
from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.client.writing.failed_bookies import RETRY_SECONDS, SPARE_SECONDS, AddRules
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    LedgerFencedError,
    MetadataError,
    NotEnoughBookiesError,
)

from .quorum_case import LEDGER, QuorumTestCase


class CauseTests(QuorumTestCase):
    """What a shortage of bookies says."""

    quorums = (2, 2, 2)
    spares = 0

    def test_cause(self) -> None:
        """It names each bookie that failed and with what; the first failure is its cause."""
        self.send()
        failure = BookieHandleNotAvailableError("the connection was lost")
        self.bookies.answer("b1", failure)
        (error,) = self.ends
        missed = f"ledger {LEDGER} entry 0 cannot reach its ack quorum of 2 bookies"
        shortage = "no bookie can take the place of b1; bookie b1: the connection was lost"
        self.assertEqual(str(error), f"{missed}: {shortage}")
        self.assertIs(error.__cause__, failure)

    def test_out_of_reach(self) -> None:
        """The same of an entry that cannot reach its ack quorum with the bookies that were found."""
        self.spares = 1
        self.setUp()
        self.ledgers.closed = True
        self.send()
        failures = [BookieIOError(detail="one"), BookieIOError(detail="two")]
        for name, failure in zip(self.names, failures, strict=True):
            self.bookies.answer(name, failure)
        self.ledgers.open()
        (error,) = self.ends
        self.assertIn(str(failures[1]), str(error))
        self.assertIs(error.__cause__, failures[1])


class NoSpareTests(QuorumTestCase):
    """Three bookies, of which one may be lost: no other can take its place."""

    spares = 0

    def setUp(self) -> None:
        """Entry 0 has failed at b0."""
        super().setUp()
        captured = capturedLogs()
        self.lines = captured.__enter__()
        self.addCleanup(captured.__exit__, None, None, None)
        self.clock.advance(0)
        self.send()
        self.bookies.answer("b0", BookieHandleNotAvailableError("refused"))

    def _answer(self, *names: str) -> None:
        for name in names:
            self.bookies.answer(name)

    def _append(self, **failures: Exception) -> None:
        """One entry more, with answers of all bookies, those that fail first."""
        self.send()
        for name in sorted(self.names, key=lambda name: name not in failures):
            self.bookies.answer(name, failures.get(name))

    def _said(self, text: str) -> list[str]:
        return [line for line in map(formatEvent, self.lines) if text in line]

    def test_goes_on(self) -> None:
        """What the others can acknowledge completes, also if the bookie fails after it, and nothing changes (S16)."""
        self.assertEqual((self.completed, self.ends), ([], []))
        self._answer("b1")
        self.assertEqual(self.completed, [])
        self._answer("b2")
        self.send()
        self._answer("b1", "b2")
        self.bookies.answer("b0", BookieHandleNotAvailableError("refused"))
        self._append()
        self.assertEqual((self.completed, self.ends), ([0, 1, 2], []))
        self.assertEqual(self.segments(), [(0, self.names)])

    def test_is_asked_again(self) -> None:
        """The bookie gets every entry all the same: once it is back it counts, and another may be lost."""
        self._answer("b1", "b2")
        self.send()
        self.assertEqual(self.bookies.asked("b0"), [(1, 1)])
        self._answer("b0", "b1")
        self.assertEqual(self.completed, [0, 1])
        self._append(b1=BookieHandleNotAvailableError("refused"))
        self._append(b2=BookieIOError())
        self.assertEqual((self.completed, self.ends), ([0, 1, 2, 3], []))

    def test_two_lost(self) -> None:
        """A second one ends the writer, with an error that names both and what they failed with, and no other."""
        self._answer("b1", "b2")
        self._append(b1=BookieIOError())
        self._append(b0=BookieHandleNotAvailableError("refused"), b2=BookieHandleNotAvailableError("the other"))
        (error,) = self.ends
        self.assertIsInstance(error, NotEnoughBookiesError)
        for text in ("take the place of", "b0: refused", "b2: the other"):
            self.assertIn(text, str(error))
        self.assertNotIn("b1", str(error))

    def test_holds_nothing_up(self) -> None:
        """While there is no other bookie, its failures begin no change, which would hold the entries up (S16)."""
        self._answer("b1", "b2")
        self.clock.advance(10 * SPARE_SECONDS)
        asked: list[object] = []
        self.patch(self.changes, "replace", lambda *args: asked.append(args))
        self._append(b0=BookieIOError())
        self.assertEqual((asked, self.completed), ([], [0, 1]))

    def test_a_spare_comes(self) -> None:
        """A bookie that is registered later takes the place, not before the time for the next try."""
        self._answer("b1", "b2")
        self.register("s0")
        self.clock.advance(0)
        self._append(b0=BookieIOError())
        self.assertEqual(self.segments(), [(0, self.names)])
        self.clock.advance(SPARE_SECONDS)
        self._append(b0=BookieIOError())
        self.assertEqual(self.segments(), [(0, self.names), (2, ("s0", "b1", "b2"))])
        self._answer("s0")
        self.assertEqual((self.completed[-1], self.ends), (2, []))

    def test_one_line(self) -> None:
        """The log says so once, for all entries and ledgers, and when the bookie is back."""
        self._answer("b1", "b2")
        self._append(b0=BookieIOError())
        self.changes.stay(["b0"], BookieIOError())
        (line,) = self._said("go on without")
        self.assertIn("b0: refused", line)
        for change in (self.unregister, self.register):
            change("b0")
            self.clock.advance(0)
        self.assertEqual(len(self._said("b0 is back")), 1)
        self.changes.stay(["b0"], BookieIOError())
        self.assertEqual(len(self._said("go on without")), 2)

    def test_store_is_gone(self) -> None:
        """A bookie that fails while the store cannot name others is one that none can take the place of."""

        def gone() -> Deferred[object]:
            return fail(MetadataError("gone"))

        self.patch(self.driver.registration, "writable_bookies", gone)
        self._answer("b1", "b2")
        self._append(b1=BookieIOError())
        self.assertEqual((self.completed, self.ends), ([0, 1], []))


class PatienceTests(QuorumTestCase):
    """``waitForBookiesSec``: a ledger of one bookie, which restarts."""

    quorums = (1, 1, 1)
    spares = 0
    rules = AddRules(patience=5.0)

    def _fail(self) -> None:
        self.bookies.answer("b0", BookieHandleNotAvailableError("away"))

    def test_back(self) -> None:
        """A bookie that is back in time gets again all that it failed, the same bytes; nothing completes before."""
        self.send()
        self.send(2)
        before = list(self.bookies.sent)
        self._fail()
        self.assertEqual((self.completed, self.ends, self.bookies.asked("b0")), ([], [], []))
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual(self.bookies.asked("b0"), [(0, 1), (1, 2)])
        self.assertEqual(self.bookies.sent, before * 2)
        self.bookies.answer("b0")
        self.assertEqual((self.completed[-1], self.ends, self.segments()), (2, [], [(0, ("b0",))]))

    def test_appended_when_the_pause_ends(self) -> None:
        """What has joined a batch that is not sent yet when bookies are tried again is sent in its turn."""
        self.send()
        self.clock.callLater(RETRY_SECONDS, self.batcher.join_many, self.writer, 1, self.length_sent, [b"y"], None)
        self._fail()
        self.clock.advance(RETRY_SECONDS)  # to the append, and the end of the pause at the same time
        self.clock.advance(0)
        self.assertEqual(self.bookies.asked("b0"), [(0, 1), (1, 1)])
        self.bookies.answer("b0")
        self.assertEqual((self.completed[-1], self.ends), (1, []))

    def test_each_outage(self) -> None:
        """The time begins anew once an entry has completed."""
        for number in range(3):
            self.send()
            for _ in range(8):
                self._fail()
                self.clock.advance(RETRY_SECONDS)
            self.bookies.answer("b0")
            self.assertEqual((self.completed[-1], self.ends), (number, []))

    def test_away_for_good(self) -> None:
        """When the time is over the writer ends, with the cause."""
        self.send()
        for _ in range(10):
            self._fail()
            self.assertEqual(self.ends, [])
            self.clock.advance(RETRY_SECONDS)
        self._fail()
        self.assertEqual([type(error) for error in self.ends], [NotEnoughBookiesError])
        self.assertIn("b0: away", str(self.ends[0]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_fails_within_the_call(self) -> None:
        """A bookie that fails at once, each time, is tried again as well."""
        self.bookies.at_once["b0"] = lambda: BookieHandleNotAvailableError("refused")
        self.send()
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual(self.ends, [])
        del self.bookies.at_once["b0"]
        self.clock.advance(RETRY_SECONDS)
        self.bookies.answer("b0")
        self.assertEqual((self.completed, self.ends), ([0], []))

    def test_late_answer(self) -> None:
        """What a bookie says of the first try does not count once there is a second (S16)."""
        self.send()
        (first,) = self.bookies.take("b0")
        first.answer(BookieHandleNotAvailableError("away"))
        self.clock.advance(RETRY_SECONDS)
        first.answer()
        self.assertEqual(self.completed, [])

    def test_another_comes(self) -> None:
        """A bookie that is registered meanwhile takes the place."""
        self.send()
        self._fail()
        self.register("s0")
        self.clock.advance(RETRY_SECONDS)
        self._fail()
        self.assertEqual(self.writer.ensemble, ("s0",))
        self.bookies.answer("s0")
        self.assertEqual((self.completed, self.segments()), ([0], [(0, ("s0",))]))

    def test_fenced_meanwhile(self) -> None:
        """A recovery ends it (S3)."""
        self.send()
        self._fail()
        self.clock.advance(RETRY_SECONDS)
        self.bookies.answer("b0", LedgerFencedError(LEDGER))
        self.assertEqual([type(error) for error in self.ends], [LedgerFencedError])

    def test_closed_meanwhile(self) -> None:
        """A writer that is closed waits no more."""
        self.send()
        self._fail()
        self.writer.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
