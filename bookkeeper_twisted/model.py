"""Values all layers share: ids, enums, ledger metadata, and the run of entries the hot path moves.

The unit of work is the *run*: consecutive entries of one ledger, laid out back to back as
``i32 size, entry bytes``.  This is the layout of an entry log and of a batch-read reply, and a
journal record list too, so a run travels from the socket to the journal, the cache, the disk and
back to a socket without being laid out again.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag, StrEnum
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any

import attrs

from .arguments import check_integer
from .errors import IncorrectParameterError, masked

INVALID_ENTRY_ID = -1
"""No entry; in a read request: the last one."""

MAX_ENTRY_ID = 2**63 - 1
"""The highest id of an entry: no entry follows it."""

ENTRY_HEADER_SIZE = 32
"""ledgerId, entryId, lastAddConfirmed, ledger length: four big-endian i64 in front of digest and payload."""

_SIZE = struct.Struct(">i")
_IDS = struct.Struct(">qq")
_LAC = struct.Struct(">q")
_BOOKIE_ID = re.compile(r"[A-Za-z0-9\-.:;<=>?@\[\\\]^_]+")


class DigestType(IntEnum):
    """The types of digests that protect entries, with the numbers that ledger metadata use."""

    CRC32 = 1
    HMAC = 2
    CRC32C = 3
    DUMMY = 4


def digest_type_of(digest_type: "DigestType | str") -> DigestType:
    """Return the digest type of a name.

    :param digest_type: a name as ``"CRC32"``, or the type itself; Apache's ``"MAC"`` is HMAC.
    :raises IncorrectParameterError: there is none of that name.
    """
    if isinstance(digest_type, DigestType):
        return digest_type
    known = {"MAC": DigestType.HMAC, **DigestType.__members__}
    if not isinstance(digest_type, str) or digest_type not in known:
        raise IncorrectParameterError(
            f"digest_type: {digest_type!r} was given, a DigestType or one of {', '.join(known)} is wanted"
        )
    return known[digest_type]


class LedgerState(IntEnum):
    """Life of a ledger: OPEN, then perhaps IN_RECOVERY, then CLOSED for ever (S15)."""

    OPEN = 1
    IN_RECOVERY = 2
    CLOSED = 3


class WriteFlag(IntFlag):
    """Flags of a writer; DEFERRED_SYNC adds are acknowledged before they are durable."""

    NONE = 0
    DEFERRED_SYNC = 1


MAX_LEDGER_ID = (1 << 63) - 1


def check_ledger_id(ledger_id: int) -> int:
    """Check that an argument is a ledger id, and return it.

    :raises IncorrectParameterError: it is not an integer, is below 0 or does not fit 63 bits.
    """
    check_integer("ledger_id", ledger_id)
    return ledger_id


def check_bookie_id(bookie_id: str) -> str:
    """Check that an argument is a bookie id, and return it.

    :raises IncorrectParameterError: it is no text, has a character that bookie ids do not have, or is ``readonly``
        (metadata.md 6).
    """
    if not isinstance(bookie_id, str) or not _BOOKIE_ID.fullmatch(bookie_id) or bookie_id.lower() == "readonly":
        raise IncorrectParameterError(f"not a bookie id: {bookie_id!r}")
    return bookie_id


_SHOWN = 64
"""Bytes of an entry that are shown."""


def _shortened(data: bytes) -> str:
    return repr(data) if len(data) <= _SHOWN else f"<{len(data)} bytes, {data[:_SHOWN]!r}...>"


@attrs.frozen
class Entry:
    """One entry as an application sees it.

    :ivar length: bytes of all payloads of the ledger up to and including this one.
    :ivar last_add_confirmed: LAC at the writer when it packed the entry.
    """

    ledger_id: int
    entry_id: int
    data: bytes = attrs.field(repr=_shortened)
    length: int
    last_add_confirmed: int


@attrs.frozen
class Segment:
    """Entries from ``first_entry_id`` on are kept by ``bookies``, in index order."""

    first_entry_id: int
    bookies: tuple[str, ...]


@attrs.frozen
class LedgerMetadata:
    """The metadata of a ledger, as the metadata store keeps them.

    :ivar format_version: 1, 2 or 3; an update keeps the version that was read.
    :ivar ctime: ms since the epoch, or None if it is not stored.
    :ivar c_token: random value of the creating write, so that a retried create knows its own.
    :ivar has_password: False for data written without password and digest (version 1).
    """

    ensemble_size: int
    write_quorum_size: int
    ack_quorum_size: int
    segments: tuple[Segment, ...]
    state: LedgerState = LedgerState.OPEN
    length: int = 0
    last_entry_id: int = INVALID_ENTRY_ID
    digest_type: DigestType = DigestType.CRC32C
    password: bytes = attrs.field(default=b"", repr=masked)
    has_password: bool = True
    ctime: int | None = None
    custom_metadata: Mapping[str, bytes] = attrs.field(factory=dict)
    c_token: int = 0
    format_version: int = 3

    @property
    def closed(self) -> bool:
        return self.state is LedgerState.CLOSED

    @property
    def bookies(self) -> frozenset[str]:
        """The ids of all bookies of all ensembles."""
        return frozenset(bookie_id for segment in self.segments for bookie_id in segment.bookies)

    def ensemble_at(self, entry_id: int) -> tuple[str, ...]:
        """The ensemble of an entry: that of the segment with the greatest start not above it.

        :param entry_id: below the first segment it is of the first, beyond the end of the last.
        :returns: bookie ids by position.
        """
        starts = [s.first_entry_id for s in self.segments]
        return self.segments[max(bisect_right(starts, entry_id) - 1, 0)].bookies


class AuditorCheck(StrEnum):
    """The auditor's periodic checks, by the name their last run is stored under."""

    ALL_LEDGERS = "checkallledgersctime"
    PLACEMENT = "placementpolicycheckctime"
    REPLICAS = "replicascheckctime"


