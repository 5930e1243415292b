"""The run: consecutive entries of one ledger, laid out one after the other as ``i32 size, entry bytes``.

An entry log, a batch-read reply and a list of journal records have this layout, too.  So the bytes of a run are passed
from the socket to the journal, the cache and the disk, and back to a socket, without a conversion.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import TypeVar

from ..model import INVALID_ENTRY_ID
from .columns import VIEWED, column, slices

ENTRY_HEADER_SIZE = 32
"""ledgerId, entryId, lastAddConfirmed, ledger length: four big-endian i64 in front of digest and payload."""

_SIZE = struct.Struct(">i")
_IDS = struct.Struct(">qq")
_LAC = struct.Struct(">q")

NOWHERE: Mapping[int, int] = MappingProxyType({})
"""The empty map, for the parameter ``elsewhere`` of :meth:`.Entries.split`: the same rule holds for all ledgers."""

T = TypeVar("T")


def lay_out(entries: Sequence[bytes | memoryview]) -> tuple[bytes, int, Sequence[int] | None]:
    """Join entries to one byte string of records: ``i32 size`` and the bytes of each entry, one after the other.

    :param entries: the bytes of each entry, at least one.
    :returns: (byte string, record size, None) if all records have the same size; otherwise (byte string, 0, offsets),
        with the offset of each record and the end of the last one.
    """
    sizes = list(map(len, entries))
    size = sizes[0]
    if sizes.count(size) == len(sizes):
        return _SIZE.pack(size).join((b"", *entries)), size + 4, None
    parts: list[bytes | memoryview] = [b""] * (2 * len(sizes))
    parts[::2] = map(_SIZE.pack, sizes)
    parts[1::2] = entries
    return b"".join(parts), 0, [0, *accumulate([n + 4 for n in sizes])]


class EntryRun:
    """Consecutive entries of one ledger, ids ``first .. first + count - 1``, never empty.

    :ivar data: the records, each ``i32 size`` and ``size`` entry bytes.
    :ivar size: number of bytes of all records, including the ``i32 size`` of each.
    :ivar stride: size of a record in bytes if all records have the same size, else 0.
    :ivar offsets: if ``stride`` is 0, the offset in ``data`` of each record and the end of the last one, else None.
    """

    __slots__ = ("ledger_id", "first", "count", "data", "size", "stride", "offsets")

    def __init__(
        self, ledger_id: int, first: int, count: int, data: bytes, stride: int, offsets: Sequence[int] | None = None
    ) -> None:
        self.ledger_id = ledger_id
        self.first = first
        self.count = count
        self.data = data
        self.size = len(data)
        self.stride = stride
        self.offsets = offsets

    @classmethod
    def of_entries(cls, ledger_id: int, first: int, entries: Sequence[bytes | memoryview]) -> "EntryRun":
        """Return a run (consecutive entries of one ledger) with the bytes of the given ``entries``.

        :param first: id of the first entry.
        :param entries: header, digest and payload of each entry, at least one; the ids in the headers are not checked.
        """
        return cls(ledger_id, first, len(entries), *lay_out(entries))

    @classmethod
    def join(cls, runs: Sequence["EntryRun"]) -> "EntryRun":
        """Join several consecutive runs to one, with a copy of their data; return a single run unchanged.

        :param runs: the runs, at least one; each run begins where the one before it ends.
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

    # -- the methods of :class:`~.interfaces.Entries`; all entries of a run belong to one ledger --

    @property
    def ledger_ids(self) -> Sequence[int]:
        return (self.ledger_id,)

    @property
    def entry_ids(self) -> Sequence[int]:
        return (self.last,)

    @property
    def lacs(self) -> Sequence[int]:
        return (self.last_add_confirmed(),)

    def runs(self) -> "Iterator[EntryRun]":
        """Return an iterator over one item: this run."""
        return iter((self,))

    def ids(self) -> Iterator[tuple[int, int]]:
        """Return (ledger id, entry id) of every entry, in order."""
        return ((self.ledger_id, entry_id) for entry_id in range(self.first, self.last + 1))

    def spans(self) -> Sequence[tuple[int, int, int]]:
        """Return (ledger id, first entry id, last entry id) of this run, as a sequence of one."""
        return ((self.ledger_id, self.first, self.last),)

    def dispatch(self, of_run: "Callable[[EntryRun], T]", of_mixed: object) -> list[T]:
        """Call ``of_run`` with this run, and return the result in a list; ``of_mixed`` is for a MixedRun only."""
        return [of_run(self)]

    def part_numbers(self, n: int) -> Sequence[int]:
        """Return ``ledger id mod n`` in a sequence: :meth:`split` into ``n`` parts puts this run into this part."""
        return (self.ledger_id % n,)

    def split(self, n: int, elsewhere: Mapping[int, int] = NOWHERE) -> "Sequence[tuple[int, EntryRun]]":
        """Return one pair: the number of the part to which the ledger of this run belongs, and this run.

        A run is never divided, because all entries of a ledger belong to one of the ``n`` parts.

        See :meth:`.Entries.split` for parameters and errors.
        """
        number = self.ledger_id % n
        return ((elsewhere.get(self.ledger_id, number) if elsewhere else number, self),)

    # -- records --

    def record_offsets(self) -> Sequence[int]:
        """Return the offset of each record in :attr:`data`, and the end of the last record."""
        if self.offsets is not None:
            return self.offsets
        return range(0, self.count * self.stride + 1, self.stride)

    def bounds(self, first: int, count: int) -> tuple[int, int]:
        """Return the offsets in :attr:`data` where the records of ``count`` entries from ``first`` on begin and end."""
        index = first - self.first
        if self.offsets is None:
            return index * self.stride, (index + count) * self.stride
        return self.offsets[index], self.offsets[index + count]

    def slice(self, first: int, count: int) -> "EntryRun":
        """Return a run of ``count`` entries of this run, from ``first`` on.

        Return this run if these are all its entries.
        """
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
        """Return a copy of the entry ``entry_id``, without its ``i32 size``; the entry must be in the run."""
        start, end = self.bounds(entry_id, 1)
        return self.data[start + 4 : end]

    def entries(self) -> Sequence[bytes]:
        """Return the bytes of each entry, without its ``i32 size``."""
        if self.offsets is None:
            return column(self.data, self.stride, self.count, 4, self.stride)
        data = self.data
        return [data[a + 4 : b] for a, b in pairwise(self.offsets)]

    def pieces(self) -> Sequence[bytes | memoryview]:
        """Return the bytes of each entry, without its ``i32 size``, in a form that ``b"".join`` accepts.

        Large entries are memory views, so they are not copied.
        """
        return self.pieces_from(self.first, self.count)

    def pieces_from(self, first: int, count: int) -> Sequence[bytes | memoryview]:
        """Return the bytes of ``count`` entries from ``first`` on, as :meth:`pieces` does."""
        index, data = first - self.first, self.data
        if self.offsets is None:
            return slices(data, self.stride, count, 4, index * self.stride)
        cut = memoryview(data) if self.size >= VIEWED * self.count else data
        return [cut[a + 4 : b] for a, b in pairwise(self.offsets[index : index + count + 1])]

    def last_add_confirmed(self) -> int:
        """Return the LAC in the last entry, or -1 if the entry is too short for a LAC.

        The LAC of a writer never decreases, so this is usually the highest LAC of the run.
        """
        start = self.size - self.stride if self.offsets is None else self.offsets[-2]
        lac: int = _LAC.unpack_from(self.data, start + 20)[0] if self.size - start >= 28 else INVALID_ENTRY_ID
        return lac

    def ids_match(self) -> bool:
        """Test whether the first and the last record contain the ledger id and the entry ids of this run."""
        last, end = self.bounds(self.first + self.count - 1, 1)
        if end > self.size or end - last < 20:
            return False
        return (
            _IDS.unpack_from(self.data, 4) == (self.ledger_id, self.first)
            and _IDS.unpack_from(self.data, last + 4) == (self.ledger_id, self.first + self.count - 1)
            and _SIZE.unpack_from(self.data, last)[0] == end - last - 4
        )

    def fitting(self, first: int, max_count: int, budget: int, overhead: int) -> int:
        """Return the number of entries from ``first`` on that fit into one reply to a batch read.

        :param max_count: maximum number of entries, > 0.
        :param budget: number of bytes left for entries; each entry takes the size of its record plus ``overhead``.
        :returns: the number of entries; 0 if not even the first entry fits.
        """
        limit = min(max_count, self.first + self.count - first)
        if self.offsets is None:
            return max(0, min(limit, budget // (self.stride + overhead)))
        index = first - self.first
        base = self.offsets[index]
        low, high = 0, limit
        while low < high:  # more entries never take fewer bytes, so a binary search finds the exact number
            middle = (low + high + 1) // 2
            if self.offsets[index + middle] - base + overhead * middle <= budget:
                low = middle
            else:
                high = middle - 1
        return low

    def __repr__(self) -> str:
        return f"<EntryRun ledger {self.ledger_id} entries {self.first}..{self.last}, {len(self.data)} bytes>"
