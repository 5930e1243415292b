"""The decoder of V3 replies, for clients."""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from ...entries.columns import owned
from ...entries.entry_run import EntryRun
from ...errors import CodecError, Status
from .. import messages as m
from ..availability import decode_availability
from ..framing import LENGTH_SIZE, frame_length
from ..messages import Header
from ..operations import Operation
from ..protobuf import parse, text, wire_pb
from ..runs import AddReplies, BatchReply, IReplyEncoding, ReadReply, new_read_reply
from .columns import MIN_SERIES, OPERATION_AT, add_reply_columns, after_series, read_reply_columns
from .forms import read_replies

_ADD = int(Operation.ADD)
_READ = int(Operation.READ)
_STATUSES = {int(status): status for status in Status}


def scan(wire: IReplyEncoding, data: bytes, at: int, limit: int, items: list[object]) -> int:
    """Decode all complete V3 replies in ``data`` from offset ``at`` on.

    :param wire: the protocol of the replies.
    :param items: a list to which replies are added in order.
    :returns: offset of the first incomplete frame.
    :raises CodecError: a frame is over the limit or is no reply; ``items`` has the replies before it.
    """
    view = memoryview(data)
    singles = 0
    while len(data) - at >= LENGTH_SIZE:
        stride = LENGTH_SIZE + frame_length(data, at, limit)
        if len(data) - at < stride:
            break
        if len(data) - at >= MIN_SERIES * stride:
            after, singles = after_series(data, at, stride, singles, _rows, items)
            after = after if after > at else _unlike_read_replies(data, at, limit, items)
            if after > at:
                at = after
                continue
        response = parse(wire_pb.Response, view[at + LENGTH_SIZE : at + stride])
        if response is None:
            raise CodecError("no V3 response")
        item = _response(wire, response)
        if isinstance(item, AddReplies):
            item.append_to(items)
        else:
            items.append(item)
        at += stride
    return at


def _rows(data: bytes, at: int, stride: int, items: list[object]) -> tuple[int, int]:
    """Decode consecutive successful replies of one operation (add or read) whose frames all have ``stride`` bytes.

    :returns: the number of decoded frames, and their total size in bytes.  Both are 0 if the frames at ``at`` cannot be
        decoded together; the caller then decodes them in another way.
    """
    operation, count = data[at + OPERATION_AT], 0
    if operation == _ADD and (adds := add_reply_columns(data, at, stride)) is not None:
        AddReplies(Status.EOK, adds.ledger_ids, adds.entry_ids, adds.txn_ids).append_to(items)
        count = len(adds.txn_ids)
    elif operation == _READ and (reads := read_reply_columns(data, at, stride)) is not None:
        found, lac = reads
        _append_reads(items, found.ledger_ids, found.entry_ids, found.txn_ids, owned(found.bodies), repeat(lac))
        count = len(found.txn_ids)
    return count, count * stride


def _unlike_read_replies(data: bytes, at: int, limit: int, items: list[object]) -> int:
    """Decode consecutive successful read replies of any sizes; return the offset after the last of them.

    :param limit: size in bytes of the longest frame with its length word.
    :returns: ``at`` if the frame at ``at`` is no such reply.
    """
    found = read_replies(data, at, limit) if data[at + OPERATION_AT] == _READ else None
    if found is None:
        return at
    columns, after = found
    _append_reads(items, *columns)
    return after


def _append_reads(items: list[object], *columns: Iterable[Any]) -> None:
    """Append read replies to ``items``.

    :param columns: the values of each field of ReadReply, from the ledger id to the LAC.
    """
    items.extend(map(new_read_reply, zip(repeat(Status.EOK), *columns, repeat(None), strict=False)))


