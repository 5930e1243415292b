"""Bytes of a journal file: Apache's version 6, with our checksums in bytes that Apache's readers skip.

Header, one sector of 512 bytes::

    0   4s   "BKLG"
    4   i32  version, 6
    8   8s   "BKTWJRNL"    \\
    16  i64  file id        |  the file mark: zeros in files that others wrote
    24  8s   nonce          |
    32  u32  CRC32C of 0-31 /
    36       zeros

A group is records (``i32 length``, body) and one padding record up to the alignment::

    0   i32  -256, the padding mask
    4   i32  L, bytes that follow
    8        zeros
    L-44     trailer, the last 52 bytes of the group, which never cross a sector:
             8s   nonce of the file
             i64  file id
             i64  offset of the group in the file
             i64  file id \\  position known durable when the group was written
             i64  offset  /  (``durable_before``, safety 3.3)
             u32  flags: 1 = the file ends here
             u32  CRC32C of the group up to this field
             u32  CRC32C of the trailer up to this field

The trailer has a checksum of its own: a trailer proves what was durable before its group even when
the group itself is torn.  The nonce differs in every file and is not known to clients, so neither old
groups of a recycled file nor bytes inside an entry can pass for a trailer (safety 3.4).

Zeros follow every group, written with it and overwritten by the next one: Apache's readers stop there.
"""

import struct
from collections.abc import Sequence
from hashlib import blake2b

import attrs

from ...crc32c import crc32c_of_block as crc32c
from ...errors import JournalDamageError
from ..interfaces import JournalPosition

SECTOR = 512
HEADER_SIZE = 512
PADDING = -256
VERSION = 6
MIN_BODY = 16  # ledger id and entry id
FLAG_END = 1

_MAGIC = b"BKLG"
_OUR_MAGIC = b"BKTWJRNL"
_START = struct.Struct(">4si")
_HEADER = struct.Struct(">4si8sq8s")
_PADDING = struct.Struct(">ii")
_TRAILER = struct.Struct(">8sqqqqI")
_CRC = struct.Struct(">I")
TRAILER_SIZE = _TRAILER.size + 2 * _CRC.size
assert _HEADER.size == 32 and TRAILER_SIZE == 52


@attrs.frozen
class FileMark:
    """The mark in the header of our journal files."""

    file_id: int
    nonce: bytes

    @classmethod
    def of(cls, file_id: int, salt: bytes) -> "FileMark":
        """Return the mark of a file.

        :param salt: random bytes of the journal; a mark cannot be guessed without them.
        """
        return cls(file_id, blake2b(salt + file_id.to_bytes(8, "big"), digest_size=8).digest())


@attrs.frozen
class FileHeader:
    """The header of a journal file: version, and layout of the records.

    :ivar size: offset of the first record.
    :ivar mark: None in files of Apache's bookie.
    """

    version: int
    size: int
    mark: FileMark | None


@attrs.frozen
class Trailer:
    """The trailer of a group: its position and checksum, and up to where the journal was durable before it.

    :ivar start: offset of the group.
    :ivar durable: end of the bytes that were durable when the group was written.
    :ivar last: whether the file ends after the group.
    """

    start: int
    durable: JournalPosition
    last: bool
    group_crc: int


def pack_header(mark: FileMark) -> bytes:
    """Encode the first sector of a file, which contains the ``mark``."""
    head = _HEADER.pack(_MAGIC, VERSION, _OUR_MAGIC, mark.file_id, mark.nonce)
    return (head + _CRC.pack(crc32c(head))).ljust(HEADER_SIZE, b"\0")


def parse_header(sector: bytes, path: str) -> FileHeader:
    """Decode the header of our or of Apache's journal file.

    :param sector: the first sector, or a part of it at the end of the file.
    :param path: of the file, for the error.
    :raises JournalDamageError: no version of the format has such a header.
    """
    if len(sector) < _START.size or not sector.startswith(_MAGIC):
        return FileHeader(1, 0, None)
    version = _START.unpack_from(sector)[1]
    if not 1 <= version <= VERSION:
        raise JournalDamageError(f"{path}: version {version} at offset 4 is not one of a journal")
    if version < 5:
        return FileHeader(version, _START.size, None)
    rest = sector[_START.size :]
    if not any(rest):
        return FileHeader(version, HEADER_SIZE, None)
    found = _HEADER.size
    if len(sector) < HEADER_SIZE or _CRC.unpack_from(sector, found)[0] != crc32c(sector[:found]):
        raise JournalDamageError(f"{path}: the header is damaged")
    _, _, _, file_id, nonce = _HEADER.unpack_from(sector)
    return FileHeader(version, HEADER_SIZE, FileMark(file_id, nonce))


def padding_size(length: int, alignment: int) -> int:
    """Return the bytes of the padding record that ends a group: filler up to the alignment, and a trailer.

    :param length: bytes of the records before it.
    :param alignment: bytes.
    """
    gap = alignment - length % alignment
    return gap if gap >= _PADDING.size + TRAILER_SIZE else gap + alignment


def pack_group(
    mark: FileMark,
    start: int,
    records: Sequence[bytes],
    durable: JournalPosition,
    alignment: int,
    block: int,
    last: bool = False,
) -> tuple[Sequence[bytes], int]:
    """Return the parts of one group for a write, followed by at least one sector of zeros.

    :param mark: of the file.
    :param start: its offset, a multiple of 512.
    :param records: byte strings of whole records.
    :param durable: end of the synced bytes, for the trailer.
    :param alignment: of the end of the group, in bytes.
    :param block: the zeros end at a multiple of it.
    :param last: whether the file ends after the group.
    :returns: the parts, and the offset at which the group ends and the zeros begin.
    """
    length = sum(map(len, records))
    padding = padding_size(start + length, alignment)
    trailer = _TRAILER.pack(mark.nonce, mark.file_id, start, durable.file_id, durable.offset, FLAG_END if last else 0)
    filler = bytes(padding - _PADDING.size - TRAILER_SIZE)
    tail = b"".join((_PADDING.pack(PADDING, padding - _PADDING.size), filler, trailer))
    crc = 0
    for part in records:
        crc = crc32c(part, crc)
    group_crc = _CRC.pack(crc32c(tail, crc))
    end = start + length + padding
    zeros = bytes(SECTOR + (-end - SECTOR) % block)
    return (*records, tail + group_crc + _CRC.pack(crc32c(trailer + group_crc)) + zeros), end


def parse_trailer(data: bytes, mark: FileMark) -> Trailer | None:
    """Decode the trailer of a group.

    :param data: the 52 bytes.
    :param mark: of the file, which the trailer must have.
    :returns: None if the bytes are not a trailer of this file.
    """
    if len(data) != TRAILER_SIZE or crc32c(data[: -_CRC.size]) != _CRC.unpack_from(data, TRAILER_SIZE - _CRC.size)[0]:
        return None
    nonce, file_id, start, durable_file, durable_offset, flags = _TRAILER.unpack_from(data)
    if nonce != mark.nonce or file_id != mark.file_id:
        return None
    group_crc = _CRC.unpack_from(data, _TRAILER.size)[0]
    return Trailer(start, JournalPosition(durable_file, durable_offset), bool(flags & FLAG_END), group_crc)


def group_matches(group: bytes, trailer: Trailer) -> bool:
    """Test whether every byte of a ``group``, trailer included, is as it was written.

    :param trailer: the trailer at its end.
    """
    return crc32c(memoryview(group)[: -2 * _CRC.size]) == trailer.group_crc
