"""The format of journal files: Apache's version 6, with our checksums in bytes that Apache's readers skip.

A file begins with a header, one sector of 512 bytes::

    0   4s   "BKLG"
    4   i32  version, 6
    8   8s   "BKTWJRNL"    \\
    16  i64  file id        |  the identity of the file: zeros in files of Apache's bookie
    24  8s   nonce          |
    32  u32  CRC32C of 0-31 /
    36       zeros

A group is a number of records (``i32 length``, body), and one padding record that fills up to the alignment::

    0   i32  -256, the padding mask
    4   i32  L, bytes that follow
    8        zeros
    L-44     trailer, the last 52 bytes of the group, which never cross a sector:
             8s   nonce of the file
             i64  file id
             i64  offset of the group in the file
             i64  file id \\  position known durable when the group was written
             i64  offset  /  (``durable_before``)
             u32  flags: 1 = the file ends here
             u32  CRC32C of the group up to this field
             u32  CRC32C of the trailer up to this field

The trailer has a checksum of its own.  So it tells up to where the journal was durable, even if the rest of its group
is damaged.  The nonce is different in each file, and clients do not know it.  So a reader never takes an old group in a
recycled file, or bytes of an entry, for a trailer.

Each group is written with zeros behind it, where Apache's readers stop.  The next group overwrites the zeros.
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
MIN_BODY = 16  # every record body begins with a ledger id and an entry id, 8 bytes each
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
class FileIdentity:
    """The identity of a journal file, in the header of each file that this bookie wrote; Apache's files have none.

    The trailer of each group of records repeats it.  A reader accepts only trailers with the identity of their file.
    So it never takes an old group in a recycled file, or bytes of an entry, for a trailer.

    :ivar file_id: id of the journal file.  The name of the file has an older id if a power cut has undone its renaming.
    :ivar nonce: 8 bytes, different for each file; clients cannot guess them, so no entry can imitate a trailer.
    """

    file_id: int
    nonce: bytes

    @classmethod
    def of(cls, file_id: int, salt: bytes) -> "FileIdentity":
        """Return the identity (id and nonce) of the journal file ``file_id``.

        :param salt: random bytes of this journal, which make the nonce impossible to guess.
        """
        return cls(file_id, blake2b(salt + file_id.to_bytes(8, "big"), digest_size=8).digest())


@attrs.frozen
class FileHeader:
    """The decoded header of a journal file.

    :ivar size: number of bytes of the header; the first record follows it.
    :ivar version: the version of the file format.
    :ivar identity: id and nonce of the file; None in a file of Apache's bookie.
    """

    version: int
    size: int
    identity: FileIdentity | None


@attrs.frozen
class Trailer:
    """The decoded trailer at the end of a group of records, which were written together.

    :ivar start: offset of the group in its file.
    :ivar durable: the position up to which the journal was known to be durable when the group was written.
    :ivar last: whether the file ends with this group.
    :ivar group_crc: the checksum over the bytes of the group.
    """

    start: int
    durable: JournalPosition
    last: bool
    group_crc: int


def pack_header(identity: FileIdentity) -> bytes:
    """Encode the header of a journal file with an ``identity`` (id and nonce)."""
    head = _HEADER.pack(_MAGIC, VERSION, _OUR_MAGIC, identity.file_id, identity.nonce)
    return (head + _CRC.pack(crc32c(head))).ljust(HEADER_SIZE, b"\0")


def parse_header(sector: bytes, path: str) -> FileHeader:
    """Decode the header of a journal file, written by our bookie or by Apache's.

    :param sector: the first 512 bytes of the file, or fewer if the file is shorter.
    :param path: path of the file, for the error text.
    :raises JournalDamageError: the header is damaged, or of an unknown version.
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
    return FileHeader(version, HEADER_SIZE, FileIdentity(file_id, nonce))


def padding_size(length: int, alignment: int) -> int:
    """Return the size in bytes of the padding record at the end of a group of records.

    It contains filler and the trailer.

    :param length: offset at which the records of the group end.
    :param alignment: the padding record ends at a multiple of this number of bytes.
    """
    gap = alignment - length % alignment
    return gap if gap >= _PADDING.size + TRAILER_SIZE else gap + alignment


def pack_group(
    identity: FileIdentity,
    start: int,
    records: Sequence[bytes],
    durable: JournalPosition,
    alignment: int,
    block: int,
    last: bool = False,
) -> tuple[Sequence[bytes], int]:
    """Return the bytes of a group of records, in several byte strings, followed by at least one sector of zeros.

    :param identity: id and nonce of the file.
    :param start: offset of the group, a multiple of 512.
    :param records: byte strings, each with one or more complete records.
    :param durable: the position up to which the journal is durable, for the trailer.
    :param alignment: the group ends at a multiple of this number of bytes.
    :param block: the zeros end at a multiple of this number of bytes.
    :param last: whether the file ends with this group.
    :returns: the byte strings to write, and the offset where the group ends and the zeros begin.
    """
    length = sum(map(len, records))
    padding = padding_size(start + length, alignment)
    flags = FLAG_END if last else 0
    trailer = _TRAILER.pack(identity.nonce, identity.file_id, start, durable.file_id, durable.offset, flags)
    filler = bytes(padding - _PADDING.size - TRAILER_SIZE)
    tail = b"".join((_PADDING.pack(PADDING, padding - _PADDING.size), filler, trailer))
    crc = 0
    for part in records:
        crc = crc32c(part, crc)
    group_crc = _CRC.pack(crc32c(tail, crc))
    end = start + length + padding
    zeros = bytes(SECTOR + (-end - SECTOR) % block)
    return (*records, tail + group_crc + _CRC.pack(crc32c(trailer + group_crc)) + zeros), end


def parse_trailer(data: bytes, identity: FileIdentity) -> Trailer | None:
    """Decode the trailer of a group of records.

    :param data: the 52 bytes of the trailer.
    :param identity: id and nonce of the file.
    :returns: the trailer; None if the bytes are not a valid trailer, or are the trailer of another file.
    """
    if len(data) != TRAILER_SIZE or crc32c(data[: -_CRC.size]) != _CRC.unpack_from(data, TRAILER_SIZE - _CRC.size)[0]:
        return None
    nonce, file_id, start, durable_file, durable_offset, flags = _TRAILER.unpack_from(data)
    if nonce != identity.nonce or file_id != identity.file_id:
        return None
    group_crc = _CRC.unpack_from(data, _TRAILER.size)[0]
    return Trailer(start, JournalPosition(durable_file, durable_offset), bool(flags & FLAG_END), group_crc)


def group_matches(group: bytes, trailer: Trailer) -> bool:
    """Test whether the bytes of a ``group`` of records match the checksum in its trailer.

    :param trailer: the decoded trailer of the group.
    """
    return crc32c(memoryview(group)[: -2 * _CRC.size]) == trailer.group_crc
