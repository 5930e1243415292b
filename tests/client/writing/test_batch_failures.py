"""Entries of mixed runs when bookies fail: each goes on alone."""

from twisted.internet.defer import Deferred

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    LedgerFencedError,
    NotEnoughBookiesError,
)
from bookkeeper_twisted.model import LedgerState

from .batch_case import HeldCase


class NoSpareTests(HeldCase):
    """No bookie can take the place of another."""

    def test_before_the_quorum(self) -> None:
        """The writers of the entries that too many bookies failed end; the others complete, and go on."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.fail_with("b2", 2)
        self.assertEqual(self.fired(waiters), [])
        self.fail_with("b1", 2)
        self.failureResultOf(waiters[1], NotEnoughBookiesError)
        self.assertEqual(self.fired(waiters), [2])
        self.bookies.answer("b1")
        self.assertEqual(self.results([waiters[0], waiters[2]]), [0, 0])
        self.settle()
        self.assertEqual((self.metadata(2).state, self.metadata(2).last_entry_id), (LedgerState.CLOSED, -1))
        self.failureResultOf(self.writers[1].append(b"y"), NotEnoughBookiesError)
        self.bookies.held.clear()
        again = [self.writers[n].append(b"y") for n in (0, 2)]
        self.settle()
        self.assertEqual(self.results(again), [1, 1])
        self.assertEqual(self.asked("b0")[1:], [[(1, 1), (3, 1)]])

    def test_after_the_quorum(self) -> None:
        """Entries that have their ack quorum keep it, and the next ones go on without the bookie."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.bookies.answer("b2")
        self.fail_with("b1", 2)
        self.assertEqual(self.results(waiters), [0, 0, 0])
        again = self.append()
        self.turn()
        self.bookies.answer("b0")
        self.bookies.answer("b2")
        self.assertEqual(self.results(again), [1, 1, 1])
        self.assertEqual(len(self.metadata(2).segments), 1)

    def test_all_fail(self) -> None:
        """Every writer ends where no bookie takes anything, its waiter fails once, and nothing is held."""
        waiters = self.sent()
        for name in self.names:
            self.fail_with(name)
        for waiter in waiters:
            self.failureResultOf(waiter, NotEnoughBookiesError)
        self.settle()
        for writer in self.writers:
            self.assertEqual((self.metadata(writer.ledger_id).state, writer.last_add_confirmed), (3, -1))
        self.assertEqual(self.context.budget.used, 0)

    def test_fenced(self) -> None:
        """One bookie's answer that a ledger is fenced ends just its writer, at once (S12)."""
        waiters = self.sent()
        self.bookies["b2"].fenced.add(2)
        self.bookies.answer("b2")
        self.failureResultOf(waiters[1], LedgerFencedError)
        self.assertEqual(self.fired(waiters), [2])
        self.bookies.answer("b0")
        self.assertEqual(self.fired(waiters), [1, 2, 3])
        self.bookies.answer("b1")
        self.assertEqual(self.writers[1].last_add_confirmed, -1)
        self.failureResultOf(self.writers[1].append(b"y"), LedgerFencedError)
        self.failureResultOf(self.writers[1].close(), LedgerFencedError)
        self.assertEqual(self.context.budget.used, 0)

    def _fenced_late(self, sent: bool) -> None:
        """The second writer's ledger turns out to be fenced when its next entry is part of a mixed run."""
        waiters = self.sent()
        for name in self.names[:2]:
            self.bookies.answer(name)
        again = self.append(b"y")
        if sent:
            self.turn()
        self.bookies.requests("b2")[0].answer(2, error=LedgerFencedError(2))
        self.failureResultOf(again[1], LedgerFencedError)
        self.finish()
        self.assertEqual(self.results([*waiters, again[0], again[2]]), [0, 0, 0, 1, 1])
        self.assertEqual((self.writers[1].last_add_confirmed, self.metadata(2).last_entry_id), (0, 0))
        self.assertEqual(self.context.budget.used, 0)

    def test_fenced_late_unsent(self) -> None:
        """So it does after the ack quorum, and the next entry, which is not sent yet, fails with it."""
        self._fenced_late(False)
        self.assertNotIn(1, self.bookies["b0"].entries[2])

    def test_fenced_late_sent(self) -> None:
        """So does one that was sent; answers for it complete nothing."""
        self._fenced_late(True)
        self.assertIn(1, self.bookies["b0"].entries[2])

    def test_order(self) -> None:
        """All entries of a writer that ends fail in their order, whatever batches they are in."""
        failed: list[Deferred[int]] = []
        waiters: list[Deferred[int]] = []
        for entry_id in range(6):
            waiters.append(self.writers[0].append(b"x"))
            waiters[-1].addErrback(lambda _: failed.extend([w for w in waiters if w.called and w not in failed]))
            if entry_id % 2:
                self.turn()
        self.fail_with("b0", 1, error=LedgerFencedError(1))
        self.assertEqual(failed, waiters)

    def test_append_in_errback(self) -> None:
        """Who appends again to a writer whose end it is told is refused for the same reason."""
        again: list[Deferred[int]] = []
        waiter, _, _ = self.sent()
        waiter.addErrback(lambda _: again.append(self.writers[0].append(b"y")))
        self.fail_with("b0", 1, error=LedgerFencedError(1))
        self.failureResultOf(again[0], LedgerFencedError)
        self.finish()
        self.assertEqual(self.writers[0].last_add_confirmed, -1)


