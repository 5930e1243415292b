"""The encoder of V2 replies, for bookies; one call encodes the replies to many adds or reads.

:mod:`.layout` defines the layouts of these replies.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add

from ...entries.columns import column
from ...entries.entry_run import EntryRun
from ...errors import CodecError, Status
from .. import messages as m
from ..operations import AUTH_DISABLED_PLUGIN
from ..strides import big_endian, counting, fill_in
from .layout import (
    BATCH_REPLY,
    BATCH_REPLY_LENGTH,
    IDS_REPLY,
    IDS_REPLY_LENGTH,
    VERSION,
    encode_auth,
    header_word,
)

_FEW = 4


def ids_reply(version: int, opcode: int, status: Status, ledger_id: int, entry_id: int) -> bytes:
    """Encode a reply without an entry, to an add or to a failed read: status, ledger id and entry id.

    :param version: the version in the request's header word, which a reply repeats.
    :param opcode: the opcode of the request.
    """
    return IDS_REPLY.pack(IDS_REPLY_LENGTH, header_word(version, opcode), status.v2, ledger_id, entry_id)


def ids_replies(version: int, opcode: int, status: Status, ledger_id: int, first: int, count: int) -> bytes:
    """Encode replies without an entry for consecutive entries of one ledger, in order.

    :param version: the version in the requests' header words, which replies repeat.
    :param opcode: the opcode of the requests.
    :param first: id of the first entry.
    """
    frame = ids_reply(version, opcode, status, ledger_id, first)
    if count == 1:
        return frame
    if count < _FEW:
        head = frame[:20]
        return b"".join([head + (first + i).to_bytes(8, "big", signed=True) for i in range(count)])
    return counting(frame, range(first, first + count))


def mixed_replies(
    version: int, opcode: int, status: Status, ledger_ids: Sequence[int], entry_ids: Sequence[int]
) -> bytes:
    """Encode replies that contain no entry, such as those to adds; they may be for entries of several ledgers.

    :param version: the version in the requests' header words, which replies repeat.
    :param opcode: the opcode of the requests.
    :param ledger_ids: the ledger id of each reply.
    :param entry_ids: the entry id of each reply.
    """
    return repeated(ids_reply(version, opcode, status, 0, 0), ledger_ids, entry_ids)


def repeated(frame: bytes, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bytes:
    """Encode several replies as copies of one reply, in which only the ids differ.

    :param frame: a reply, with any ids.
    :param ledger_ids: the ledger id of each reply.
    :param entry_ids: the entry id of each reply.
    """
    columns = big_endian(ledger_ids), big_endian(entry_ids)
    frames = bytearray(frame * len(ledger_ids))
    for at, packed in zip((12, 20), columns, strict=True):
        fill_in(frames, at, IDS_REPLY.size, packed)
    return bytes(frames)


def read_reply(
    version: int, opcode: int, status: Status, ledger_id: int, entry_id: int, entry: bytes | None = None
) -> bytes:
    """Encode the reply to one read.

    :param version: the version in the request's header word, which a reply repeats.
    :param entry: the entry as it is stored (header, digest and payload); None unless ``status`` is EOK.
    """
    entry = entry or b""
    word = header_word(version, opcode)
    return IDS_REPLY.pack(IDS_REPLY_LENGTH + len(entry), word, status.v2, ledger_id, entry_id) + entry


def read_replies(
    version: int, opcode: int, ledger_ids: Sequence[int], entry_ids: Sequence[int],
    entries: Sequence[bytes | memoryview],
) -> bytes:  # fmt: skip
    """Encode successful replies to reads, in order.

    :param version: the version in the requests' header words, which replies repeat.
    :param ledger_ids: the ledger id of each entry.
    :param entry_ids: the entry id of each entry.
    :param entries: each entry as it is stored (header, digest and payload); at least one.
    """
    count, sizes = len(entries), list(map(len, entries))
    word, is_even = header_word(version, opcode), sizes.count(sizes[0]) == count
    if is_even and isinstance(entry_ids, range) and ledger_ids.count(ledger_ids[0]) == count:
        first = IDS_REPLY.pack(IDS_REPLY_LENGTH + sizes[0], word, 0, ledger_ids[0], entry_ids[0])
        heads: Iterable[bytes] = column(counting(first, entry_ids), IDS_REPLY.size, count, 0, IDS_REPLY.size)
    else:
        lengths = map(add, sizes, repeat(IDS_REPLY_LENGTH))
        heads = map(IDS_REPLY.pack, lengths, repeat(word), repeat(0), ledger_ids, entry_ids)
    parts: list[bytes | memoryview] = [b""] * (2 * count)
    parts[::2] = heads
    parts[1::2] = entries
    return b"".join(parts)


def batch_reply(
    version: int, opcode: int, status: Status, ledger_id: int, first: int, request_id: int,
    runs: Sequence[EntryRun] = (),
) -> list[bytes]:  # fmt: skip
    """Encode the reply to a batch read, as a list of byte strings to write one after the other.

    :param version: the version in the request's header word, which a reply repeats.
    :param first: the first entry id of the request.
    :param runs: runs of consecutive entries; empty unless ``status`` is EOK.
    :returns: the fields in front of the entries, then the buffers of the runs themselves.
    """
    length = BATCH_REPLY_LENGTH + sum([run.size for run in runs])
    head = BATCH_REPLY.pack(length, header_word(version, opcode), status.v2, ledger_id, first, request_id)
    return [head, *[run.data for run in runs]]


def encode_response(message: object) -> bytes:
    """Encode the reply to a request that is neither an add, nor a plain read, nor a batch read.

    :param message: a response of a class in :mod:`.messages`.
    :raises CodecError: V2 has no such response.
    """
    if isinstance(message, m.ReadResponse):
        header = message.header
        ids = (message.ledger_id, message.entry_id)
        return read_reply(header.version, header.operation, message.status, *ids, message.entry)
    if isinstance(message, m.AuthResponse):
        disabled = message.plugin == AUTH_DISABLED_PLUGIN
        return encode_auth(VERSION if disabled else message.header.version, message.plugin, message.payload)
    raise CodecError(f"V2 has no {type(message).__name__}")