def _response(wire: IReplyEncoding, response: wire_pb.Response) -> object:
    head = response.header
    top = _STATUSES[response.status]
    operation: int = head.operation
    if operation == _READ and response.HasField("readResponse"):
        return _read(response.readResponse, head.txnId, top)
    if operation == _ADD and response.HasField("addResponse"):
        return _add(response.addResponse, head.txnId, top)
    header = Header(wire, head.version, operation, head.txnId, head.priority)
    if operation == Operation.START_TLS:
        return m.StartTlsResponse(header, top)
    name, read = _READERS.get(operation, ("", None))
    if read is None or not response.HasField(name):  # type: ignore[arg-type]
        return m.ErrorResponse(header, top)
    return read(getattr(response, name), header, top)


def _status(top: Status, message: Any) -> Status:
    """Return the status of a reply: the status of the frame or, if this is EOK, that in the operation's message."""
    return top if top is not Status.EOK else _STATUSES[message.status]


def _optional(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _read(message: wire_pb.ReadResponse, txn_id: int, top: Status) -> ReadReply:
    entry = message.body if message.HasField("body") else None
    max_lac = message.maxLAC if message.HasField("maxLAC") else None
    updated = message.lacUpdateTimestamp if message.HasField("lacUpdateTimestamp") else None
    return ReadReply(_status(top, message), message.ledgerId, message.entryId, txn_id, entry, max_lac, updated)


def _add(message: wire_pb.AddResponse, txn_id: int, top: Status) -> AddReplies:
    return AddReplies(_status(top, message), (message.ledgerId,), (message.entryId,), (txn_id,))


def _batch_read(message: wire_pb.BatchReadResponse, header: Header, top: Status) -> BatchReply:
    status = _status(top, message)
    ids = (message.ledgerId, message.startEntryId)
    run = None
    if status is Status.EOK:
        if not message.body:
            raise CodecError("batch read response without entries")
        run = EntryRun.of_entries(*ids, list(message.body))
    return BatchReply(status, *ids, header.txn_id, run, _optional(message, "maxLAC"))


def _auth(message: wire_pb.AuthMessage, header: Header, top: Status) -> m.AuthResponse:
    return m.AuthResponse(header, text(message.authPluginName), message.payload, top)


def _write_lac(message: wire_pb.WriteLacResponse, header: Header, top: Status) -> m.WriteLacResponse:
    return m.WriteLacResponse(header, _status(top, message), message.ledgerId)


def _read_lac(message: wire_pb.ReadLacResponse, header: Header, top: Status) -> m.ReadLacResponse:
    bodies = (_optional(message, "lacBody"), _optional(message, "lastEntryBody"))
    return m.ReadLacResponse(header, _status(top, message), message.ledgerId, *bodies)


def _bookie_info(message: wire_pb.GetBookieInfoResponse, header: Header, top: Status) -> m.BookieInfoResponse:
    space = (_optional(message, "totalDiskCapacity"), _optional(message, "freeDiskSpace"))
    return m.BookieInfoResponse(header, _status(top, message), *space)


def _force(message: wire_pb.ForceLedgerResponse, header: Header, top: Status) -> m.ForceLedgerResponse:
    return m.ForceLedgerResponse(header, _status(top, message), message.ledgerId)


def _list(message: wire_pb.GetListOfEntriesOfLedgerResponse, header: Header, top: Status) -> m.ListEntriesResponse:
    packed = _optional(message, "availabilityOfEntriesOfLedger")
    ranges = None if packed is None else decode_availability(packed)
    return m.ListEntriesResponse(header, _status(top, message), message.ledgerId, ranges)


_READERS: dict[int, tuple[str, Callable[[Any, Header, Status], object]]] = {
    Operation.AUTH: ("authResponse", _auth),
    Operation.WRITE_LAC: ("writeLacResponse", _write_lac),
    Operation.READ_LAC: ("readLacResponse", _read_lac),
    Operation.BOOKIE_INFO: ("getBookieInfoResponse", _bookie_info),
    Operation.FORCE_LEDGER: ("forceLedgerResponse", _force),
    Operation.LIST_ENTRIES: ("getListOfEntriesOfLedgerResponse", _list),
    Operation.BATCH_READ: ("batchReadResponse", _batch_read),
}