class DelayedChangeTests(HeldCase):
    """Bookies are replaced only where entries cannot reach their ack quorum without."""

    spares = 1
    config = ClientConfig(delay_ensemble_change=True)

    def test_one_fails(self) -> None:
        """Entries that one bookie failed complete with the other two, and no bookie is replaced; later entries are
        mixed again once all is well."""
        waiters = self.sent()
        self.fail_with("b0", 1, 2)
        self.bookies.answer("b1")
        self.assertEqual(self.fired(waiters), [])
        self.bookies.answer("b2")
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.bookies.answer("b0")
        self.assertEqual(len(self.metadata(1).segments), 1)
        for _ in range(3):
            again = self.append()
            self.turn()
            for name in self.names:
                self.bookies.answer(name)
        self.assertEqual(self.results(again), [3, 3, 3])
        self.assertEqual(self.asked("b0")[-1], [(1, 3), (2, 3), (3, 3)])

    def test_budget(self) -> None:
        """A batch counts against the client's limit as long as one of its entries waits: its bytes are kept."""
        self.sent()
        self.fail_with("b0", 1)
        self.bookies.answer("b1", 2, 3)
        self.bookies.answer("b2", 2, 3)
        self.assertEqual(self.context.budget.used, sum(map(len, self.bookies.requests("b0")[0].frames)))
        self.assertEqual([writer._quorum.in_flight > 0 for writer in self.writers], [True, False, False])
        self.finish()
        self.assertEqual(self.context.budget.used, 0)

    def test_two_fail(self) -> None:
        """An entry that two failed calls for a change, and completes with who takes it then."""
        waiters = self.sent()
        self.fail_with("b0", 2)
        self.fail_with("b1", 2)
        self.assertEqual(self.asked("s0"), [[(2, 0)]])
        self.bookies.answer("s0")
        self.assertEqual(self.fired(waiters), [])
        self.bookies.answer("b2")
        self.assertEqual(self.fired(waiters), [2])
        self.bookies.answer("b0")
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.assertEqual([name in self.metadata(2).segments[0].bookies for name in ("s0", "b2")], [True, True])

    def test_late(self) -> None:
        """A failure after the ack quorum changes nothing."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.bookies.answer("b2")
        self.fail_with("b1")
        self.assertEqual(self.results(waiters), [0, 0, 0])
        again = self.append()
        self.turn()
        self.assertEqual(self.asked("b1")[1:], [[(1, 1), (2, 1), (3, 1)]])
        self.finish()
        self.assertEqual(self.results(again), [1, 1, 1])
        self.assertEqual(len(self.metadata(1).segments), 1)


class EnsembleChangeTests(HeldCase):
    """A spare bookie can take the place of another."""

    spares = 2

    def _bytes(self, name: str, ledger_id: int, entry_id: int) -> list[bytes]:
        """What a bookie was sent of an entry, each time."""
        return [
            frame
            for request in self.bookies.requests(name)
            for frame, key in zip(request.frames, request.keys, strict=True)
            if key == (ledger_id, entry_id)
        ]

    def test_replaced(self) -> None:
        """The new bookie gets the very same bytes, alone; acknowledgements of the others still count (S16)."""
        waiters = self.sent()
        self.bookies.answer("b2")
        self.fail_with("b0", 1)
        new = self.metadata(1).segments[-1].bookies[0]
        self.assertIn(new, ("s0", "s1"))
        self.assertEqual(self.asked(new), [[(1, 0)]])
        self.assertEqual(self._bytes(new, 1, 0), self._bytes("b0", 1, 0))
        self.assertEqual(self.fired(waiters), [])
        self.bookies.answer(new)
        self.assertEqual(self.fired(waiters), [1])
        self.bookies.answer("b1")
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.assertEqual([len(self.metadata(n).segments) for n in (1, 2, 3)], [1, 1, 1])
        self.assert_quiet()

    def test_acks_are_taken_back(self) -> None:
        """What the replaced bookie acknowledged does not count any more (S16)."""
        patient = self.open(4, quorums=(3, 3, 3))
        waiter = patient.append(b"x")
        self.append()
        self.turn()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.fail_with("b2", 4)
        (new,) = set(self.metadata(4).segments[-1].bookies) - set(self.names)
        self.assertEqual(self.asked(new), [[(4, 0)]])
        again = patient.append(b"y")
        self.turn()
        self.fail_with("b0", 4)
        (newest,) = set(self.metadata(4).segments[-1].bookies) - {new, *self.names}
        self.bookies.answer(new)
        self.assertFalse(waiter.called)
        self.bookies.answer(newest)
        self.assertEqual(self.successResultOf(waiter), 0)
        self.finish()
        self.assertEqual(self.successResultOf(again), 1)

    def test_late_answer_of_the_replaced(self) -> None:
        """A bookie that was replaced because it failed a later entry never counts for the one that was mixed (S16)."""
        waiters = self.sent()
        self.writers[0].append(b"y")
        self.turn()
        self.bookies.requests("b0")[1].answer(error=BookieIOError())
        (new,) = set(self.metadata(1).segments[0].bookies) - set(self.names)
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.assertEqual(self.fired(waiters), [2, 3])
        self.bookies.answer(new)
        self.assertEqual(self.fired(waiters), [1, 2, 3])

    def test_after_the_quorum(self) -> None:
        """A bookie that failed an entry after its ack quorum is replaced with the next append, alone and mixed
        again afterwards."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.fail_with("b2", 3)
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.bookies.answer("b2")
        self.assertEqual(self.metadata(3).segments[-1].bookies, self.names)
        self.bookies.held.clear()
        for turn in range(1, 4):
            again = self.append(b"%d" % turn)
            self.settle()
            self.assertEqual(self.results(again), [turn] * 3)
        self.assertEqual(self.metadata(3).segments[1].first_entry_id, 1)
        new = self.metadata(3).segments[1].bookies[2]
        self.assertEqual(sorted(self.bookies[new].entries[3]), [1, 2, 3])
        self.assertEqual(self.asked("b0")[-1], [(1, 3), (2, 3), (3, 3)])

    def test_lost_bookie(self) -> None:
        """A bookie that is lost with many entries on their way fails each; each writer replaces it."""
        waiters = self.sent()
        self.bookies.answer("b1")
        self.fail_with("b0", error=BookieHandleNotAvailableError("lost"))
        self.finish()
        self.assertEqual(self.results(waiters), [0, 0, 0])
        for writer in self.writers:
            new = self.metadata(writer.ledger_id).segments[0].bookies[0]
            self.assertEqual(self._bytes(new, writer.ledger_id, 0), self._bytes("b0", writer.ledger_id, 0))
        again = self.append()
        self.settle()
        self.assertEqual(self.results(again), [1, 1, 1])
        self.assert_quiet()


class ClosedClientTests(HeldCase):
    """The client is closed."""

    def _check(self, waiters: "list[Deferred[int]]") -> None:
        for waiter in waiters:
            self.failureResultOf(waiter, ClientClosedError)
        for writer in self.writers:
            self.failureResultOf(writer.close(), ClientClosedError)
            self.assertIs(self.metadata(writer.ledger_id).state, LedgerState.OPEN)
        self.assert_quiet()

    def test_sent(self) -> None:
        """What is on its way fails, and the ledgers stay open."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.bookies.close()
        self._check(waiters)

    def test_unsent(self) -> None:
        """So does what was not sent."""
        waiters = self.append()
        self.bookies.close()
        self.settle()
        self._check(waiters)
