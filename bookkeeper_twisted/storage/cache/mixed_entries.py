"""Single entries of many ledgers in parallel columns, as a write cache holds them if the ledgers alternate.

An object for each entry, or for each ledger, would cost more than the entry, both to make and at each scan of the
garbage collector.  So entries lie in parallel columns in the order of arrival.  A dictionary has the position of the
newest entry of each ledger, and a column has the position of the entry before it.  The ids of a ledger ascend.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress, pairwise
from operator import itemgetter, ne, or_
from typing import TypeVar

from ...entries.entry_run import EntryRun
from ...model import INVALID_ENTRY_ID
from .run_list import NO_ENTRY, RunList

ENTRY_OVERHEAD = 80
"""The cost of an entry beside its bytes: its object, and a place in each column."""

LEDGER_OVERHEAD = 192
"""The cost of a ledger: its place in the dictionary."""

VIEW_OVERHEAD = 640
POSITION_OVERHEAD = 10
"""The cost of a ledger that is read, and of each of its entries, beside the above."""

MOST_TOGETHER = 64
MOST_BYTES_TOGETHER = 64 * 1024
"""Entries, and bytes of them, that are found together."""

PART = 4096
"""Entries, or ledgers, that one call of a flush goes over.

One that goes over all of them keeps the interpreter, and with it the reactor, for tens of milliseconds.
"""

DENSE = 16
"""Entries that ledgers have on average from which their runs are made one by one."""

T = TypeVar("T")

_NOWHERE = -1


def ascending(ids: Iterable[int]) -> list[int]:
    """Sort ``ids`` by several short calls, as one long call would hold the interpreter lock."""
    unsorted = list(ids)
    parts = [sorted(unsorted[at : at + PART]) for at in range(0, len(unsorted), PART)]
    while len(parts) > 1:
        parts = [sorted(chain(*parts[at : at + 2])) for at in range(0, len(parts), 2)]
    return parts[0] if parts else []


class LedgerEntries:
    """The entries of one ledger in a write cache, to be looked up on the reactor thread.

    :ivar positions: of the entries in the columns, ascending, as are the entry ids.
    """

    __slots__ = ("ledger_id", "positions", "_entry_ids", "_entries")

    def __init__(self, ledger_id: int, entry_ids: Sequence[int], entries: Sequence[bytes]) -> None:
        self.ledger_id = ledger_id
        self.positions = array("q")
        self._entry_ids = entry_ids
        self._entries = entries

    @property
    def first(self) -> int:
        """Return the lowest entry id."""
        return self._entry_ids[self.positions[0]]

    @property
    def last(self) -> int:
        """Return the highest entry id."""
        return self._entry_ids[self.positions[-1]]

    def _index(self, entry_id: int) -> int:
        """Return the index of the first entry whose id is ``entry_id`` or higher."""
        return bisect_left(self.positions, entry_id, key=self._entry_ids.__getitem__)

    def entry(self, entry_id: int) -> bytes | None:
        """Return the bytes of the entry ``entry_id``, or None if it is not here."""
        index = self._index(entry_id)
        found = index < len(self.positions) and self._entry_ids[self.positions[index]] == entry_id
        return self._entries[self.positions[index]] if found else None

    def find(self, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return the entry ``entry_id`` as a run, or None if it is not here.

        :param max_count: most entries to return, from ``entry_id`` on; fewer may be returned.
        """
        index, ids, found, size = self._index(entry_id), self._entry_ids, list[bytes](), 0
        for position in self.positions[index : index + min(max_count, MOST_TOGETHER)]:
            size += len(self._entries[position])
            if ids[position] != entry_id + len(found) or (found and size > MOST_BYTES_TOGETHER):
                break
            found.append(self._entries[position])
        return EntryRun.of_entries(self.ledger_id, entry_id, found) if found else None

    def next_from(self, entry_id: int) -> int:
        """Return the lowest entry id here that is ``entry_id`` or higher, or :data:`~.run_list.NO_ENTRY`."""
        index = self._index(entry_id)
        return self._entry_ids[self.positions[index]] if index < len(self.positions) else NO_ENTRY

    def overlaps(self, first: int, last: int) -> bool:
        """Test whether any of the entries ``first .. last`` is here."""
        index = self._index(first)
        return index < len(self.positions) and self._entry_ids[self.positions[index]] <= last


class Scattered:
    """The result of a look-up of single entries in memory, which does not wait for the disk.

    :ivar entries: in the order of the request; None for an entry that was not found in this way.
    :ivar cached: number of entries from the write caches.
    :ivar read, read_bytes: number of entries that were read from logs, and their bytes.
    """

    __slots__ = ("entries", "cached", "read", "read_bytes")

    def __init__(self) -> None:
        self.entries: list[bytes | None] = []
        self.cached = self.read = self.read_bytes = 0


