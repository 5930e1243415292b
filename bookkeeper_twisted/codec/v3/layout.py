"""Layouts of V3 frames: keys of fields, flags, and the header, which is the same in requests and responses.

A frame is a length word and a ``Request`` or ``Response``.  Its fields are the header (1), in a response the status
(2), and then the message of the operation (100 and above).
"""

import struct
from typing import Any

from .. import messages as m
from ..varints import bytes_field, number_field, varint

VERSION = 3
"""The only version that V3 headers may have."""

FLAG_KEY = b"\xa0\x06"
READ_KEY = b"\xa2\x06"
ADD_KEY = b"\xaa\x06"
BATCH_READ_KEY = b"\xea\x06"

FLAG_FENCE = 1
FLAG_PIGGYBACK = 2
FLAG_RECOVERY = 1

LENGTH = struct.Struct(">I")

TXN_AT = 11
"""Offset of the txnId in a frame, as all known encoders write it.

In front of it are the length word, key and size of the header, version and operation.
"""


def frame(message: bytes) -> bytes:
    """Return a frame: the ``message`` with a length word in front."""
    return LENGTH.pack(len(message)) + message


def header_field(operation: int, txn_id: int, priority: int = 0, version: int = 3) -> bytes:
    """Encode the header, field 1 of requests and responses.

    :param operation: an :class:`~.operations.Operation`.
    :param priority: the priority; 0 is not written.
    :param version: the version, a number below 128.
    """
    fields = b"\x08%c\x10%c\x18%b" % (version, operation, varint(txn_id))
    return bytes_field(b"\x0a", fields + number_field(b"\x20", priority or None))


def fill_header(message: Any, header: m.Header) -> None:
    """Copy a header into a protobuf message; leave out a priority of 0, which is the default.

    :param message: the protobuf message, ``Request`` or ``Response``, to be filled.
    :param header: the values of its fields.
    """
    field = message.header
    field.version = header.version
    field.operation = header.operation
    field.txnId = header.txn_id
    if header.priority:
        field.priority = header.priority


def fill_auth(field: Any, message: Any) -> None:
    """Copy an authentication token into the ``AuthMessage`` of a protobuf request or response.

    :param field: the protobuf message to be filled.
    :param message: an AUTH message of :mod:`~bookkeeper_twisted.codec.messages`.
    """
    field.authPluginName = message.plugin
    field.payload = message.payload
