"""Journal records other than entries: keys, fences and explicit LACs.

A record is ``i32 length``, then the body.  The body of an entry's record is the entry.  The bodies of other records
begin with ``i64 ledgerId, i64 kind``, where ``kind`` is a negative number instead of an entry id:

====== ======= =====================================
kind   what    follows
====== ======= =====================================
-4096  key     ``i32 length``, the master key
-8192  fence   nothing
-32768 LAC     ``i32 length``, the client's LAC packet
====== ======= =====================================
"""

import struct

KEY = -0x1000
FENCE = -0x2000
EXPLICIT_LAC = -0x8000

IDS = struct.Struct(">qq")
_HEAD = struct.Struct(">iqq")
_HEAD_WITH_BYTES = struct.Struct(">iqqi")
_LENGTH = struct.Struct(">i")
_LAC = struct.Struct(">qq")

assert _HEAD.size == 20
assert _HEAD_WITH_BYTES.size == 24


def key_record(ledger_id: int, master_key: bytes) -> bytes:
    """Encode the journal record from which a replay learns the ``master_key`` of the ledger ``ledger_id``."""
    return _HEAD_WITH_BYTES.pack(20 + len(master_key), ledger_id, KEY, len(master_key)) + master_key


def fence_record(ledger_id: int) -> bytes:
    """Encode the journal record of a fence of ``ledger_id``."""
    return _HEAD.pack(16, ledger_id, FENCE)


def explicit_lac_record(ledger_id: int, body: bytes) -> bytes:
    """Encode the journal record of an explicit LAC.

    :param body: the LAC packet, as the client sent it.
    """
    return _HEAD_WITH_BYTES.pack(20 + len(body), ledger_id, EXPLICIT_LAC, len(body)) + body


def trailing_bytes(body: bytes) -> bytes | None:
    """Return the master key, or the LAC packet, that ends the ``body`` of a journal record.

    Return None if the body is shorter than its length field says.
    """
    if len(body) < 20:
        return None
    (length,) = _LENGTH.unpack_from(body, 16)
    return body[20 : 20 + length] if 0 <= length <= len(body) - 20 else None


def lac_of_packet(body: bytes) -> int:
    """Return the LAC in the LAC packet ``body``, or -1 if the packet is too short."""
    return int(_LAC.unpack_from(body)[1]) if len(body) >= 16 else -1


def ledger_of_packet(body: bytes) -> int:
    """Return the ledger id in the LAC packet ``body``, or -1 if the packet is too short."""
    return int(_LAC.unpack_from(body)[0]) if len(body) >= 16 else -1
