"""V2, the fixed-layout protocol: what a client sends and what a bookie answers outside the hot path.

Requests, after the u32 length word; the key is 20 bytes:

==========  ========================================================================================
add         header (0,4), key (4,20), entry (24, rest), which begins with ledgerId and entryId
read        header (0,4), ledgerId i64 (4,8), entryId i64 (12,8), [key (20,20)]
batch read  header (0,4), ledgerId (4,8), first entryId (12,8), requestId i64 (20,8), maxCount i32
            (28,4), maxSize i64 (32,8), [key (40,20)]
auth        header (0,4), protobuf ``AuthMessage`` (4, rest), both ways
==========  ========================================================================================
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from ..errors import CodecError
from ..model import EntryRun
from . import messages as m
from . import v2_replies
from .operations import AUTH_DISABLED_PLUGIN, FENCE, HIGH_PRIORITY, MASTER_KEY_SIZE, V2Op
from .protobuf import wire_pb
from .runs import BatchRead
from .v2_replies import header_word

VERSION = 2
ADD_OVERHEAD = 24
"""Bytes of an add request beside the entry, the length word apart."""

READ_LENGTH = 20
BATCH_READ_LENGTH = 40

HEAD = struct.Struct(">II")
READ = struct.Struct(">IIqq")
BATCH_READ = struct.Struct(">IIqqqiq")

assert READ.size == READ_LENGTH + 4 and BATCH_READ.size == BATCH_READ_LENGTH + 4


def encode_adds(master_key: bytes, entries: EntryRun, flags: int = 0, version: int = VERSION) -> bytes:
    """Encode adds of all entries of a run, one frame each.

    :param flags: bits of :mod:`.operations`.
    :param version: of the header word, which the replies repeat.
    :raises CodecError: the key is not of 20 bytes.
    """
    bodies = entries.pieces()
    fronts = add_fronts(master_key, list(map(len, bodies)), flags, version)
    parts: list[bytes | memoryview] = [b""] * (2 * entries.count)
    parts[::2] = fronts
    parts[1::2] = bodies
    return b"".join(parts)


def add_fronts(
    master_key: bytes, sizes: Sequence[int], flags: int = 0, version: int = VERSION
) -> Sequence[bytes]:  # fmt: skip
    """Encode what stands in front of each entry in its add.

    :param sizes: bytes of each entry.
    :param flags: bits of :mod:`.operations`.
    :param version: of the header word, which the replies repeat.
    :raises CodecError: the key is not of 20 bytes.
    """
    if sizes.count(sizes[0]) == len(sizes):
        return [add_front(master_key, sizes[0], flags, version)] * len(sizes)
    return [add_front(master_key, size, flags, version) for size in sizes]


@lru_cache(maxsize=4096)
def add_front(master_key: bytes, size: int, flags: int = 0, version: int = VERSION) -> bytes:
    """Encode what stands in front of an entry of ``size`` bytes in its add.

    :param flags: bits of :mod:`.operations`.
    :param version: of the header word, which the replies repeat.
    :raises CodecError: the key is not of 20 bytes.
    """
    if len(master_key) != MASTER_KEY_SIZE:
        raise CodecError(f"V2 carries a key of {MASTER_KEY_SIZE} bytes, not {len(master_key)}")
    return HEAD.pack(ADD_OVERHEAD + size, header_word(version, V2Op.ADD, flags)) + master_key


def encode_reads(ledger_id: int, entry_ids: Sequence[int], flags: int = 0, version: int = VERSION) -> bytes:
    """Encode plain reads of entries of one ledger, one frame each.

    :param entry_ids: -1 asks for the last entry.
    :param version: of the header word, which the replies repeat.
    """
    word = header_word(version, V2Op.READ, flags)
    return b"".join(map(READ.pack, repeat(READ_LENGTH), repeat(word), repeat(ledger_id), entry_ids))


def encode_batch_read(request: BatchRead) -> bytes:
    """Encode a batch read; previous LAC and timeout are V3's, not sent.

    :raises CodecError: the request has a key that is not of 20 bytes.
    """
    key = _key(request.master_key)
    word = header_word(request.version, V2Op.BATCH_READ, request.flags)
    length = BATCH_READ_LENGTH + len(key)
    ids = (request.ledger_id, request.first, request.request_id)
    return BATCH_READ.pack(length, word, *ids, request.max_count, request.max_size) + key


def encode_request(message: object) -> bytes:
    """Encode a cold request: fencing read or AUTH.

    :param message: one of :mod:`.messages`.
    :raises CodecError: V2 has no such request.
    """
    if isinstance(message, m.ReadRequest):
        key = _key(message.master_key)
        flags = FENCE * message.fence | HIGH_PRIORITY * message.high_priority
        word = header_word(message.header.version, V2Op.READ, flags)
        return READ.pack(READ_LENGTH + len(key), word, message.ledger_id, message.entry_id) + key
    if isinstance(message, m.AuthRequest):
        return _auth(message.header.version, message.plugin, message.payload)
    raise CodecError(f"V2 has no {type(message).__name__}")


def encode_response(message: object) -> bytes:
    """Encode the answer to a cold request.

    :param message: one of :mod:`.messages`.
    :raises CodecError: V2 has no such response.
    """
    if isinstance(message, m.ReadResponse):
        header = message.header
        ids = (message.ledger_id, message.entry_id)
        return v2_replies.read_reply(header.version, header.operation, message.status, *ids, message.entry)
    if isinstance(message, m.AuthResponse):
        disabled = message.plugin == AUTH_DISABLED_PLUGIN
        return _auth(VERSION if disabled else message.header.version, message.plugin, message.payload)
    raise CodecError(f"V2 has no {type(message).__name__}")


def _auth(version: int, plugin: str, payload: bytes) -> bytes:
    body = wire_pb.AuthMessage(authPluginName=plugin, payload=payload).SerializeToString()
    return HEAD.pack(4 + len(body), header_word(version, V2Op.AUTH)) + body


def _key(master_key: bytes | None) -> bytes:
    if master_key is not None and len(master_key) != MASTER_KEY_SIZE:
        raise CodecError(f"V2 carries a key of {MASTER_KEY_SIZE} bytes, not {len(master_key)}")
    return master_key or b""
