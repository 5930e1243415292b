"""The decoder of V2 replies, for clients."""

import struct
from itertools import repeat

from ...entries.entry_run import EntryRun
from ...errors import CodecError, Status
from ..framing import LENGTH_SIZE, frame_length
from ..messages import AuthResponse, Header
from ..operations import V2Op
from ..runs import AddReplies, BatchReply, IReplyEncoding, ReadReply, new_read_reply
from ..strides import is_series, same_columns, same_prefix
from .layout import BATCH_REPLY, IDS_REPLY, IDS_REPLY_LENGTH, auth_message, split_header

_WORD = struct.Struct(">I")
_SIZE = struct.Struct(">i")
_ADD_HEAD = 12
"""Number of bytes in front of the ledger id in a reply: length word, header and error code."""

_READ_HEAD = _ADD_HEAD + 8
"""Number of bytes in front of the entry id in a reply: length word, header, error code and ledger id."""


def scan(wire: IReplyEncoding, data: bytes, at: int, limit: int, items: list[object]) -> int:
    """Decode all complete V2 replies in ``data`` from offset ``at`` on.

    :param wire: the protocol of the replies.
    :param items: a list to which replies are added in order.
    :returns: offset of the first incomplete frame.
    :raises CodecError: a frame is over the limit or is no reply; ``items`` has the replies before it.
    """
    end = len(data)
    while end - at >= LENGTH_SIZE:
        length = frame_length(data, at, limit)
        if end - at - LENGTH_SIZE < length:
            break
        version, opcode, _ = split_header(_WORD.unpack_from(data, at + LENGTH_SIZE)[0])
        if opcode == V2Op.ADD:
            at = _add_replies(data, at, length, items)
            continue
        if opcode == V2Op.READ:
            at = _read_replies(data, at, length, limit, items)
            continue
        after = at + LENGTH_SIZE + length
        if opcode == V2Op.BATCH_READ:
            items.append(_batch_reply(data, at, after))
        elif opcode == V2Op.AUTH:
            items.append(AuthResponse(Header(wire, version, V2Op.AUTH), *auth_message(data, at, length)))
        else:
            raise CodecError(f"no V2 response has opcode {opcode}")
        at = after
    return at


def _status(code: int) -> Status:
    try:
        return Status.from_v2(code)
    except ValueError as error:
        raise CodecError(str(error)) from None


def _add_replies(data: bytes, at: int, length: int, items: list[object]) -> int:
    """Decode consecutive add replies with one status; return the offset after the last of them."""
    if length < IDS_REPLY_LENGTH:
        raise CodecError(f"V2 add response of {length} bytes")
    _, _, code, ledger_id, entry_id = IDS_REPLY.unpack_from(data, at)
    status = _status(code)
    if length != IDS_REPLY_LENGTH or not is_series(data, at, IDS_REPLY.size, _ADD_HEAD):
        AddReplies(status, (ledger_id,), (entry_id,)).append_to(items)
        return at + LENGTH_SIZE + length
    rests = same_prefix(data, at, IDS_REPLY.size, _ADD_HEAD)
    numbers = struct.unpack(f">{2 * len(rests)}q", b"".join(rests))
    AddReplies(status, numbers[::2], numbers[1::2]).append_to(items)
    return at + len(rests) * IDS_REPLY.size


