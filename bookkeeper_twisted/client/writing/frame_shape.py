"""How an add request lies in a term, in either wire version.

Producers store a frame with one call: everything but ids, LAC, length and digest.  What is left out is
known only when the frame's turn has come, and is put in then (:mod:`.frame_sealing`).  So a frame that is
given up leaves no gap in the ids, and the LAC is that of the moment it is sent.

====  ======  ==========================================================================
V2    0       length word, header word, key (20)
V3    0       length word, ``Request`` up to the entry, with varints of constant sizes
both  header  ledgerId i64, then left out: entryId, LAC, length (8 each), digest (D)
both  ..      payload, to the end of the frame
====  ======  ==========================================================================
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

from ...codec import v2, v3
from ...codec.operations import HIGH_PRIORITY, MASTER_KEY_SIZE, RECOVERY_ADD, V3_HIGH_PRIORITY, Operation, V2Op
from ...codec.v2_replies import header_word
from ...codec.v3_replies import TXN_AT, header_field
from ...codec.varints import bytes_field, number_field, varint
from ...errors import CodecError
from ...model import ENTRY_HEADER_SIZE

STORED_BY_SLICE = 4096
"""Payloads from this size on are stored as a slice: a compiled layout for each size would not pay."""

_MAX_ROWS = 1024
"""Sizes whose rows a ledger keeps: all of them together take no more memory than a term."""

_ID_SIZE = 9
"""Bytes of a txnId or an entryId in V3, and of the lengths inside a frame: always the same, so that places are."""

_SIZE_SIZE = 4
_LARGEST_ID = (1 << 63) - 1
_LEDGER = struct.Struct(">q")
_LENGTH = struct.Struct(">i")

_FRAME_RESERVE = 128
"""What a frame of any operation in either wire version needs beside the entry, rounded up."""

Store = Callable[[bytearray, int, bytes, Any], None]
"""``store(buffer, at, head, payload)``: lays out a frame in one step."""

Row = tuple[Store, int, bytes]
"""What all frames of one payload size share: how to store them, their size, their first bytes."""


def largest_payload(max_frame_size: int, digest_size: int) -> int:
    """Bytes of the largest payload whose entry fits a frame of any operation."""
    return max_frame_size - _FRAME_RESERVE - 4 - ENTRY_HEADER_SIZE - digest_size


class FrameShape(Protocol):
    """The frames of one ledger's adds.

    :ivar wire: the version they are in.
    :ivar master_key, flags: of every add.
    :ivar digest_size: bytes of a digest.
    :ivar payload_at: where the payload begins; the entry's header and digest are in front of it.
    :ivar rows: by payload size, those that are kept; any thread may look there first.
    """

    wire: int
    master_key: bytes
    flags: int
    digest_size: int
    payload_at: int
    rows: dict[int, Row]

    def row(self, size: int) -> Row:
        """Makes the row of payloads of ``size`` bytes, and keeps it if that pays."""

    def head(self, size: int) -> bytes:
        """The first bytes of frames with payloads of ``size`` bytes, up to and with the ledger id."""

    def number(self, buffer: bytearray, at: int, stride: int, count: int, first: int) -> None:
        """Puts ids outside the entry into frames of entries ``first``, ``first + 1``, ..., ``stride`` bytes apart."""

    def requests(self, frames: bytes, stride: int, first_request_id: int) -> bytes:
        """Sealed frames as requests with consecutive ids; the frames are left as they are.

        :param stride: bytes of a frame where all have the same size, else 0.
        """


class _Shape:
    """What both wires share."""

    payload_at: int

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def head(self, size: int) -> bytes:
        """See :meth:`FrameShape.head`."""
        raise NotImplementedError

    def row(self, size: int) -> Row:
        """See :meth:`FrameShape.row`."""
        head, payload_at = self.head(size), self.payload_at
        if size >= STORED_BY_SLICE:
            return _stored_by_slice(payload_at), payload_at + size, head
        row = _layout(len(head), payload_at, size).pack_into, payload_at + size, head
        if len(self.rows) >= _MAX_ROWS:
            self.rows.clear()
        self.rows[size] = row
        return row


@lru_cache(maxsize=STORED_BY_SLICE)
def _layout(head_size: int, payload_at: int, size: int) -> struct.Struct:
    """Shared by the ledgers that have payloads of this size."""
    return struct.Struct(f"{head_size}s{payload_at - head_size}x{size}s")


def _stored_by_slice(payload_at: int) -> Store:
    def store(buffer: bytearray, at: int, head: bytes, payload: Any) -> None:
        with memoryview(buffer) as view:
            view[at : at + len(head)] = head
            view[at + payload_at : at + payload_at + len(payload)] = payload

    return store


class V2Shape(_Shape):
    """Adds of V2; the same bytes for every bookie."""

    wire = 2

    def __init__(self, ledger_id: int, digest_size: int, master_key: bytes, flags: int = 0) -> None:
        """:raises CodecError: the key is not of 20 bytes."""
        if len(master_key) != MASTER_KEY_SIZE:
            raise CodecError(f"V2 carries a key of {MASTER_KEY_SIZE} bytes, not {len(master_key)}")
        super().__init__()
        self.master_key = master_key
        self.flags = flags
        self.digest_size = digest_size
        word = header_word(v2.VERSION, V2Op.ADD, flags).to_bytes(4, "big")
        self._tail = word + master_key + _LEDGER.pack(ledger_id)
        self._entry = ENTRY_HEADER_SIZE + digest_size
        self.payload_at = 4 + v2.ADD_OVERHEAD + self._entry

    def head(self, size: int) -> bytes:
        """See :meth:`FrameShape.head`."""
        return _LENGTH.pack(v2.ADD_OVERHEAD + self._entry + size) + self._tail

    def number(self, buffer: bytearray, at: int, stride: int, count: int, first: int) -> None:
        """See :meth:`FrameShape.number`: there are none."""

    def requests(self, frames: bytes, stride: int, first_request_id: int) -> bytes:
        """See :meth:`FrameShape.requests`: they have no ids."""
        return frames


class V3Shape(_Shape):
    """Adds of V3.  Their txnIds are those of one connection and one attempt, and are put in when they are sent."""

    wire = 3

    def __init__(
        self, ledger_id: int, digest_size: int, master_key: bytes, flags: int = 0, deferred_sync: bool = False
    ) -> None:
        super().__init__()
        self.master_key = master_key
        self.flags = flags
        self.digest_size = digest_size
        self._ledger = _LEDGER.pack(ledger_id)
        priority = V3_HIGH_PRIORITY if flags & HIGH_PRIORITY else 0
        self._header = header_field(Operation.ADD, _LARGEST_ID, priority) + v3.ADD_KEY
        flag = number_field(v3.FLAG_KEY, v3.FLAG_RECOVERY if flags & RECOVERY_ADD else None)
        ids = flag + b"\x08" + varint(ledger_id) + b"\x10" + _wide(0, _ID_SIZE)
        self._id_at = 4 + len(self._header) + _SIZE_SIZE + len(ids) - _ID_SIZE
        self._ids = ids + bytes_field(b"\x1a", master_key) + (b"\x28\x01" if deferred_sync else b"") + b"\x22"
        self._entry = ENTRY_HEADER_SIZE + digest_size
        self.payload_at = 4 + len(self._header) + _SIZE_SIZE + len(self._ids) + _SIZE_SIZE + self._entry

    def head(self, size: int) -> bytes:
        """See :meth:`FrameShape.head`."""
        entry = self._entry + size
        message = _wide(len(self._ids) + _SIZE_SIZE + entry, _SIZE_SIZE) + self._ids + _wide(entry, _SIZE_SIZE)
        return _LENGTH.pack(self.payload_at - 4 + size) + self._header + message + self._ledger

    def number(self, buffer: bytearray, at: int, stride: int, count: int, first: int) -> None:
        """See :meth:`FrameShape.number`."""
        _store_ids(buffer, at + self._id_at, stride, count, first)

    def requests(self, frames: bytes, stride: int, first_request_id: int) -> bytes:
        """See :meth:`FrameShape.requests`."""
        buffer, size = bytearray(frames), len(frames)
        if stride:
            _store_ids(buffer, TXN_AT, stride, size // stride, first_request_id)
            return bytes(buffer)
        at, request_id = 0, first_request_id
        while at < size:
            _store_ids(buffer, at + TXN_AT, size, 1, request_id)
            at += 4 + _LENGTH.unpack_from(frames, at)[0]
            request_id += 1
        return bytes(buffer)


def _store_ids(buffer: bytearray, at: int, stride: int, count: int, first: int) -> None:
    """Stores ids as varints of :data:`_ID_SIZE` bytes, one into each of ``count`` frames."""
    buffer[at : at + _ID_SIZE] = _wide(first, _ID_SIZE)
    if count == 1:
        return
    last, span, shift = first + count - 1, count * stride, 0
    for i in range(at, at + _ID_SIZE):
        more = 128 if i < at + _ID_SIZE - 1 else 0
        if first >> shift == last >> shift:
            column = bytes((first >> shift & 127 | more,)) * count
        else:
            column = bytes([value >> shift & 127 | more for value in range(first, first + count)])
        buffer[i : i + span : stride] = column
        shift += 7


def _wide(value: int, size: int) -> bytes:
    """A varint with leading zeros; every decoder takes it for what it is."""
    low = [value >> 7 * i & 127 | 128 for i in range(size - 1)]
    return bytes([*low, value >> 7 * (size - 1)])
