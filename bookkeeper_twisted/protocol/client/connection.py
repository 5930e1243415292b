"""A client's connection to a bookie: writes requests, matches replies, enforces time-outs.

The requests of one ledger handle are called a flow; many flows share a connection.  A request id begins with the id of
its flow (:mod:`.request_ids`).  The requests of one reactor turn are written together (:mod:`.request_writer`); while
the transport is full, they wait in a queue.  One timer scans all outstanding requests for overdue ones, so that
requests need no delayed calls.

A lost connection first calls its owner, which removes it.  Then each outstanding request fails once, in the order in
which the requests were made.  So an errback that repeats its request does not get the lost connection.  When a flow
leaves the connection, only its own requests fail, and late replies to them are dropped.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import attrs
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime, ITCPTransport, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...codec.adds import Adds
from ...codec.connection import ClientDecoder
from ...codec.messages import ErrorResponse, ReadRequest
from ...codec.operations import FENCE, HIGH_PRIORITY, V3_HIGH_PRIORITY, Operation
from ...codec.runs import AddReplies, BatchReply, ReadReply
from ...codec.strides import stretches
from ...codec.wire_protocol import IWireProtocol
from ...errors import BookieHandleNotAvailableError, Status
from ...limits.attended_time import AttendedTime
from ...model import INVALID_ENTRY_ID
from ...security.reasons import lost_connection
from .cold_calls import ColdCall
from .connection_limits import ConnectionLimits
from .in_flight import EndedRequest, InFlight
from .request_errors import broken_protocol, no_reply, refused, wrong_reply
from .request_ids import FlowIds, RequestIds
from .request_writer import RequestWriter, WriteHistograms
from .sent_adds import AddsDone, AddsPart, Answered
from .sent_reads import NUMBERED
from .traffic import Traffic

T = TypeVar("T")

_NO_LEDGER = (1 << 63) - 1
"""Id of a ledger that no bookie has: a read of it tests whether a bookie is alive, in every protocol."""

_MAX_ABANDONED = 10_000
"""Maximum number of timed-out or cancelled requests whose replies are missing; above it, the connection is closed."""


@attrs.frozen
class ConnectionOwner:
    """The data and callbacks that a connection gets from its owner.

    :ivar bookie_id: the bookie at the other end.
    :ivar flow_ids: allocates the ids of the client's flows (a flow: the requests of one ledger handle).
    :ivar traffic: measures the load of the connection.
    :ivar lost: called once with the error, as soon as the connection is unusable.
    :ivar writes: histograms of the sizes of writes.
    :ivar overdue: called with the number of requests whose time limit has passed without a reply.
    """

    bookie_id: str
    flow_ids: FlowIds
    traffic: Traffic
    lost: Callable[[Exception], None]
    writes: WriteHistograms = attrs.field(factory=WriteHistograms)
    overdue: Callable[[int], None] = lambda count: None


class ClientConnection(Protocol):
    """A connection that sends requests to one bookie in one wire protocol.

    :ivar wire: the wire protocol.
    :ivar in_flight: the outstanding requests.
    :ivar writer: writes requests; while the transport is full, it queues them.
    :ivar disconnected: fires once the socket is closed.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, wire: IWireProtocol, limits: ConnectionLimits, owner: ConnectionOwner,
        no_delay: bool = True,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.in_flight = InFlight(wire.numbered, owner.flow_ids)
        self.writer = RequestWriter(clock, owner.writes)
        self.disconnected: Deferred[None] = Deferred()
        self._clock = clock
        self._limits = limits
        self._owner = owner
        self._no_delay = no_delay
        self._decoder = ClientDecoder(wire, limits.max_frame_size)
        self._has_received = False
        self._received_at: float | None = None  # when the replies that are being processed were received
        self._scan_call: Any = None
        # This clock for deadlines stops while the process does not run, because it cannot read replies then.
        self._time = AttendedTime(clock.seconds)
        self._end: Exception | None = None
        # These are plain functions: bound methods would refer to this object, which would then be in a reference cycle.
        self._receivers: dict[type, Callable[[ClientConnection, Any], None]] = {
            AddReplies: ClientConnection._add_replies,
            ReadReply: ClientConnection._read_reply,
            BatchReply: ClientConnection._batch_reply,
            ErrorResponse: ClientConnection._error_response,
        }
        owner.traffic.measure(self.writer, self.in_flight)

    # ---- requests ------------------------------------------------------------------------------------

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Test whether replies to these reads could be distinguished from replies to other outstanding requests.

        :param entry_ids: the entries to read; -1 for the last one.  In V3, requests have numbers: always True.
        """
        return self.in_flight.can_read(ledger_id, entry_ids)

    def add(self, ids: RequestIds, adds: Adds, done: AddsDone, fresh: bool = False) -> bool:
        """Send add requests to the bookie in one write.

        :param ids: the request ids of the handle that sends the adds.
        :param done: called with the indexes of answered adds when their replies arrive, or with an error and the
            indexes of the failed adds; exactly once for each add.
        :param fresh: whether the entries are sent for the first time.
        :returns: False if no add was sent.  This happens only in a protocol without request numbers, if the replies
            could not be distinguished from replies to other requests on this connection.
        """
        count, first, numbers = len(adds.entry_ids), 0, None
        if self._end is not None:
            done(self._owner.bookie_id, range(count), self._end)
            return True
        wire = self.wire
        if wire.numbered:
            first = self._take_ids(ids, count)
            numbers = range(first, first + count)
            encoded = wire.encode_adds(adds, first)
        elif wire in adds.encodings:  # another connection of this client has encoded these adds
            encoded = adds.encodings[wire]
        else:
            encoded = adds.encodings[wire] = wire.encode_adds(adds, first)
        frames, replies = encoded
        now = self._received_at
        if now is None:
            now = self._clock.seconds() - self._time.held_up
        deadline = now + self._limits.add_timeout
        if not self.in_flight.add(ids, adds, len(frames), replies, numbers, deadline, done, fresh):
            return False
        if self._scan_call is None:
            self._scan_later()
        ledger_id = adds.ledger_ids[0]
        # The writer serves its queues in turn: adds of one ledger use the queue of the ledger, others that of the flow.
        queue_id = ~ledger_id if ledger_id == adds.ledger_ids[-1] else ids.flow_id
        if self._received_at is None:
            self.writer.send(queue_id, frames, count)
        else:
            # Called by the callback of a reply: write the adds only after all received replies have been processed.
            self.writer.queue.put(queue_id, frames, count)
        return True

    def read(
        self, ids: RequestIds, ledger_id: int, entry_ids: Sequence[int], context: Mapping[str, str] | None = None
    ) -> "Deferred[list[ReadReply]]":
        """Request several entries of one ledger, without fencing it, by one write to the transport.

        :param ids: gives each V3 request its number.
        :param entry_ids: the entries to read, at least one.  In V2, whose reads have no numbers, :meth:`can_read` must
            return True for them.
        :param context: the request context (string keys and values), sent with the first request; ignored in V2.
        :returns: fires with the replies in the order of ``entry_ids``; a reply may have an error status.  Fails with
            RequestTimeoutError if a reply is missing after the time limit, and with another error if the connection
            ends.  If the Deferred is cancelled, all of the reads are given up.
        """
        if not self.wire.numbered:
            return self._read(ids, ledger_id, entry_ids, self.wire.encode_reads(ledger_id, entry_ids, 0))
        numbers = range(number := self._take_ids(ids, len(entry_ids)), number + len(entry_ids))
        frames = self.wire.encode_reads(ledger_id, entry_ids, number, context)
        return self._read(ids, NUMBERED, numbers, frames, (ledger_id, entry_ids))

    def special_read(
        self, ids: RequestIds, ledger_id: int, entry_id: int, flags: int, master_key: bytes | None
    ) -> "Deferred[list[ReadReply]]":
        """Send one read with flags; needs V3.

        V2 replies have no request number, so the reply could not be distinguished from that to a read without flags.

        :param flags: bits of :mod:`~bookkeeper_twisted.codec.operations`: ``FENCE``, ``HIGH_PRIORITY``.
        :param master_key: required by a read that fences; if None, no key is sent.
        :returns: fires with a list of one reply, whose status may be an error; fails if no reply comes in time.
        """
        number = self._take_ids(ids, 1)
        high = bool(flags & HIGH_PRIORITY)
        header = self.wire.header(Operation.READ, number, V3_HIGH_PRIORITY if high else 0)
        request = ReadRequest(header, ledger_id, entry_id, bool(flags & FENCE), high, master_key)
        return self._read(ids, NUMBERED, (number,), self.wire.encode_request(request), (ledger_id, (entry_id,)))

    def _read(
        self, ids: RequestIds, scope: int | None, read_ids: Sequence[int], frames: bytes,
        entries: tuple[int, Sequence[int]] | None = None,
    ) -> "Deferred[list[ReadReply]]":  # fmt: skip
        if self._end is not None:
            return fail(self._end)
        deferred: Deferred[list[ReadReply]] = Deferred(lambda _: self.in_flight.give_up(reads))
        deadline = self._time.seconds() + self._limits.read_timeout
        reads = self.in_flight.read(ids, scope, read_ids, len(frames), deadline, deferred, entries)
        self._put(ids, frames, len(read_ids))
        return deferred

    def ask_for_life(self) -> None:
        """Send a read of a ledger that does not exist: any reply proves that the bookie is alive."""
        if self.can_read(_NO_LEDGER, (0,)):
            self.read(self.in_flight.own, _NO_LEDGER, (0,)).addErrback(lambda _: None)

    def read_batch(
        self, ids: RequestIds, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None, context: Mapping[str, str] | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Read consecutive entries from ``first`` upwards.

        Batch reads and their replies have request numbers in V2, too.

        :param max_count: maximum number of entries, <= 0 for any number.
        :param max_size: maximum number of bytes of the reply; each protocol counts them in its own way.
        :param flags: bits of :mod:`~bookkeeper_twisted.codec.operations`: ``FENCE``, ``HIGH_PRIORITY``.
        :param patience: maximum number of seconds that the bookie waits until ``first`` is confirmed; needs V3.
        :param context: the request context (string keys and values) of a V3 request; ignored in V2.
        """
        number = self._take_ids(ids, 1)
        request = self.wire.batch_read(ledger_id, first, number, max_count, max_size, flags, master_key)
        request.carry(context)
        if patience is not None:
            request.wait(int(patience * 1000))
        frame, wait = self.wire.encode_batch_read(request), patience or 0.0
        return self._call(ids, number, frame, ledger_id, first, BatchReply, lambda reply: reply, "a batch read", wait)

    def long_poll(self, ids: RequestIds, ledger_id: int, previous_lac: int, patience: float) -> "Deferred[ReadReply]":
        """Request the entry after ``previous_lac``; the bookie sends it when it is confirmed.  Needs V3.

        :param patience: seconds that the bookie may wait for the entry, in addition to the usual time limit.
        """
        number = self._take_ids(ids, 1)
        header = self.wire.header(Operation.READ, number, 0)
        request = ReadRequest(
            header, ledger_id, INVALID_ENTRY_ID, previous_lac=previous_lac, timeout_ms=int(patience * 1000),
            piggyback=True,
        )  # fmt: skip
        frame, first = self.wire.encode_request(request), previous_lac + 1
        return self._call(ids, number, frame, ledger_id, first, ReadReply, lambda reply: reply, "a long poll", patience)

    def ask(self, ids: RequestIds, call: ColdCall[T]) -> "Deferred[T]":
        """Send a request that is neither an add nor a read, such as one for the LAC (:mod:`.cold_calls`); needs V3.

        :returns: fires with the result that ``call.result`` extracts from the reply.  Fails with the error for the
            status of the reply, with RequestTimeoutError, or with the error that ended the connection.
        """
        header = self.wire.header(call.operation, self._take_ids(ids, 1), 0)
        self._receivers.setdefault(call.expected, ClientConnection._call_reply)
        frame = self.wire.encode_request(call.request(header))
        return self._call(ids, header.txn_id, frame, call.ledger_id, -1, call.expected, call.result, call.what)

    def _call(
        self, ids: RequestIds, number: int, frame: bytes, ledger_id: int, entry_id: int, expected: type,
        result: Callable[[Any], T], what: str, patience: float = 0.0,
    ) -> "Deferred[T]":  # fmt: skip
        if self._end is not None:
            return fail(self._end)

        def given_up(_: object) -> None:
            self.in_flight.take_call(number)

        deferred: Deferred[T] = Deferred(given_up)
        deadline = self._time.seconds() + self._limits.read_timeout + patience
        self.in_flight.call(
            ids, number, len(frame), deadline, ledger_id, entry_id, expected, result, deferred, what, patience
        )  # fmt: skip
        self._put(ids, frame, 1)
        return deferred

    def _take_ids(self, ids: RequestIds, count: int) -> int:
        return ids.allocate(count, self.in_flight.is_pending)

    def abandon(self, ids: RequestIds, error: Exception) -> None:
        """Fail all outstanding requests of a ledger handle, in order, because it leaves the connection.

        Frames that wait in the queue are still sent; the replies to them are dropped.

        :param ids: the request ids of the ledger handle.
        """
        if self._end is None:
            self._fail(self.in_flight.abandon(ids), error)

    # ---- replies -------------------------------------------------------------------------------------

    def dataReceived(self, data: bytes) -> None:
        self._has_received = True
        self._received_at = self._clock.seconds() - self._time.held_up
        if self._decoder.keeps:
            data = self._decoder.add(data)
        at, end = 0, len(data)
        while at < end and self.wire.add_reply_size:
            start = at
            adds, at = self.in_flight.confirmed(data, start)
            if at == start:
                break
            if adds is None:
                continue
            try:  # this repeats _complete(), to save a function call in the usual case
                adds.done(self._owner.bookie_id, adds.indexes, None)  # type: ignore[misc]  # it waits for them
            except Exception:
                self._log.failure("completing adds failed")
            if adds.flow.quiet is not None:
                self._call_if_quiet(adds)
        if at < end:
            self._decode(data, at)
        self._received_at = None
        if self.writer.queue.size:
            self.writer.write()

    def take_received(self) -> bool:
        """Test whether any bytes were received since the last call."""
        received, self._has_received = self._has_received, False
        return received

    def _decode(self, data: bytes, at: int) -> None:
        items = self._decoder.scan(data, at)
        if not self.wire.numbered and set(map(type, items)) == {ReadReply}:
            self._read_replies(cast(list[ReadReply], items))
            items = []
        for item in items:
            if self._end is not None:
                return  # a callback closed the connection: do not deliver the remaining replies
            if (receive := self._receivers.get(type(item))) is None:
                self._log.debug("a reply that was not asked for: {item}", item=type(item).__name__)
                continue
            receive(self, item)
        if self._decoder.error is not None and self._end is None:
            self.abort(broken_protocol(self._owner.bookie_id, str(self._decoder.error)))

    def _add_replies(self, replies: AddReplies) -> None:
        ledger_ids, entry_ids, numbers = replies.ledger_ids, replies.entry_ids, replies.txn_ids
        keys: Sequence[Any] = numbers if self.wire.numbered else list(zip(ledger_ids, entry_ids, strict=True))
        if replies.status is Status.EOK:
            self._complete_adds(keys, None, replies if self.wire.numbered else None)
        else:
            for start, end in stretches(entry_ids, ledger_ids):
                error = refused(self._owner.bookie_id, replies.status, ledger_ids[start], entry_ids[start])
                self._complete_adds(keys[start:end], error)
        for start, end in stretches(numbers) if numbers else ():
            self.in_flight.replied(numbers[start], end - start)

    def _complete_adds(self, keys: Sequence[Any], error: Exception | None, named: AddReplies | None = None) -> None:
        for adds in self.in_flight.answered_adds(keys, named):
            if adds.is_mistaken:
                error = broken_protocol(self._owner.bookie_id, f"it acknowledged another entry for {adds.asked}")
                self.abort(error)
            self._complete(adds, error)

    def _complete(self, adds: Answered, error: Exception | None) -> None:
        try:
            adds.done(self._owner.bookie_id, adds.indexes, error)  # type: ignore[misc]  # it waits for them
        except Exception:
            self._log.failure("completing adds failed")
        self._call_if_quiet(adds)

    def _call_if_quiet(self, adds: Answered) -> None:
        flow = adds.flow
        if flow.quiet is not None and not flow.waiting:
            flow.quiet()

    def _read_reply(self, reply: ReadReply) -> None:
        number = reply.txn_id
        if number is None:
            self._read_replies((reply,))
            return
        self.in_flight.replied(number)
        if not self._finish_call(number, reply.status, reply):  # it answers a long poll, whose request is a SentCall
            self._finish_read(number, reply)

    def _read_replies(self, replies: Sequence[ReadReply]) -> None:
        for reads in self.in_flight.answered_reads(replies):
            reads.deferred.callback(reads.replies())  # if a callback closes the connection, the loop ends

    def _finish_read(self, number: int, reply: ReadReply) -> None:
        if (reads := self.in_flight.answered_read(number, reply)) is not None:
            reads.deferred.callback(reads.replies())

    def _batch_reply(self, reply: BatchReply) -> None:
        self.in_flight.replied(reply.request_id)
        self._finish_call(reply.request_id, reply.status, reply)

    def _call_reply(self, reply: Any) -> None:
        self.in_flight.replied(reply.header.txn_id)
        self._finish_call(reply.header.txn_id, reply.status, reply)

    def _error_response(self, reply: ErrorResponse) -> None:
        number = reply.header.txn_id
        self._finish_call(number, reply.status, reply)
        # An ErrorResponse cannot contain the result of a request, so it is an error even if its status is EOK.
        self._complete_adds((number,), refused(self._owner.bookie_id, reply.status))
        self._finish_read(number, ReadReply(reply.status, -1, -1, number, None))
        self.in_flight.replied(number)

    def _finish_call(self, number: int, status: Status, reply: object) -> bool:
        call = self.in_flight.take_call(number)
        if call is None:
            return False
        if status is not Status.EOK:
            call.deferred.errback(refused(self._owner.bookie_id, status, call.ledger_id, call.entry_id))
        elif type(reply) is not call.expected:
            call.deferred.errback(wrong_reply(self._owner.bookie_id, call.asked, reply))
        else:
            call.deferred.callback(call.result(reply))
        return True

    # ---- sending -------------------------------------------------------------------------------------

    def _put(self, ids: RequestIds, frames: bytes, count: int) -> None:
        """Queue the frames of requests, and start the timer that scans for overdue requests."""
        self.writer.put(ids.flow_id, frames, count)
        if self._scan_call is None:
            self._scan_later()

    # ---- time-outs -----------------------------------------------------------------------------------

    def _scan_later(self) -> None:
        interval = self._limits.scan_interval
        self._time.scheduled(interval)
        self._scan_call = self._clock.callLater(interval, self._scan)

    def _scan(self) -> None:
        self._scan_call = None
        self._time.arrived()
        self._owner.traffic.recent()
        overdue = self.in_flight.expire(self._time.seconds())
        if self.in_flight:
            self._scan_later()
        if overdue:
            self._owner.overdue(sum(sent.count for sent in overdue))
        bookie_id, limits = self._owner.bookie_id, self._limits
        for sent in overdue:
            seconds = limits.add_timeout if isinstance(sent, AddsPart) else limits.read_timeout + sent.patience
            self._fail((sent,), no_reply(bookie_id, sent.asked, seconds))
        if self.in_flight.abandoned > _MAX_ABANDONED:
            self.abort(BookieHandleNotAvailableError(f"too many replies of bookie {bookie_id} are overdue"))

    # ---- life ----------------------------------------------------------------------------------------

    @property
    def expects_more(self) -> bool:
        """Whether the bookie owes replies: a request is outstanding."""
        return bool(self.in_flight)

    def connectionMade(self) -> None:
        transport = self.transport
        if self._no_delay and ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        self.writer.start(cast(ITransport, transport))

    def close(self, error: Exception) -> None:
        """Fail all outstanding and later requests with ``error``, and close the socket.

        Without outstanding requests, written bytes are still sent before the socket is closed.  With outstanding
        requests, the socket is closed at once, because a bookie that does not read must not hold up the client.
        """
        if not self.expects_more:
            self._end_with(error)
            cast(ITCPTransport, self.transport).loseConnection()
        else:
            self.abort(error)

    def abort(self, error: Exception) -> None:
        """Close the connection immediately, and fail all requests with ``error``; bytes that were not sent are lost."""
        self._end_with(error)
        cast(ITCPTransport, self.transport).abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end_with(lost_connection(self._owner.bookie_id, reason.value))
        self.disconnected.callback(None)

    def _end_with(self, error: Exception) -> None:
        if self._end is not None:
            return
        self._end = error
        self.writer.stop()
        if self._scan_call is not None:
            self._scan_call.cancel()
            self._scan_call = None
        outstanding = self.in_flight.clear()
        self._owner.lost(error)
        self._fail(outstanding, error)

    def _fail(self, sent: Sequence[EndedRequest], error: Exception) -> None:
        for one in sent:
            if isinstance(one, AddsPart):
                self._complete(one, error)
            elif not one.deferred.called:  # skip a request that an earlier errback has cancelled
                one.deferred.errback(error)
