"""Bringing entries back to their write quorums."""

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.recovery.write_back import WriteBack
from bookkeeper_twisted.client.writing.ensemble_change import RememberedEnsembleChange
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import LedgerRecoveryError, NotEnoughBookiesError, WriteOnReadOnlyBookieError
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.testing.sealing import sealed

from .recovery_case import LEDGER, SIZE, RecoveryTestCase, payload


class WriteBackTests(RecoveryTestCase):
    """A fenced ledger."""

    def setUp(self) -> None:
        """Entries up to 4 are confirmed."""
        super().setUp()
        for name in self.names:
            self.bookies[name].fence(LEDGER, self.digester.master_key)
        self.back = self.make()

    def make(self, max_in_flight: int = 1 << 20) -> WriteBack:
        """A write-back after entry 4."""
        metadata = self.stored()
        changes = RememberedEnsembleChange(metadata, self.context.watcher)
        rules = RecoveryRules(metadata)
        return WriteBack(
            self.clock, self.bookies, self.digester, LEDGER, rules, changes, 4, self.context.batchers, max_in_flight
        )

    def found(self, first: int, last: int, shift: int = 0) -> EntryRun:
        """Entries as the writer made them, long ago."""
        payloads = [payload(n) for n in range(first, last + 1)]
        return sealed(self.digester, LEDGER, first, 2, first * SIZE + shift, payloads)

    def add(self, run: EntryRun) -> "Deferred[None]":
        """Adds entries."""
        return Deferred.fromCoroutine(self.back.add(run))

    def test_nothing(self) -> None:
        """Without entries there is nothing to wait for."""
        self.do(self.back.finish())
        self.assertEqual(self.back.last_add_confirmed, 4)

    def test_entries(self) -> None:
        """Entries keep ids, payloads and lengths; the fence does not stop them."""
        self.do(self.add(self.found(5, 7)))
        self.do(self.add(self.found(8, 8)))
        self.do(self.back.finish())
        self.assertEqual((self.back.last_add_confirmed, self.back.length), (8, 9 * SIZE))
        for entry_id in range(5, 9):
            self.assertEqual(self.held(entry_id), ["b0", "b1", "b2"])
        entry = self.digester.entry(LEDGER, 6, self.bookies["b0"].entries[LEDGER][6])
        self.assertEqual((entry.length, entry.last_add_confirmed), (7 * SIZE, 4))

    def test_not_confirmed_yet(self) -> None:
        """What is in place is not told to be confirmed: the ledger may yet be closed before it (S13, S14)."""
        for first, last in ((5, 5), (6, 6), (7, 8), (9, 10)):
            self.do(self.add(self.found(first, last)))
            self.do(self.back.finish())
        stored = self.bookies["b0"].entries[LEDGER]
        lacs = {self.digester.entry(LEDGER, n, stored[n]).last_add_confirmed for n in range(5, 11)}
        self.assertEqual(lacs, {4})

    def test_lengths_that_do_not_add_up(self) -> None:
        """Where the writer was told the ids, each entry keeps the length it has."""
        first, second = self.found(5, 5, 70), self.found(6, 6)
        self.do(self.add(EntryRun.join([first, second])))
        self.do(self.back.finish())
        stored = self.bookies["b0"].entries[LEDGER]
        lengths = [self.digester.entry(LEDGER, n, stored[n]).length for n in (5, 6)]
        self.assertEqual(lengths, [6 * SIZE + 70, 7 * SIZE])
        self.assertEqual(self.back.length, 7 * SIZE)

    def test_limit(self) -> None:
        """Too much under way is waited for."""
        for name in self.names:
            self.bookies[name].delay = 1.0
        self.back = self.make(100)
        adding = self.add(self.found(5, 9))
        self.clock.advance(0)
        self.assertNoResult(adding)
        self.clock.advance(1.0)
        self.successResultOf(adding)

    def test_finish_waits(self) -> None:
        """The end is when an ack quorum has everything."""
        self.bookies["b1"].delay = self.bookies["b2"].delay = 1.0
        self.do(self.add(self.found(5, 6)))
        finishing = Deferred.fromCoroutine(self.back.finish())
        self.settle()
        self.assertNoResult(finishing)
        self.clock.advance(1.0)
        self.successResultOf(finishing)

    def test_failure(self) -> None:
        """Entries that cannot be brought to a quorum are an error, now and later."""
        for name in ("b0", "b1", "b2", "b3"):
            self.bookies[name].fail("add", WriteOnReadOnlyBookieError)
        self.add(self.found(5, 6)).addErrback(lambda _: None)
        finishing = self.finished(Deferred.fromCoroutine(self.back.finish()))
        self.failureResultOf(finishing, NotEnoughBookiesError)
        self.failureResultOf(self.add(self.found(7, 7)), NotEnoughBookiesError)

    def test_no_spare(self) -> None:
        """Where no bookie can take the place of one that fails, the ack quorum of the others will do."""
        for name in ("b0", "b3"):
            self.bookies[name].fail("add", WriteOnReadOnlyBookieError)
        self.do(self.add(self.found(5, 6)))
        self.do(self.back.finish())
        self.assertEqual((self.back.last_add_confirmed, self.held(6)), (6, ["b1", "b2"]))

    def test_abandon(self) -> None:
        """Given up, it takes no more, and late answers are ignored."""
        self.add(self.found(5, 6))
        self.back.abandon()
        self.settle()
        self.assertEqual(self.back.last_add_confirmed, 4)
        self.failureResultOf(self.add(self.found(7, 7)), LedgerRecoveryError)
