"""The encoder of V3 requests, for clients.

Adds, reads and batch reads are encoded without the protobuf library, for two reasons.  Java writes their ``flag``
(field 100) before field 1, while protobuf libraries write fields in the order of their numbers.  And adds are very
frequent.  The library encodes all other requests.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import CodecError
from .. import messages as m
from ..operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD, V3_HIGH_PRIORITY, Operation
from ..protobuf import wire_pb
from ..runs import BatchRead
from ..varints import bytes_field, equal_widths, fill_column, number_field, varint
from .layout import (
    ADD_KEY,
    BATCH_READ_KEY,
    FLAG_FENCE,
    FLAG_KEY,
    FLAG_PIGGYBACK,
    FLAG_RECOVERY,
    LENGTH,
    READ_KEY,
    TXN_AT,
    fill_auth,
    fill_header,
    frame,
    header_field,
)
from .request_context import NO_CONTEXTS, context_fields, with_context


def _priority(flags: int) -> int:
    return V3_HIGH_PRIORITY if flags & HIGH_PRIORITY else 0


# ---- frequent requests -------------------------------------------------------------------------------


def encode_adds(
    master_key: bytes, ledger_id: int, first: int, entries: Sequence[bytes], flags: int, deferred_sync: bool,
    first_txn_id: int, contexts: Mapping[int, Mapping[str, str]] | None = None,
) -> bytes:  # fmt: skip
    """Encode add requests for consecutive entries of one ledger, with consecutive txnIds.

    :param first: id of the first entry.
    :param entries: header, digest and payload of each entry, at least one.
    :param flags: ``RECOVERY_ADD`` and ``HIGH_PRIORITY``; other bits are ignored.
    :param deferred_sync: whether the bookie acknowledges the adds before it syncs.
    :param contexts: the request context (string keys and values) of each add that has one, by the index of the entry;
        None or empty for none.
    """
    contexts = contexts or NO_CONTEXTS
    count, size = len(entries), len(entries[0])
    txn_ids = range(first_txn_id, first_txn_id + count)
    flag = FLAG_RECOVERY if flags & RECOVERY_ADD else None
    before_id = number_field(FLAG_KEY, flag) + b"\x08" + varint(ledger_id) + b"\x10"
    after_id = bytes_field(b"\x1a", master_key)
    last = b"\x28\x01" if deferred_sync else b""
    if count == 1 or list(map(len, entries)).count(size) < count:
        parts = []
        for i, body in enumerate(entries):
            ids = before_id + varint(first + i) + after_id
            header = header_field(Operation.ADD, first_txn_id + i, _priority(flags))
            add = frame(header + bytes_field(ADD_KEY, ids + bytes_field(b"\x22", body) + last))
            parts.append(with_context(add, contexts.get(i)))
        return b"".join(parts)
    after_id += b"\x22" + varint(size)
    frames: list[bytes] = []
    for start, end, txn_size, id_size in equal_widths(txn_ids, first):
        sub_size = len(before_id) + id_size + len(after_id) + size + len(last)
        header = header_field(Operation.ADD, txn_ids[start], _priority(flags))
        head = header + ADD_KEY + varint(sub_size) + before_id + varint(first + start) + after_id
        head = (len(head) + size + len(last)).to_bytes(4, "big") + head
        heads = bytearray(head * (end - start))
        id_at = len(head) - len(after_id) - id_size
        fill_column(heads, TXN_AT, len(head), txn_ids[start:end], txn_size)
        fill_column(heads, id_at, len(head), range(first + start, first + end), id_size)
        frames += _interleaved(bytes(heads), len(head), entries[start:end], last)
    for index, pairs in contexts.items():
        _lengthen(frames, 3 * index, context_fields(pairs))
    return b"".join(frames)


def _lengthen(parts: list[bytes], at: int, fields: bytes) -> None:
    """Append encoded fields to a frame, and add their size to its length word.

    The frame consists of three items of ``parts``: head, body and end.

    :param at: index of the head.
    """
    head = parts[at]
    parts[at] = LENGTH.pack(LENGTH.unpack_from(head)[0] + len(fields)) + head[LENGTH.size :]
    parts[at + 2] += fields


def _interleaved(heads: bytes, size: int, bodies: Sequence[bytes], last: bytes) -> list[bytes]:
    parts = [last] * (3 * len(bodies))
    parts[::3] = [heads[i : i + size] for i in range(0, len(heads), size)]
    parts[1::3] = bodies
    return parts


def encode_reads(
    ledger_id: int, entry_ids: Sequence[int], flags: int = 0, first_txn_id: int = 0,
    context: Mapping[str, str] | None = None,
) -> bytes:  # fmt: skip
    """Encode a plain read for each of ``entry_ids``, with consecutive txnIds.

    :param entry_ids: ids of entries of the ledger; -1 for its last entry.
    :param flags: ``HIGH_PRIORITY``; other bits are ignored.
    :param context: the request context (string keys and values) of the first of the reads; None for none.
    """
    ledger = b"\x08" + varint(ledger_id) + b"\x10"
    priority = _priority(flags)
    frames = [
        frame(header_field(Operation.READ, txn_id, priority) + bytes_field(READ_KEY, ledger + varint(entry_id)))
        for txn_id, entry_id in enumerate(entry_ids, first_txn_id)
    ]
    if context:
        frames[0] = with_context(frames[0], context)
    return b"".join(frames)


def encode_batch_read(request: BatchRead) -> bytes:
    """Encode a batch read (BP-62); Apache has no V3 batch read, so the number of its field is this project's choice.

    :param request: the batch read, whose ``request_id`` becomes the txnId; fields that are None are not sent.
    """
    body = (
        number_field(FLAG_KEY, FLAG_FENCE if request.flags & FENCE else None)
        + number_field(b"\x08", request.ledger_id)
        + number_field(b"\x10", request.first)
        + number_field(b"\x18", request.max_count)
        + number_field(b"\x20", request.max_size)
        + bytes_field(b"\x2a", request.master_key)
        + number_field(b"\x30", request.previous_lac)
        + number_field(b"\x38", request.timeout_ms)
    )
    header = header_field(Operation.BATCH_READ, request.request_id, _priority(request.flags))
    return with_context(frame(header + bytes_field(BATCH_READ_KEY, body)), request.context)


# ---- rare requests -----------------------------------------------------------------------------------


def encode_request(message: object) -> bytes:
    """Encode a request that is neither an add, nor a plain read, nor a batch read.

    :param message: a request of a class in :mod:`.messages`.
    :raises CodecError: the object is not a request.
    """
    if isinstance(message, m.ReadRequest):
        return _read_request(message)
    fill = _REQUESTS.get(type(message))
    if fill is None:
        raise CodecError(f"{type(message).__name__} is no V3 request")
    request = wire_pb.Request()
    fill_header(request, message.header)  # type: ignore[attr-defined]
    fill(request, message)
    return with_context(frame(request.SerializeToString()), message.header.context)  # type: ignore[attr-defined]


def _read_request(message: m.ReadRequest) -> bytes:
    flag = FLAG_FENCE if message.fence else FLAG_PIGGYBACK if message.piggyback else None
    body = (
        number_field(FLAG_KEY, flag)
        + number_field(b"\x08", message.ledger_id)
        + number_field(b"\x10", message.entry_id)
        + bytes_field(b"\x1a", message.master_key)
        + number_field(b"\x20", message.previous_lac)
        + number_field(b"\x28", message.timeout_ms)
    )
    header = message.header
    priority = header.priority or (V3_HIGH_PRIORITY if message.high_priority else 0)
    fields = header_field(Operation.READ, header.txn_id, priority, header.version) + bytes_field(READ_KEY, body)
    return with_context(frame(fields), header.context)


def _fill_write_lac(field: Any, message: Any) -> None:
    field.ledgerId = message.ledger_id
    field.lac = message.lac
    field.masterKey = message.master_key
    field.body = message.body


def _fill_ledger(field: Any, message: Any) -> None:
    field.ledgerId = message.ledger_id


def _fill_info_request(field: Any, message: Any) -> None:
    field.SetInParent()
    if message.requested:
        field.requested = message.requested


_REQUESTS: dict[type, Callable[[Any, Any], None]] = {
    m.AuthRequest: lambda request, message: fill_auth(request.authRequest, message),
    m.WriteLacRequest: lambda request, message: _fill_write_lac(request.writeLacRequest, message),
    m.ReadLacRequest: lambda request, message: _fill_ledger(request.readLacRequest, message),
    m.BookieInfoRequest: lambda request, message: _fill_info_request(request.getBookieInfoRequest, message),
    m.StartTlsRequest: lambda request, _: request.startTLSRequest.SetInParent(),
    m.ForceLedgerRequest: lambda request, message: _fill_ledger(request.forceLedgerRequest, message),
    m.ListEntriesRequest: lambda request, message: _fill_ledger(request.getListOfEntriesOfLedgerRequest, message),
}
