"""Makes and verifies entry headers and digests.  A stored entry is header, digest, payload.

    ====  ====  =============================================================
    0     8     ledgerId
    8     8     entryId
    16    8     lastAddConfirmed at the writer, -1 = none
    24    8     total size in bytes of the ledger's payloads up to this entry
    32    D     digest over bytes 0-31 and the payload
    32+D        payload
    ====  ====  =============================================================

All integers are big-endian.  An explicit LAC packet is ledger id, LAC, and a digest over these 16 bytes.  The functions
process all entries of a run (consecutive entries of one ledger) in a few C calls, because one Python statement for each
entry costs more than its checksum.  Verification frees the bytes of one entry before it copies the bytes of the next
entry.  So all entries use the same memory, which stays in the processor's cache.
"""

import hashlib
import hmac
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain, islice, pairwise
from operator import add

from ..crc32c import crc32c_of_bytes
from ..entries.columns import column
from ..entries.entry_run import ENTRY_HEADER_SIZE, EntryRun
from ..errors import DigestMatchError
from ..model import INVALID_ENTRY_ID, DigestType, Entry
from .strides import counts_up

_HEADER = struct.Struct(">qqqq")
_LAC = struct.Struct(">qq")
_LEDGER_ID = struct.Struct(">q")
_IDS_SIZE = 16
_HEAD_AT, _HEAD_END = 4, 4 + ENTRY_HEADER_SIZE
_BLOCK = 1024
assert _HEADER.size == ENTRY_HEADER_SIZE

_ONES = int.from_bytes(struct.pack(">Q", 1) * _BLOCK)
_COUNTS = int.from_bytes(struct.pack(f">{_BLOCK}Q", *range(_BLOCK)))
"""``_ONES`` and ``_COUNTS`` are the sequences 1, 1, 1, ... and 0, 1, 2, ... as one large integer each.

Each number of a sequence takes eight of the integer's big-endian bytes.  ``first * _ONES + step * _COUNTS`` is the
sequence ``first``, ``first + step`` and so on.
"""

Digests = Callable[[Iterable[bytes]], bytes]
"""A function that returns the digests of several entries in one byte string.

Its argument has, for each entry, the bytes that the digest covers: header and payload.
"""


def _big_endian(values: "array[int]") -> bytes:
    if sys.byteorder == "little":
        values.byteswap()
    return values.tobytes()


def _crc32(covered: Iterable[bytes]) -> bytes:
    return _big_endian(array("Q", map(zlib.crc32, covered)))


def _crc32c(covered: Iterable[bytes]) -> bytes:
    return _big_endian(array("I", map(crc32c_of_bytes, covered)))


def _hmac(key: bytes, covered: Iterable[bytes]) -> bytes:
    return b"".join([hmac.digest(key, data, "sha1") for data in covered])


def _nothing(covered: object) -> bytes:
    return b""


def _one_crc32(covered: bytes) -> bytes:
    return zlib.crc32(covered).to_bytes(8, "big")


def _one_crc32c(covered: bytes) -> bytes:
    return crc32c_of_bytes(covered).to_bytes(4, "big")


def _one_hmac(key: bytes, covered: bytes) -> bytes:
    return hmac.digest(key, covered, "sha1")


def pack_headers(
    ledger_id: int, first: int, last_add_confirmed: int, length: int, sizes: Sequence[int]
) -> bytes:  # fmt: skip
    """Encode the headers of consecutive entries of one ledger, joined in one byte string.

    :param first: id of the first entry.
    :param last_add_confirmed: the LAC that each header contains.
    :param length: number of bytes of all payloads of the ledger before the first entry.
    :param sizes: size in bytes of each payload.
    """
    count, size = len(sizes), sizes[0]
    heads = array("q", _HEADER.pack(ledger_id, 0, last_add_confirmed, 0)) * count
    heads[1::4] = array("q", _progression(first, 1, count))
    if sizes.count(size) == count:
        heads[3::4] = array("q", _progression(length + size, size, count))
    else:
        heads[3::4] = array("q", _big_endian(array("q", list(accumulate(sizes, initial=length))[1:])))
    return heads.tobytes()


