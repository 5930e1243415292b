"""One connection to a bookie, seen from the client: requests out, replies matched, time-outs.

Requests of one reactor turn leave in one ``transport.write``; while the transport is full they are kept
here.  One timer scans what is outstanding, oldest first; there is no delayed call for a request.
A connection that is lost fails each outstanding request once, in the order they were made, after its
owner was told, so that an errback which asks again never meets the dead connection.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import attrs
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IConsumer, IPushProducer, IReactorTime, ITCPTransport, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..codec import v2, v3
from ..codec.connection import ClientDecoder
from ..codec.messages import ErrorResponse, Header, ReadRequest
from ..codec.operations import FENCE, HIGH_PRIORITY, V3_HIGH_PRIORITY, Operation
from ..codec.runs import AddReplies, BatchRead, BatchReply, ReadReply
from ..errors import (
    ERROR_OF_STATUS,
    BookieHandleNotAvailableError,
    BookKeeperError,
    RequestTimeoutError,
    Status,
    UnexpectedConditionError,
)
from ..model import INVALID_ENTRY_ID, EntryRun
from .cold_calls import ColdCall
from .outstanding import (
    AddsDone,
    OutstandingAdds,
    OutstandingReads,
    SentAdds,
    SentCall,
    SentReads,
    SentRequest,
    in_order,
)

T = TypeVar("T")

_V2_VERSION = 2
_V3_VERSION = 3
_MAX_ABANDONED = 10_000
"""V2 keys that may stay taken by replies nobody waits for; a bookie that owes more is not well."""


@attrs.frozen
class RequestLimits:
    """Times in seconds a bookie may take, and the longest frame either way."""

    add_timeout: float = 5.0
    read_timeout: float = 5.0
    max_frame_size: int = 5 << 20


def error_of(status: Status, ledger_id: int, entry_id: int = -1) -> BookKeeperError:
    """The exception for a status that is not EOK."""
    return ERROR_OF_STATUS[status](ledger_id, entry_id)


@implementer(IPushProducer)
class ClientConnection(Protocol):
    """Requests to one bookie over one socket in one wire version.

    :ivar wire: 2 or 3.
    :ivar writable: whether the transport takes more; what is asked meanwhile is kept and sent later.
    :ivar disconnected: fires once the socket is gone.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, wire: int, limits: RequestLimits, lost: Callable[["ClientConnection"], None],
        no_delay: bool = True,
    ) -> None:  # fmt: skip
        self.wire = wire
        self.writable = True
        self.disconnected: Deferred[None] = Deferred()
        self._clock = clock
        self._limits = limits
        self._lost = lost
        self._no_delay = no_delay
        self._codec = v2 if wire == 2 else v3
        self._decoder = ClientDecoder(wire, limits.max_frame_size)
        self._adds = OutstandingAdds()
        self._reads = OutstandingReads()
        self._calls: dict[int, SentCall] = {}
        self._next_number = 1
        self._outbox: list[bytes] = []
        self._flush_call: object | None = None
        self._scan_call: Any = None
        self._scan_interval = min(1.0, limits.add_timeout / 4, limits.read_timeout / 4)
        self._end: Exception | None = None
        self._receivers: dict[type, Callable[[Any], None]] = {
            AddReplies: self._add_replies,
            ReadReply: self._read_reply,
            BatchReply: self._batch_reply,
            ErrorResponse: self._error_response,
        }

    # ---- requests ------------------------------------------------------------------------------------

    def can_add(self, entries: EntryRun) -> bool:
        """Whether replies to these adds could be told from others on this connection."""
        return self.wire == 3 or not self._adds.is_taken(entries.ledger_id, entries.first, entries.count)

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Whether replies to these reads could be told from others on this connection."""
        return self.wire == 3 or not self._reads.is_taken([(ledger_id, e) for e in entry_ids])

    def add(
        self, entries: EntryRun, master_key: bytes, flags: int, deferred_sync: bool, done: AddsDone,
        frames: bytes | None = None,
    ) -> None:  # fmt: skip
        """Sends a run; V2: only one that :meth:`can_add`.

        :param frames: V2: the frames of the run, where the caller has them.
        """
        if self._end is not None:
            done(entries.first, entries.count, self._end)
            return
        number = self._take_numbers(entries.count)
        lane, key = (0, number) if self.wire == 3 else (entries.ledger_id, entries.first)
        deadline = self._clock.seconds() + self._limits.add_timeout
        self._adds.insert(lane, SentAdds(number, deadline, entries.ledger_id, entries.first, key, entries.count, done))
        self._send(frames or self._codec.encode_adds(master_key, entries, flags, deferred_sync, number))

    def read(self, ledger_id: int, entry_ids: Sequence[int]) -> "Deferred[list[ReadReply]]":
        """Plain reads, at least one; V2: only such that :meth:`can_read`."""
        number = self._take_numbers(len(entry_ids))
        keys: Sequence[Any] = range(number, number + len(entry_ids))
        if self.wire == 2:
            keys = [(ledger_id, e) for e in entry_ids]
        return self._read(number, keys, self._codec.encode_reads(ledger_id, entry_ids, 0, number))

    def special_read(
        self, ledger_id: int, entry_id: int, flags: int, master_key: bytes | None
    ) -> "Deferred[list[ReadReply]]":
        """One read with flags; V3 only, because a V2 reply does not say which of two reads it answers."""
        number = self._take_numbers(1)
        high = bool(flags & HIGH_PRIORITY)
        header = Header(3, _V3_VERSION, Operation.READ, number, V3_HIGH_PRIORITY if high else 0)
        request = ReadRequest(header, ledger_id, entry_id, bool(flags & FENCE), high, master_key)
        return self._read(number, (number,), v3.encode_request(request))

    def _read(self, number: int, keys: Sequence[Any], frames: bytes) -> "Deferred[list[ReadReply]]":
        if self._end is not None:
            return fail(self._end)
        deferred: Deferred[list[ReadReply]] = Deferred(lambda _: self._reads.give_up(reads, self.wire == 2))
        reads = SentReads(number, self._clock.seconds() + self._limits.read_timeout, keys, deferred)
        self._reads.insert(reads)
        self._send(frames)
        return deferred

    def read_batch(
        self, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Consecutive entries; matched by number in both versions.

        :param patience: V3: as of :meth:`long_poll`; the bookie waits until ``first`` is confirmed.
        """
        number = self._take_numbers(1)
        version = _V2_VERSION if self.wire == 2 else _V3_VERSION
        request = BatchRead(self.wire, version, flags, ledger_id, first, number, max_count, max_size, master_key)
        if patience is not None:
            request.previous_lac, request.timeout_ms = first - 1, int(patience * 1000)
        frame = self._codec.encode_batch_read(request)
        return self._call(number, frame, ledger_id, first, BatchReply, lambda reply: reply, patience or 0.0)

    def long_poll(self, ledger_id: int, previous_lac: int, patience: float) -> "Deferred[ReadReply]":
        """Asks for the entry after ``previous_lac`` once it is confirmed; V3 only.

        :param patience: seconds the bookie is to wait; it has the usual time on top of it to answer.
        """
        number = self._take_numbers(1)
        header = Header(3, _V3_VERSION, Operation.READ, number)
        request = ReadRequest(
            header, ledger_id, INVALID_ENTRY_ID, previous_lac=previous_lac, timeout_ms=int(patience * 1000),
            piggyback=True,
        )  # fmt: skip
        frame = v3.encode_request(request)
        return self._call(number, frame, ledger_id, previous_lac + 1, ReadReply, lambda reply: reply, patience)

    def ask(self, call: ColdCall[T]) -> "Deferred[T]":
        """A rare request; V3 only."""
        header = Header(3, _V3_VERSION, call.operation, self._take_numbers(1))
        self._receivers.setdefault(call.expected, self._call_reply)
        frame = v3.encode_request(call.request(header))
        return self._call(header.txn_id, frame, call.ledger_id, -1, call.expected, call.result)

    def _call(
        self, number: int, frame: bytes, ledger_id: int, entry_id: int, expected: type, result: Callable[[Any], T],
        patience: float = 0.0,
    ) -> "Deferred[T]":  # fmt: skip
        if self._end is not None:
            return fail(self._end)
        deferred: Deferred[T] = Deferred(lambda _: self._forget(number))
        deadline = self._clock.seconds() + self._limits.read_timeout + patience
        self._calls[number] = SentCall(number, deadline, ledger_id, entry_id, expected, result, deferred)
        self._send(frame)
        return deferred

    def _forget(self, number: int) -> None:
        self._calls.pop(number, None)

    def _take_numbers(self, count: int) -> int:
        number = self._next_number
        self._next_number = number + count
        return number

    # ---- replies -------------------------------------------------------------------------------------

    def dataReceived(self, data: bytes) -> None:
        for item in self._decoder.receive(data):
            if self._end is not None:
                return  # a callback closed the connection: what was still parsed is not delivered
            receive = self._receivers.get(type(item))
            if receive is None:
                self._log.debug("a reply nobody asked for: {item}", item=type(item).__name__)
                continue
            receive(item)
        if self._decoder.error is not None and self._end is None:
            self.abort(BookieHandleNotAvailableError(f"the bookie broke the protocol: {self._decoder.error}"))

    def _add_replies(self, replies: AddReplies) -> None:
        error = None if replies.status is Status.EOK else error_of(replies.status, replies.ledger_id, replies.first)
        if self.wire == 2:
            self._finish_adds(self._adds.answered(replies.ledger_id, replies.first, replies.count), error)
            return
        numbers = replies.txn_ids
        at = 0
        for end in range(1, len(numbers) + 1):
            if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
                self._finish_adds(self._adds.answered(0, numbers[at], end - at), error)
                at = end

    def _finish_adds(self, finished: Sequence[SentAdds], error: Exception | None) -> None:
        for sent in finished:
            assert sent.done is not None
            try:
                sent.done(sent.first, sent.count, error)
            except Exception:
                self._log.failure("completing adds of ledger {ledger_id} failed", ledger_id=sent.ledger_id)

    def _read_reply(self, reply: ReadReply) -> None:
        key = reply.txn_id if self.wire == 3 else (reply.ledger_id, reply.entry_id)
        assert key is not None
        if key in self._calls:  # a long poll; its deadline is its own, so it is not among the reads
            self._finish_call(key, reply.status, reply)
            return
        reads = self._reads.answered(key, reply)
        if reads is not None:
            reads.deferred.callback(cast(list[ReadReply], reads.replies))

    def _batch_reply(self, reply: BatchReply) -> None:
        self._finish_call(reply.request_id, reply.status, reply)

    def _call_reply(self, reply: Any) -> None:
        self._finish_call(reply.header.txn_id, reply.status, reply)

    def _error_response(self, reply: ErrorResponse) -> None:
        number = reply.header.txn_id
        self._finish_call(number, reply.status, reply)
        self._finish_adds(self._adds.answered(0, number, 1), _bare_error(reply.status))
        reads = self._reads.answered(number, ReadReply(reply.status, -1, -1, number, None))
        if reads is not None:
            reads.deferred.callback(cast(list[ReadReply], reads.replies))

    def _finish_call(self, number: int, status: Status, reply: object) -> None:
        call = self._calls.pop(number, None)
        if call is None:
            return
        if status is not Status.EOK:
            call.deferred.errback(error_of(status, call.ledger_id, call.entry_id))
        elif type(reply) is not call.expected:
            call.deferred.errback(UnexpectedConditionError(f"{type(reply).__name__} for {call.expected.__name__}"))
        else:
            call.deferred.callback(call.result(reply))

    # ---- sending -------------------------------------------------------------------------------------

    def _send(self, frames: bytes) -> None:
        self._outbox.append(frames)
        if self._flush_call is None:
            self._flush_call = self._clock.callLater(0, self._flush)
        if self._scan_call is None:
            self._scan_call = self._clock.callLater(self._scan_interval, self._scan)

    def _flush(self) -> None:
        self._flush_call = None
        if self.writable and self._outbox and self._end is None:
            data = b"".join(self._outbox)
            self._outbox.clear()
            cast(ITransport, self.transport).write(data)

    def pauseProducing(self) -> None:
        self.writable = False

    def resumeProducing(self) -> None:
        self.writable = True
        self._flush()

    def stopProducing(self) -> None:
        self.writable = False

    # ---- time-outs -----------------------------------------------------------------------------------

    def _scan(self) -> None:
        self._scan_call = None
        now, keep_taken = self._clock.seconds(), self.wire == 2
        adds = self._adds.expire(now, keep_taken)
        reads = self._reads.expire(now, keep_taken)
        calls = [call for call in self._calls.values() if call.deadline <= now]
        for call in calls:
            del self._calls[call.order]
        if self._adds or self._reads or self._calls:
            self._scan_call = self._clock.callLater(self._scan_interval, self._scan)
        self._fail([*adds, *reads, *calls], RequestTimeoutError("no reply in time"))
        if self._adds.abandoned + self._reads.abandoned > _MAX_ABANDONED:
            self.abort(BookieHandleNotAvailableError("too many replies are overdue"))

    # ---- life ----------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing is outstanding."""
        return not (self._adds or self._reads or self._calls)

    def connectionMade(self) -> None:
        transport = self.transport
        if self._no_delay and ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        if IConsumer.providedBy(transport):
            transport.registerProducer(self, True)

    def close(self, error: Exception) -> None:
        """Fails what is outstanding and everything asked later with ``error``; closes the socket.

        With nothing outstanding the socket is closed in order, else at once: a peer that does not read
        must not hold the client.
        """
        if self.idle:
            self._end_with(error)
            cast(ITCPTransport, self.transport).loseConnection()
        else:
            self.abort(error)

    def abort(self, error: Exception) -> None:
        """As :meth:`close`, at once."""
        self._end_with(error)
        cast(ITCPTransport, self.transport).abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end_with(BookieHandleNotAvailableError(f"connection lost: {reason.getErrorMessage()}"))
        self.disconnected.callback(None)

    def _end_with(self, error: Exception) -> None:
        if self._end is not None:
            return
        self._end = error
        self._outbox.clear()
        for call in (self._scan_call, self._flush_call):
            if call is not None:
                cast(Any, call).cancel()
        self._scan_call = self._flush_call = None
        if IConsumer.providedBy(self.transport):
            cast(IConsumer, self.transport).unregisterProducer()
        outstanding: list[SentRequest] = [*self._adds.clear(), *self._reads.clear(), *self._calls.values()]
        self._calls.clear()
        self._lost(self)
        self._fail(outstanding, error)

    def _fail(self, sent: Sequence[SentRequest], error: Exception) -> None:
        for one in in_order(sent):
            if isinstance(one, SentAdds):
                self._finish_adds((one,), error)
            elif not one.deferred.called:  # else an errback before this one has cancelled it
                one.deferred.errback(error)


def _bare_error(status: Status) -> BookKeeperError:
    if status is Status.EOK:
        return UnexpectedConditionError("a reply without content says that it is a success")
    return error_of(status, -1)