class SortedEntries:
    """One or more entries in the order of ledgers and entry ids, each entry once.

    :ivar ledger_ids: one per entry, as are ``entry_ids`` and ``entries``.
    :ivar starts: index of the first entry of each run, which is consecutive entries of one ledger.
    :ivar total: bytes of all records, size words included.
    """

    __slots__ = ("ledger_ids", "entry_ids", "entries", "starts", "total", "_ends")

    def __init__(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes],
        starts: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.entries = entries
        self.starts = starts if starts is not None else _starts(ledger_ids, entry_ids)
        self.total = sum(map(len, entries)) + 4 * len(entries)
        self._ends: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def each(self, of_run: object, of_sorted: "Callable[[SortedEntries], T]") -> list[T]:
        """Call the second function, as :meth:`.EntryRun.each` calls the first.

        :param of_sorted: called with all entries.
        """
        return [of_sorted(self)]

    def size(self, index: int) -> int:
        """Return the bytes of the record of the entry at ``index``."""
        return len(self.entries[index]) + 4

    def runs(self) -> Iterator[EntryRun]:
        """Yield the entries as runs, whose data are copies."""
        for start, end in pairwise([*self.starts, len(self)]):
            yield EntryRun.of_entries(self.ledger_ids[start], self.entry_ids[start], self.entries[start:end])

    def part(self, begin: int, room: int) -> "SortedEntries":
        """Return the entries from index ``begin`` upwards that fit; if a whole run fits, end with a whole run.

        :param room: most bytes of the records; the first entry is returned even if it is longer.
        """
        if not begin and self.total <= room:
            return self
        if not self._ends:
            self._ends = list(accumulate([len(entry) + 4 for entry in self.entries]))
        before = self._ends[begin - 1] if begin else 0
        end = max(bisect_right(self._ends, before + room), begin + 1)
        low, high = bisect_right(self.starts, begin), bisect_left(self.starts, end)
        if end < len(self.entries) and high < len(self.starts) and self.starts[high] != end and high > low:
            high -= 1
            end = self.starts[high]
        starts = [0, *[start - begin for start in self.starts[low:high]]]
        columns = (self.ledger_ids[begin:end], self.entry_ids[begin:end], self.entries[begin:end])
        return SortedEntries(*columns, starts)


