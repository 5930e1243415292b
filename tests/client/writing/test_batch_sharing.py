"""Writers that share a batch: what happens to the entries of one leaves the entries of the others alone."""

from functools import partial

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_twisted.client.writing.appends import Source
from bookkeeper_twisted.client.writing.failed_bookies import RETRY_SECONDS, AddRules
from bookkeeper_twisted.client.writing.quorum_writer import QuorumWriter
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    AddEntryQuorumTimeoutError,
    BookieIOError,
    LedgerFencedError,
    WriteError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.model import WriteFlag

from .batch_case import BatchCase, HeldCase, Request


def _note(order: list[int], number: int, failure: Failure) -> None:
    order.append(number)


class SharingCase(HeldCase):
    """The first writer has two entries in the batch, the second one has one."""

    writers_count = 2
    spares = 2

    def setUp(self) -> None:
        super().setUp()
        first, second = self.writers
        self.waiters: list[Deferred[int]] = [first.append(b"1"), first.append(b"12"), second.append(b"1234")]
        self.turn()
        self.assertEqual(self.asked("b0"), [[(1, 0), (1, 1), (2, 0)]])

    def answer(self, name: str, *indexes: int, error: Exception | None = None) -> None:
        """A bookie answers for some entries of the batch."""
        self.bookies.requests(name)[0].answer_indexes(*indexes, error=error)

    def new(self, ledger_id: int) -> list[str]:
        """The bookies that were chosen in place of others."""
        return sorted({*self.metadata(ledger_id).segments[-1].bookies} - {*self.names})


class IndexSetTests(SharingCase):
    """Entries of one batch end apart."""

    def test_lengths(self) -> None:
        """Each ledger is closed with the length of its own entries."""
        self.answer("b0", 0, 1, 2)
        self.answer("b1", 0, 1, 2)
        for writer in self.writers:
            self.successResultOf(writer.close())
        self.assertEqual([self.metadata(n).length for n in (1, 2)], [3, 4])

    def test_completed(self) -> None:
        """An entry that has completed is not sent to a bookie that takes the place of another."""
        self.answer("b0", 0)
        self.answer("b1", 0)
        self.assertEqual(self.fired(self.waiters), [1])
        self.answer("b2", 1, error=BookieIOError())
        (new,) = self.new(1)
        self.assertEqual(self.asked(new), [[(1, 1)]])
        self.assertEqual(self.metadata(1).segments[-1].first_entry_id, 1)
        self.finish()
        self.assertEqual(self.results(self.waiters), [0, 1, 0])
        self.assert_quiet()

    def test_gap(self) -> None:
        """After a change of bookies, too, an entry does not complete before the one in front of it (S13)."""
        self.answer("b0", 1)
        self.answer("b1", 1)
        self.answer("b2", 0, error=BookieIOError())
        self.assertEqual((self.fired(self.waiters), self.writers[0].last_add_confirmed), ([], -1))
        self.answer("b0", 0)
        self.answer("b1", 0)
        self.assertEqual((self.fired(self.waiters), self.writers[0].last_add_confirmed), ([1, 2], 1))

    def test_order_of_failures(self) -> None:
        """The entries of a writer that ends fail in their order."""
        order = list[int]()
        for n, waiter in enumerate(self.waiters):
            waiter.addErrback(partial(_note, order, n))
        self.answer("b0", 0, error=LedgerFencedError(1))
        self.assertEqual(order, [0, 1])

    def test_out_of_reach(self) -> None:
        """An entry that can have no ack quorum any more ends its own writer only."""
        for name in ("b0", "b1"):
            self.answer(name, 2, error=LedgerFencedError(2))
        self.failureResultOf(self.waiters[2], LedgerFencedError)
        self.answer("b0", 0, 1, error=BookieIOError())
        (new,) = self.new(1)
        self.answer("b1", 0, 1)
        self.bookies.answer(new)
        self.assertEqual(self.results(self.waiters[:2]), [0, 1])

    def test_late_and_in_time(self) -> None:
        """A bookie that fails entries of two writers together is replaced now where an ack quorum is lacking, and with
        the next append where it is not."""
        self.answer("b0", 0, 1)
        self.answer("b1", 0, 1)
        self.answer("b2", 1, 2, error=BookieIOError())
        self.assertEqual((self.new(1), len(self.new(2))), ([], 1))
        self.writers[0].append(b"next")
        self.turn()
        self.assertEqual(len(self.new(1)), 1)

    def test_answers_of_the_replaced(self) -> None:
        """What a bookie answers after it was replaced ends nothing, not for an entry that completed before either."""
        self.answer("b0", 0)
        self.answer("b1", 0)
        self.answer("b2", 1, error=BookieIOError())
        self.answer("b2", 0, error=LedgerFencedError(1))
        self.assertIsNone(self.writers[0]._quorum.failure)

    def test_fresh(self) -> None:
        """Entries are fresh when they are sent for the first time, not when another bookie gets them (V2 keys)."""
        self.answer("b0", 0, 1, error=BookieIOError())
        (new,) = self.new(1)
        sent = [[request.fresh for request in self.bookies.requests(name)] for name in ("b0", "b1", new)]
        self.assertEqual(sent, [[True], [True], [False]])