@attrs.frozen
class UnderreplicatedLedger:
    """The mark of a ledger that lacks replicas.

    :ivar replicas: ids of the bookies that are missing; may be empty.
    :ivar ctime: ms since the epoch, None if it is not stored.
    """

    replicas: tuple[str, ...] = ()
    ctime: int | None = None

    def with_replicas(self, replicas: Iterable[str], ctime: int | None) -> "UnderreplicatedLedger":
        """Add replicas, and the time at which they were found missing.

        :param replicas: ids of bookies.
        :param ctime: ms since the epoch, None for no time; it replaces the time of the mark.
        :returns: the same object, its time included, if it names them all already.
        """
        missing = tuple(replica for replica in dict.fromkeys(replicas) if replica not in self.replicas)
        return UnderreplicatedLedger(self.replicas + missing, ctime) if missing else self


@attrs.frozen
class Endpoint:
    """An address a bookie publishes; clients look for ``protocol == "bookie-rpc"``."""

    id: str
    host: str
    port: int
    protocol: str
    auth: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()


@attrs.frozen
class BookieServiceInfo:
    """The endpoints and properties that a bookie publishes with its registration."""

    endpoints: tuple[Endpoint, ...] = ()
    properties: Mapping[str, str] = attrs.field(factory=dict)


_BLOCKS = (512, 64)
"""Records that are unpacked together, so that few formats serve all counts."""

_VIEWED = 512
"""Bytes of a record from which a view of its entry costs less than a copy."""

Unpack = Callable[[bytes, int], tuple[Any, ...]]
"""Unpacks some records from an offset on."""