def _read_replies(data: bytes, at: int, length: int, limit: int, items: list[object]) -> int:
    """Decode consecutive successful read replies, or one read reply with an error; return the offset after them.

    Replies of one ledger with entries of one size are decoded together, column by column; other replies one by one.

    :param length: the length word of the first reply.
    :param limit: size in bytes of the longest frame with its length word.
    """
    if length < IDS_REPLY_LENGTH:
        raise CodecError(f"V2 read response of {length} bytes")
    _, _, code, ledger_id, entry_id = IDS_REPLY.unpack_from(data, at)
    status, size = _status(code), LENGTH_SIZE + length
    if status is not Status.EOK:
        items.append(ReadReply(status, ledger_id, entry_id, None, None))
        return at + size
    if not is_series(data, at, size, _READ_HEAD):
        return _unlike_read_replies(data, at, limit, items)
    parts = _READ_HEAD, IDS_REPLY.size - _READ_HEAD, size - IDS_REPLY.size
    _, ids, entries = same_columns(data, at, parts, (0,))
    entry_ids = struct.unpack(f">{len(ids)}q", b"".join(ids))
    columns = (repeat(status), repeat(ledger_id), entry_ids, repeat(None), entries, repeat(None), repeat(None))
    items.extend(map(new_read_reply, zip(*columns, strict=False)))
    return at + len(ids) * size


def _unlike_read_replies(data: bytes, at: int, limit: int, items: list[object]) -> int:
    """Decode successful read replies one by one; return the offset after the last of them.

    Stop before a reply that has the ledger and size of the previous one, because :func:`_read_replies` decodes such
    replies faster, column by column.

    :param limit: size in bytes of the longest frame with its length word.
    """
    head, last, before = data[at + LENGTH_SIZE : at + _ADD_HEAD], len(data) - IDS_REPLY.size, b""
    while at <= last and data[at + LENGTH_SIZE : at + _ADD_HEAD] == head:
        length, _, _, ledger_id, entry_id = IDS_REPLY.unpack_from(data, at)
        size = LENGTH_SIZE + length
        if not IDS_REPLY.size <= size <= min(limit, len(data) - at) or before == data[at : at + _READ_HEAD]:
            break
        before = data[at : at + _READ_HEAD]
        entry = data[at + IDS_REPLY.size : at + size]
        items.append(new_read_reply((Status.EOK, ledger_id, entry_id, None, entry, None, None)))
        at += size
    return at


def _batch_reply(data: bytes, at: int, end: int) -> BatchReply:
    if end - at < BATCH_REPLY.size:
        raise CodecError(f"V2 batch read response of {end - at - LENGTH_SIZE} bytes")
    _, _, code, ledger_id, first, request_id = BATCH_REPLY.unpack_from(data, at)
    status = _status(code)
    run = records(ledger_id, first, data[at + BATCH_REPLY.size : end]) if status is Status.EOK else None
    return BatchReply(status, ledger_id, first, request_id, run)


def records(ledger_id: int, first: int, data: bytes) -> EntryRun:
    """Return a run (consecutive entries of one ledger) whose records are the bytes ``data``, without copying them.

    :param first: the id of the first entry.
    :param data: a record for each entry: i32 size, then the entry.
    :raises CodecError: there is no record, or the last record is incomplete.
    """
    if len(data) < _SIZE.size:
        raise CodecError("batch read response without entries")
    stride = _SIZE.unpack_from(data, 0)[0] + _SIZE.size
    count = len(data) // stride if stride >= _SIZE.size else 0
    if count and len(data) == count * stride and _equal_sizes(data, stride, count):
        return EntryRun(ledger_id, first, count, data, stride)
    offsets = _offsets(data)
    return EntryRun(ledger_id, first, len(offsets) - 1, data, 0, offsets)


def _equal_sizes(data: bytes, stride: int, count: int) -> bool:
    """Test whether the size in front of every record is that of the first record."""
    return all(data[i::stride] == data[i : i + 1] * count for i in range(_SIZE.size))


def _offsets(data: bytes) -> list[int]:
    offsets = [0]
    at, end, read, append = 0, len(data), _SIZE.unpack_from, offsets.append
    last = end - _SIZE.size
    while at <= last:
        size = read(data, at)[0]
        if size < 0:
            raise CodecError("batch read response with a broken entry size")
        at += size + 4
        append(at)
    if at != end:
        raise CodecError("batch read response with a truncated entry")
    return offsets
