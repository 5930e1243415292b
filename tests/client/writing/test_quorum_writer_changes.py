"""A quorum writer while its ensemble changes: what comes in between, shortages, delays, time-outs."""

from typing import Any

import attrs

from bookkeeper_twisted.client.writing.failed_bookies import AddRules
from bookkeeper_twisted.errors import (
    AddEntryQuorumTimeoutError,
    BookieIOError,
    LedgerClosedError,
    LedgerFencedError,
    MetadataError,
    NotEnoughBookiesError,
    WriteError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.model import LedgerState

from ...bounds import until
from .quorum_case import LEDGER, QuorumTestCase


class DuringAChangeTests(QuorumTestCase):
    """While the compare-and-set is under way."""

    gated = True
    spares = 3

    def setUp(self) -> None:
        """Two entries; b0 failed the first, and the change has begun."""
        super().setUp()
        self.send()
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.assertEqual(len(self.ledgers.gate), 1)

    def test_nothing_completes(self) -> None:
        """Entries with their ack quorum complete only when the change is in force (S16)."""
        self.bookies.answer("b1")
        self.bookies.answer("b2")
        self.assertEqual((self.completed, self.writer.completed), ([], -1))
        self.ledgers.open()
        self.assertEqual(self.completed, [1])
        self.assertEqual(self.segments()[0][0], 0)

    def test_sent_meanwhile(self) -> None:
        """Entries sent during the change get to the new bookie too, and complete after it."""
        self.send()
        self.bookies.answer("b1")
        self.bookies.answer("b2")
        self.assertEqual(self.completed, [])
        self.ledgers.open()
        self.assertEqual(self.bookies.asked(self.writer.ensemble[0]), [(0, 1), (1, 1), (2, 1)])
        self.assertEqual(self.completed, [2])

    def test_another_fails(self) -> None:
        """A second bookie that fails is replaced in a second round; nothing completes in between."""
        self.bookies.answer("b1")
        self.bookies.answer("b2", BookieIOError())
        self.ledgers.open()
        self.assertEqual((self.completed, len(self.ledgers.gate)), ([], 1))
        self.bookies.answer(self.writer.ensemble[0])
        self.assertEqual(self.completed, [])
        self.ledgers.open()
        self.assertEqual(self.completed, [1])
        ((_, ensemble),) = self.segments()
        self.assertEqual(len({*ensemble} - {"b1"}), 2)
        self.assertTrue(set(ensemble).isdisjoint({"b0", "b2"}))

    def test_same_fails_again(self) -> None:
        """The bookie that is being replaced may fail as often as it likes."""
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.ledgers.open()
        self.assertEqual(self.ledgers.gate, [])

    def test_new_bookie_fails(self) -> None:
        """So is one that was just chosen, and it is not chosen again."""
        self.ledgers.open()
        chosen = self.writer.ensemble[0]
        self.bookies.answer(chosen, BookieIOError())
        self.ledgers.open()
        self.assertNotIn(self.writer.ensemble[0], ("b0", chosen))

    def test_fenced_meanwhile(self) -> None:
        """A fence ends the writer at once; what the change brings later is of no use."""
        self.bookies.answer("b1")
        self.bookies.answer("b2", LedgerFencedError(7))
        self.ledgers.open()
        self.assertEqual(([type(e) for e in self.ends], self.completed), ([LedgerFencedError], []))
        self.assertEqual(self.bookies.requests, [])

    def test_acks_of_the_failed(self) -> None:
        """The ack of the bookie being replaced is forgotten with it."""
        self.setUp()
        self.send()
        (request,) = self.bookies.take("b0")
        request.answer()
        self.bookies.answer("b1")
        self.ledgers.open()
        self.assertEqual(self.completed, [])
        self.bookies.answer(self.writer.ensemble[0])
        self.assertEqual(self.completed[-1], 2)

    def _end(self, **changes: Any) -> list[type]:
        found = self.do(self.driver.ledgers.read(7))
        self.do(self.driver.ledgers.write(7, attrs.evolve(found.value, **changes), found.version))
        self.bookies.answer("b1")
        self.bookies.answer("b2")
        self.ledgers.open()
        self.assertEqual(self.completed, [])
        return [type(error) for error in self.ends]

    def test_recovery(self) -> None:
        """A ledger that is being recovered is no longer written (S15)."""
        self.assertEqual(self._end(state=LedgerState.IN_RECOVERY), [LedgerFencedError])

    def test_closed(self) -> None:
        """Nor is one that was closed."""
        self.assertEqual(self._end(state=LedgerState.CLOSED, last_entry_id=-1), [LedgerClosedError])

    def test_ended_before(self) -> None:
        """A change that fails after the writer has ended is nothing new to its owner."""
        self.writer.stop(WriteError("another reason"))
        self.ledgers.losing = [(False, ZeroDivisionError())]
        self.ledgers.open()
        self.assertEqual([type(error) for error in self.ends], [WriteError])
        self.assertIn("another reason", str(self.writer.failure))
        self.flushLoggedErrors(ZeroDivisionError)

    def test_shortage_behind_a_quorum(self) -> None:
        """What has its ack quorum completes before the change that finds too few bookies ends the writer."""
        for n in range(1, self.spares):
            self.unregister(f"s{n}")
        self.clock.advance(0)
        for name in ("b1", "b2"):
            for request in self.bookies.take(name):
                request.answer(None if request.first == 0 else BookieIOError())
        self.assertEqual(self.completed, [])
        self.ledgers.open()
        self.assertEqual((self.completed, [type(e) for e in self.ends]), ([0], [NotEnoughBookiesError]))

    def test_metadata_fails(self) -> None:
        """If the store fails again and again the writer ends with its error, and nothing completes."""
        self.ledgers.losing = [(False, MetadataError("down"))] * 10
        self.bookies.answer("b1")
        self.bookies.answer("b2")
        for _ in until(lambda: not self.ledgers.gate, 100):
            self.ledgers.open()
        self.assertEqual(([type(e) for e in self.ends], self.completed), ([MetadataError], []))

    def test_unknown_outcomes(self) -> None:
        """An answer that was lost is settled by what is stored, whether the change was applied or not."""
        for applied in (True, False):
            self.setUp()
            self.ledgers.losing = [(applied, MetadataError("connection lost"))]
            self.bookies.answer("b1")
            self.bookies.answer("b2")
            self.ledgers.open()
            if not applied:
                self.assertEqual(self.completed, [])
                self.ledgers.open()
            self.assertEqual((self.completed, self.ledgers.gate, self.ends), ([1], [], []))
            self.assertEqual(self.segments(), [(0, self.writer.ensemble)])

    def test_unexpected_error(self) -> None:
        """Any other exception is logged and ends the writer."""
        self.ledgers.losing = [(False, ZeroDivisionError())]
        self.ledgers.open()
        self.assertEqual([type(e) for e in self.ends], [WriteError])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class ShortageTests(QuorumTestCase):
    """Fewer bookies than failed ones."""

    spares = 1

    def test_nobody(self) -> None:
        """Without a spare bookie, what has its ack quorum completes, then the writer ends: too few are left."""
        self.spares = 0
        self.setUp()
        self.send()
        self.send()
        self.bookies.requests[0].answer()
        self.bookies.take("b0")
        failing = self.bookies.take("b1")
        failing[0].answer()
        self.assertEqual(self.completed, [0])
        failing[1].answer(BookieIOError())
        self.assertEqual(self.ends, [])
        self.bookies.answer("b2", BookieIOError())
        self.assertEqual((self.completed, [type(e) for e in self.ends]), ([0], [NotEnoughBookiesError]))
        self.assertEqual(self.segments(), [(0, self.names)])

    def _two_fail(self) -> None:
        """b0 and b1 fail together, and one spare is left."""
        self.ledgers.closed = True
        self.send()
        self.bookies.answer("b2", BookieIOError())
        self.bookies.answer("b0", BookieIOError())
        self.assertEqual(self.ends, [])
        self.ledgers.open()

    def test_partial(self) -> None:
        """An entry that the rest can still acknowledge lives on with one of two bookies replaced."""
        self.rules = AddRules(delay_change=True)
        self.writer = self.make()
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b1", BookieIOError())
        self.assertEqual((self.ends, self.writer.ensemble), ([], ("s0", "b1", "b2")))
        self.bookies.answer("s0")
        self.bookies.answer("b2")
        self.assertEqual(self.completed, [0])

    def test_second_round_finds_nobody(self) -> None:
        """When the second failure finds no spare, the first change stays, and the entry goes on without."""
        self._two_fail()
        self.assertEqual(self.segments(), [(0, ("b0", "b1", "s0"))])
        self.bookies.answer("b1")
        self.assertEqual((self.completed, self.ends), ([], []))
        self.bookies.answer("s0")
        self.assertEqual((self.completed, self.ends), ([0], []))

    def _three_fail(self, *quorums: int) -> None:
        """b0 fails, during the change b1 and b2 as well, and there are two spares for the three."""
        self.quorums, self.spares, self.gated = quorums, 2, True  # type: ignore[assignment]
        self.setUp()
        self.send()
        for name in self.names:
            self.bookies.answer(name, BookieIOError())
        self.ledgers.open()
        self.ledgers.open()
        self.assertEqual(self.segments(), [(0, (*self.writer.ensemble[:2], "b2"))])
        self.assertEqual({*self.writer.ensemble}, {"s0", "s1", "b2"})

    def test_one_stays(self) -> None:
        """One of two bookies of a round is replaced, and the others suffice: the entry lives on."""
        self._three_fail(3, 3, 2)
        self.bookies.answer("s0")
        self.bookies.answer("s1")
        self.assertEqual((self.completed, self.ends), ([0], []))

    def test_who_stayed_fails_again(self) -> None:
        """The next failure of the bookie that was not replaced changes nothing, if there still is no spare."""
        self._three_fail(3, 3, 2)
        for name in ("b0", "b1"):
            self.unregister(name)
        self.clock.advance(0)
        self.send()
        for name, error in (("b2", BookieIOError()), ("s0", None), ("s1", None)):
            self.bookies.answer(name, error)
        self.assertEqual((self.completed, self.ends), ([0, 1], []))

    def test_one_stays_and_is_needed(self) -> None:
        """If they do not suffice the writer ends instead of waiting for ever."""
        self._three_fail(3, 3, 3)
        self.assertEqual([type(e) for e in self.ends], [NotEnoughBookiesError])

    def test_too_many_changes(self) -> None:
        """After so many changes as are allowed the writer gives up."""
        self.changes._changes_left = 1
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b1", BookieIOError())
        self.assertEqual([type(e) for e in self.ends], [WriteError])


class DelayedChangeTests(QuorumTestCase):
    """``delayEnsembleChange``: bookies are replaced when there is no other way."""

    rules = AddRules(delay_change=True)

    def test_enough(self) -> None:
        """As long as an ack quorum is possible nothing changes."""
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b1")
        self.bookies.answer("b2")
        self.assertEqual((self.completed, self.segments()), ([0], [(0, self.names)]))

    def test_out_of_reach(self) -> None:
        """When it is not, all bookies that failed the run are replaced together."""
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b2", BookieIOError())
        self.assertEqual({*self.writer.ensemble}, {"b1", "s0", "s1"})
        self.assertEqual(self.do(self.driver.ledgers.read(7)).version, 1)
        self.bookies.answer("b1")
        self.bookies.answer("s0")
        self.assertEqual(self.completed, [0])

    def test_two_new_bookies(self) -> None:
        """Those that replace others together are counted apart: an ack quorum of new bookies is one."""
        self.send()
        self.bookies.answer("b0", BookieIOError())
        self.bookies.answer("b2", BookieIOError())
        self.bookies.answer("s0")
        self.assertEqual(self.completed, [])
        self.bookies.answer("s1")
        self.assertEqual(self.completed, [0])

    def test_read_only(self) -> None:
        """A bookie that is read-only is replaced at once: it will not take entries again soon."""
        self.send()
        self.bookies.answer("b0", WriteOnReadOnlyBookieError())
        self.assertNotIn("b0", self.writer.ensemble)


class QuorumTimeoutTests(QuorumTestCase):
    """``addEntryQuorumTimeoutSec``."""

    rules = AddRules(quorum_timeout=10.0)

    def test_expires(self) -> None:
        """An entry without its ack quorum in that time ends the writer."""
        self.send()
        self.bookies.answer("b0")
        self.clock.pump([0.5] * 19)
        self.assertEqual(self.ends, [])
        self.clock.advance(0.5)
        self.assertEqual([type(e) for e in self.ends], [AddEntryQuorumTimeoutError])
        missed = f"ledger {LEDGER} entry 0 had no ack quorum of 2 bookies in 10 s"
        self.assertEqual(str(self.ends[0]), f"{missed}; bookies asked: {', '.join(self.names)}")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_in_time(self) -> None:
        """Each entry has its own time, and none is watched once all are complete."""
        self.send()
        self.clock.advance(6.0)
        self.send()
        self.bookies.requests[0].answer()
        self.bookies.requests[1].answer()
        self.clock.advance(9.0)
        self.assertEqual((self.ends, self.completed), ([], [0]))
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.clock.advance(1.0)
        self.assertEqual((self.ends, self.completed), ([], [0, 1]))
        self.clock.advance(100.0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_times(self) -> None:
        """The time of a batch is forgotten with it, though there are always entries on their way."""
        self.send()
        for _ in range(10):
            self.send()
            for request in self.bookies.requests[:3]:
                request.answer()
            del self.bookies.requests[:3]
        timeout: Any = self.writer._timeout
        self.assertLessEqual(len(timeout._begun), 3)

    def test_close(self) -> None:
        """A writer that is closed leaves no timer."""
        self.clock.advance(0)
        self.send()
        self.writer.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