def unpack_all(unpack: Callable[[int], Unpack], data: bytes, at: int, stride: int, count: int) -> Sequence[Any]:
    """Unpack records by few C calls: a loop over them would cost several times as much.

    :param unpack: gives what unpacks so many records.
    :param data: the records, side by side; may be longer.
    :param at: where the first one begins.
    :param stride: bytes of each.
    :returns: the values of all, in order.
    """
    if count <= _BLOCKS[-1]:
        return unpack(count)(data, at)
    values: list[Any] = []
    for block in _BLOCKS:
        while count >= block:
            values += unpack(block)(data, at)
            at, count = at + block * stride, count - block
    if count:
        values += unpack(count)(data, at)
    return values


@lru_cache(maxsize=1024)
def _cutter(stride: int, start: int, end: int, count: int) -> Unpack:
    return struct.Struct(f"{start}x{end - start}s{stride - end}x" * count).unpack_from


def column(data: bytes, stride: int, count: int, start: int, end: int) -> Sequence[bytes]:
    """Cut bytes ``start:end`` out of each of ``count`` records of ``stride`` bytes.

    :param data: the records, side by side; may be longer.
    """
    if count == 1:
        return (data[start:end],)
    return unpack_all(partial(_cutter, stride, start, end), data, 0, stride, count)


def lay_out(entries: Sequence[bytes]) -> tuple[bytes, int, Sequence[int] | None]:
    """Return the records of entries, with stride and offsets as an :class:`EntryRun` has them.

    :param entries: their bytes, at least one.
    """
    sizes = list(map(len, entries))
    size = sizes[0]
    if sizes.count(size) == len(sizes):
        return _SIZE.pack(size).join((b"", *entries)), size + 4, None
    parts: list[bytes] = [b""] * (2 * len(sizes))
    parts[::2] = map(_SIZE.pack, sizes)
    parts[1::2] = entries
    return b"".join(parts), 0, [0, *accumulate([n + 4 for n in sizes])]


