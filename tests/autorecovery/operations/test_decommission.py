"""Waiting until no ledger needs a bookie."""

from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from zope.interface import directlyProvides

from bookkeeper_twisted.autorecovery.operations.decommission import (
    GONE,
    MARKED,
    OPEN,
    SWITCHED_OFF,
    UNATTENDED,
    UNMARKED,
    Decommission,
    Remaining,
    is_gone,
    needs,
    unjudged,
)
from bookkeeper_twisted.errors import (
    AutorecoveryDisabledError,
    IllegalOperationError,
    MetadataSerializationError,
    MetadataUnavailableError,
    NoAuditorError,
)
from bookkeeper_twisted.metadata.interfaces import IStoreConnection
from bookkeeper_twisted.model import BookieServiceInfo, LedgerMetadata, LedgerState, Segment, UnderreplicatedLedger

from ...client.cluster_case import BOOKIES, ClusterCase

_GONE = "gone:3181"
_OTHERS = BOOKIES[:3]


def _metadata(*segments: Segment, last: int | None = None, sizes: tuple[int, int, int] = (2, 2, 2)) -> LedgerMetadata:
    closed = {"state": LedgerState.CLOSED, "last_entry_id": last} if last is not None else {}
    return LedgerMetadata(*sizes, segments, **closed)  # type: ignore[arg-type]


class NeedsTests(ClusterCase):
    """Which ledgers need a bookie."""

    def test_closed(self) -> None:
        """One with entries at a position of the bookie, whichever ensemble it is."""
        self.assertTrue(needs(1, _metadata(Segment(0, ("a", _GONE)), last=5), _GONE))
        self.assertTrue(needs(1, _metadata(Segment(0, ("a", _GONE)), Segment(3, ("a", "b")), last=5), _GONE))
        self.assertFalse(needs(1, _metadata(Segment(0, ("a", "b")), last=5), _GONE))

    def test_nothing_stored(self) -> None:
        """Not an empty ledger, an ensemble behind its end, or a position that no entry came to."""
        self.assertFalse(needs(1, _metadata(Segment(0, ("a", _GONE)), last=-1), _GONE))
        self.assertFalse(needs(1, _metadata(Segment(0, ("a", "b")), Segment(6, ("a", _GONE)), last=5), _GONE))
        striped = _metadata(Segment(0, ("a", "b", _GONE)), last=0, sizes=(3, 2, 2))
        self.assertFalse(needs(1, striped, _GONE))

    def test_open(self) -> None:
        """One whose writer may add to the bookie, and one with entries there."""
        self.assertTrue(needs(1, _metadata(Segment(0, ("a", _GONE))), _GONE))
        self.assertTrue(needs(1, _metadata(Segment(0, ("a", _GONE)), Segment(3, ("a", "b"))), _GONE))
        self.assertFalse(needs(1, _metadata(Segment(0, ("a", "b"))), _GONE))


    def test_gone(self) -> None:
        """Only one with entries of which no registered bookie has a replica is gone."""
        there = frozenset({"a", "b"})
        for ensemble, last, gone in (
            (("x", "y"), 5, True), (("x", "y"), -1, False), (("x", "y"), None, False), (("a", "y"), 5, False),
            (("a", "x", "y"), 0, False), (("a", "x", "y"), 1, True), (("a", "x", "b"), 5, False),
        ):  # fmt: skip
            metadata = _metadata(Segment(0, ensemble), last=last, sizes=(len(ensemble), 2, 2))
            self.assertIs(is_gone(1, metadata, there), gone, (ensemble, last))


