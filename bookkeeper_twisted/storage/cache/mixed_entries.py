"""The part of the write cache for single entries of many ledgers: entries outside runs of consecutive entries.

An object for each entry or ledger would cost more than the entry: Python needs time to create it, and Python's garbage
collector needs time to examine it.  So the entries are appended to columns in their order of arrival.  A column is a
list of one field, such as the ledger id; an entry has the same index in all columns.  A dictionary contains, for each
ledger, the index of its newest entry.  Another column contains, for each entry, the index of the previous entry of its
ledger.  In the columns, the entry ids of a ledger always ascend.  An entry is refused if its id is not higher than the
last id of its ledger.
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
"""The memory cost in bytes of an entry of a :class:`MixedEntries` besides its content.

It is the header of the bytes object, and an item in each of the lists of ledger ids, entry ids and bytes.
"""

LEDGER_OVERHEAD = 192
"""The memory cost in bytes of each ledger with entries in a :class:`MixedEntries`: an item in a dictionary."""

VIEW_OVERHEAD = 640
POSITION_OVERHEAD = 10
"""The memory cost in bytes of a view (:class:`LedgerEntries`) of the entries of one ledger.

VIEW_OVERHEAD is the fixed cost, POSITION_OVERHEAD the additional cost of each entry.  The first read of the ledger
creates the view.
"""

MOST_TOGETHER = 64
MOST_BYTES_TOGETHER = 64 * 1024
"""Maximum number of entries, and of their bytes, that a read joins to one run (an object of consecutive entries)."""

MOST_APART = 4
"""A limit for a search for several entries of a ledger: cached entries to scan for each wanted entry.

The search scans all cached entries from the lowest to the highest wanted id.  But if these are more than MOST_APART
times the wanted entries, it looks up each wanted entry.
"""

PART = 4096
"""Maximum number of entries, or ledgers, that one step of a flush of the cache processes.

A single step for all entries would hold the interpreter lock, and so block the reactor, for tens of milliseconds.
"""

DENSE = 16
"""If ledgers have at least this number of entries on average, a flush writes the entries ledger by ledger, as runs.