def _progression(first: int, step: int, count: int) -> bytes:
    """Encode ``count`` numbers, ``first``, ``first + step`` and so on, in eight big-endian bytes each.

    All of them are computed as one large integer, by two multiplications and one addition.
    """
    if count > _BLOCK:
        return _progression(first, step, _BLOCK) + _progression(first + step * _BLOCK, step, count - _BLOCK)
    shift = 64 * (_BLOCK - count)
    return (first * (_ONES >> shift) + step * (_COUNTS >> shift)).to_bytes(8 * count, "big")


class Digester:
    """Makes and verifies the digests of entries, for all ledgers with one digest type and password.

    :ivar size: size of a digest in bytes.
    :ivar digest: a function that returns the digest of one entry; its argument is the entry's header + payload.
    :ivar payload_at: offset of the payload in a stored record, which is size (4 bytes), header, digest and payload.
    :ivar master_key: the key that clients send to bookies instead of the password; it does not depend on the digest
        type.
    """

    __slots__ = ("digest_type", "size", "payload_at", "master_key", "digest", "_digests")

    def __init__(self, digest_type: DigestType, password: bytes) -> None:
        self.digest_type = digest_type
        self.master_key = hashlib.sha1(b"ledger" + password).digest()
        mac_key = hashlib.sha1(b"mac" + password).digest()
        algorithms: dict[DigestType, tuple[int, Callable[[bytes], bytes], Digests]] = {
            DigestType.CRC32: (8, _one_crc32, _crc32),
            DigestType.HMAC: (20, partial(_one_hmac, mac_key), partial(_hmac, mac_key)),
            DigestType.CRC32C: (4, _one_crc32c, _crc32c),
            DigestType.DUMMY: (0, _nothing, _nothing),
        }
        self.size, self.digest, self._digests = algorithms[digest_type]
        self.payload_at = _HEAD_END + self.size

    def digests(self, headers: Iterable[bytes], payloads: Iterable[bytes]) -> bytes:
        """Return the digests of several entries, joined in one byte string; each has :attr:`size` bytes.

        :param headers: the header of each entry, of 32 bytes.
        :param payloads: the payload of each entry, in the same order.
        """
        return self._digests(map(add, headers, payloads))

    def verify(self, run: EntryRun) -> None:
        """Check size, digest, ledger id and entry id of every entry of a ``run``.

        :raises DigestMatchError: an entry is invalid; the error contains the id of the first such entry.
        """
        if run.count == 1:
            self._open(run.ledger_id, run.first, run.entry(run.first))
            return
        if run.offsets is None:
            sound = run.stride >= self.payload_at and self._is_sound(run)
        else:
            sound = self._is_sound_mix(run, run.offsets)
        if not sound:
            self._blame(run)

    def payloads(self, run: EntryRun) -> Sequence[bytes]:
        """Return a copy of the payload of each entry of a ``run``.

        The caller must have called :meth:`verify`: this method does not check the entries.
        """
        start = self.payload_at
        if run.offsets is None:
            return column(run.data, run.stride, run.count, start, run.stride)
        data = run.data
        return [data[a + start : b] for a, b in pairwise(run.offsets)]

    def opened(self, run: EntryRun) -> "tuple[EntryRun, Digester]":
        """Return a verified ``run`` with its entries decrypted, and the digester that extracts their payloads.

        This class returns ``run`` and itself.  A subclass for encrypted ledgers decrypts the entries.
        """
        return run, self

    def entry(self, ledger_id: int, entry_id: int | None, stored: bytes) -> Entry:
        """Verify one stored entry, and return its fields.

        :param entry_id: the id that the entry must have; None for any id, because a reader of the last entry does not
            know its id.
        :raises DigestMatchError: the digest is wrong, or the bytes belong to another entry.
        """
        found_entry, lac, length, payload = self._open(ledger_id, entry_id, stored)
        return Entry(ledger_id, found_entry, payload, length, lac)

    def seal_lac(self, ledger_id: int, last_add_confirmed: int) -> bytes:
        """Encode an explicit LAC packet: ledger id, LAC, and a digest over both.

        :param last_add_confirmed: -1 if no entry is confirmed.
        """
        body = _LAC.pack(ledger_id, last_add_confirmed)
        return body + self.digest(body)

    def verify_lac(self, ledger_id: int, packet: bytes) -> int:
        """Verify an explicit LAC packet, and return its LAC; bytes after the packet are ignored.

        :raises DigestMatchError: the packet is too short, its digest is wrong, or it is of another ledger.
        """
        body, digest = packet[: _LAC.size], packet[_LAC.size : _LAC.size + self.size]
        if len(body) < _LAC.size or self.digest(body) != digest:
            raise DigestMatchError(ledger_id, INVALID_ENTRY_ID, "explicit LAC: digest does not match")
        found, lac = _LAC.unpack(body)
        if found != ledger_id:
            raise DigestMatchError(ledger_id, INVALID_ENTRY_ID, f"explicit LAC of ledger {found}")
        return int(lac)

    def _open(self, ledger_id: int, entry_id: int | None, stored: bytes) -> tuple[int, int, int, bytes]:
        """Verify one stored entry; return its entry id, LAC, ledger length and payload."""
        wanted = INVALID_ENTRY_ID if entry_id is None else entry_id
        payload_at = ENTRY_HEADER_SIZE + self.size
        if len(stored) < payload_at:
            raise DigestMatchError(ledger_id, wanted, f"{len(stored)} bytes are too short")
        header, payload = stored[:ENTRY_HEADER_SIZE], stored[payload_at:]
        found_ledger, found_entry, lac, length = _HEADER.unpack(header)
        if self.digest(header + payload) != stored[ENTRY_HEADER_SIZE:payload_at]:
            raise DigestMatchError(ledger_id, wanted, f"{self.digest_type.name} digest does not match")
        if found_ledger != ledger_id or found_entry != (found_entry if entry_id is None else entry_id):
            raise DigestMatchError(ledger_id, wanted, f"is ledger {found_ledger} entry {found_entry}")
        return found_entry, lac, length, payload

    def _is_sound(self, run: EntryRun) -> bool:
        """Test whether every digest and id is valid in a run of entries of equal size."""
        data, stride, count, size = run.data, run.stride, run.count, self.size
        expected = self._digests(_covered(data, stride, count, self.payload_at))
        return counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first) and all(
            data[_HEAD_END + i :: stride] == expected[i::size] for i in range(size)
        )

    def _is_sound_mix(self, run: EntryRun, offsets: Sequence[int]) -> bool:
        """Test whether every digest and id is valid in a run of entries of different sizes."""
        data, start = run.data, self.payload_at
        if min([b - a for a, b in pairwise(offsets)]) < start:
            return False
        at = offsets[:-1]
        ids = b"".join([data[a + _HEAD_AT : a + _HEAD_AT + _IDS_SIZE] for a in at])
        if not counts_up(ids, _IDS_SIZE, run.count, 0, _LEDGER_ID.pack(run.ledger_id), run.first):
            return False
        covered = (data[a + _HEAD_AT : a + _HEAD_END] + data[a + start : b] for a, b in pairwise(offsets))
        return b"".join([data[a + _HEAD_END : a + start] for a in at]) == self._digests(covered)

    def _blame(self, run: EntryRun) -> None:
        """Verify the entries of a ``run`` one by one, and raise the error of the first invalid entry."""
        for entry_id, stored in enumerate(run.entries(), run.first):
            self._open(run.ledger_id, entry_id, stored)
        raise AssertionError(f"columns and entries of {run!r} disagree")


@lru_cache(maxsize=64)
def _slices(stride: int, start: int, end: int, count: int) -> Sequence[slice]:
    """Return the slice of bytes ``start`` to ``end`` of each of ``count`` records, which have ``stride`` bytes each."""
    return [slice(at + start, at + end) for at in range(0, count * stride, stride)]


def _covered(data: bytes, stride: int, count: int, payload_at: int) -> Iterable[bytes]:
    """Yield, for each of ``count`` records of equal size, the bytes that its digest covers: header and payload."""
    if count > _BLOCK:
        step = _BLOCK * stride
        blocks = [(data[at : at + step], min(_BLOCK, count - at // stride)) for at in range(0, len(data), step)]
        return chain.from_iterable([_covered(block, stride, n, payload_at) for block, n in blocks])
    # round up to a power of two, so that only a few lists of slices are cached for runs of all lengths
    rounded = 1 << (count - 1).bit_length()
    heads = islice(_slices(stride, _HEAD_AT, _HEAD_END, rounded), count)
    return map(add, map(data.__getitem__, heads), map(data.__getitem__, _slices(stride, payload_at, stride, rounded)))
