"""The encoder of V3 replies, for bookies; replies to adds and reads are encoded without protobuf, for speed.

The fields of ``Response`` are header (1) and status (2), then ``readResponse`` (100), ``addResponse`` (101) or
``batchReadResponse`` (109), each with status (1), ledgerId (2), entryId (3) and further fields.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

from ...entries.columns import column
from ...entries.entry_run import EntryRun
from ...errors import CodecError, Status
from .. import messages as m
from ..availability import encode_availability
from ..operations import Operation
from ..protobuf import wire_pb
from ..varints import bytes_field, common_width, equal_widths, fill_column, number_field, varint, varints, width
from .layout import (
    ADD_KEY,
    BATCH_READ_KEY,
    LENGTH,
    READ_KEY,
    TXN_AT,
    VERSION,
    fill_auth,
    fill_header,
    frame,
    header_field,
)

_LAC_KEY = b"\x28"

_MAX_VARINT = 10

_ROW = 4
"""Least number of replies for which encoding by columns is faster than encoding one by one."""


def bare_reply(header: bytes, status: Status) -> bytes:
    """Encode a reply that has only a header and a status.

    :param header: the encoded header, from :func:`header_field`.
    """
    return frame(header + b"\x10" + varint(status))


def _head(operation: int, txn_id: int, status: Status) -> bytes:
    """Encode header and status of a reply, with version 3 and no priority."""
    txn = varint(txn_id)
    return b"\x0a%c\x08\x03\x10%c\x18%b\x10%b" % (5 + len(txn), operation, txn, varint(status))


def _ids(status: Status, ledger_id: int, entry_id: int) -> bytes:
    return b"\x08%b\x10%b\x18%b" % (varint(status), varint(ledger_id), varint(entry_id))


def add_reply(txn_id: int, status: Status, ledger_id: int, entry_id: int) -> bytes:
    """Encode the reply to one add.

    :param txn_id: the txnId of the request, which the reply repeats.
    """
    ids = _ids(status, ledger_id, entry_id)
    return frame(b"%b%b%c%b" % (_head(Operation.ADD, txn_id, status), ADD_KEY, len(ids), ids))


def add_replies(txn_ids: Sequence[int], status: Status, ledger_id: int, first: int) -> bytes:
    """Encode replies to adds of consecutive entries of one ledger, in order.

    :param txn_ids: the txnId of each add.
    :param status: the status of all replies.
    :param first: id of the first entry.
    """
    if len(txn_ids) < _ROW:
        return b"".join([add_reply(txn, status, ledger_id, first + i) for i, txn in enumerate(txn_ids)])
    return b"".join([
        _equal_add_replies(
            txn_ids[start:end], status, (ledger_id,), range(first + start, first + end), txn_size, id_size
        )
        for start, end, txn_size, id_size in equal_widths(txn_ids, first)
    ])  # fmt: skip


def mixed_add_replies(
    txn_ids: Sequence[int], status: Status, ledger_ids: Sequence[int], entry_ids: Sequence[int]
) -> bytes:
    """Encode replies to adds, which may be for different ledgers, in the order of the arguments.

    :param txn_ids: the txnId of each add.
    :param ledger_ids, entry_ids: the ledger id and the entry id of each add.
    :param status: the status of all replies.
    """
    txn_size, ledger_size, id_size = map(common_width, (txn_ids, ledger_ids, entry_ids))
    if len(txn_ids) < _ROW:
        return b"".join(map(add_reply, txn_ids, repeat(status), ledger_ids, entry_ids))
    if txn_size and ledger_size and id_size:
        return _equal_add_replies(txn_ids, status, ledger_ids, entry_ids, txn_size, id_size)
    return _unlike_replies(Operation.ADD, ADD_KEY, status, (txn_ids, ledger_ids, entry_ids))


def _equal_add_replies(
    txn_ids: Sequence[int], status: Status, ledger_ids: Sequence[int], entry_ids: Sequence[int], txn_size: int,
    id_size: int,
) -> bytes:  # fmt: skip
    """Encode add replies whose frames have equal sizes: copy the first frame, then write the ids into the copies.

    :param ledger_ids: the ledger id of each reply, or a single id for all replies.
    :param txn_size: size in bytes of the varint of each txnId.
    :param id_size: size in bytes of the varint of each entry id.
    """
    one = add_reply(txn_ids[0], status, ledger_ids[0], entry_ids[0])
    stride, ledger_size = len(one), width(ledger_ids[0])
    frames = bytearray(one * len(txn_ids))
    fill_column(frames, TXN_AT, stride, txn_ids, txn_size)
    fill_column(frames, stride - id_size - 1 - ledger_size, stride, ledger_ids, ledger_size)
    fill_column(frames, stride - id_size, stride, entry_ids, id_size)
    return bytes(frames)


def read_reply(
    operation: int, txn_id: int, status: Status, ledger_id: int, entry_id: int, entry: bytes | None = None,
    max_lac: int | None = None, lac_update_timestamp: int | None = None,
) -> bytes:  # fmt: skip
    """Encode the reply to one read.

    :param operation: the operation of the request, which the reply repeats.
    :param entry: the entry as it is stored (header, digest and payload); None unless ``status`` is EOK.
    :param max_lac: the highest LAC of the ledger that the bookie knows, -1 if none; with None, the field is left out.
    :param lac_update_timestamp: the time at which the LAC changed, in ms since the epoch; with None, the field is left
        out.
    """
    rest = number_field(_LAC_KEY, max_lac) + number_field(b"\x30", lac_update_timestamp)
    body = b"%b%b%b" % (_ids(status, ledger_id, entry_id), bytes_field(b"\x22", entry), rest)
    return frame(b"%b%b%b%b" % (_head(operation, txn_id, status), READ_KEY, varint(len(body)), body))


def read_replies(
    txn_ids: Sequence[int], ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes | memoryview],
    lacs: Sequence[int],
) -> bytes:  # fmt: skip
    """Encode successful replies to reads, in order.

    :param txn_ids: the txnId of each read.
    :param ledger_ids, entry_ids: the ledger id and the entry id of each read.
    :param entries: each entry as it is stored (header, digest and payload).
    :param lacs: for each read, the highest LAC of its ledger that the bookie knows, -1 if none; empty to send no LACs.
    """
    if len(entries) < _ROW:
        known, operations, statuses = lacs or repeat(None), repeat(Operation.READ), repeat(Status.EOK)
        return b"".join(map(read_reply, operations, txn_ids, statuses, ledger_ids, entry_ids, entries, known))
    entry_sizes, one_lac = list(map(len, entries)), not lacs or lacs.count(lacs[0]) == len(lacs)
    if entry_sizes.count(entry_sizes[0]) == len(entries):
        sizes = [*map(common_width, (txn_ids, ledger_ids, entry_ids)), 1 if one_lac else common_width(lacs)]
        if all(sizes):
            return _equal_read_replies(txn_ids, ledger_ids, entry_ids, entries, lacs, sizes)
    rest = [list(map(b"\x22".__add__, varints(entry_sizes))), entries]
    if lacs:
        rest.append([_LAC_KEY + varint(lacs[0])] * len(lacs) if one_lac else list(map(_LAC_KEY.__add__, varints(lacs))))
    return _unlike_replies(Operation.READ, READ_KEY, Status.EOK, (txn_ids, ledger_ids, entry_ids), rest)


def _unlike_replies(
    operation: int, key: bytes, status: Status, ids: tuple[Sequence[int], Sequence[int], Sequence[int]],
    rest: Sequence[Sequence[bytes | memoryview]] = (),
) -> bytes:  # fmt: skip
    """Encode replies to adds or reads whose frames may differ in size.

    Each part of a reply (length word, header, ids and so on) is encoded for all replies by one call; then all parts are
    joined.

    :param key: the encoded tag of the field that contains the operation's message.
    :param ids: three columns: the txnId, the ledger id and the entry id of each reply.
    :param rest: more columns, with the encoded parts that follow the entry id in each reply.
    """
    txns, ledgers, entries = map(varints, ids)
    after_txn, before_ids = b"\x10%b%b" % (varint(status), key), b"\x08%b\x10" % varint(status)
    sizes = _sums(len(before_ids) + 1, *[map(len, column) for column in (ledgers, entries, *rest)])
    encoded_sizes = varints(sizes)
    lengths = _sums(7 + len(after_txn), map(len, txns), map(len, encoded_sizes), sizes)
    headers = [b"\x0a%c\x08\x03\x10%c\x18" % (5 + size, operation) for size in range(_MAX_VARINT + 1)]
    parts = zip(
        map(LENGTH.pack, lengths), [headers[len(txn)] for txn in txns], txns, repeat(after_txn), encoded_sizes,
        repeat(before_ids), ledgers, repeat(b"\x18"), entries, *rest, strict=False,
    )  # fmt: skip
    return b"".join(chain.from_iterable(parts))


def _sums(constant: int, *columns: Iterable[int]) -> list[int]:
    """Return, for each index, the sum of the values at this index in all ``columns``, plus the ``constant``."""
    return list(map(sum, zip(*columns, strict=True), repeat(constant)))


def _read_head(txn_id: int, ledger_id: int, entry_id: int, size: int, rest: int) -> bytes:
    """Encode the part of a successful read reply before its entry.

    :param size: size in bytes of the entry.
    :param rest: number of bytes that will follow the entry.
    """
    ids = _ids(Status.EOK, ledger_id, entry_id) + b"\x22" + varint(size)
    head = _head(Operation.READ, txn_id, Status.EOK) + READ_KEY + varint(len(ids) + size + rest) + ids
    return LENGTH.pack(len(head) + size + rest) + head


def _equal_read_replies(
    txn_ids: Sequence[int], ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes | memoryview],
    lacs: Sequence[int], sizes: Sequence[int],
) -> bytes:  # fmt: skip
    """Encode read replies whose entries have equal sizes, and whose ids and LACs have varints of equal sizes.

    The bytes between two entries are the LAC of one reply and the head of the next reply.  They are encoded once and
    copied for all replies.  Then the LACs and ids are written into the copies.

    :param sizes: size in bytes of the varints of the txnIds, ledger ids, entry ids and LACs.  The size of the LACs is
        not used if all LACs are equal.
    """
    count, size = len(entries), len(entries[0])
    txn_size, ledger_size, id_size, lac_size = sizes
    last = number_field(_LAC_KEY, lacs[0]) if lacs else b""
    head = last + _read_head(txn_ids[0], ledger_ids[0], entry_ids[0], size, len(last))
    stride = len(head)
    id_at = stride - width(size) - 1 - id_size
    heads = bytearray(head * count)
    if lacs:
        fill_column(heads, 1, stride, (lacs[0], *lacs[:-1]), lac_size)
    fill_column(heads, len(last) + TXN_AT, stride, txn_ids, txn_size)
    fill_column(heads, id_at - 1 - ledger_size, stride, ledger_ids, ledger_size)
    fill_column(heads, id_at, stride, entry_ids, id_size)
    parts: list[bytes | memoryview] = [b""] * (2 * count + 1)
    parts[:-1:2] = column(bytes(heads), stride, count, 0, stride)
    parts[1::2] = entries
    parts[0] = parts[0][len(last) :]
    parts[-1] = number_field(_LAC_KEY, lacs[-1]) if lacs else b""
    return b"".join(parts)


def batch_reply(
    txn_id: int, status: Status, ledger_id: int, first: int, runs: Sequence[EntryRun] = (), max_lac: int | None = None
) -> list[bytes]:
    """Encode the reply to a batch read, as a list of byte strings to write one after the other.

    :param first: the first entry id of the request.
    :param runs: runs of consecutive entries; empty unless ``status`` is EOK.
    :param max_lac: the highest LAC of the ledger that the bookie knows, -1 if none; with None, the field is left out.
    """
    ids = _ids(status, ledger_id, first)
    bodies = [_body_fields(run) for run in runs]
    last = number_field(_LAC_KEY, max_lac)
    size = len(ids) + sum(map(len, bodies)) + len(last)
    head = _head(Operation.BATCH_READ, txn_id, status) + BATCH_READ_KEY + varint(size) + ids
    pieces = [LENGTH.pack(len(head) + size - len(ids)) + head, *bodies]
    return [*pieces, last] if last else pieces


def _body_fields(run: EntryRun) -> bytes:
    """Encode the entries of a ``run`` as repeated field 4 (body) of a batch read reply."""
    entries = run.entries()
    if run.stride:
        key = b"\x22" + varint(run.stride - 4)
        return key + key.join(entries)
    parts: list[bytes] = [b""] * (2 * run.count)
    parts[::2] = [b"\x22" + varint(len(entry)) for entry in entries]
    parts[1::2] = entries
    return b"".join(parts)


# ---- rare replies ------------------------------------------------------------------------------------


def encode_response(message: object) -> bytes:
    """Encode the reply to a request that is neither an add, nor a plain read, nor a batch read.

    :param message: a response of a class in :mod:`.messages`.
    :raises CodecError: the object is not a response.
    """
    if isinstance(message, m.ReadResponse):
        header = message.header
        return read_reply(
            Operation.READ, header.txn_id, message.status, message.ledger_id, message.entry_id, message.entry,
            message.max_lac, message.lac_update_timestamp,
        )  # fmt: skip
    if isinstance(message, m.ErrorResponse) or (isinstance(message, m.AuthResponse) and message.status != Status.EOK):
        header = message.header
        field = header_field(header.operation, header.txn_id, header.priority, header.version)
        return bare_reply(field, message.status)
    fill = _RESPONSES.get(type(message))
    if fill is None:
        raise CodecError(f"{type(message).__name__} is no V3 response")
    response = wire_pb.Response()
    fill_header(response, _response_header(message))
    response.status = message.status  # type: ignore[attr-defined]
    fill(response, message)
    return frame(response.SerializeToString())


def _response_header(message: Any) -> m.Header:
    """Return the header of a response.

    For AUTH it is the request's header; for others, a header of version 3 without priority.
    """
    header: m.Header = message.header
    if isinstance(message, m.AuthResponse):
        return header
    return m.Header(header.wire, VERSION, header.operation, header.txn_id)


def _fill_ledger_status(field: Any, message: Any) -> None:
    field.status = message.status
    field.ledgerId = message.ledger_id


def _fill_read_lac(field: Any, message: m.ReadLacResponse) -> None:
    _fill_ledger_status(field, message)
    if message.lac_body is not None:
        field.lacBody = message.lac_body
    if message.last_entry is not None:
        field.lastEntryBody = message.last_entry


def _fill_info(field: Any, message: m.BookieInfoResponse) -> None:
    field.status = message.status
    if message.total_disk_capacity is not None:
        field.totalDiskCapacity = message.total_disk_capacity
    if message.free_disk_space is not None:
        field.freeDiskSpace = message.free_disk_space


def _fill_entries(field: Any, message: m.ListEntriesResponse) -> None:
    _fill_ledger_status(field, message)
    if message.ranges is not None:
        field.availabilityOfEntriesOfLedger = encode_availability(message.ranges)


def _fill_start_tls(response: Any, message: m.StartTlsResponse) -> None:
    if message.status is Status.EOK:
        response.startTLSResponse.SetInParent()


_RESPONSES: dict[type, Callable[[Any, Any], None]] = {
    m.AuthResponse: lambda response, message: fill_auth(response.authResponse, message),
    m.WriteLacResponse: lambda response, message: _fill_ledger_status(response.writeLacResponse, message),
    m.ReadLacResponse: lambda response, message: _fill_read_lac(response.readLacResponse, message),
    m.BookieInfoResponse: lambda response, message: _fill_info(response.getBookieInfoResponse, message),
    m.StartTlsResponse: _fill_start_tls,
    m.ForceLedgerResponse: lambda response, message: _fill_ledger_status(response.forceLedgerResponse, message),
    m.ListEntriesResponse: lambda response, message: _fill_entries(response.getListOfEntriesOfLedgerResponse, message),
}
