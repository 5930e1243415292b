"""The decoder of V3 requests, for bookies: it returns runs (of adds or of reads), other messages, and refusals."""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...entries.columns import owned
from ...entries.entry_run import EntryRun
from ...entries.interfaces import Entries
from ...entries.mixed_runs import MixedRun, sequence
from ...errors import Status
from .. import messages as m
from ..framing import LENGTH_SIZE, MOST_ITEMS, frame_length
from ..messages import Header, RejectedRequest
from ..operations import (
    FENCE,
    HIGH_PRIORITY,
    MAX_DIGEST_SIZE,
    MAX_MASTER_KEY_SIZE,
    MIN_ENTRY_SIZE,
    RECOVERY_ADD,
    Operation,
)
from ..protobuf import parse, text, wire_pb
from ..runs import AddRun, BatchRead, IReplyEncoding, ReadRun
from ..strides import big_endian, consecutive, counts_up, from_big_endian, is_interleaved, joined, stretches
from . import replies_out
from .columns import (
    MIN_SERIES,
    OPERATION_AT,
    FrameColumns,
    add_columns,
    after_series,
    read_columns,
    traced_add_columns,
)
from .forms import unlike_adds, unlike_reads
from .layout import FLAG_FENCE, FLAG_PIGGYBACK, VERSION
from .replies_out import encode_response
from .request_context import NO_CONTEXT, TRACE_SIZE, decode_context

_ADD = int(Operation.ADD)
_READ = int(Operation.READ)
_DEFERRED_SYNC = 1
_IDS = struct.Struct(">qq")
_LAC = slice(16, 24)
_MIN_LAC_PACKET, _MAX_LAC_PACKET = _IDS.size, _IDS.size + MAX_DIGEST_SIZE
_MAX_PRIORITY = 1 << 31

_LARGE_BODY = 4096
"""Size in bytes from which comparing the ids of each add costs less than copying its body."""


def scan(wire: IReplyEncoding, data: bytes, at: int, limit: int, items: list[object]) -> tuple[int, bool]:
    """Decode complete V3 requests from offset ``at`` on, similar ones together and others one by one.

    Stop after ``MOST_ITEMS`` requests that were decoded one by one, so that one call does not take long.

    :param wire: stored in each decoded run, and later encodes the replies to its requests.
    :param items: a list to which the decoded requests are added in order.  An item is a run (several adds or reads), a
        single message, or a RejectedRequest with the error reply to an invalid request.
    :returns: offset of the first frame that is not decoded, and False if this frame is not V3, else True.
    :raises CodecError: a frame is over the limit, or is no request; ``items`` has the requests before it.
    """
    runs = _RunBuilder(wire, items)
    view = memoryview(data)
    singles = n_parsed = 0
    try:
        while len(data) - at >= LENGTH_SIZE and n_parsed < MOST_ITEMS:
            stride = LENGTH_SIZE + frame_length(data, at, limit)
            end = at + stride
            if len(data) < end:
                break
            if len(data) - at >= MIN_SERIES * stride:
                after, singles = after_series(data, at, stride, singles, _rows, runs)
                after = after if after > at else _unlike_rows(data, at, limit, runs)
                if after > at:
                    at = after
                    continue
            n_parsed += 1
            request = parse(wire_pb.Request, view[at + LENGTH_SIZE : end])
            if request is None:
                return at, False
            _accept(request, runs)
            at = end
    finally:
        runs.flush()
    return at, True


def _rows(data: bytes, at: int, stride: int, runs: "_RunBuilder") -> tuple[int, int]:
    """Decode consecutive adds, or consecutive plain reads, whose frames all have ``stride`` bytes.

    :returns: the number of decoded frames, and their total size in bytes.  Both are 0 if the frames at ``at`` cannot be
        decoded together; the caller then decodes them in another way.
    """
    operation = data[at + OPERATION_AT]
    if operation == _ADD and (found := add_columns(data, at, stride)) is not None:
        runs.add_columns(found)
    elif operation == _ADD and (found := traced_add_columns(data, at, stride)) is not None:
        runs.add_columns(found)
        stride -= TRACE_SIZE
    elif operation == _READ and (found := read_columns(data, at, stride)) is not None:
        runs.reads(found.flags, found.ledger_ids, found.entry_ids, found.txn_ids)
    else:
        return 0, 0
    count = len(found.txn_ids)
    return count, count * stride + found.context_size


