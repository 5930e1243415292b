"""Sends requests to one bookie over one connection, and receives its replies.

This module verifies only that a reply belongs to its request, not the digests of entries.  If the status of a reply is
not EOK, the functions raise the :class:`~bookkeeper_twisted.errors.BookieError` for this status.  Sending a request and
receiving its reply are separate functions, so that the caller can do other work until the reply arrives.  The bookie
may answer reads in any order.
"""

from collections.abc import Mapping, Sequence

from ..codec import messages
from ..codec.framing import frame_length
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE, MAX_COUNT, Operation, V2Op
from ..codec.runs import BatchReply, ReadReply
from ..codec.v2.layout import BATCH_REPLY, BATCH_REPLY_LENGTH, split_header
from ..codec.v2.replies_in import records
from ..codec.wire_protocol import IWireProtocol
from ..codec.wires import V2, V3
from ..entries.entry_run import EntryRun
from ..errors import ERROR_OF_STATUS, BadRequestError, CodecError, Status, UnexpectedConditionError
from ..ledger.read_answers import entry_or_error, requested_batch
from .connection import IBookieConnection

WIRES: Mapping[int, IWireProtocol] = {2: V2, 3: V3}
"""The wire protocols by their versions."""

_AT_ONCE = 256 << 10
"""Maximum number of bytes that one system call receives, if the replies are to reads of one entry each."""
_FIRST_TXN = 1


def send_batch_read(connection: IBookieConnection, ledger_id: int, first: int, max_count: int, max_size: int) -> None:
    """Send a batch read of consecutive entries.

    :param first: id of the first entry.
    :param max_count: maximum number of entries to return, > 0.
    :param max_size: maximum number of bytes of the reply; the first entry is returned even if it is longer.
    """
    wire = WIRES[connection.wire]
    connection.send(wire.encode_batch_read(wire.batch_read(ledger_id, first, first, max_count, max_size, 0, None)))


def receive_batch(
    connection: IBookieConnection, ledger_id: int, first: int, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE
) -> EntryRun:
    """Receive the reply to a batch read that was sent by :func:`send_batch_read`.

    :param first: id of the first entry, as in the request.
    :param max_frame_size: maximum number of bytes of a frame, including its length word.
    :returns: entries from ``first`` on; their digests are not verified.
    :raises BadRequestError: usually, the bookie does not support batch reads.
    :raises CodecError: the frame is not a reply to a batch read.
    """
    if connection.wire == 3:
        return _receive_batch_v3(connection, ledger_id, first)
    head = connection.receive(BATCH_REPLY.size)
    length, word, code, found_ledger, found_first, request_id = BATCH_REPLY.unpack(head)
    frame_length(head, 0, max_frame_size)
    if split_header(word)[1] != V2Op.BATCH_READ or length < BATCH_REPLY_LENGTH:
        raise CodecError("a bookie answered a batch read with something else")
    body = connection.receive(length - BATCH_REPLY_LENGTH)
    _check(_status(code), ledger_id, first)
    if (found_ledger, found_first, request_id) != (ledger_id, first, first):
        raise UnexpectedConditionError(f"a batch read of ledger {ledger_id} entry {first} gave other entries")
    return records(ledger_id, first, body)


def _receive_batch_v3(connection: IBookieConnection, ledger_id: int, first: int) -> EntryRun:
    reply = _one_item(connection)
    if isinstance(reply, messages.ErrorResponse):
        _check(reply.status, ledger_id, first)
    if not isinstance(reply, BatchReply):
        raise CodecError("a bookie answered a batch read with something else")
    _check(reply.status, ledger_id, first)
    return requested_batch(reply.entries, ledger_id, first, MAX_COUNT)


def send_reads(connection: IBookieConnection, ledger_id: int, entry_ids: Sequence[int]) -> None:
    """Send one read for each entry, all reads in one write.

    :param entry_ids: ids, all different; :func:`receive_entries` needs the same sequence.
    """
    connection.send(WIRES[connection.wire].encode_reads(ledger_id, entry_ids, _FIRST_TXN))


