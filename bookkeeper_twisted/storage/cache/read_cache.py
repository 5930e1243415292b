"""The read cache: keeps runs (consecutive entries of one ledger) that were read from disk, for later reads."""

from bisect import bisect_right
from collections import OrderedDict

from ...entries.entry_run import EntryRun
from ...entries.interfaces import Entries
from .run_list import RUN_OVERHEAD, RunList


class ReadCache:
    """A cache of runs (consecutive entries) that were read from disk; it drops the least recently used run.

    :ivar limit: maximum number of bytes of the cached runs, with :data:`RUN_OVERHEAD` bytes added for each run.
    :ivar cost: size in bytes of the cached runs, with :data:`RUN_OVERHEAD` bytes added for each run.
    :ivar n_entries: number of entries in the cached runs.
    """

    __slots__ = ("limit", "cost", "n_entries", "_ledgers", "_order")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cost = 0
        self.n_entries = 0
        self._ledgers: dict[int, RunList] = {}
        self._order: OrderedDict[tuple[int, int], None] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of cached runs (sequences of consecutive entries of one ledger)."""
        return len(self._order)

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the cached run (consecutive entries) with ``entry_id`` of ``ledger_id``, or None.

        Mark the run as recently used.
        """
        runs = self._ledgers.get(ledger_id)
        run = runs.find(entry_id) if runs is not None else None
        if run is not None:
            self._order.move_to_end((ledger_id, run.first))
        return run

    def keep(self, run: EntryRun) -> None:
        """Cache a ``run`` (consecutive entries of one ledger), unless it is cached already or exceeds the limit."""
        if len(run.data) + RUN_OVERHEAD > self.limit:
            return
        held = self.find(run.ledger_id, run.first)
        if held is not None and held.last >= run.last:
            return
        gone, come = self._ledgers.setdefault(run.ledger_id, RunList()).insert(run)
        for old in gone:
            self._forget(old)
        for new in come:
            self._order[new.ledger_id, new.first] = None
            self.cost += len(new.data) + RUN_OVERHEAD
            self.n_entries += new.count
        while self.cost > self.limit:
            self._remove(*next(iter(self._order)))

    def discard(self, entries: Entries) -> None:
        """Remove every cached run (consecutive entries) with any of ``entries``, because these were written again.

        :param entries: the newly written entries.
        """
        if not self._ledgers or self._ledgers.keys().isdisjoint(entries.ledger_ids):
            return
        for ledger_id, first, last in entries.spans():
            runs = self._ledgers.get(ledger_id)
            while runs is not None and runs.overlaps(first, last):
                index = bisect_right(runs.firsts, last) - 1
                self._remove(ledger_id, runs.firsts[index])

    def discard_ledger(self, ledger_id: int) -> None:
        """Remove all cached entries of ``ledger_id``."""
        for run in self._ledgers.pop(ledger_id, RunList()).runs:
            self._forget(run)

    def _remove(self, ledger_id: int, first: int) -> None:
        runs = self._ledgers[ledger_id]
        self._forget(runs.remove(first))
        if not runs.runs:
            del self._ledgers[ledger_id]

    def _forget(self, run: EntryRun) -> None:
        del self._order[run.ledger_id, run.first]
        self.cost -= len(run.data) + RUN_OVERHEAD
        self.n_entries -= run.count