class DelayedChangeTests(SharingCase):
    """Bookies are replaced only where entries cannot reach their ack quorum without."""

    config = ClientConfig(delay_ensemble_change=True)

    def test_failed_before(self) -> None:
        """A change for one entry leaves a bookie alone that failed another, which has completed."""
        self.answer("b2", 0, error=BookieIOError())
        self.answer("b0", 0)
        self.answer("b1", 0)
        self.answer("b0", 1, error=WriteOnReadOnlyBookieError())
        bookies = self.metadata(1).segments[-1].bookies
        self.assertEqual((bookies[1:], len(self.new(1))), (("b1", "b2"), 1))


class TriedAgainTests(SharingCase):
    """No bookie can take the place of another, and those that failed are tried again."""

    spares = 0
    config = ClientConfig(wait_for_bookies_sec=10)

    def test_fenced_at_once(self) -> None:
        """A bookie that says within the call that the ledger is fenced ends the writer: no other one is asked again."""
        self.answer("b0", 0, 1, error=BookieIOError())
        self.answer("b1", 0, 1, error=BookieIOError())
        self.bookies["b0"].fenced.add(1)
        self.bookies.at_once.add("b0")
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual([len(self.asked(name)) for name in self.names], [2, 1, 1])
        for waiter in self.waiters[:2]:
            self.failureResultOf(waiter, LedgerFencedError)


class TimeTests(HeldCase):
    """A time limit for the ack quorum."""

    config = ClientConfig(add_entry_quorum_timeout_sec=5)

    def test_each_writer(self) -> None:
        """Each writer of a batch watches its own entries, and nothing is watched once they have completed."""
        waiters = self.sent()
        self.bookies.answer("b0")
        self.bookies.answer("b1", 1)
        for _ in range(10):
            self.clock.advance(1)
        self.assertEqual(self.successResultOf(waiters[0]), 0)
        for waiter in waiters[1:]:
            self.failureResultOf(waiter, AddEntryQuorumTimeoutError)
        self.assertEqual(len(self.clock.getDelayedCalls()), len(self.bookies.requests("b0")) * 3)


class DeferredSyncTests(BatchCase):
    """Entries are acknowledged before they are on disk."""

    def test_lac(self) -> None:
        """What was not forced is not confirmed by later entries, alone or with those of others (S13)."""
        self.writers = [self.open(n, flags=WriteFlag.DEFERRED_SYNC) for n in (11, 12)]
        for _ in range(2):
            self.append()
            self.settle()
        for _ in range(2):
            self.writers[0].append_many([b"x", b"y"])
            self.settle()
        lacs = {self.header("b0", ledger_id, n)[0] for ledger_id, n in [(11, n) for n in range(6)] + [(12, 1)]}
        self.assertEqual(lacs, {-1})


