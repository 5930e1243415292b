"""The state of a ledger in Apache's ``DbLedgerStorage``: a key and a value in the database ``ledgers``.

The key is the ledger id, i64.  The value is a protobuf message with these fields, in the order of their tags::

    1  bool   exists
    2  bool   fenced
    3  bytes  master key; empty or zeros = unknown
    4  bytes  explicit LAC, as the client sent it     optional
    5  bool   limbo                                   optional

Only the first 8 bytes of a key count, because Apache's tool that rebuilds this database writes keys of 16 bytes.  A
negative key is not a ledger id.  The value of the key :data:`FLAGS_KEY` contains flags of the whole directory.
"""

import struct
from collections.abc import Iterator

import attrs

from ...errors import DamageError
from ..interfaces import LedgerRow

FLAGS_KEY = struct.pack(">q", -0xEEFD)
NEEDS_INTEGRITY_CHECK = 1
_ID = struct.Struct(">q")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@attrs.frozen
class LedgerData:
    """The decoded state of a ledger from the database ``ledgers``.

    :ivar row: the state in the form that our bookie uses: key, fence and explicit LAC.
    :ivar exists: whether the ledger exists.
    :ivar limbo: whether the bookie may have lost acknowledged entries of the ledger.
    """

    row: LedgerRow
    exists: bool = True
    limbo: bool = False


def encode(row: LedgerRow) -> tuple[bytes, bytes]:
    """Return the key and the value that Apache's bookie stores for the ledger state ``row``."""
    value = b"\x08\x01\x10" + bytes([row.fenced]) + b"\x1a" + _sized(row.master_key)
    if row.explicit_lac:
        value += b"\x22" + _sized(row.explicit_lac)
    return _ID.pack(row.ledger_id), value


def decode(key: bytes, value: bytes) -> LedgerData | None:
    """Decode a key and a value of the database ``ledgers``.

    :param key: the key: 8 or 16 bytes.
    :param value: the value, as :func:`encode` returns it.
    :returns: the ledger's state; None if the key is not the key of a ledger.
    :raises DamageError: the value is damaged.
    """
    (ledger_id,) = _ID.unpack_from(key)
    if ledger_id < 0:
        return None
    found: dict[int, int | bytes] = {}
    try:
        found.update(_fields(value))
        key_bytes, lac = found.get(3, b""), found.get(4, b"")
        good = isinstance(key_bytes, bytes) and isinstance(lac, bytes) and {1, 2, 3} <= found.keys()
    except (IndexError, ValueError):
        good = False
    if not good:
        raise DamageError(f"the state of ledger {ledger_id} in Apache's index is damaged")
    master_key = key_bytes if key_bytes.strip(b"\0") else b""  # type: ignore[union-attr]
    row = LedgerRow(ledger_id, master_key, bool(found[2]), lac)  # type: ignore[arg-type]
    return LedgerData(row, bool(found[1]), bool(found.get(5)))


def needs_integrity_check(value: bytes) -> bool:
    """Test whether the directory flags ``value`` say that a data integrity check is needed."""
    return bool(int.from_bytes(value, "big") & NEEDS_INTEGRITY_CHECK)


def _sized(data: bytes) -> bytes:
    parts, size = bytearray(), len(data)
    while size >= 0x80:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    parts.append(size)
    return bytes(parts) + data


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the tag and the value of each field of a protobuf message, in the order of the bytes.

    The same tag may occur several times; the caller uses its last value.

    :raises IndexError: the message ends inside a varint.
    :raises ValueError: the message ends inside a value, or a value has an unknown wire type.
    """
    at = 0
    while at < len(data):
        head, at = _varint(data, at)
        tag, kind = head >> 3, head & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield tag, number
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(kind)
        if at + size > len(data):
            raise ValueError(size)
        yield tag, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