class EntryRun:
    """Consecutive entries of one ledger, ids ``first .. first + count - 1``, never empty.

    :ivar data: the records, each ``i32 size`` and ``size`` entry bytes.
    :ivar stride: bytes of one record where all have the same size, else 0.
    :ivar offsets: where ``stride`` is 0: ``count + 1`` record offsets in ``data``, else None.
    """

    __slots__ = ("ledger_id", "first", "count", "data", "stride", "offsets")

    def __init__(
        self, ledger_id: int, first: int, count: int, data: bytes, stride: int, offsets: Sequence[int] | None = None
    ) -> None:
        self.ledger_id = ledger_id
        self.first = first
        self.count = count
        self.data = data
        self.stride = stride
        self.offsets = offsets

    @classmethod
    def of_entries(cls, ledger_id: int, first: int, entries: Sequence[bytes]) -> "EntryRun":
        """Make a run of entries.

        :param first: id of the first one.
        :param entries: header, digest and payload of each, at least one; their ids are not checked.
        """
        return cls(ledger_id, first, len(entries), *lay_out(entries))

    @classmethod
    def join(cls, runs: Sequence["EntryRun"]) -> "EntryRun":
        """Make one run of several; the data are copied unless it is a single one.

        :param runs: at least one, each beginning where the one before ends.
        """
        head = runs[0]
        if len(runs) == 1:
            return head
        data = b"".join([r.data for r in runs])
        count = sum([r.count for r in runs])
        stride = head.stride
        if stride and all(r.stride == stride for r in runs):
            return cls(head.ledger_id, head.first, count, data, stride)
        offsets = [0]
        for r in runs:
            base = offsets.pop()
            offsets.extend([base + o for o in r.record_offsets()])
        return cls(head.ledger_id, head.first, count, data, 0, offsets)

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def size(self) -> int:
        """Bytes of all records, their size words included."""
        return len(self.data)

    def runs(self) -> "Iterator[EntryRun]":
        """The run itself, as entries of several ledgers (:mod:`.mixed_runs`) give all of theirs."""
        yield self

    def ids(self) -> Iterator[tuple[int, int]]:
        """Ledger and id of every entry, in order."""
        return ((self.ledger_id, entry_id) for entry_id in range(self.first, self.last + 1))

    def record_offsets(self) -> Sequence[int]:
        """``count + 1`` offsets of the records in :attr:`data`."""
        if self.offsets is not None:
            return self.offsets
        return range(0, self.count * self.stride + 1, self.stride)

    def bounds(self, first: int, count: int) -> tuple[int, int]:
        """Return where the records of ``count`` entries from ``first`` on begin and end in :attr:`data`."""
        index = first - self.first
        if self.offsets is None:
            return index * self.stride, (index + count) * self.stride
        return self.offsets[index], self.offsets[index + count]

    def slice(self, first: int, count: int) -> "EntryRun":
        """Return the entries ``first .. first + count - 1``, which must be in the run; all of them without a copy."""
        if count == self.count:
            return self
        index, stride, offsets = first - self.first, self.stride, self.offsets
        if offsets is None:
            data = self.data[index * stride : (index + count) * stride]
        else:
            start = offsets[index]
            data = self.data[start : offsets[index + count]]
            offsets = [o - start for o in offsets[index : index + count + 1]]
        return EntryRun(self.ledger_id, first, count, data, stride, offsets)

    def entry(self, entry_id: int) -> bytes:
        """Return a copy of the entry ``entry_id``, which must be in the run, without the size word."""
        start, end = self.bounds(entry_id, 1)
        return self.data[start + 4 : end]

    def entries(self) -> Sequence[bytes]:
        """The bytes of all entries, without the size words."""
        if self.offsets is None:
            return column(self.data, self.stride, self.count, 4, self.stride)
        data = self.data
        return [data[a + 4 : b] for a, b in pairwise(self.offsets)]

    def pieces(self) -> "Sequence[bytes | memoryview]":
        """The bytes of all entries, without the size words, to be joined: views where these cost less than copies."""
        if self.size < _VIEWED * self.count:
            return self.entries()
        data = memoryview(self.data)
        if self.offsets is None:
            stride = self.stride
            return [data[at + 4 : at + stride] for at in range(0, len(data), stride)]
        return [data[a + 4 : b] for a, b in pairwise(self.offsets)]

    def last_add_confirmed(self) -> int:
        """The LAC field of the last entry, the highest of an ordinary writer's run; -1 if too short."""
        start, end = self.bounds(self.last, 1)
        lac: int = _LAC.unpack_from(self.data, start + 20)[0] if end - start >= 28 else INVALID_ENTRY_ID
        return lac

    def ids_match(self) -> bool:
        """Whether the first and the last record carry the ids the run claims (design 3)."""
        start, _ = self.bounds(self.first, 1)
        last, end = self.bounds(self.last, 1)
        if end > len(self.data) or end - last < 20:
            return False
        return (
            _IDS.unpack_from(self.data, start + 4) == (self.ledger_id, self.first)
            and _IDS.unpack_from(self.data, last + 4) == (self.ledger_id, self.last)
            and _SIZE.unpack_from(self.data, last)[0] == end - last - 4
        )

    def fitting(self, first: int, max_count: int, budget: int, overhead: int) -> int:
        """Return the number of entries from ``first`` on that fit a batch reply.

        :param max_count: at most so many, > 0.
        :param budget: bytes left for entries; each costs its record size plus ``overhead``.
        :returns: 0 if not even the first one fits.
        """
        limit = min(max_count, self.last - first + 1)
        if self.offsets is None:
            return max(0, min(limit, budget // (self.stride + overhead)))
        index = first - self.first
        base = self.offsets[index]
        low, high = 0, limit
        while low < high:  # the cost grows with the count, so a binary search is exact
            middle = (low + high + 1) // 2
            if self.offsets[index + middle] - base + overhead * middle <= budget:
                low = middle
            else:
                high = middle - 1
        return low

    def __repr__(self) -> str:
        return f"<EntryRun ledger {self.ledger_id} entries {self.first}..{self.last}, {len(self.data)} bytes>"
