"""Reads one journal file: a file of our bookie one group at a time, a file of Apache's bookie by Apache's rules.

A group is the records that were written and synced together.  A reader needs memory for one chunk of the file and for
the largest group.  A length field may be damaged, so the reader allocates memory for a group only after it has verified
the trailer of the group.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

import attrs

from ...errors import JournalDamageError
from ..interfaces import IFile, JournalPosition
from .format import (
    HEADER_SIZE,
    MIN_BODY,
    PADDING,
    SECTOR,
    TRAILER_SIZE,
    FileIdentity,
    Trailer,
    group_matches,
    parse_header,
    parse_trailer,
)

_LENGTH = struct.Struct(">i")
CHUNK = 2 << 20


@attrs.frozen
class Group:
    """A verified group of records of a journal file.

    :ivar data: the bytes of the group, padding record included.
    :ivar starts: the offset in ``data`` of each record, and of the padding record.
    :ivar end: offset in the file at which the group ends.
    """

    data: bytes
    starts: Sequence[int]
    end: int
    trailer: Trailer

    def bodies(self) -> list[bytes]:
        """Return the body of each record of the group, without its length field."""
        data = self.data
        return [data[a + 4 : b] for a, b in pairwise(self.starts)]


@attrs.frozen
class JournalEnd:
    """The end of a journal file: the bytes behind its last valid group of records.

    :ivar torn: whether the bytes there are not all zeros; an interrupted write leaves such bytes.
    :ivar durable: the highest journal position up to which the journal was durable, according to the group trailers
        there.  Each group ends with a trailer that stores such a position.
    """

    torn: bool
    durable: JournalPosition


class JournalReader:
    """A reader of the records of one journal file.

    :ivar identity: id and nonce of the file, from its header; None if Apache's bookie wrote the file.
    :ivar version: the version of the file format.
    :ivar start: offset of the first record in the file.
    :ivar at: during :meth:`records`, the offset of the first record in the list that was yielded last.  The other
        records of the list follow it without gaps.
    :ivar durable: after :meth:`records`, the offset up to which this file is durable, according to its valid groups.
    :ivar end: after :meth:`records`, the offset behind the last valid record or group.
    :ivar finished: after :meth:`records`, whether the last group says that the file ends there.
    """

    def __init__(self, file: IFile, file_id: int, chunk: int = CHUNK) -> None:
        """:param chunk: number of bytes of one read from the file, a multiple of 512.
        :raises JournalDamageError: the header is damaged, or names another file.
        """
        self.path = file.path
        self.file_id = file_id
        header = parse_header(file.pread(HEADER_SIZE, 0), file.path)
        if header.identity is not None and header.identity.file_id != file_id:
            raise JournalDamageError(f"{file.path} holds the journal file {header.identity.file_id:x}")
        self.identity = header.identity
        self.start = self.at = self.durable = self.end = header.size
        self.finished = False
        self.version = header.version
        self._file = file
        self._size = file.size()
        self._chunk = chunk
        self._data = b""
        self._base = 0

    def records(self, offset: int) -> Iterator[list[bytes]]:
        """Yield the bodies of all records behind ``offset``, in lists."""
        if self.identity is None:
            return self._foreign_records(max(offset, self.start))
        # a log mark of Apache's bookie may be a few bytes after the start of a group of records, which is the start of
        # a sector: begin there
        return self._own_records(self.identity, max(offset // SECTOR * SECTOR, self.start))

    def first_durable(self) -> JournalPosition | None:
        """Return the durable position in the trailer of the file's first group of records.

        The journal was durable up to this position when the group was written.  Return None if the
        file does not begin with a valid group of our bookie.
        """
        group = self._group(self.identity, self.start) if self.identity else None
        return group.trailer.durable if group else None

    def tail(self) -> JournalEnd:
        """Search the bytes behind the last valid group of records for trailers, with which each group ends.

        A trailer there may tell that the journal was durable up to a later position.  Then records were lost.
        """
        assert self.identity is not None
        nonce, offset = self.identity.nonce, self.end
        torn, durable = any(self._file.pread(SECTOR, offset)), JournalPosition()
        while data := self._file.pread(self._chunk, offset):
            at = data.find(nonce)
            while at >= 0:
                if (offset + at + TRAILER_SIZE) % SECTOR == 0:
                    trailer = parse_trailer(data[at : at + TRAILER_SIZE], self.identity)
                    if trailer is not None:
                        # the trailer's group may begin before ``self.end``: the log mark was inside this group, so its
                        # records were not read.  Report a position after ``self.end`` as durable: the caller then
                        # raises an error, as for any loss of records
                        inside = JournalPosition(self.file_id, offset + at) if trailer.start < self.end else durable
                        torn, durable = True, max(durable, trailer.durable, inside)
                at = data.find(nonce, at + 1)
            offset += len(data)
        return JournalEnd(torn, durable)

    def _own_records(self, identity: FileIdentity, at: int) -> Iterator[list[bytes]]:
        self.durable = self.end = at
        before = parse_trailer(self._read(TRAILER_SIZE, at - TRAILER_SIZE), identity)
        self.finished = before is not None and before.last
        while not self.finished:
            group = self._group(identity, at)
            if group is None:
                return
            bodies = group.bodies()
            self._check_bodies(bodies, at)
            if bodies:
                self.at = at
                yield bodies
            self.end = at = group.end
            if group.trailer.durable.file_id == self.file_id:
                self.durable = max(self.durable, group.trailer.durable.offset)
            self.finished = group.trailer.last

    def _group(self, identity: FileIdentity, start: int) -> Group | None:
        """Return the group of records at offset ``start``; None if it is incomplete or does not match its checksums."""
        starts = self._walk(start)
        if starts is None:
            return None
        (filler,) = _LENGTH.unpack(self._read(_LENGTH.size, starts[-1] + 4))
        end = starts[-1] + 8 + filler
        if end % SECTOR or filler < TRAILER_SIZE:
            return None
        trailer = parse_trailer(self._read(TRAILER_SIZE, end - TRAILER_SIZE), identity)
        if trailer is None or trailer.start != start:
            return None
        data = self._read(end - start, start)
        if not group_matches(data, trailer):
            return None
        return Group(data, [at - start for at in starts], end, trailer)

    def _walk(self, at: int) -> list[int] | None:
        """Follow the length fields of records from offset ``at`` on, up to the padding record that ends the group.

        :returns: the offsets of the records and of the padding record; None if the lengths do not lead to a padding
            record.
        """
        starts = []
        unpack, limit = _LENGTH.unpack_from, self._size - 8
        data, base = self._data, self._base
        while at <= limit:
            index = at - base
            if index < 0 or index + 8 > len(data):
                self._load(at)
                data, base, index = self._data, at, 0
            (length,) = unpack(data, index)
            starts.append(at)
            if length <= 0:
                return starts if length == PADDING and 0 <= unpack(data, index + 4)[0] <= limit - at else None
            at += 4 + length
        return None

    def _foreign_records(self, at: int) -> Iterator[list[bytes]]:
        """Yield the records of a file of Apache's bookie, up to a length of zero or an incomplete record."""
        first = at
        self.end = at
        while at + 4 <= self._size:
            length = self._length(at)
            if length == PADDING and self.version >= 5:
                if at + 8 > self._size:
                    break
                filler = self._length(at + 4)
                if filler < 0:
                    raise JournalDamageError(f"{self.path}: padding of {filler} bytes at offset {at}")
                at += 8 + filler
                if at > self._size:
                    break
            elif length < 0:
                raise JournalDamageError(f"{self.path}: record of {length} bytes at offset {at}")
            elif length == 0 or at + 4 + length > self._size:
                break
            else:
                body = self._read(length, at + 4)
                self._check_bodies([body], at)
                self.at = at
                yield [body]
                at += 4 + length
            self.end = at
        if self.version == 1 and self.end == first == 0:
            self._check_empty()

    def _check_empty(self) -> None:
        """Check that a file without a header contains only zeros; any other content is damage.

        A crash may leave a new file with zeros.
        """
        offset = 0
        while data := self._file.pread(self._chunk, offset):
            if any(data):
                raise JournalDamageError(f"{self.path}: neither a header nor a record at offset 0")
            offset += len(data)

    def _check_bodies(self, bodies: Sequence[bytes], offset: int) -> None:
        if bodies and min(map(len, bodies)) < MIN_BODY:
            raise JournalDamageError(f"{self.path}: a record at or after offset {offset} is too short for its ids")

    def _length(self, at: int) -> int:
        length: int = _LENGTH.unpack(self._read(_LENGTH.size, at))[0]
        return length

    def _read(self, size: int, offset: int) -> bytes:
        index = offset - self._base
        if index >= 0 and index + size <= len(self._data):
            return self._data[index : index + size]
        if size > self._chunk:
            return self._file.pread(size, offset)
        self._load(offset)
        return self._data[:size]

    def _load(self, offset: int) -> None:
        self._data = self._file.pread(self._chunk, offset)
        self._base = offset