def _unlike_rows(data: bytes, at: int, limit: int, runs: "_RunBuilder") -> int:
    """Decode consecutive adds or plain reads of any sizes; return the offset after the last of them.

    Return ``at`` if the first frame is encoded in an unusual form, so that the protobuf library must decode it.
    """
    operation = data[at + OPERATION_AT]
    if operation == _READ and (reads := unlike_reads(data, at)) is not None:
        found, after = reads
        runs.reads(found.flags, found.ledger_ids, found.entry_ids, found.txn_ids)
    elif operation == _ADD and (adds := unlike_adds(data, at, limit)) is not None:
        found, after = adds
        runs.add_columns(found)
    else:
        return at
    return after


class _RunBuilder:
    """A builder of runs: it joins consecutive adds with one key and the same flags, or consecutive plain reads.

    It builds one run at a time, the current run.  This run ends at the first request that cannot be part of it.

    :ivar context: the ``requestContext`` of the request that is being decoded.
    """

    __slots__ = (
        "wire", "context", "_items", "_key", "_bodies", "_flags", "_ledger_ids", "_entry_ids", "_txn_ids", "_contexts",
    )  # fmt: skip

    def __init__(self, wire: IReplyEncoding, items: list[object]) -> None:
        self.wire = wire
        self.context = NO_CONTEXT
        self._items = items
        self._key: tuple[int, bool, bytes] = (0, False, b"")
        self._bodies: list[bytes | memoryview] = []
        self._flags = 0
        self._ledger_ids: Sequence[int] = ()
        self._entry_ids: Sequence[int] = ()
        self._txn_ids: Sequence[int] = ()
        self._contexts: dict[tuple[int, int], Mapping[str, str]] | None = None

    def other(self, item: object) -> None:
        """End the current run, and append a request that is neither an add nor a plain read to the decoded items."""
        self.flush()
        self._items.append(item)

    def add_columns(self, found: FrameColumns) -> None:
        """Append a series of decoded adds to the run that is being filled."""
        key = (found.flags, False, found.master_key)
        if _are_entries(found):
            self._adds(key, found.ledger_ids, found.entry_ids, found.txn_ids, found.bodies)
            for index, pairs in found.contexts.items():
                self._carried(found.ledger_ids[index], found.entry_ids[index], pairs)
            return
        for add in zip(found.txn_ids, found.ledger_ids, found.entry_ids, found.bodies, strict=True):
            self.add(key, *add)

    def add(
        self, key: tuple[int, bool, bytes], txn_id: int, ledger_id: int, entry_id: int, body: bytes | memoryview
    ) -> None:  # fmt: skip
        """Append one add to the run that is being filled.

        If its body does not begin with the ids of the request, append a refusal instead: such a body must not be
        written to the journal.

        :param key: (flags, deferred sync, master key), which are the same for all adds of a run.
        """
        is_entry = ledger_id >= 0 <= entry_id and len(body) >= MIN_ENTRY_SIZE
        if not is_entry or body[:16] != _IDS.pack(ledger_id, entry_id) or len(key[2]) > MAX_MASTER_KEY_SIZE:
            reply = replies_out.add_reply(txn_id, Status.EBADREQ, ledger_id, entry_id)
            header = Header(self.wire, VERSION, Operation.ADD, txn_id)
            self.other(RejectedRequest(header, Status.EBADREQ, reply))
        else:
            self._adds(key, (ledger_id,), (entry_id,), (txn_id,), (body,))

    def _adds(
        self, key: tuple[int, bool, bytes], ledger_ids: Sequence[int], entry_ids: Sequence[int],
        txn_ids: Sequence[int], bodies: Sequence[bytes | memoryview],
    ) -> None:  # fmt: skip
        if key != self._key or not self._bodies:
            self.flush()
            self._key = key
        self._extend(ledger_ids, entry_ids, txn_ids)
        self._bodies += bodies

    def reads(self, flags: int, ledger_ids: Sequence[int], entry_ids: Sequence[int], txn_ids: Sequence[int]) -> None:
        """Append plain reads to the current run; if it has adds or reads with other flags, begin a new run."""
        if self._bodies or flags != self._flags:
            self.flush()
            self._flags = flags
        self._extend(ledger_ids, entry_ids, txn_ids)

    def _extend(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], txn_ids: Sequence[int]) -> None:
        self._ledger_ids = joined(self._ledger_ids, ledger_ids)
        self._entry_ids = joined(self._entry_ids, entry_ids)
        self._txn_ids = joined(self._txn_ids, txn_ids)
        if self.context:  # set only for a request that is decoded alone, so the first id is that of the only request
            self._carried(ledger_ids[0], entry_ids[0], self.context)

    def _carried(self, ledger_id: int, entry_id: int, pairs: Mapping[str, str]) -> None:
        if self._contexts is None:
            self._contexts = {}
        self._contexts[ledger_id, entry_id] = pairs

    def flush(self) -> None:
        """End the current run, and append it to the decoded items."""
        if self._bodies:
            entries = _entries_of(self._ledger_ids, self._entry_ids, self._bodies)
            self._items.append(AddRun(self.wire, VERSION, *self._key, entries, self._txn_ids, self._contexts))
            self._bodies = []
        elif self._txn_ids:
            ids = self._ledger_ids, self._entry_ids, self._txn_ids
            self._items.append(ReadRun(self.wire, VERSION, self._flags, *ids, self._contexts))
        self._contexts = None
        self._ledger_ids = self._entry_ids = self._txn_ids = ()


