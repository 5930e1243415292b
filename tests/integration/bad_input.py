"""Everything a bookie may be sent that is wrong, or nearly, and what has to come of it.

A row is what one connection sends; it ends with the connection closed, with the status of the answer, or
without an answer.  Where the connection stays open it goes on to work.
"""

import struct
from collections.abc import Iterator

import attrs

from bookkeeper_twisted.codec.messages import ForceLedgerRequest, Header, ListEntriesRequest, ReadRequest
from bookkeeper_twisted.codec.operations import DEFAULT_MAX_FRAME_SIZE, Operation
from bookkeeper_twisted.codec.runs import BatchRead
from bookkeeper_twisted.codec.v2 import layout as v2_layout
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import layout as v3_layout
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.v3.layout import frame as v3_frame
from bookkeeper_twisted.codec.v3.layout import header_field
from bookkeeper_twisted.codec.varints import bytes_field, number_field
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import Status

from ..bookie.rig import KEY, entry
from .peer import Bystander

CLOSED = "closed"
SILENCE = "no answer"
REFUSED_LEDGER = 77
"""Everything sent about this ledger is refused: it must not come to be."""

ACCEPTED_LEDGER = 78


@attrs.frozen
class Row:
    """:ivar outcome: a status, CLOSED or SILENCE."""

    name: str
    wire: int
    data: bytes
    outcome: Status | str


