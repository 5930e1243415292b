"""The write cache: entries that are not in an entry log yet.

Each ledger has a list of its runs, that is of sequences of consecutive entries (:class:`~.run_list.RunList`).  If
clients write to many ledgers in turn, a run object for each entry would cost more than the entry.  So such entries are
not stored as runs, but in columns: lists of one field each (:mod:`.mixed_entries`).  They are called single entries.
"""

from collections.abc import Iterator, Sequence

from ...entries.entry_run import EntryRun
from ...entries.interfaces import Entries
from ...entries.mixed_runs import MixedRun
from .mixed_entries import LedgerEntries, MixedEntries, SortedEntries, ascending
from .run_list import RUN_OVERHEAD, RunList

LEDGER_OVERHEAD = 640
"""The memory cost in bytes of a ledger with runs of entries in this cache: an item of the dictionary, and two lists."""

SINGLE_BYTES = 4096
"""Maximum number of bytes of an entry that is stored outside runs (sequences of consecutive entries).

A longer entry becomes a run of its own.
"""

JOIN_BYTES = 1024 * 1024
JOIN_ENTRIES = 64 * 1024

LARGE_RUN = 512 * 1024
"""Size in bytes of a run that is not joined with others: its own index row costs less than a copy of its data."""


class WriteCache:
    """A write cache: entries that are not in an entry log yet.

    A ledger directory has two write caches: new entries are added to one, while a checkpoint writes out the other.

    Each entry is either in a run (consecutive entries) of its ledger, or stored as a single entry, never both.

    :ivar bytes: number of bytes of the records of all entries in this cache.
    :ivar count: number of entries in this cache.
    :ivar outgoing: an older cache that no thread reads any more.  Its memory is freed in steps while this cache grows,
        because one step for all of it would block the thread for milliseconds.
    """

    __slots__ = ("bytes", "count", "outgoing", "_runs", "_run_bytes", "_ledgers", "_mixed")

    def __init__(self) -> None:
        self.bytes = 0
        self.count = 0
        self.outgoing: WriteCache | None = None
        self._runs = 0
        self._run_bytes = 0
        self._ledgers: dict[int, RunList] = {}
        self._mixed = MixedEntries()

    @property
    def cost(self) -> int:
        """Return the memory that the cache takes, in bytes: the entries, and the overhead of all objects."""
        runs = self._run_bytes + self._runs * RUN_OVERHEAD + len(self._ledgers) * LEDGER_OVERHEAD
        return runs + self._mixed.cost

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, entries: Entries) -> None:
        """Insert ``entries``; they replace older copies of the same entries."""
        entries.dispatch(self._add_run, self._add_mixed)
        if self.outgoing is not None:
            self._free_outgoing(entries.size)

    def _add_run(self, run: EntryRun) -> None:
        if run.count == 1 and run.size <= SINGLE_BYTES:
            self._add_single((run.ledger_id,), (run.first,), (run.data[4:],), run.size)  # without its size field
        else:
            self._insert(run)

    def _add_mixed(self, run: MixedRun) -> None:
        self._add_single(run.ledger_ids, run.entry_ids, run.entries, run.size)

    def _add_single(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], entries: Sequence[bytes], size: int
    ) -> None:
        """Insert entries of any ledgers, in the given order, without forming runs of consecutive entries.

        An entry whose id is not higher than the last id of its ledger is an exception: it is stored as a run of one
        entry, because the entries outside runs must have ascending ids in each ledger.
        """
        left = self._mixed.add(ledger_ids, entry_ids, entries, self._ledgers)
        self.bytes += size
        self.count += len(entries)
        for index in left:
            self.bytes -= len(entries[index]) + 4
            self.count -= 1
            self._insert(EntryRun.of_entries(ledger_ids[index], entry_ids[index], [entries[index]]))

    def _insert(self, run: EntryRun) -> None:
        if run.ledger_id in self._mixed and run.first <= self._mixed.last(run.ledger_id):
            self._make_runs(run.ledger_id)
        runs = self._ledgers.get(run.ledger_id)
        if runs is None:
            runs = self._ledgers[run.ledger_id] = RunList()
        gone, come = runs.insert(run)
        for old in gone:
            self._count(old, -1)
        for new in come:
            self._count(new, 1)

    def _make_runs(self, ledger_id: int) -> None:
        """Convert a ledger's single entries to runs (sequences of consecutive entries), and add these to its runs.

        The runs are added before the single entries are removed, because other threads must always find every entry.
        """
        runs = self._ledgers.setdefault(ledger_id, RunList())
        for run in self._mixed.runs(ledger_id):
            runs.insert(run)
            self._runs += 1
            self._run_bytes += run.size
        self._mixed.take_out(ledger_id)

    def _free_outgoing(self, n_bytes: int) -> None:
        """Free ``2 * n_bytes`` bytes of the older cache :attr:`outgoing`, after this cache has grown by ``n_bytes``.

        So the total memory of the two caches falls, until the older cache is gone when this cache is half as large.
        """
        if self.outgoing is not None and not self.outgoing.shrink(2 * n_bytes):
            self.outgoing = None

    def shrink(self, n_bytes: int) -> bool:
        """Free at least ``n_bytes`` bytes of this cache; call this only if nobody reads it any more.

        :returns: whether the cache still has memory to free.
        """
        n_bytes, ledgers = self._mixed.shrink(n_bytes), self._ledgers
        while n_bytes > 0 and ledgers:
            ledger_id, held = ledgers.popitem()
            while held.runs and n_bytes > 0:
                n_bytes -= held.runs.pop().size
            if held.runs:
                ledgers[ledger_id] = held
        return bool(ledgers) or self._mixed.has_memory

    def discard_ledger(self, ledger_id: int) -> None:
        """Remove the entries of ``ledger_id``, even while another thread iterates over :meth:`parts`."""
        held = self._ledgers.pop(ledger_id, None)
        for run in held.runs if held is not None else ():
            self._count(run, -1)
        for run in self._mixed.runs(ledger_id):
            self.bytes -= run.size
            self.count -= run.count
        self._mixed.take_out(ledger_id)

    def _count(self, run: EntryRun, sign: int) -> None:
        self.bytes += sign * run.size
        self.count += sign * run.count
        self._runs += sign
        self._run_bytes += sign * run.size

    def absorb(self, newer: "WriteCache") -> None:
        """Add all entries of a newer cache, which replace older copies.

        :param newer: a cache that was filled after this one.
        """
        for runs in newer._ledgers.values():
            for run in runs.runs:
                self.add(run)
        for single in newer._mixed.in_order():
            self._add_single(single.ledger_ids, single.entry_ids, single.entries, single.total)

    def find(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return a run (consecutive entries) that contains ``entry_id`` of ``ledger_id``, or None.

        :param max_count: maximum number of entries, from ``entry_id`` on, that the caller can use.  A run that is
            joined from single entries (entries outside runs) has at most this number of entries.
        """
        runs = self._ledgers.get(ledger_id)
        found = runs.find(entry_id) if runs is not None else None
        return found if found is not None else self._mixed.find(ledger_id, entry_id, max_count)

    def next_from(self, ledger_id: int, entry_id: int) -> int:
        """Return the lowest id of ``ledger_id``'s entries from ``entry_id`` on, or :data:`~.run_list.NO_ENTRY`."""
        runs, single = self._ledgers.get(ledger_id), self._mixed.next_from(ledger_id, entry_id)
        return min(runs.next_from(entry_id), single) if runs is not None else single

    def held(self, ledger_id: int) -> "list[RunList | LedgerEntries]":
        """Return the entries of ``ledger_id`` in this cache: its runs, and a view of the entries that are in no run."""
        found = (self._ledgers.get(ledger_id), self._mixed.view(ledger_id))
        return [each for each in found if each is not None]

    def last_entry(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in this cache; -1 if it has no entries of the ledger."""
        runs, single = self._ledgers.get(ledger_id), self._mixed.last(ledger_id)
        return max(runs.last, single) if runs is not None else single

    def ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        """Return (first id, last id) of each range of consecutive entries of ``ledger_id``; ranges may overlap.

        Any thread may call this, even while another thread moves single entries to runs.  The single entries are read
        before the runs, so that a moved entry may be listed twice but is never missed.
        """
        single, runs = self._mixed.ranges(ledger_id), self._ledgers.get(ledger_id)
        return [(run.first, run.last) for run in list(runs.runs)] + single if runs is not None else single

    def parts(self, max_bytes: int = JOIN_BYTES, max_entries: int = JOIN_ENTRIES) -> Iterator[EntryRun | SortedEntries]:
        """Yield all entries in the order of a flush: first the runs of consecutive entries, then the other entries.

        Both parts are sorted by ledger and entry.

        Runs of a ledger that follow each other without a gap are joined, except runs of ``LARGE_RUN`` bytes or more.

        :param max_bytes: maximum number of bytes of a joined run; a single run may be longer.
        :param max_entries: maximum number of entries of a joined run.
        """
        # Read ``is_dense`` only once: its value may change during the loop, because another thread may discard ledgers.
        dense = self._mixed.is_dense
        for ledger_id in ascending({*self._ledgers, *self._mixed.ledger_ids()} if dense else self._ledgers):
            yield from self._joined(ledger_id, max_bytes, max_entries)
        if not dense:
            yield from self._mixed.in_order(self._ledgers.keys())

    def _joined(self, ledger_id: int, max_bytes: int, max_entries: int) -> Iterator[EntryRun]:
        group: list[EntryRun] = []
        size = count = 0
        for run in self._all_runs(ledger_id):
            n_bytes = run.size if run.size < LARGE_RUN else max_bytes  # no other run has room beside a large one
            size += n_bytes
            count += run.count
            if group and (run.first != group[-1].last + 1 or size > max_bytes or count > max_entries):
                yield EntryRun.join(group)
                group, size, count = [], n_bytes, run.count
            group.append(run)
        if group:
            yield EntryRun.join(group)

    def _all_runs(self, ledger_id: int) -> Sequence[EntryRun]:
        """Return the runs of consecutive entries of a ledger, ascending.

        The result is empty if another thread has removed the entries of the ledger from this cache.
        """
        held, single = self._ledgers.get(ledger_id), self._mixed.runs(ledger_id)
        runs = held.runs if held is not None else []
        return sorted([*runs, *single], key=lambda run: run.first) if single else runs