def _are_entries(found: FrameColumns) -> bool:
    """Test whether the master key of decoded adds has a valid size, and each body begins with the ids of its add."""
    ledger_ids, entry_ids, bodies = found.ledger_ids, found.entry_ids, found.bodies
    sizes, count, first = list(map(len, bodies)), len(bodies), ledger_ids[0]
    if min(sizes) < MIN_ENTRY_SIZE or len(found.master_key) > MAX_MASTER_KEY_SIZE:
        return False
    are_small = sizes[0] < _LARGE_BODY and sizes.count(sizes[0]) == count
    if are_small and ledger_ids.count(first) == count and consecutive(entry_ids):
        return counts_up(b"".join(bodies), sizes[0], count, 0, first.to_bytes(8, "big"), entry_ids[0])
    ids = [0] * (2 * count)
    ids[::2], ids[1::2] = ledger_ids, entry_ids
    return big_endian(ids) == b"".join([body[: _IDS.size] for body in bodies])


def _entries_of(ledger_ids: Sequence[int], entry_ids: Sequence[int], bodies: Sequence[bytes | memoryview]) -> Entries:
    """Combine the entries of several adds in one object.

    The object is an EntryRun if the entries are consecutive entries of one ledger, a RunSequence if they are several
    such runs, or a MixedRun if the ledger changes at nearly every entry.

    :param ledger_ids: the ledger id of each entry.
    :param entry_ids: the entry id of each entry.
    :param bodies: the bytes of each entry.
    """
    if ledger_ids.count(ledger_ids[0]) == len(bodies) and consecutive(entry_ids):
        return EntryRun.of_entries(ledger_ids[0], entry_ids[0], bodies)
    if is_interleaved(ledger_ids, entry_ids):
        lacs = from_big_endian(b"".join([body[_LAC] for body in bodies])).tolist()
        return MixedRun(ledger_ids, entry_ids, lacs, owned(bodies))
    return sequence([
        EntryRun.of_entries(ledger_ids[start], entry_ids[start], bodies[start:end])
        for start, end in stretches(entry_ids, ledger_ids)
    ])  # fmt: skip


# ---- one request -------------------------------------------------------------------------------------


def _accept(request: wire_pb.Request, runs: _RunBuilder) -> None:
    head = request.header
    operation: int = head.operation
    pairs = request.requestContext
    runs.context = decode_context(pairs) if pairs else NO_CONTEXT
    if operation == _ADD and request.HasField("addRequest"):
        _add(request.addRequest, head, runs)
    elif operation == _READ and request.HasField("readRequest"):
        _read(request.readRequest, head, runs)
    else:
        _accept_cold(request, _header(head, runs), runs)
    runs.context = NO_CONTEXT