def _starts(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> list[int]:
    count = len(ledger_ids)
    expected = [entry_id + 1 for entry_id in entry_ids]
    cuts = map(or_, map(ne, ledger_ids[1:], ledger_ids), map(ne, entry_ids[1:], expected))
    return [0, *compress(range(1, count), cuts)]


class MixedEntries:
    """Entries of any ledgers.  One thread adds and removes entries, any thread may list them.

    :ivar cost: bytes of the added entries; a removed entry stays counted, since its memory is not freed.
    """

    __slots__ = ("cost", "_entries", "_ledger_ids", "_entry_ids", "_older", "_newest", "_views")

    def __init__(self) -> None:
        self.cost = 0
        self._entries: list[bytes] = []
        self._ledger_ids = array("q")
        self._entry_ids = array("q")
        self._older = array("q")
        self._newest: dict[int, int] = {}
        self._views: dict[int, LedgerEntries] = {}

    def __contains__(self, ledger_id: int) -> bool:
        return ledger_id in self._newest

    def __bool__(self) -> bool:
        return bool(self._newest)

    @property
    def is_dense(self) -> bool:
        """Whether building the runs of each ledger separately is faster than sorting all entries."""
        return len(self._entries) >= DENSE * len(self._newest)

    def ledger_ids(self) -> list[int]:
        """Return the ledgers that have entries here, in any order."""
        return list(self._newest)

    @property
    def has_memory(self) -> bool:
        """Whether there are entries that :meth:`shrink` can free."""
        return bool(self._entries)

    def add(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes], runs: Mapping[int, RunList]
    ) -> Sequence[int]:
        """Add entries; leave out entries whose ledger already has an entry with the same or a higher id.

        :param ledger_ids: one per entry, as are ``entry_ids`` and ``entries``.
        :param runs: the runs held elsewhere, by ledger.
        :returns: positions of the entries not added: from the first such entry on, all entries of its ledger.
        """
        newest, older, ids = self._newest, self._older, self._entry_ids
        start, n_ledgers = len(older), len(newest)
        self._entries += entries
        self._ledger_ids.extend(ledger_ids)
        ids.extend(entry_ids)
        left: list[int] = []
        refused: set[int] = set()
        checked = bool(runs)
        for position, (ledger_id, entry_id) in enumerate(zip(ledger_ids, entry_ids, strict=True), start):
            before = newest.get(ledger_id, _NOWHERE)
            older.append(before)
            if (before >= 0 and ids[before] >= entry_id) or (
                checked and (ledger_id in refused or (ledger_id in runs and runs[ledger_id].last >= entry_id))
            ):
                checked = True
                refused.add(ledger_id)
                left.append(position - start)
            else:
                newest[ledger_id] = position
        self.cost += sum(map(len, entries)) + (4 + ENTRY_OVERHEAD) * len(entries)
        self.cost += LEDGER_OVERHEAD * (len(newest) - n_ledgers)
        return left

    def last(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` here, or -1."""
        position = self._newest.get(ledger_id, _NOWHERE)
        return self._entry_ids[position] if position >= 0 else INVALID_ENTRY_ID

    def find(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return the entry ``entry_id`` of ``ledger_id`` as a run, or None if it is not here.

        :param max_count: as of :meth:`LedgerEntries.find`.
        """
        newest = self._newest.get(ledger_id, _NOWHERE)
        if newest < 0 or self._entry_ids[newest] < entry_id:
            return None
        if self._entry_ids[newest] == entry_id:  # the usual read of a follower: it needs no view of the ledger
            return EntryRun.of_entries(ledger_id, entry_id, (self._entries[newest],))
        view = self.view(ledger_id)
        return view.find(entry_id, max_count) if view is not None else None

    def next_from(self, ledger_id: int, entry_id: int) -> int:
        """Return the lowest entry id of ``ledger_id`` here, ``entry_id`` or higher, or :data:`~.run_list.NO_ENTRY`."""
        if self.last(ledger_id) < entry_id:
            return NO_ENTRY
        view = self.view(ledger_id)
        return view.next_from(entry_id) if view is not None else NO_ENTRY

    def view(self, ledger_id: int) -> LedgerEntries | None:
        """Return the entries of ``ledger_id``, or None if it has no entries here."""
        newest = self._newest.get(ledger_id, _NOWHERE)
        if newest < 0:
            return None
        view = self._views.get(ledger_id)
        if view is None:
            view = self._views[ledger_id] = LedgerEntries(ledger_id, self._entry_ids, self._entries)
            self.cost += VIEW_OVERHEAD
        known = view.positions[-1] if view.positions else _NOWHERE
        if newest != known:
            fresh = self._positions(newest, known)
            view.positions.extend(fresh)
            self.cost += POSITION_OVERHEAD * len(fresh)
        return view

    def _positions(self, newest: int, known: int = _NOWHERE) -> list[int]:
        """Return the indexes of a ledger's entries in the columns, ascending; only indexes above ``known``."""
        found, older = [], self._older
        while newest > known:
            found.append(newest)
            newest = older[newest]
        found.reverse()
        return found

    def runs(self, ledger_id: int) -> list[EntryRun]:
        """Return the entries of ``ledger_id`` as runs, ascending, with copies of the bytes."""
        positions, ids, entries = self._positions(self._newest.get(ledger_id, _NOWHERE)), self._entry_ids, self._entries
        if not positions or ids[positions[-1]] - ids[positions[0]] != len(positions) - 1:
            return list(self._at(positions).runs()) if positions else []
        return [EntryRun.of_entries(ledger_id, ids[positions[0]], [entries[position] for position in positions])]

    def ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        """Return the first and last id, inclusive, of each run of ``ledger_id``, ascending.  Any thread."""
        ids = [self._entry_ids[position] for position in self._positions(self._newest.get(ledger_id, _NOWHERE))]
        starts = _starts([ledger_id] * len(ids), ids) if ids else []
        return [(ids[start], ids[end - 1]) for start, end in pairwise([*starts, len(ids)])]

    def take_out(self, ledger_id: int) -> None:
        """Remove the entries of ``ledger_id``."""
        self._views.pop(ledger_id, None)
        self._newest.pop(ledger_id, None)

    def in_order(self, but: Collection[int] = ()) -> Iterator[SortedEntries]:
        """Yield all entries, some thousand at a time; another thread may remove entries at the same time.

        :param but: ids of ledgers whose entries are left out.
        """
        positions: list[int] = []
        for ledger_id in ascending([ledger_id for ledger_id in self.ledger_ids() if ledger_id not in but]):
            positions += self._positions(self._newest.get(ledger_id, _NOWHERE))
            if len(positions) >= PART:
                yield from self._parts(positions)
                positions = []
        yield from self._parts(positions)

    def _parts(self, positions: Sequence[int]) -> Iterator[SortedEntries]:
        for at in range(0, len(positions), 2 * PART):
            yield self._at(positions[at : at + 2 * PART])

    def _at(self, positions: Sequence[int]) -> SortedEntries:
        """Return the entries at the given positions, which must be in the order of ledgers and entry ids."""
        if len(positions) == 1:
            (at,) = positions
            return SortedEntries((self._ledger_ids[at],), (self._entry_ids[at],), (self._entries[at],))
        taken = itemgetter(*positions)
        return SortedEntries(taken(self._ledger_ids), taken(self._entry_ids), taken(self._entries))

    def shrink(self, n_bytes: int) -> int:
        """Free the memory of entries that readers no longer need.

        :param n_bytes: bytes of entries to free.
        :returns: the bytes still to free when no entry is left.
        """
        entries, newest = self._entries, self._newest
        while n_bytes > 0 and entries:
            count = 1 + n_bytes // (len(entries[-1]) + 4)
            n_bytes -= sum(map(len, entries[-count:])) + 4 * count
            del entries[-count:]
            for _ in range(min(count, len(newest))):
                newest.popitem()
        return n_bytes