def _ids(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def _v2(opcode: int, rest: bytes, flags: int = 0, version: int = 2) -> bytes:
    return struct.pack(">IBBH", 4 + len(rest), version, opcode, flags) + rest


def _v3(operation: int, body: bytes = b"", version: int = 3) -> bytes:
    return v3_frame(header_field(operation, 9, 0, version) + body)


def _v3_add(ledger_id: int, entry_id: int, body: bytes, version: int = 3) -> bytes:
    ids = number_field(b"\x08", ledger_id) + number_field(b"\x10", entry_id)
    fields = ids + bytes_field(b"\x1a", KEY) + bytes_field(b"\x22", body)
    return _v3(Operation.ADD, bytes_field(v3_layout.ADD_KEY, fields), version)


def rows() -> Iterator[Row]:
    """All of them."""
    yield from _lengths()
    yield from _v2_closed()
    yield from _v2_refused()
    yield from _v2_odd_but_good()
    yield from _v3_closed()
    yield from _v3_refused()
    yield from _v3_odd_but_good()


def _lengths() -> Iterator[Row]:
    for length in (0, 1, 2, 3):
        yield Row(f"frame of {length} bytes", 2, length.to_bytes(4, "big") + bytes(length), CLOSED)
    for length in (DEFAULT_MAX_FRAME_SIZE - 3, 1 << 31, (1 << 32) - 1):
        yield Row(f"frame of {length} bytes announced", 2, length.to_bytes(4, "big"), CLOSED)
    longest = entry(ACCEPTED_LEDGER, 0, bytes(DEFAULT_MAX_FRAME_SIZE - 4 - v2_layout.ADD_OVERHEAD - 32))
    yield Row("longest frame", 2, _v2(1, KEY + longest), Status.EOK)
    yield Row("a TLS client", 2, bytes.fromhex("16030100f8010000f40303") + bytes(64), CLOSED)
    yield Row("an HTTP client", 2, b"GET / HTTP/1.1\r\nHost: bookie\r\n\r\n", CLOSED)


def _v2_closed() -> Iterator[Row]:
    ids = _ids(REFUSED_LEDGER, 0)
    for opcode in (0, 4, 5, 6, 8, 127, 255):
        yield Row(f"V2 opcode {opcode}", 2, _v2(opcode, ids), CLOSED)
    for size in (0, 19, 20, 35):
        yield Row(f"V2 add of {size} bytes after the header", 2, _v2(1, bytes(size)), CLOSED)
    yield Row("V2 read without an entry id", 2, _v2(2, ids[:15]), CLOSED)
    yield Row("V2 fencing read without a key", 2, _v2(2, ids, flags=1), CLOSED)
    yield Row("V2 fencing read with a short key", 2, _v2(2, ids + KEY[:19], flags=1), CLOSED)
    yield Row("V2 batch read without a size", 2, _v2(7, bytes(35)), CLOSED)
    yield Row("V2 fencing batch read without a key", 2, _v2(7, ids + bytes(20), flags=1), CLOSED)
    yield Row("V2 auth without its fields", 2, _v2(3, b""), CLOSED)
    yield Row("V2 auth that is no message", 2, _v2(3, b"\xff"), CLOSED)
    yield Row(
        "V3 after V2",
        2,
        v2_requests_out.encode_reads(REFUSED_LEDGER, [0]) + v3_requests_out.encode_reads(REFUSED_LEDGER, [0]),
        CLOSED,
    )


def _v2_refused() -> Iterator[Row]:
    for size in (16, 23):
        yield Row(f"V2 entry of {size} bytes", 2, _v2(1, KEY + _ids(REFUSED_LEDGER, 0, 0)[:size]), Status.EBADREQ)
    for ledger_id, entry_id in ((REFUSED_LEDGER, -1), (REFUSED_LEDGER, -0x1000), (REFUSED_LEDGER, -0x8000), (-1, 0)):
        add = _v2(1, KEY + entry(ledger_id, entry_id))
        yield Row(f"V2 add of entry {entry_id} of ledger {ledger_id}", 2, add, Status.EBADREQ)
    yield Row("V2 fence of ledger -1", 2, _v2(2, _ids(-1, -1) + KEY, flags=1), Status.EBADREQ)
    for version in (3, 127, 128, 255):
        add = _v2(1, KEY + entry(REFUSED_LEDGER, 0), version=version)
        yield Row(f"V2 add of version {version}", 2, add, Status.EBADVERSION)
        read = _v2(2, _ids(REFUSED_LEDGER, 0), version=version)
        yield Row(f"V2 read of version {version}", 2, read, Status.EBADVERSION)
        batch = _v2(7, _ids(REFUSED_LEDGER, 0, 1) + bytes(12), version=version)
        yield Row(f"V2 batch read of version {version}", 2, batch, Status.EBADVERSION)
    yield Row("V2 fencing read of version 1", 2, _v2(2, _ids(Bystander.LEDGER, 0), 1, version=1), Status.EUA)
    yield Row("V2 read of an unknown ledger", 2, v2_requests_out.encode_reads(REFUSED_LEDGER, [0]), Status.ENOLEDGER)
    yield Row("V2 read of entry -2", 2, v2_requests_out.encode_reads(Bystander.LEDGER, [-2]), Status.EBADREQ)
    batch = v2_requests_out.encode_batch_read(BatchRead(V2, 2, 0, Bystander.LEDGER, -2, 9, 1, 100))
    yield Row("V2 batch read of entry -2", 2, batch, Status.EBADREQ)


def _v2_odd_but_good() -> Iterator[Row]:
    known = Bystander.LEDGER
    yield Row("V2 entry of 24 bytes", 2, _v2(1, KEY + _ids(ACCEPTED_LEDGER, 1, -1)), Status.EOK)
    yield Row("V2 read with more bytes", 2, _v2(2, _ids(known, 0) + b"1234567"), Status.EOK)
    for count, size in ((-1, -(1 << 63)), (0, 0), ((1 << 31) - 1, (1 << 63) - 1)):
        batch = _v2(7, _ids(known, 0, 5) + struct.pack(">iq", count, size))
        yield Row(f"V2 batch read of {count} entries and {size} bytes", 2, batch, Status.EOK)


def _v3_closed() -> Iterator[Row]:
    yield Row("V3 operation 99", 3, _v3(99), CLOSED)
    yield Row("V3 version 4", 3, _v3(Operation.READ, version=4), CLOSED)
    yield Row("V3 without a header", 3, v3_frame(b"\xa2\x06\x04\x08\x01\x10\x01"), CLOSED)
    yield Row("V3 cut in the header", 3, v3_frame(header_field(Operation.READ, 9)[:4]), CLOSED)
    yield Row("V3 body of negative length", 3, _v3(Operation.ADD, v3_layout.ADD_KEY + b"\xff" * 9 + b"\x01"), CLOSED)
    yield Row(
        "V3 read without an entry id", 3, _v3(Operation.READ, bytes_field(v3_layout.READ_KEY, b"\x08\x01")), CLOSED
    )


def _v3_refused() -> Iterator[Row]:
    ledger = REFUSED_LEDGER
    for size in (0, 15, 23):
        add = _v3_add(ledger, 0, entry(ledger, 0)[:size])
        yield Row(f"V3 entry of {size} bytes", 3, add, Status.EBADREQ)
    yield Row("V3 body of another ledger", 3, _v3_add(ledger, 0, entry(ledger + 1, 0)), Status.EBADREQ)
    yield Row("V3 body of another entry", 3, _v3_add(ledger, 0, entry(ledger, 1)), Status.EBADREQ)
    for ledger_id, entry_id in ((ledger, -1), (ledger, -0x8000), (-1, 0)):
        add = _v3_add(ledger_id, entry_id, entry(ledger_id, entry_id))
        yield Row(f"V3 add of entry {entry_id} of ledger {ledger_id}", 3, add, Status.EBADREQ)
    for version in (1, 2):
        add = _v3_add(ledger, 0, entry(ledger, 0), version)
        yield Row(f"V3 add of version {version}", 3, add, Status.EBADVERSION)
    for operation in (
        Operation.ADD, Operation.READ, Operation.WRITE_LAC, Operation.READ_LAC, Operation.FORCE_LEDGER,
        Operation.LIST_ENTRIES, Operation.BATCH_READ,
    ):  # fmt: skip
        yield Row(f"V3 {operation.name} without its message", 3, _v3(operation), Status.EBADREQ)
    known = Bystander.LEDGER
    yield Row("V3 read of entry -2", 3, v3_requests_out.encode_reads(known, [-2]), Status.EBADREQ)
    batch = v3_requests_out.encode_batch_read(BatchRead(V3, 3, 0, known, -2, 9, 1, 100))
    yield Row("V3 batch read of entry -2", 3, batch, Status.EBADREQ)
    for operation in (Operation.RANGE_READ, Operation.RANGE_ADD, Operation.START_TLS):
        yield Row(f"V3 {operation.name} that nobody serves", 3, _v3(operation), Status.EBADREQ)
    header = Header(V3, 3, Operation.READ, 9)
    fence = ReadRequest(header, -1, -1, fence=True, master_key=KEY)
    yield Row("V3 fence of ledger -1", 3, v3_requests_out.encode_request(fence), Status.EBADREQ)
    yield Row("V3 read of an unknown ledger", 3, v3_requests_out.encode_reads(ledger, [0]), Status.ENOLEDGER)
    entries = ListEntriesRequest(Header(V3, 3, Operation.LIST_ENTRIES, 9), ledger)
    yield Row("V3 list of an unknown ledger", 3, v3_requests_out.encode_request(entries), Status.ENOLEDGER)


def _v3_odd_but_good() -> Iterator[Row]:
    known = Bystander.LEDGER
    yield Row("V3 entry of 24 bytes", 3, _v3_add(ACCEPTED_LEDGER, 2, _ids(ACCEPTED_LEDGER, 2, -1)), Status.EOK)
    yield Row("V3 unknown field", 3, _v3(Operation.READ, b"\xf8\x7f\x01" + _v3_read(known, 0)), Status.EOK)
    batch = BatchRead(V3, 3, 0, known, 0, 9, -(1 << 31), (1 << 63) - 1)
    yield Row("V3 batch read of everything", 3, v3_requests_out.encode_batch_read(batch), Status.EOK)
    force = ForceLedgerRequest(Header(V3, 3, Operation.FORCE_LEDGER, 9), known)
    yield Row("V3 force", 3, v3_requests_out.encode_request(force), Status.EOK)
    header = Header(V3, 3, Operation.READ, 9)
    poll = ReadRequest(header, known, -1, previous_lac=(1 << 63) - 1, timeout_ms=(1 << 63) - 1, piggyback=True)
    yield Row("V3 long poll for ever", 3, v3_requests_out.encode_request(poll), SILENCE)


def _v3_read(ledger_id: int, entry_id: int) -> bytes:
    return bytes_field(v3_layout.READ_KEY, number_field(b"\x08", ledger_id) + number_field(b"\x10", entry_id))