def _accept_cold(request: wire_pb.Request, header: Header, runs: _RunBuilder) -> None:
    """Decode a request that is neither an add nor a read.

    An add or read without its sub-message is also decoded here.  It has no ids, so its reply has only a header and a
    status.
    """
    name, read = _READERS.get(header.operation, ("", None))
    if read is not None and request.HasField(name):  # type: ignore[arg-type]
        read(getattr(request, name), header, runs)
        return
    missing = _MISSING.get(header.operation, _unserved)
    runs.other(missing(header))


def _header(head: wire_pb.BKPacketHeader, runs: _RunBuilder) -> Header:
    return Header(runs.wire, head.version, head.operation, head.txnId, head.priority, runs.context)


def _flags(priority: int) -> int:
    """Return the flags that stand for a priority.

    As in Java, a priority of 2**31 or more counts as negative, so it is not a high priority.
    """
    return HIGH_PRIORITY if 0 < priority < _MAX_PRIORITY else 0


def _refuse(runs: _RunBuilder, header: Header, status: Status, response: object) -> None:
    runs.other(RejectedRequest(header, status, encode_response(response)))


def _unserved(header: Header) -> RejectedRequest:
    return RejectedRequest(header, Status.EBADREQ, encode_response(m.ErrorResponse(header, Status.EBADREQ)))


def _add(request: wire_pb.AddRequest, head: wire_pb.BKPacketHeader, runs: _RunBuilder) -> None:
    ledger_id, entry_id = request.ledgerId, request.entryId
    if head.version != VERSION:
        reply = replies_out.add_reply(head.txnId, Status.EBADVERSION, ledger_id, entry_id)
        runs.other(RejectedRequest(_header(head, runs), Status.EBADVERSION, reply))
        return
    flags = _flags(head.priority)
    deferred = False
    if request.HasField("flag"):  # not ``request.flag``, because its default is RECOVERY_ADD
        flags |= RECOVERY_ADD
    else:  # only ordinary adds can defer the sync: Java ignores the write flags of recovery adds
        deferred = bool(request.writeFlags & _DEFERRED_SYNC)
    runs.add((flags, deferred, request.masterKey), head.txnId, ledger_id, entry_id, request.body)


def _read(request: wire_pb.ReadRequest, head: wire_pb.BKPacketHeader, runs: _RunBuilder) -> None:
    ledger_id, entry_id = request.ledgerId, request.entryId
    flag = request.flag if request.HasField("flag") else 0
    key = request.masterKey if request.HasField("masterKey") else None
    previous_lac = request.previousLAC if request.HasField("previousLAC") else None
    timeout_ms = request.timeOut if request.HasField("timeOut") else None
    refused = Status.EBADVERSION if head.version != VERSION else None
    if refused is None and ((flag == FLAG_FENCE and ledger_id < 0) or _is_long(key)):
        refused = Status.EBADREQ
    if refused is not None:
        header = _header(head, runs)
        _refuse(runs, header, refused, m.ReadResponse(header, refused, ledger_id, entry_id))
    elif flag or key is not None or previous_lac is not None or timeout_ms is not None:
        high = bool(_flags(head.priority))
        fence, piggyback = flag == FLAG_FENCE, flag == FLAG_PIGGYBACK
        ids = (ledger_id, entry_id)
        runs.other(m.ReadRequest(_header(head, runs), *ids, fence, high, key, previous_lac, timeout_ms, piggyback))
    else:
        runs.reads(_flags(head.priority), (ledger_id,), (entry_id,), (head.txnId,))


def _is_long(master_key: bytes | None) -> bool:
    """Test whether a master key is too long to accept; a bookie stores it as long as the ledger exists."""
    return master_key is not None and len(master_key) > MAX_MASTER_KEY_SIZE


def _batch_read(request: wire_pb.BatchReadRequest, header: Header, runs: _RunBuilder) -> None:
    flags = _flags(header.priority)
    if request.HasField("flag") and request.flag == FLAG_FENCE:
        flags |= FENCE
    batch = BatchRead(
        runs.wire, header.version, flags, request.ledgerId, request.startEntryId, header.txn_id, request.maxCount,
        request.maxSize, request.masterKey if request.HasField("masterKey") else None,
        request.previousLAC if request.HasField("previousLAC") else None,
        request.timeOut if request.HasField("timeOut") else None, header.context or None,
    )  # fmt: skip
    if header.version != VERSION:
        runs.other(RejectedRequest(header, Status.EBADVERSION, batch.failure(Status.EBADVERSION)))
    elif (flags & FENCE and batch.ledger_id < 0) or _is_long(batch.master_key):
        runs.other(RejectedRequest(header, Status.EBADREQ, batch.failure(Status.EBADREQ)))
    else:
        runs.other(batch)