class LogTests(HeldCase):
    """What threads offer while there is no room, and is sent once there is."""

    writers_count = 2
    config = ClientConfig(max_in_flight_bytes=200)

    def setUp(self) -> None:
        """The first writer has an offer in a batch that is not sent yet."""
        super().setUp()
        self.first = self.writers[0].append(bytes(200))
        self.writers[0].appender().offer(b"offered")
        self.turn()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.successResultOf(self.first)
        self.assertGreater(self.context.budget.used, 0)

    def test_budget(self) -> None:
        """It counts with the bytes of its frames until it ends."""
        self.assertEqual(self.asked("b0"), [[(1, 0)]])
        self.turn()
        (frame,) = self.bookies.requests("b0")[1].frames
        self.assertEqual(self.context.budget.used, len(frame))
        self.assertEqual(self.writers[0]._quorum.in_flight, len(frame))
        self.finish()
        self.assertEqual(self.writers[0].last_add_confirmed, 1)
        self.assert_quiet()

    def test_dropped(self) -> None:
        """Its bytes are returned if its writer ends before it is sent."""
        self.bookies.requests("b2")[0].answer(error=LedgerFencedError(1))
        self.assertEqual(self.context.budget.used, 0)

    def test_alone(self) -> None:
        """What is appended in that turn is another batch: the entries of the first are sealed."""
        waiter = self.writers[1].append(b"x")
        self.turn()
        self.assertEqual(self.asked("b0")[1:], [[(1, 1)], [(2, 0)]])
        self.finish()
        self.assertEqual(self.successResultOf(waiter), 0)
        self.assertEqual(self.header("b0", 1, 1)[2], b"offered")


class UnsentTests(HeldCase):
    """Batches that are not sent as they should be."""

    def test_dropped(self) -> None:
        """The bytes of an entry return if its writer ends before it is sent, alone in the batch or not."""
        for others in (False, True):
            self.bookies.sent.clear()
            writer = self.open(10 + others)
            writer.append(b"x")
            self.turn()
            self.bookies.answer("b0")
            self.bookies.answer("b1")
            before = self.context.budget.used
            again = writer.append(b"1234")
            if others:
                self.writers[0].append(b"y")
            self.bookies.answer("b2", error=LedgerFencedError(10 + others))
            self.failureResultOf(again, LedgerFencedError)
            self.assertEqual(self.context.budget.used - before, others * (writer._overhead + 1))
            self.assertFalse([request for request in self.bookies.sent if (10 + others, 1) in request.keys])

    def test_error(self) -> None:
        """An error while a batch is sent ends its writers, and no others."""

        def broken(request: Request) -> None:
            if 12 not in request.ledger_ids:
                raise ZeroDivisionError

        self.bookies.watch = broken
        context = self.client()
        writers = [self.open(n, context=context, quorums=(3, 3, 2 + (n == 12))) for n in (10, 11, 12)]
        waiters = [writer.append(b"x") for writer in writers]
        self.turn()
        for waiter in waiters[:2]:
            self.failureResultOf(waiter, WriteError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        for name in self.names:
            self.bookies.answer(name, 12)
        self.assertEqual(self.successResultOf(waiters[2]), 0)


class FlagsTests(HeldCase):
    """Adds with flags."""

    def test_apart(self) -> None:
        """Entries that a recovery writes past the fence are never in a batch with others (S3), and are not fresh: a
        writer of the same client may have sent them before."""
        (ledger, batchers) = self.ledger(10), self.context.batchers
        flags = RECOVERY_ADD | HIGH_PRIORITY
        ordinary, recovering = (
            batchers.batcher(self.bookies, self.digester, ledger.schedule, some) for some in (0, flags)
        )
        self.assertIsNot(ordinary, recovering)
        writer = QuorumWriter(
            self.clock, 10, ledger.schedule, self.names, self.writers[0]._stored, AddRules(confirms=False), Source(),
            lambda: True, lambda error, waiters: None,
        )  # fmt: skip
        recovering.join_many(writer, 0, 0, [b"x", b"y"], None)
        self.turn()
        (request,) = self.bookies.requests("b0")
        self.assertEqual((request.fresh, request.keys), (False, [(10, 0), (10, 1)]))
        self.assertEqual({frame[6:8] for frame in request.frames}, {flags.to_bytes(2, "big")})