A run is an object of consecutive entries of one ledger.
"""

T = TypeVar("T")

_NOWHERE = -1


def ascending(ids: Iterable[int]) -> list[int]:
    """Sort ``ids`` in several steps, because one long step would hold the interpreter lock and block other threads."""
    unsorted = list(ids)
    parts = [sorted(unsorted[at : at + PART]) for at in range(0, len(unsorted), PART)]
    while len(parts) > 1:
        parts = [sorted(chain(*parts[at : at + 2])) for at in range(0, len(parts), 2)]
    return parts[0] if parts else []


class LedgerEntries:
    """A view of one ledger's entries in a :class:`MixedEntries`, for the searches of the reactor thread.

    :ivar positions: for each entry of the ledger, its index in the lists of the MixedEntries, sorted by entry id.
    """

    __slots__ = ("ledger_id", "positions", "_entry_ids", "_entries")

    def __init__(self, ledger_id: int, entry_ids: Sequence[int], entries: Sequence[bytes]) -> None:
        self.ledger_id = ledger_id
        self.positions = array("q")
        self._entry_ids = entry_ids
        self._entries = entries

    @property
    def first(self) -> int:
        """Return the lowest id of the ledger's entries that are in this cache."""
        return self._entry_ids[self.positions[0]]

    @property
    def last(self) -> int:
        """Return the highest entry id of the ledger."""
        return self._entry_ids[self.positions[-1]]

    def _index(self, entry_id: int) -> int:
        """Return the index in ``positions`` of the first entry whose id is at least ``entry_id``."""
        return bisect_left(self.positions, entry_id, key=self._entry_ids.__getitem__)

    def entry(self, entry_id: int) -> bytes | None:
        """Return the bytes of the entry ``entry_id``, or None if it is not in this view."""
        index = self._index(entry_id)
        found = index < len(self.positions) and self._entry_ids[self.positions[index]] == entry_id
        return self._entries[self.positions[index]] if found else None

    def entries(self, entry_ids: Sequence[int], max_bytes: int) -> list[bytes | None]:
        """Return the bytes of each of ``entry_ids``, in their order; None for an entry that is not in this view.

        The bytes are not copied.

        :param entry_ids: one or more ids.
        :param max_bytes: ignored; :meth:`.RunList.entries` has the same parameter.
        """
        begin, end = self._index(min(entry_ids)), self._index(max(entry_ids) + 1)
        if end - begin > MOST_APART * len(entry_ids):
            return list(map(self.entry, entry_ids))
        positions = self.positions[begin:end]
        ids = map(self._entry_ids.__getitem__, positions)
        known = dict(zip(ids, map(self._entries.__getitem__, positions), strict=True))
        return list(map(known.get, entry_ids))

    def find(self, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return consecutive entries from ``entry_id`` on, or None if this entry is not in this view.

        :param max_count: maximum number of entries of the run; it may have fewer.
        """
        index, ids, found, size = self._index(entry_id), self._entry_ids, list[bytes](), 0
        for position in self.positions[index : index + min(max_count, MOST_TOGETHER)]:
            size += len(self._entries[position])
            if ids[position] != entry_id + len(found) or (found and size > MOST_BYTES_TOGETHER):
                break
            found.append(self._entries[position])
        return EntryRun.of_entries(self.ledger_id, entry_id, found) if found else None

    def next_from(self, entry_id: int) -> int:
        """Return the first entry id in this view from ``entry_id`` on, or :data:`~.run_list.NO_ENTRY` if none."""
        index = self._index(entry_id)
        return self._entry_ids[self.positions[index]] if index < len(self.positions) else NO_ENTRY

    def overlaps(self, first: int, last: int) -> bool:
        """Test whether this object contains any of the entries from ``first`` to ``last`` of its ledger."""
        index = self._index(first)
        return index < len(self.positions) and self._entry_ids[self.positions[index]] <= last


class Scattered:
    """The result of a search for entries of one ledger in the write caches and in the kernel's page cache.

    :ivar entries: the entries in the order in which they were requested; None for each entry that is not in memory.
    :ivar cached: number of entries that were found in the write caches.
    :ivar read, read_bytes: number of entries that were read from entry logs through the page cache, and their size in
        bytes.
    """

    __slots__ = ("entries", "cached", "read", "read_bytes")

    def __init__(self) -> None:
        self.entries: list[bytes | None] = []
        self.cached = self.read = self.read_bytes = 0


class SortedEntries:
    """One or more entries, sorted by ledger id and entry id, without duplicates.

    :ivar ledger_ids, entry_ids, entries: the ledger id, the entry id and the bytes of each entry.
    :ivar starts: the index of the first entry of each run (consecutive entries of one ledger).
    :ivar total: size in bytes of the records of all entries; a record is a size field of 4 bytes and the entry.
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

    def dispatch(self, of_run: object, of_sorted: "Callable[[SortedEntries], T]") -> list[T]:
        """Call ``of_sorted`` with this object; return the results of all calls: a list of one item.

        :meth:`.EntryRun.dispatch` calls ``of_run`` instead, so callers need not distinguish the two classes.
        """
        return [of_sorted(self)]

    def size(self, index: int) -> int:
        """Return the number of bytes of the record of the entry at ``index``: its size field and the entry."""
        return len(self.entries[index]) + 4

    def runs(self) -> Iterator[EntryRun]:
        """Yield the entries as runs (consecutive entries of one ledger), with copies of the bytes."""
        for start, end in pairwise([*self.starts, len(self)]):
            yield EntryRun.of_entries(self.ledger_ids[start], self.entry_ids[start], self.entries[start:end])

    def part(self, begin: int, room: int) -> "SortedEntries":
        """Return the entries from index ``begin`` on whose records fit into ``room`` bytes.

        The result ends with a whole run (consecutive entries of one ledger); only if the first run is too
        long, it is cut.

        :param room: maximum number of bytes of the records; the first entry is returned even if it is longer.
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
    """The entries of a write cache that are not in runs (consecutive entries of one ledger), in columns.

    A column is a list of one field, such as the ledger id; an entry has the same index in all columns.

    Only one thread adds and removes entries; any thread may list them.

    :ivar cost: memory cost in bytes of all entries that were added.  Removed entries count, too, because their memory
        is not freed.
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

    @property
    def is_dense(self) -> bool:
        """Whether there are many entries per ledger; a flush by ledger is then faster than sorting all entries."""
        return len(self._entries) >= DENSE * len(self._newest)

    def ledger_ids(self) -> list[int]:
        """Return the ids of all ledgers that have entries in this object, in any order."""
        return list(self._newest)

    @property
    def has_memory(self) -> bool:
        """Whether :meth:`shrink` can still free memory."""
        return bool(self._entries)

    def add(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes], runs: Mapping[int, RunList]
    ) -> Sequence[int]:
        """Add entries; refuse an entry if its ledger already has an entry with the same or a higher id.

        :param ledger_ids: the ledger id of each entry.
        :param entry_ids: the entry id of each entry.
        :param entries: the bytes of each entry.
        :param runs: the runs (consecutive entries) of the write cache, by ledger; an entry must also have a higher id
            than all entries in these runs.
        :returns: indexes of the refused entries.  Once an entry of a ledger is refused, its later entries are refused,
            too.
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
        """Return the highest entry id of ``ledger_id`` in this object, or -1 if it has no entries of the ledger."""
        position = self._newest.get(ledger_id, _NOWHERE)
        return self._entry_ids[position] if position >= 0 else INVALID_ENTRY_ID

    def find(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return consecutive entries from ``entry_id`` of ``ledger_id`` on, or None if this entry is not here.

        :param max_count: maximum number of entries of the run; it may have fewer.
        """
        newest = self._newest.get(ledger_id, _NOWHERE)
        if newest < 0 or self._entry_ids[newest] < entry_id:
            return None
        # do not create a view to find the newest entry, because clients that follow the writer read only this entry
        if self._entry_ids[newest] == entry_id:
            return EntryRun.of_entries(ledger_id, entry_id, (self._entries[newest],))
        view = self.view(ledger_id)
        return view.find(entry_id, max_count) if view is not None else None

    def next_from(self, ledger_id: int, entry_id: int) -> int:
        """Return the lowest id of ``ledger_id``'s entries from ``entry_id`` on, or :data:`~.run_list.NO_ENTRY`."""
        newest = self._newest.get(ledger_id, _NOWHERE)
        if newest < 0 or self._entry_ids[newest] < entry_id:
            return NO_ENTRY
        view = self.view(ledger_id)
        return view.next_from(entry_id) if view is not None else NO_ENTRY

    def view(self, ledger_id: int) -> LedgerEntries | None:
        """Return a view of the entries of ``ledger_id``, or None if this object has no entries of the ledger."""
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
        """Return the indexes of a ledger's entries in the columns (lists of ids and bytes), the oldest entry first.

        :param newest: index of the newest entry of the ledger.
        :param known: index of an entry of the ledger; only entries that were added after this entry are returned.
        """
        found, older = [], self._older
        while newest > known:
            found.append(newest)
            newest = older[newest]
        found.reverse()
        return found

    def runs(self, ledger_id: int) -> list[EntryRun]:
        """Return the entries of ``ledger_id`` as runs (consecutive entries), ascending, with copies of the bytes."""
        positions, ids, entries = self._positions(self._newest.get(ledger_id, _NOWHERE)), self._entry_ids, self._entries
        if not positions or ids[positions[-1]] - ids[positions[0]] != len(positions) - 1:
            return list(self._at(positions).runs()) if positions else []
        return [EntryRun.of_entries(ledger_id, ids[positions[0]], [entries[position] for position in positions])]

    def ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        """Return (first id, last id) of each run of consecutive entries of ``ledger_id``, ascending.

        Any thread may call this.
        """
        ids = [self._entry_ids[position] for position in self._positions(self._newest.get(ledger_id, _NOWHERE))]
        starts = _starts([ledger_id] * len(ids), ids) if ids else []
        return [(ids[start], ids[end - 1]) for start, end in pairwise([*starts, len(ids)])]

    def take_out(self, ledger_id: int) -> None:
        """Remove the entries of ``ledger_id`` from this object."""
        self._views.pop(ledger_id, None)
        self._newest.pop(ledger_id, None)

    def in_order(self, but: Collection[int] = ()) -> Iterator[SortedEntries]:
        """Yield all entries, sorted by ledger and entry, some thousand at a time.

        Another thread may remove entries during the iteration.

        :param but: ids of ledgers to leave out.
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
        """Return the entries at the given positions in the columns (the lists of ledger ids, entry ids and bytes).

        :param positions: the positions, in the order of the ledger ids and then of the entry ids of their entries.
        """
        if len(positions) == 1:
            (at,) = positions
            return SortedEntries((self._ledger_ids[at],), (self._entry_ids[at],), (self._entries[at],))
        taken = itemgetter(*positions)
        return SortedEntries(taken(self._ledger_ids), taken(self._entry_ids), taken(self._entries))

    def shrink(self, n_bytes: int) -> int:
        """Free the memory of some entries; call this only for a cache that nobody reads any more.

        :param n_bytes: number of bytes of entries to free.
        :returns: the number of these bytes that could not be freed, because no entry is left.
        """
        entries, newest = self._entries, self._newest
        while n_bytes > 0 and entries:
            count = 1 + n_bytes // (len(entries[-1]) + 4)
            n_bytes -= sum(map(len, entries[-count:])) + 4 * count
            del entries[-count:]
            for _ in range(min(count, len(newest))):
                newest.popitem()
        return n_bytes