def _auth(request: wire_pb.AuthMessage, header: Header, runs: _RunBuilder) -> None:
    runs.other(m.AuthRequest(header, text(request.authPluginName), request.payload))


def _write_lac(request: wire_pb.WriteLacRequest, header: Header, runs: _RunBuilder) -> None:
    """Decode a request to store an explicit LAC; refuse it if its body is not a LAC packet of the same ledger.

    The bookie writes the body to its journal, where a replay reads the ledger id in the body.  So this id must be that
    of the request.  The bookie also keeps the body in memory, so the body may contain only ledger id, LAC and a digest.
    """
    ledger_id, body = request.ledgerId, request.body
    sized = _MIN_LAC_PACKET <= len(body) <= _MAX_LAC_PACKET and not _is_long(request.masterKey)
    good = ledger_id >= 0 and sized and body[:8] == ledger_id.to_bytes(8, "big")
    refused = Status.EBADVERSION if header.version != VERSION else None if good else Status.EBADREQ
    if refused is not None:
        _refuse(runs, header, refused, m.WriteLacResponse(header, refused, ledger_id))
    else:
        runs.other(m.WriteLacRequest(header, ledger_id, request.lac, request.masterKey, body))


def _bookie_info(request: wire_pb.GetBookieInfoRequest, header: Header, runs: _RunBuilder) -> None:
    if header.version != VERSION:
        _refuse(runs, header, Status.EBADVERSION, m.BookieInfoResponse(header, Status.EBADVERSION))
    else:
        runs.other(m.BookieInfoRequest(header, request.requested))


def _start_tls(_: wire_pb.StartTLSRequest, header: Header, runs: _RunBuilder) -> None:
    runs.other(m.StartTlsRequest(header))


def _of_ledger(request_type: Callable[..., object], response_type: Callable[..., object]) -> "_Reader":
    """Return a decoder for one kind of request; the only field of these requests is a ledger id."""

    def read(request: Any, header: Header, runs: _RunBuilder) -> None:
        if header.version != VERSION:
            _refuse(runs, header, Status.EBADVERSION, response_type(header, Status.EBADVERSION, request.ledgerId))
        else:
            runs.other(request_type(header, request.ledgerId))

    return read


_Reader = Callable[[Any, Header, _RunBuilder], None]

_READERS: dict[int, tuple[str, _Reader]] = {
    Operation.AUTH: ("authRequest", _auth),
    Operation.WRITE_LAC: ("writeLacRequest", _write_lac),
    Operation.READ_LAC: ("readLacRequest", _of_ledger(m.ReadLacRequest, m.ReadLacResponse)),
    Operation.BOOKIE_INFO: ("getBookieInfoRequest", _bookie_info),
    Operation.START_TLS: ("startTLSRequest", _start_tls),
    Operation.FORCE_LEDGER: ("forceLedgerRequest", _of_ledger(m.ForceLedgerRequest, m.ForceLedgerResponse)),
    Operation.LIST_ENTRIES: (
        "getListOfEntriesOfLedgerRequest", _of_ledger(m.ListEntriesRequest, m.ListEntriesResponse),
    ),
    Operation.BATCH_READ: ("batchReadRequest", _batch_read),
}  # fmt: skip

# Apache's bookie answers some requests even if they lack the sub-message of their operation: an AUTH request without
# authRequest, for example.  For each of these operations, a function returns the decoded request, or its error reply.
# Any other request without its sub-message is refused with an ErrorResponse.
_MISSING: dict[int, Callable[[Header], object]] = {
    Operation.AUTH: lambda header: m.AuthRequest(header, "", b""),
    Operation.BOOKIE_INFO: m.BookieInfoRequest,
    Operation.START_TLS: lambda header: RejectedRequest(
        header, Status.EBADREQ, encode_response(m.StartTlsResponse(header, Status.EBADREQ))
    ),
}
