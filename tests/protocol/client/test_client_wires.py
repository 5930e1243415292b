"""What differs between the wire versions on a client's connection."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError

from bookkeeper_twisted.codec.messages import ErrorResponse, Header, ReadRequest, ReadResponse
from bookkeeper_twisted.codec.operations import FENCE, HIGH_PRIORITY, Operation
from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.codec.v3.replies_out import encode_response
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    RequestTimeoutError,
    Status,
    UnexpectedConditionError,
)

from ..connected import DIGESTER, LEDGER, Answers, ConnectedTestCase, run_of


class V2Tests(ConnectedTestCase):
    """Version 2: replies name ledger and entry only."""

    def _adds_now(self, entry_id: int) -> bool:
        """Whether an add is sent; if not, no byte is, and no callback comes."""
        self.asked()
        answers: Answers = []
        sent = self.connection.add(self.ids, self.adds(run_of(entry_id, 1)), lambda _, *answer: answers.append(answer))
        self.assertEqual((len(self.asked()), answers), (int(sent), []))
        return sent

    def test_taken_keys(self) -> None:
        """What is outstanding cannot be asked again on this connection."""
        self.add(run_of(0, 5))
        self.connection.read(self.ids, LEDGER, [0])
        self.assertFalse(self._adds_now(4))
        self.assertTrue(self._adds_now(5))
        self.assertFalse(self.connection.can_read(LEDGER, [1, 0]))
        self.assertFalse(self.connection.can_read(LEDGER, [1, 1]))
        self.assertTrue(self.connection.can_read(LEDGER, [1]))

    def test_in_use_after_time_out(self) -> None:
        """A key that timed out, or was cancelled, is in use until the late reply has come."""
        self.add(run_of(0, 2))
        reading = self.connection.read(self.ids, LEDGER, [0])
        run, asked = self.asked()
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        self.clock.pump([1.0] * 10)
        self.assertFalse(self._adds_now(1))
        self.assertFalse(self.connection.can_read(LEDGER, [0]))
        self.connection.dataReceived(run.replies(Status.EOK) + asked.reply(0, Status.ENOENTRY))
        self.assertTrue(self._adds_now(1))
        self.assertTrue(self.connection.can_read(LEDGER, [0]))

    def test_too_many_overdue(self) -> None:
        """A bookie with very many replies to come loses its connection."""
        for first in range(0, 10_000, 1000):
            self.add(run_of(first, 1000))
        self.add(run_of(10_000, 1))
        self.clock.advance(0)
        self.clock.pump([1.0] * 6)
        self.assertTrue(self.transport.aborting)


class V3Tests(ConnectedTestCase):
    """Version 3: every request has a number."""

    wire = 3

    def test_another_entry(self) -> None:
        """An add whose acknowledgement names another entry fails, as does whatever else the connection waits for."""
        answers = self.add(run_of(0, 3))
        self.asked()
        later = self.add(run_of(3, 1))
        self.asked()
        for number in range(3):
            numbers: Any = {"operation": Operation.ADD, "txnId": (self.ids.flow_id << 32) + number}
            header = wire_pb.BKPacketHeader(version=wire_pb.VERSION_THREE, **numbers)
            named = wire_pb.AddResponse(status=wire_pb.EOK, ledgerId=LEDGER, entryId=77)
            reply = wire_pb.Response(header=header, status=wire_pb.EOK, addResponse=named).SerializeToString()
            self.connection.dataReceived(len(reply).to_bytes(4, "big") + reply)
        for _, _, error in (*answers, *later):
            self.assertIsInstance(error, BookieHandleNotAvailableError)
            text = f"it acknowledged another entry for an add of ledger {LEDGER} entry"
            self.assertIn(f"bookie bookie:1 broke the protocol: {text}", str(error))
        counts = sorted((first, count) for first, count, _ in (*answers, *later))
        self.assertEqual(counts, [(0, 1), (1, 2), (3, 1)])
        self.assertTrue(self.transport.aborting)

    def test_same_key_twice(self) -> None:
        """The same read twice at a time gives each its own reply."""
        one, two = (self.connection.read(self.ids, LEDGER, [0]) for _ in range(2))
        self.assertTrue(self.connection.can_read(LEDGER, [0]))
        runs: Sequence[Any] = self.asked()
        entry = run_of(0, 1).entry(0)
        replies = [run.reply(i, Status.EOK, entry) for run in runs for i in range(len(run))]
        self.connection.dataReceived(replies[1])
        self.assertNoResult(one)
        self.successResultOf(two)
        self.connection.dataReceived(replies[0])
        self.successResultOf(one)

    def test_fencing_read(self) -> None:
        """A fencing read carries flag, priority and key, and is matched by its number."""
        reading = self.connection.special_read(self.ids, LEDGER, -1, FENCE | HIGH_PRIORITY, DIGESTER.master_key)
        plain = self.connection.read(self.ids, LEDGER, [-1])
        request, _ = self.asked()
        self.assertIsInstance(request, ReadRequest)
        self.assertEqual((request.fence, request.high_priority), (True, True))
        self.assertEqual(request.master_key, DIGESTER.master_key)
        entry = run_of(8, 1).entry(8)
        self.connection.dataReceived(encode_response(ReadResponse(request.header, Status.EOK, LEDGER, 8, entry)))
        (reply,) = self.successResultOf(reading)
        self.assertEqual(reply.entry, entry)
        self.assertNoResult(plain)

    def test_fencing_batch(self) -> None:
        """A batch read with flags carries them, and the key."""
        self.connection.read_batch(self.ids, LEDGER, 0, 5, 1000, FENCE | HIGH_PRIORITY, DIGESTER.master_key)
        (request,) = self.asked()
        self.assertEqual((request.flags, request.master_key), (FENCE | HIGH_PRIORITY, DIGESTER.master_key))

    def test_long_poll(self) -> None:
        """A long poll asks for the entry after a LAC, and is matched by its number."""
        waiting = self.connection.long_poll(self.ids, LEDGER, 4, 2.5)
        reading = self.connection.read(self.ids, LEDGER, [-1])
        request, _ = self.asked()
        self.assertEqual((request.entry_id, request.previous_lac, request.timeout_ms), (-1, 4, 2500))
        self.assertTrue(request.piggyback)
        entry = run_of(5, 1).entry(5)
        response = ReadResponse(request.header, Status.EOK, LEDGER, 5, entry, max_lac=7)
        self.connection.dataReceived(encode_response(response))
        reply = self.successResultOf(waiting)
        self.assertEqual((reply.entry, reply.max_lac), (entry, 7))
        self.assertNoResult(reading)

    def test_long_poll_error(self) -> None:
        """Its errors are exceptions, also without a sub-message."""
        for response in (ReadResponse, ErrorResponse):
            waiting = self.connection.long_poll(self.ids, LEDGER, 4, 2.5)
            (request,) = self.asked()
            extra = (LEDGER, -1) if response is ReadResponse else ()
            self.connection.dataReceived(encode_response(response(request.header, Status.EBADREQ, *extra)))
            self.failureResultOf(waiting, BadRequestError)

    def test_long_poll_time_out(self) -> None:
        """A bookie may take its time for a long poll on top of the patience it was given."""
        waiting = self.connection.long_poll(self.ids, LEDGER, 4, 60.0)
        reading = self.connection.read(self.ids, LEDGER, [-1])
        self.asked()
        self.clock.pump([1.0] * 10)
        late = self.failureResultOf(reading, RequestTimeoutError).value
        self.assertIn(f"gave no reply in 8 s to a read of ledger {LEDGER} last entry", str(late))
        self.clock.pump([1.0] * 56)
        self.assertNoResult(waiting)
        self.clock.pump([1.0] * 3)
        late = self.failureResultOf(waiting, RequestTimeoutError).value
        self.assertIn(f"gave no reply in 68 s to a long poll of ledger {LEDGER} entry 5", str(late))

    def test_cancelled_long_poll(self) -> None:
        """A long poll that was cancelled is forgotten; its reply is dropped."""
        waiting = self.connection.long_poll(self.ids, LEDGER, 4, 60.0)
        (request,) = self.asked()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertFalse(self.connection.expects_more)
        self.connection.dataReceived(encode_response(ReadResponse(request.header, Status.EOK, LEDGER, -1, None, 7)))
        self.assertFalse(self.connection.expects_more)

    def test_bare_success(self) -> None:
        """A success that has no content is an error: a request asks for content."""
        answers = self.add(run_of(0, 1))
        self.asked()
        header = Header(V3, 3, 2, self.ids.flow_id << 32)
        self.connection.dataReceived(encode_response(ErrorResponse(header, Status.EOK)))
        self.assertEqual([(f, n, type(e)) for f, n, e in answers], [(0, 1, UnexpectedConditionError)])
        self.assertIn("answered with an error response", str(answers[0][2]))

    def test_bare_errors(self) -> None:
        """An error without a sub-message finds add, read and batch read by the number."""
        answers = self.add(run_of(0, 2))
        reading = self.connection.read(self.ids, LEDGER, [0])
        batch = self.connection.read_batch(self.ids, LEDGER, 0, 1, 1)
        self.asked()
        for sequence, operation in ((0, 2), (2, 1), (3, 12)):
            header = Header(V3, 3, operation, (self.ids.flow_id << 32) + sequence)
            self.connection.dataReceived(encode_response(ErrorResponse(header, Status.EBADREQ)))
        self.assertEqual([(f, n, type(e)) for f, n, e in answers], [(0, 1, BadRequestError)])
        self.assertIs(self.successResultOf(reading)[0].status, Status.EBADREQ)
        self.failureResultOf(batch, BadRequestError)
