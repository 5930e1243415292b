"""The layout of an entry log file, the same as in Apache BookKeeper.

::

    header, 1024 bytes:  "BKLO"  i32 version  i64 map offset (0: not sealed)  i32 ledgers in the map  zeros
    records:             i32 size   then the entry, which has this size; back to back from offset 1024
    ledgers map:         records whose entry is  i64 -1  i64 -2  i32 n  n * (i64 ledger, i64 bytes)

Between two records there may be filler: bytes ``0xF0``, as in logs that Apache's bookie writes with direct I/O.  A size
that is read from the filler is always negative, so a reader can skip the filler and find the next record.

Files of version 0 have no ledgers map.  In the map, ``bytes`` is the number of bytes of all records of the ledger, size
fields included.
"""

import struct
from collections.abc import Iterator, Mapping
from itertools import islice

import attrs

from ...errors import DamageError
from ..ledger_dirs import ENTRY_LOG_SUFFIX

HEADER_SIZE = 1024
FILLER = b"\xf0"
MAX_LOG_ID = 2**31 - 2
MAP_BATCH = 10_000
_MAGIC = b"BKLO"
_VERSION = 1
_MAP_LEDGER = -1
_MAP_ENTRY = -2

_HEADER = struct.Struct(">4siqi")
_SEAL = struct.Struct(">qi")
_SEAL_OFFSET = 8
_MAP_HEAD = struct.Struct(">iqqi")
_PAIR = struct.Struct(">qq")
assert (_HEADER.size, _SEAL.size, _MAP_HEAD.size, _PAIR.size) == (20, 12, 24, 16)


@attrs.frozen
class LogHeader:
    """The decoded header of an entry log.

    :ivar map_offset: offset of the ledgers map in the file; 0 if the log is not sealed.
    :ivar map_ledgers: number of ledgers in the map.
    """

    version: int
    map_offset: int
    map_ledgers: int


def reserved_id_of(name: str) -> int | None:
    """Return the log id in the name of an entry log, or of an unfinished log of a compaction.

    :param name: name of the file.
    :returns: the id, which no new log may get; None if the file is of another kind.
    """
    stem, dot, _ = name.partition(ENTRY_LOG_SUFFIX)
    try:
        value = int(stem, 16) if dot else -1
    except ValueError:
        return None
    return value if 0 <= value <= MAX_LOG_ID else None


def new_header() -> bytes:
    """Return the header bytes of a new entry log."""
    return _HEADER.pack(_MAGIC, _VERSION, 0, 0).ljust(HEADER_SIZE, b"\0")


def seal(map_offset: int, ledgers: int) -> tuple[bytes, int]:
    """Return the header bytes that mark a log as sealed and point to its ledgers map, and the offset of these bytes.

    :param map_offset: offset of the ledgers map in the file.
    :param ledgers: number of ledgers in the map.
    """
    return _SEAL.pack(map_offset, ledgers), _SEAL_OFFSET


def parse_header(data: bytes, path: str) -> LogHeader:
    """Decode the header of an entry log.

    :param data: the first bytes of the file.
    :param path: path of the file, for the error text.
    :raises DamageError: ``data`` does not begin like an entry log.
    """
    if len(data) < _HEADER.size:
        raise DamageError(f"{path}: {len(data)} bytes are too few for an entry log header")
    magic, version, map_offset, ledgers = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise DamageError(f"{path} offset 0: not an entry log, it begins with {magic!r}")
    if version not in (0, 1):
        raise DamageError(f"{path} offset 4: unknown entry log version {version}")
    return LogHeader(version, map_offset, ledgers)


def encode_map(sizes: Mapping[int, int]) -> bytes:
    """Encode the ledgers map of a log as records, which follow the last entry of a sealed log.

    :param sizes: for each ledger id, the total size in bytes of its records in the log, size fields included.
    """
    parts, pairs = [], iter(sorted(sizes.items()))
    while batch := list(islice(pairs, MAP_BATCH)):
        parts.append(_MAP_HEAD.pack(20 + 16 * len(batch), _MAP_LEDGER, _MAP_ENTRY, len(batch)))
        parts.extend(_PAIR.pack(*pair) for pair in batch)
    return b"".join(parts)


def decode_map(data: bytes, ledgers: int) -> dict[int, int] | None:
    """Decode the ledgers map of a sealed log.

    :param data: the bytes of the file from the map's offset on.
    :param ledgers: number of ledgers in the map, according to the header.
    :returns: for each ledger id, the total size in bytes of its records; None if the map is incomplete.
    """
    sizes: dict[int, int] = {}
    for part in _map_batches(data):
        if part is None:
            return None
        sizes.update(_PAIR.iter_unpack(part))
    return sizes if sizes and len(sizes) == ledgers else None


def _map_batches(data: bytes) -> Iterator[bytes | None]:
    """Yield, for each record of the map, its encoded (ledger, bytes) pairs; yield None and stop at damage."""
    at = 0
    while at + 4 <= len(data) and int.from_bytes(data[at : at + 4], "big", signed=True) > 0:
        if at + _MAP_HEAD.size > len(data):
            yield None
            return
        size, ledger_id, entry_id, count = _MAP_HEAD.unpack_from(data, at)
        end = at + 4 + size
        if (ledger_id, entry_id, size) != (_MAP_LEDGER, _MAP_ENTRY, 20 + 16 * count) or end > len(data):
            yield None
            return
        yield data[at + _MAP_HEAD.size : end]
        at = end