def receive_entries(
    connection: IBookieConnection, ledger_id: int, entry_ids: Sequence[int],
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
) -> dict[int, bytes | Exception]:  # fmt: skip
    """Receive the replies to reads that :func:`send_reads` sent, many replies in one system call.

    :param entry_ids: the ids that were sent, all different.
    :param max_frame_size: maximum number of bytes of a frame, including its length word.
    :returns: for each entry id, the bytes as the bookie stores them; an error if the bookie did not return the entry.
    """
    scan = WIRES[connection.wire].scan_replies
    found: dict[int, bytes | Exception] = {}
    rest = b""
    while len(found) < len(entry_ids):
        data = rest + connection.receive_some(_AT_ONCE)
        items: list[object] = []
        rest = data[scan(data, 0, max_frame_size, items) :]
        for reply in items:
            _note_reply(found, reply, ledger_id, entry_ids)
    if rest:
        raise CodecError("a bookie answered more reads than it was asked")
    return found


def _note_reply(
    found: dict[int, bytes | Exception], reply: object, ledger_id: int, entry_ids: Sequence[int]
) -> None:  # fmt: skip
    if isinstance(reply, messages.ErrorResponse):
        entry_id = entry_ids[reply.header.txn_id - _FIRST_TXN]
        found[entry_id] = ERROR_OF_STATUS[reply.status](ledger_id, entry_id)
        return
    if not isinstance(reply, ReadReply) or reply.ledger_id != ledger_id:
        raise CodecError("a bookie answered a read with something else")
    entry_id = reply.entry_id if reply.txn_id is None else entry_ids[reply.txn_id - _FIRST_TXN]
    found[entry_id] = entry_or_error(reply, ledger_id, entry_id)


LacAnswer = tuple[bytes | None, bytes | None]
"""The explicit LAC packet and the last entry of a ledger, as the bookie stores them.

Each of the two is None if the bookie does not have it.
"""


def send_lac_reads(connection: IBookieConnection, ledger_ids: Sequence[int]) -> None:
    """Send requests for the last add confirmed of ledgers, all in one write, over a V3 connection.

    :param ledger_ids: ids, all different; :func:`receive_lacs` needs the same sequence.
    """
    headers = [
        V3.header(Operation.READ_LAC, _FIRST_TXN + i) for i in range(len(ledger_ids))
    ]  # fmt: skip
    connection.send(b"".join(map(V3.encode_request, map(messages.ReadLacRequest, headers, ledger_ids))))


def receive_lacs(connection: IBookieConnection, ledger_ids: Sequence[int]) -> dict[int, LacAnswer | Exception]:
    """Receive the replies to the requests that :func:`send_lac_reads` sent.

    :param ledger_ids: the ids that were sent.
    :returns: for each ledger id, the answer; the error if the bookie answered with an error.
    """
    found: dict[int, LacAnswer | Exception] = {}
    for _ in ledger_ids:
        reply = _one_item(connection)
        if not isinstance(reply, messages.ReadLacResponse | messages.ErrorResponse):
            raise CodecError("a bookie answered a read of the last add confirmed with something else")
        ledger_id = ledger_ids[reply.header.txn_id - _FIRST_TXN]
        if reply.status is not Status.EOK:
            found[ledger_id] = ERROR_OF_STATUS[reply.status](ledger_id)
        elif isinstance(reply, messages.ReadLacResponse):
            found[ledger_id] = reply.lac_body, reply.last_entry
        else:
            found[ledger_id] = BadRequestError(ledger_id)
    return found


def _status(code: int) -> Status:
    try:
        return Status.from_v2(code)
    except ValueError as error:
        raise CodecError(str(error)) from None


def _check(status: Status, ledger_id: int, entry_id: int) -> None:
    if status is not Status.EOK:
        raise ERROR_OF_STATUS[status](ledger_id, entry_id)


def _one_item(connection: IBookieConnection) -> object:
    """Receive the next frame, and return the decoded reply in it."""
    items: list[object] = []
    frame = connection.receive_frame()
    WIRES[connection.wire].scan_replies(frame, 0, len(frame), items)
    return items[0]