class DecommissionTests(ClusterCase):
    """A cluster whose auditor and worker are played by the test."""

    def setUp(self) -> None:
        super().setUp()
        self.driver: Any = self.bk.metadata
        self.looks: list[Remaining] = []
        self.ids = [self.ledger() for _ in range(3)]

    def ledger(self, last: int | None = 3) -> int:
        """A ledger that names the bookie."""
        ledger_id: int = self.do(self.driver.ledgers.generate_id())
        self.do(self.driver.ledgers.create(ledger_id, _metadata(Segment(0, (_GONE, BOOKIES[0])), last=last)))
        return ledger_id

    def elect(self) -> None:
        """Makes an auditor."""
        self.driver.auditing.stand(BOOKIES[0], lambda elected: None)
        self.settle()

    def repair(self, ledger_id: int) -> None:
        """Names another bookie instead."""
        stored = self.do(self.driver.ledgers.read(ledger_id))
        repaired = attrs.evolve(stored.value, segments=(Segment(0, (BOOKIES[1], BOOKIES[0])),))
        self.do(self.driver.ledgers.write(ledger_id, repaired, stored.version))

    def start(self, patience: float = 30.0) -> Any:
        """Begins."""
        done = self.begin(Decommission(self.clock, self.driver, _GONE, patience).run(self.looks.append))
        self.settle()
        return done

    def begin(self, work: Any) -> Any:
        """Starts a coroutine."""
        return Deferred.fromCoroutine(work)

    def pass_time(self, seconds: int) -> None:
        """Lets time pass."""
        for _ in range(seconds):
            self.clock.advance(1)
            self.settle()

    def test_to_the_end(self) -> None:
        """It waits for ledgers and for marks, says what each waits for, and ends."""
        self.elect()
        heard: list[int | None] = []
        self.addCleanup(self.driver.auditing.watch_lost_bookie_delay(heard.append))
        done = self.start()
        self.assertEqual(heard[-1], 0)  # the audit was triggered
        self.assertEqual(self.looks[-1].blockers, dict.fromkeys(self.ids, UNMARKED))
        for ledger_id in self.ids:
            self.do(self.driver.underreplication.mark(ledger_id, (_GONE,), 5))
        self.do(self.driver.underreplication.lock(self.ids[0], "a-host"))
        self.pass_time(2)
        expected = {self.ids[0]: "being repaired by a-host", self.ids[1]: MARKED, self.ids[2]: MARKED}
        self.assertEqual(self.looks[-1].blockers, expected)
        self.do(self.driver.underreplication.describe_lock(self.ids[0], "a-host: waits until noon: no bookie"))
        self.pass_time(2)
        self.assertEqual(self.looks[-1].blockers[self.ids[0]], "held by a-host: waits until noon: no bookie")
        for ledger_id in self.ids:
            self.repair(ledger_id)
        self.pass_time(2)
        self.assertEqual(len(self.looks[-1].blockers), 3)  # the marks are still there
        self.assertNoResult(done)
        for ledger_id in self.ids:
            self.do(self.driver.underreplication.remove_mark(ledger_id, 0))
        self.pass_time(2)
        self.assertEqual(self.successResultOf(done), Remaining({}, 3))
        self.assertEqual([look.read_at for look in self.looks], [0.0, 2.0, 4.0, 6.0, 8.0])

    def test_switched_off(self) -> None:
        """While autorecovery is switched off, no ledger waits for a worker or a mark."""
        self.elect()
        done = self.start()
        self.do(self.driver.underreplication.mark(self.ids[0], (_GONE,), 5))
        for enabled, expected in ((False, dict.fromkeys(self.ids, SWITCHED_OFF)),
                                  (True, {**dict.fromkeys(self.ids, UNMARKED), self.ids[0]: UNATTENDED})):  # fmt: skip
            self.do(self.driver.underreplication.set_enabled(enabled))
            self.pass_time(2)
            self.assertEqual(self.looks[-1].blockers, expected)
        self.assertNoResult(done)

    def test_gone(self) -> None:
        """A ledger without any replica left cannot be repaired, whether a worker has begun or not; it can be again if
        a bookie that has one comes back.
        """
        self.elect()
        lost = self.do(self.driver.ledgers.generate_id())
        self.do(self.driver.ledgers.create(lost, _metadata(Segment(0, (_GONE, "away:3181")), last=3)))
        done = self.start()
        self.assertEqual(self.looks[-1].blockers, {**dict.fromkeys(self.ids, UNMARKED), lost: GONE})
        self.do(self.driver.underreplication.mark(lost, (_GONE,), 5))
        self.do(self.driver.underreplication.lock(lost, "a-host"))
        self.pass_time(2)
        self.assertEqual(self.looks[-1].blockers[lost], GONE)
        self.do(self.driver.registration.register_bookie("away:3181", False, BookieServiceInfo()))
        self.pass_time(2)
        self.assertEqual(self.looks[-1].blockers[lost], "being repaired by a-host")
        done.cancel()
        self.failureResultOf(done)

    def test_undecodable_mark(self) -> None:
        """A ledger whose mark cannot be decoded is marked; the mark alone is no reason to wait."""
        self.elect()
        done = self.start()
        (first, second, last), read = self.ids, self.driver.underreplication.read_mark

        async def undecodable(ledger_id: int) -> Any:
            mark = await read(ledger_id)
            problem = "not UTF-8" if ledger_id in (first, second) else ""
            return attrs.evolve(mark, value=UnderreplicatedLedger(() if problem else (_GONE,), problem=problem))

        self.patch(self.driver.underreplication, "read_mark", undecodable)
        for ledger_id in self.ids:
            self.do(self.driver.underreplication.mark(ledger_id, (_GONE,), 5))
        self.repair(first)
        for enabled, text in ((False, SWITCHED_OFF), (True, UNATTENDED)):
            self.do(self.driver.underreplication.set_enabled(enabled))
            self.pass_time(2)
            expected = {second: f"{text}; its mark cannot be decoded", last: text}
            self.assertEqual(self.looks[-1].blockers, expected)
        done.cancel()
        self.failureResultOf(done)

    def test_come_back(self) -> None:
        """If the bookie comes back, its decommission fails, as it may get entries again."""
        self.elect()
        done = self.start()
        self.do(self.driver.registration.register_bookie(_GONE, False, BookieServiceInfo()))
        for ledger_id in self.ids:
            self.repair(ledger_id)
        self.pass_time(2)
        failure = self.failureResultOf(done, IllegalOperationError)
        self.assertEqual(failure.getErrorMessage(), f"bookie {_GONE} has come back: it may get entries again")

    def test_open_ledger(self) -> None:
        """A ledger that a writer has open is named as such."""
        self.elect()
        self.ids.append(self.ledger(last=None))
        done = self.start()
        self.assertEqual(self.looks[-1].blockers[self.ids[-1]], OPEN)
        done.cancel()
        self.failureResultOf(done)

    def test_deleted_ledgers(self) -> None:
        """A ledger that is deleted meanwhile blocks nothing."""
        self.elect()
        done = self.start()
        for ledger_id in self.ids:
            self.do(self.driver.ledgers.remove(ledger_id))
        self.pass_time(2)
        self.assertEqual(self.successResultOf(done), Remaining({}, 3))

    def test_patience(self) -> None:
        """Without progress it ends after a while; each ledger that becomes free begins the time anew."""
        self.elect()
        done = self.start(patience=10)
        self.pass_time(8)
        self.repair(self.ids[0])
        self.pass_time(8)
        self.assertNoResult(done)
        self.pass_time(5)
        self.assertEqual(self.successResultOf(done), Remaining(dict.fromkeys(self.ids[1:], UNMARKED), 3))

    def lose_store(self) -> None:
        """From now on, the metadata store cannot be reached."""

        async def read(*_: object) -> Any:
            raise MetadataUnavailableError("no connection")

        self.away = [self.patch(self.driver.ledgers, "read", read),
                     self.patch(self.driver.underreplication, "locked_ledgers", read)]  # fmt: skip

    def find_store(self) -> None:
        """The metadata store is back."""
        for patch in self.away:
            patch.restore()

    def test_store_is_away(self) -> None:
        """While the metadata store is away it says so, with what it knew; then it continues, with all its patience."""
        self.elect()
        done = self.start(patience=10)
        self.repair(self.ids[0])
        self.pass_time(8)
        known = Remaining(dict.fromkeys(self.ids[1:], UNMARKED), 3)
        self.assertEqual(self.looks[-1], known)
        self.lose_store()
        self.pass_time(700)
        self.assertEqual(self.looks[-1], attrs.evolve(known, unreachable="no connection"))
        self.find_store()
        self.pass_time(9)
        self.assertEqual(self.looks[-1], known)
        self.assertNoResult(done)
        for ledger_id in self.ids:
            self.repair(ledger_id)
        self.pass_time(2)
        self.assertEqual(self.successResultOf(done), Remaining({}, 3))

    def test_store_is_away_at_first(self) -> None:
        """A metadata store that is away during the list of ledgers is no end, and none of them is left out."""
        self.elect()
        self.lose_store()
        done = self.start()
        self.pass_time(60)
        self.assertEqual(self.looks[-1], Remaining({}, 0, "no connection"))
        self.find_store()
        self.pass_time(6)
        self.assertEqual(self.looks[-1], Remaining(dict.fromkeys(self.ids, UNMARKED), 3))
        self.assertNoResult(done)

    def test_store_is_away_at_the_check(self) -> None:
        """A metadata store that is away before anything was checked is no end; what is then found to forbid it is."""
        self.elect()

        async def away() -> Any:
            raise MetadataUnavailableError("no connection")

        for enabled in (True, False):
            self.do(self.driver.underreplication.set_enabled(enabled))
            patch = self.patch(self.driver.registration, "read_only_bookies", away)
            done = self.start()
            self.pass_time(700)
            self.assertEqual(self.looks[-1], Remaining({}, 0, "no connection"))
            patch.restore()
            self.pass_time(6)
            if enabled:
                self.assertEqual(self.looks[-1], Remaining(dict.fromkeys(self.ids, UNMARKED), 3))
                done.cancel()
                self.failureResultOf(done, CancelledError)
            else:
                self.failureResultOf(done, AutorecoveryDisabledError)

    def test_cancelled_without_store(self) -> None:
        """Cancelling ends the wait for the metadata store, and leaves no timer."""
        self.elect()
        before = len(self.clock.getDelayedCalls())
        self.lose_store()
        done = self.start()
        self.assertEqual(len(self.clock.getDelayedCalls()), before + 1)
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.assertEqual(len(self.clock.getDelayedCalls()), before)

    def test_store_fails(self) -> None:
        """Another failure of the metadata store ends it."""
        self.elect()

        async def fail() -> Any:
            raise MetadataSerializationError("no lock")

        self.patch(self.driver.underreplication, "locked_ledgers", fail)
        self.failureResultOf(self.start(), MetadataSerializationError)

    def test_refused(self) -> None:
        """Without an auditor, while disabled, and of a bookie that runs, nothing is begun."""
        self.failureResultOf(self.start(), NoAuditorError)
        self.elect()
        self.do(self.driver.underreplication.set_enabled(False))
        self.failureResultOf(self.start(), AutorecoveryDisabledError)
        self.do(self.driver.underreplication.set_enabled(True))
        running = self.begin(Decommission(self.clock, self.driver, BOOKIES[0]).run())
        self.settle()
        self.assertIn("is running", str(self.failureResultOf(running, IllegalOperationError).value))
        self.assertEqual(self.looks, [])

    def test_elected_after_an_outage(self) -> None:
        """An auditor whose vote has ended with an outage of the store gets the time to be elected again, not more."""
        directlyProvides(self.driver, IStoreConnection)
        for is_elected in (False, True):
            self.driver.unsettled = lambda: 7.0
            done = self.start()
            self.pass_time(6)
            self.assertNoResult(done)
            # the reason why it waits for the metadata store, which is there
            text = "it is there, but no auditor is elected yet: candidates have 7 s left to vote"
            self.assertEqual({each.unreachable for each in self.looks}, {text})
            self.driver.unsettled = lambda: 0.0
            if is_elected:
                self.elect()
            self.pass_time(5)
            if is_elected:
                self.assertEqual(self.looks[-1], Remaining(dict.fromkeys(self.ids, UNMARKED), 3))
                done.cancel()
            self.failureResultOf(done, CancelledError if is_elected else NoAuditorError)

    def test_undecodable(self) -> None:
        """It goes on past a ledger whose metadata cannot be decoded, and names it at the end."""
        self.elect()
        broken, read = self.ids[1], self.driver.ledgers.read

        async def undecodable(ledger_id: int) -> Any:
            if ledger_id == broken:
                raise MetadataSerializationError("ledger 1: the version line is missing")
            return await read(ledger_id)

        patch = self.patch(self.driver.ledgers, "read", undecodable)
        self.do(self.driver.underreplication.mark(broken, (_GONE,), 5))
        done = self.start()
        self.assertEqual(list(self.looks[-1].blockers), [self.ids[0], self.ids[2]])
        self.repair(self.ids[0])
        self.repair(self.ids[2])
        self.pass_time(3)
        self.assertEqual(self.successResultOf(done), Remaining({}, 2, undecoded=(broken,)))
        text = f"1 ledger may need the bookie, as its metadata cannot be read or decoded, such as ledger {broken}"
        self.assertEqual(unjudged((broken,)), text)
        patch.restore()

    def test_decoded_again(self) -> None:
        """One whose metadata can be decoded later counts as any other."""
        self.elect()

        async def undecodable(ledger_id: int) -> Any:
            raise MetadataSerializationError("the version line is missing")

        patch = self.patch(self.driver.ledgers, "read", undecodable)
        self.do(self.driver.underreplication.mark(99, (_GONE,), 5))
        done = self.start()
        self.assertEqual(self.looks[-1].undecoded, tuple(self.ids))
        patch.restore()
        self.pass_time(2)
        self.assertEqual((self.looks[-1].undecoded, len(self.looks[-1].blockers)), ((), 4))
        self.assertNoResult(done)
