"""One connection of a client: matching, time-outs, order, loss, in both wire versions."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_twisted.codec.runs import AddRun, BatchRead, BatchReply, ReadRun
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    ClientClosedError,
    LedgerFencedError,
    RequestTimeoutError,
    Status,
)

from ..connected import LEDGER, Answers, ConnectedTestCase, run_of


def _entries(reply: BatchReply) -> EntryRun:
    assert reply.entries is not None
    return reply.entries


class ConnectionTests(ConnectedTestCase):
    """What is the same in both versions, over version 2."""

    def test_add(self) -> None:
        """The replies to a run complete its entries, as ranges."""
        answers = self.add(run_of(0, 5))
        (run,) = self.asked()
        self.assertIsInstance(run, AddRun)
        self.connection.dataReceived(run.replies(Status.EOK))
        self.assertEqual(answers, [(0, 5, None)])

    def test_add_in_pieces(self) -> None:
        """Replies that come byte by byte complete each entry once, in order."""
        answers = self.add(run_of(0, 3))
        (run,) = self.asked()
        for byte in run.replies(Status.EOK):
            self.connection.dataReceived(bytes((byte,)))
        self.assertEqual([e for first, n, _ in answers for e in range(first, first + n)], [0, 1, 2])

    def test_add_error(self) -> None:
        """A status becomes its exception, with ledger and entry."""
        answers = self.add(run_of(4, 1))
        (run,) = self.asked()
        self.connection.dataReceived(run.replies(Status.EFENCED))
        ((first, count, error),) = answers
        self.assertEqual((first, count), (4, 1))
        assert isinstance(error, LedgerFencedError)
        self.assertEqual((error.ledger_id, error.entry_id), (LEDGER, 4))

    def test_one_write_a_turn(self) -> None:
        """Requests of one turn leave in one write at its end; adds, which are a batch already, leave at once, with all
        that was asked before them."""
        self.connection.read(self.ids, LEDGER, [0, 1])
        self.connection.read(self.ids, LEDGER, [2, 3])
        self.assertEqual(self.transport.writes, 0)
        self.clock.advance(0)
        self.assertEqual(self.transport.writes, 1)
        self.add(run_of(0, 5))
        self.assertEqual(self.transport.writes, 2)
        self.connection.read(self.ids, LEDGER, [4])
        self.add(run_of(5, 5))
        self.assertEqual(self.transport.writes, 3)
        self.clock.advance(0)
        self.assertEqual((self.transport.writes, self.blocks), (3, [4, 5, 6]))

    def test_full_transport(self) -> None:
        """While the transport is full nothing is written; then everything is, at once."""
        self.connection.writer.pauseProducing()
        self.assertFalse(self.connection.writer.writable)
        self.add(run_of(0, 1))
        self.clock.advance(0)
        self.add(run_of(1, 1))
        self.clock.advance(0)
        self.assertEqual(self.transport.writes, 0)
        self.connection.writer.resumeProducing()
        self.assertEqual(self.transport.writes, 1)
        self.assertEqual(sum(run.entries.count for run in self.asked()), 2)

    def test_read(self) -> None:
        """Several reads in one write, answered in any order, give their results in the order asked."""
        run = run_of(0, 3)
        reading = self.connection.read(self.ids, LEDGER, [2, 0, 1])
        (asked,) = self.asked()
        self.assertIsInstance(asked, ReadRun)
        self.assertEqual(list(asked.entry_ids), [2, 0, 1])
        for index in (2, 0, 1):
            self.assertNoResult(reading)
            self.connection.dataReceived(asked.reply(index, Status.EOK, run.entry(asked.entry_ids[index])))
        self.assertEqual([r.entry for r in self.successResultOf(reading)], [run.entry(e) for e in (2, 0, 1)])

    def test_read_error(self) -> None:
        """The error of one of several reads is in its reply."""
        reading = self.connection.read(self.ids, LEDGER, [0])
        (asked,) = self.asked()
        self.connection.dataReceived(asked.reply(0, Status.ENOENTRY))
        (reply,) = self.successResultOf(reading)
        self.assertIs(reply.status, Status.ENOENTRY)

    def test_batch(self) -> None:
        """A batch read is matched by its number; two of the same entry are told apart."""
        one = self.connection.read_batch(self.ids, LEDGER, 0, 2, 1000)
        two = self.connection.read_batch(self.ids, LEDGER, 0, 1, 1000)
        first, second = self.asked()
        self.assertIsInstance(first, BatchRead)
        self.assertEqual((first.max_count, first.max_size), (2, 1000))
        self.connection.dataReceived(b"".join(second.success([run_of(0, 1)])))
        self.assertNoResult(one)
        self.assertEqual(_entries(self.successResultOf(two)).count, 1)
        self.connection.dataReceived(b"".join(first.success([run_of(0, 2)])))
        self.assertEqual(_entries(self.successResultOf(one)).data, run_of(0, 2).data)

    def test_batch_error(self) -> None:
        """An error of a batch read is its exception."""
        reading = self.connection.read_batch(self.ids, LEDGER, 0, 2, 1000)
        (asked,) = self.asked()
        self.connection.dataReceived(asked.failure(Status.EBADREQ))
        self.failureResultOf(reading, BadRequestError)

    def test_time_outs(self) -> None:
        """Adds and reads have their own time-outs, whose errors say what was asked for; the connection stays."""
        answers = self.add(run_of(0, 2))
        reading = self.connection.read(self.ids, LEDGER, [0, 3])
        batch = self.connection.read_batch(self.ids, LEDGER, 2, 1, 1)
        self.asked()
        self.clock.pump([0.5] * 7)
        self.assertEqual(answers, [])
        self.clock.pump([0.5] * 3)
        self.assertEqual([(f, n, type(e)) for f, n, e in answers], [(0, 2, RequestTimeoutError)])
        self.assertNoResult(reading)
        self.clock.pump([0.5] * 8)
        found = [self.failureResultOf(each, RequestTimeoutError).getErrorMessage() for each in (reading, batch)]
        self.assertEqual([str(answers[0][2]), *found], [
            f"bookie bookie:1 gave no reply in 4 s to adds of ledger {LEDGER} entries 0 to 1",
            f"bookie bookie:1 gave no reply in 8 s to reads of ledger {LEDGER} entries 0 to 3",
            f"bookie bookie:1 gave no reply in 8 s to a batch read of ledger {LEDGER} entry 2",
        ])  # fmt: skip
        self.assertFalse(self.transport.disconnecting)

    def test_held_up(self) -> None:
        """Seconds in which the process was held up are not the bookie's: what it has answered meanwhile counts."""
        answers = self.add(run_of(0, 2))
        (asked,) = self.asked()
        self.clock.advance(60)
        self.assertEqual(answers, [])
        self.connection.dataReceived(asked.replies(Status.EOK))
        self.assertEqual(answers, [(0, 2, None)])

    def test_held_up_before_it_was_sent(self) -> None:
        """A request that leaves only after the process was held up still has its time."""
        answers = self.add(run_of(0, 2))
        self.clock.advance(60)
        self.clock.pump([0.5] * 5)
        self.assertEqual(answers, [])
        self.clock.pump([0.5] * 2)
        self.assertEqual([type(error) for _, _, error in answers], [RequestTimeoutError])

    def test_one_timer(self) -> None:
        """There is one timer, whatever is outstanding, and none once nothing is."""
        for first in range(50):
            self.add(run_of(first, 1))
            self.connection.read(self.ids, LEDGER, [first]).addErrback(lambda _: None)
        self.clock.advance(0)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.pump([1.0] * 10)
        self.assertEqual(len(self.clock.getDelayedCalls()), 0)

    def test_late_add_reply(self) -> None:
        """A reply after the time-out is dropped."""
        answers = self.add(run_of(0, 2))
        (run,) = self.asked()
        self.clock.pump([1.0] * 6)
        self.connection.dataReceived(run.replies(Status.EOK))
        self.assertEqual(len(answers), 1)

    def test_cancel_read(self) -> None:
        """A cancelled read fails at once; its reply is dropped, others are not disturbed."""
        reading = self.connection.read(self.ids, LEDGER, [0])
        other = self.connection.read(self.ids, LEDGER, [1])
        asked = self.asked()
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        for run in asked:
            self.connection.dataReceived(run.replies(0, [run_of(0, 2).entry(e) for e in run.entry_ids]))
        self.assertEqual(len(self.successResultOf(other)), 1)

    def test_cancel_batch(self) -> None:
        """A cancelled batch read is forgotten."""
        reading = self.connection.read_batch(self.ids, LEDGER, 0, 2, 1000)
        (asked,) = self.asked()
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        self.connection.dataReceived(b"".join(asked.success([run_of(0, 2)])))
        self.assertFalse(self.connection.expects_more)

    def test_lost(self) -> None:
        """A lost connection fails everything once, in the order asked, after its owner was told."""
        order: list[str] = []

        def note(name: str) -> Any:
            return lambda failure: order.append(f"{name} {failure.type.__name__} {len(self.lost)}")

        error = "BookieHandleNotAvailableError 1"
        self.connection.read(self.ids, LEDGER, [0]).addErrback(note("read"))
        self.connection.add(
            self.ids,
            self.adds(run_of(0, 1)),
            lambda bookie_id, indexes, failed: order.append(f"add {type(failed).__name__} {len(self.lost)}"),
        )  # fmt: skip
        self.connection.read_batch(self.ids, LEDGER, 0, 1, 1).addErrback(note("batch"))
        self.connection.read(self.ids, LEDGER, [1]).addErrback(note("read"))
        self.asked()
        self.lose()
        self.assertEqual(order, [f"read {error}", f"add {error}", f"batch {error}", f"read {error}"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def _ask_four(self) -> tuple[list[str], Any]:
        """Requests whose first failure cancels the next two; what the failures of all were."""
        failures: list[str] = []

        def note(failure: Any) -> None:
            failures.append(failure.type.__name__)

        first: Deferred[Any] = self.connection.read(self.ids, LEDGER, [0])
        others: list[Deferred[Any]] = [
            self.connection.read(self.ids, LEDGER, [1]), self.connection.read_batch(self.ids, LEDGER, 0, 1, 1)
        ]  # fmt: skip

        def note_and_cancel(failure: Any) -> None:
            note(failure)
            for other in others:
                other.cancel()

        first.addErrback(note_and_cancel)
        for other in (*others, self.connection.read(self.ids, LEDGER, [2])):
            other.addErrback(note)
        self.asked()
        return failures, ["CancelledError", "CancelledError"]

    def test_time_out_that_cancels(self) -> None:
        """Who gives up others when his request is overdue does not keep what is overdue too from failing."""
        failures, cancelled = self._ask_four()
        self.clock.pump([0.5] * 20)
        self.assertEqual(failures, ["RequestTimeoutError", *cancelled, "RequestTimeoutError"])
        self.assertFalse(self.connection.expects_more)

    def test_loss_that_cancels(self) -> None:
        """Who gives up others when the connection is lost does not keep the rest from failing."""
        failures, cancelled = self._ask_four()
        self.lose()
        error = "BookieHandleNotAvailableError"
        self.assertEqual(failures, [error, *cancelled, error])
        self.successResultOf(self.connection.disconnected)

    def test_use_after_loss(self) -> None:
        """Everything asked of a lost connection fails."""
        self.lose()
        self.assertIsInstance(self.add(run_of(0, 1))[0][2], BookieHandleNotAvailableError)
        self.failureResultOf(self.connection.read(self.ids, LEDGER, [0]), BookieHandleNotAvailableError)
        self.failureResultOf(self.connection.read_batch(self.ids, LEDGER, 0, 1, 1), BookieHandleNotAvailableError)
        self.successResultOf(self.connection.disconnected)

    def test_junk(self) -> None:
        """Bytes that are no reply close the connection and fail what is outstanding."""
        answers = self.add(run_of(0, 1))
        self.asked()
        self.connection.dataReceived(b"\xff" * 64)
        self.assertTrue(self.transport.aborting)
        self.assertIsInstance(answers[0][2], BookieHandleNotAvailableError)

    def test_close_when_idle(self) -> None:
        """With nothing outstanding a close is an orderly one."""
        self.connection.close(ClientClosedError())
        self.assertTrue(self.transport.disconnecting)
        self.assertFalse(getattr(self.transport, "aborting", False))
        self.assertIsInstance(self.add(run_of(0, 1))[0][2], ClientClosedError)

    def test_close_when_busy(self) -> None:
        """With requests outstanding they fail with the given error, and the socket is dropped."""
        answers = self.add(run_of(0, 1))
        self.connection.close(ClientClosedError())
        self.assertIsInstance(answers[0][2], ClientClosedError)
        self.assertTrue(self.transport.aborting)
        self.assertEqual(self.lost, [self.connection])

    def test_close_in_a_callback(self) -> None:
        """Replies that were received with the one whose callback closes are not delivered."""
        answers: Answers = []

        def close(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            answers.append((indexes[0], len(indexes), error))
            self.connection.close(ClientClosedError())

        self.connection.add(self.ids, self.adds(run_of(0, 1)), close)
        self.asked()
        self.connection.add(self.ids, self.adds(run_of(9, 1)), close)
        reading = self.connection.read(self.ids, LEDGER, [0])
        run, asked = self.asked()
        self.connection.dataReceived(run.replies(Status.EOK) + asked.reply(0, Status.EOK, run_of(0, 1).entry(0)))
        self.failureResultOf(reading, ClientClosedError)

    def test_close_in_a_callback_of_reads(self) -> None:
        """So are replies to reads."""
        first = self.connection.read(self.ids, LEDGER, [0])
        second = self.connection.read(self.ids, LEDGER, [1])
        first.addCallback(lambda _: self.connection.close(ClientClosedError()))
        frames = [asked.reply(0, Status.EOK, run_of(0, 2).entry(i)) for i, asked in enumerate(self.asked())]
        self.connection.dataReceived(b"".join(frames))
        self.successResultOf(first)
        self.failureResultOf(second, ClientClosedError)

    def test_flow_that_was_answered(self) -> None:
        """A flow that leaves when its adds are answered has no reply to come."""
        self.add(run_of(0, 3))
        for run in self.asked():
            self.connection.dataReceived(run.replies(Status.EOK))
        self.connection.abandon(self.ids, ClientClosedError())
        self.assertEqual(self.connection.in_flight.orphans, 0)

    def test_data_like_replies(self) -> None:
        """An entry that is read confirms no add, though its bytes are those of a reply and received by themselves."""
        answers = self.add(run_of(0, 2))
        (run,) = self.asked()
        replies = run.replies(Status.EOK)
        reading = self.connection.read(self.ids, LEDGER, [7])
        (asked,) = self.asked()
        reply = asked.reply(0, Status.EOK, replies)
        cut = reply.index(replies)
        for part in (reply[:cut], reply[cut:]):
            self.connection.dataReceived(part)
        self.assertEqual((answers, self.successResultOf(reading)[0].entry), ([], replies))

    def test_heard(self) -> None:
        """Whatever is received is a sign of life, once."""
        self.assertFalse(self.connection.take_received())
        self.add(run_of(0, 1))
        (run,) = self.asked()
        self.connection.dataReceived(run.replies(Status.EOK)[:7])
        self.assertEqual([self.connection.take_received() for _ in range(2)], [True, False])

    def test_failing_callback(self) -> None:
        """A completion that raises is logged and does not disturb the connection."""

        def broken(*_: object) -> None:
            raise ValueError("broken")

        self.connection.add(self.ids, self.adds(run_of(0, 1)), broken)
        answers = self.add(run_of(1, 1))
        for run in self.asked():
            self.connection.dataReceived(run.replies(Status.EOK))
        self.assertEqual(answers, [(1, 1, None)])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)


class OverdueTests(ConnectedTestCase):
    """Version 2: keys stay in use by replies that are overdue."""

    def test_limit(self) -> None:
        """The connection to a bookie with too many of them ends (S11)."""
        for first, ends in ((0, False), (6000, True)):
            self.add(run_of(first, 6000))
            self.clock.pump([1.0] * 5)
            self.assertIs(getattr(self.transport, "aborting", False), ends)


class ConnectionV3Tests(ConnectionTests):
    """The same over version 3."""

    wire = 3
