"""Layouts of V2 frames: struct formats, sizes, the header word, and the AUTH frame of both directions.

Fields of requests after the u32 length word, with (offset, size in bytes).  A field in brackets may be absent:

==========  ========================================================================================
add         header (0,4), key (4,20), entry (24, rest), which begins with ledgerId and entryId
read        header (0,4), ledgerId i64 (4,8), entryId i64 (12,8), [key (20,20)]
batch read  header (0,4), ledgerId (4,8), first entryId (12,8), requestId i64 (20,8), maxCount i32
            (28,4), maxSize i64 (32,8), [key (40,20)]
auth        header (0,4), protobuf ``AuthMessage`` (4, rest), both ways
==========  ========================================================================================

Fields of replies after the u32 length word:

==========  ========================================================================================
add         header (0,4), error code i32 (4,4), ledgerId i64 (8,8), entryId i64 (16,8)
read        the same, then the entry (24, rest); ids as in the request
batch read  the same, then requestId i64 (24,8), then records ``i32 size, entry`` (32, rest)
==========  ========================================================================================
"""

import struct

from ...errors import CodecError
from ..framing import LENGTH_SIZE
from ..operations import V2Op
from ..protobuf import parse, text, wire_pb

VERSION = 2

ADD_OVERHEAD = 24
"""Number of bytes of an add request without its length word and its entry."""

READ_LENGTH = 20
BATCH_READ_LENGTH = 40

HEAD = struct.Struct(">II")
READ = struct.Struct(">IIqq")
BATCH_READ = struct.Struct(">IIqqqiq")

assert READ.size == READ_LENGTH + 4 and BATCH_READ.size == BATCH_READ_LENGTH + 4

IDS_REPLY = struct.Struct(">IIiqq")
"""The fields of an add reply, and the first fields of other replies: length, header, error code, ledgerId, entryId."""

BATCH_REPLY = struct.Struct(">IIiqqq")
"""The first fields of a reply to a batch read: the fields of an add reply, and requestId."""

assert IDS_REPLY.size == 28 and BATCH_REPLY.size == 36

IDS_REPLY_LENGTH = IDS_REPLY.size - 4
BATCH_REPLY_LENGTH = BATCH_REPLY.size - 4


def header_word(version: int, opcode: int, flags: int = 0) -> int:
    """Return the four bytes of a V2 packet header as an integer; for version 0, this is the opcode alone.

    :param opcode: a :class:`~.operations.V2Op`.
    :param flags: a sum of the flags in :mod:`.operations`, which take the low 16 bits.
    """
    return version << 24 | opcode << 16 | flags if version else opcode


def split_header(word: int) -> tuple[int, int, int]:
    """Return the version (0 to 255), the opcode and the flags in a V2 packet header.

    :param word: the four header bytes as a big-endian integer; a value below 2**24 is version 0, without flags.
    """
    version = word >> 24
    if version:
        return version, word >> 16 & 0xFF, word & 0xFFFF
    return 0, word & 0xFF, 0


def encode_auth(version: int, plugin: str, payload: bytes) -> bytes:
    """Encode an AUTH frame, request or response.

    :param version: the version in the header word.
    :param plugin: name of the authentication plugin.
    :param payload: the token of the plugin.
    """
    body = wire_pb.AuthMessage(authPluginName=plugin, payload=payload).SerializeToString()
    return HEAD.pack(4 + len(body), header_word(version, V2Op.AUTH)) + body


def auth_message(data: bytes, at: int, length: int) -> tuple[str, bytes]:
    """Return the plugin name and the payload of a V2 AUTH frame, request or response.

    :param at: offset of the frame.
    :param length: size in bytes of the frame without its length word.
    :raises CodecError: a field is missing.
    """
    message = parse(wire_pb.AuthMessage, memoryview(data)[at + 8 : at + LENGTH_SIZE + length])
    if message is None:
        raise CodecError("V2 AUTH without its message")
    return text(message.authPluginName), message.payload
