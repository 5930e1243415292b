"""The cached runs of one ledger in a sorted list.  A run is a sequence of consecutive entries.

No entry is in two runs.  The runs of a writer arrive in order, so that an insert is one append.  A run that arrives out
of order is inserted by bisection.  It replaces older entries with the same ids, because the newest copy of an entry is
valid.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ...entries.entry_run import EntryRun
from ...model import INVALID_ENTRY_ID

NO_ENTRY = 1 << 63
"""The result of a search for an entry id if there is no such entry; it is higher than every entry id."""

RUN_OVERHEAD = 256
"""The bytes of memory that a run (consecutive entries of one ledger) costs in addition to its data.

These bytes are counted so that many tiny runs cannot exceed the limit of the write cache.
"""


class RunList:
    """The cached runs (consecutive entries) of one ledger, sorted by entry id; no entry is in two runs."""

    __slots__ = ("firsts", "runs")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.runs: list[EntryRun] = []

    @property
    def first(self) -> int:
        """Return the lowest entry id; the list must not be empty."""
        return self.firsts[0]

    @property
    def last(self) -> int:
        """Return the highest entry id, or -1 if the list is empty."""
        return self.runs[-1].last if self.runs else INVALID_ENTRY_ID

    def entries(self, entry_ids: Sequence[int], max_bytes: int) -> list[bytes | None]:
        """Return the bytes of each of ``entry_ids``, in their order; None for an entry that this list does not contain.

        :param max_bytes: as soon as the result has this number of bytes, it ends, even if entries are left.
        """
        found: list[bytes | None] = []
        firsts, runs = self.firsts, self.runs
        for entry_id in entry_ids:
            # as in find(), but without its call: most entries of a search are in no run
            index = bisect_right(firsts, entry_id)
            run = runs[index - 1] if index else None
            if run is None or entry_id >= run.first + run.count:
                found.append(None)
                continue
            entry = run.entry(entry_id)
            found.append(entry)
            max_bytes -= len(entry)
            if max_bytes <= 0:
                break
        return found

    def find(self, entry_id: int) -> EntryRun | None:
        """Return the run (consecutive entries) that contains ``entry_id``; None if no run contains it."""
        index = bisect_right(self.firsts, entry_id) - 1
        if index >= 0:
            run = self.runs[index]
            if entry_id < run.first + run.count:
                return run
        return None

    def next_from(self, entry_id: int) -> int:
        """Return the first entry id in the list from ``entry_id`` on, or :data:`NO_ENTRY` if there is none."""
        index = bisect_right(self.firsts, entry_id)
        if index:
            before = self.runs[index - 1]
            if entry_id < before.first + before.count:
                return entry_id
        return self.firsts[index] if index < len(self.firsts) else NO_ENTRY

    def insert(self, run: EntryRun) -> tuple[Sequence[EntryRun], Sequence[EntryRun]]:
        """Insert a run (consecutive entries); it replaces entries with the same ids.

        :returns: the removed runs, and the added runs.  The added runs are the new run, and the parts of removed runs
            that are outside the new run.
        """
        runs, firsts = self.runs, self.firsts
        if not runs or run.first > runs[-1].last:
            firsts.append(run.first)
            runs.append(run)
            return (), (run,)
        low = bisect_right(firsts, run.first) - 1
        if low < 0 or runs[low].last < run.first:
            low += 1
        high = bisect_right(firsts, run.last)
        gone = runs[low:high]
        come = [run]
        if gone and gone[0].first < run.first:
            come.insert(0, gone[0].slice(gone[0].first, run.first - gone[0].first))
        if gone and gone[-1].last > run.last:
            come.append(gone[-1].slice(run.last + 1, gone[-1].last - run.last))
        runs[low:high] = come
        firsts[low:high] = [r.first for r in come]
        return gone, come

    def remove(self, first: int) -> EntryRun:
        """Remove the run (consecutive entries) whose first entry id is ``first``, and return it."""
        index = bisect_left(self.firsts, first)
        del self.firsts[index]
        return self.runs.pop(index)

    def overlaps(self, first: int, last: int) -> bool:
        """Test whether this list contains any of the entries ``first`` to ``last``."""
        index = bisect_right(self.firsts, last) - 1
        return index >= 0 and self.runs[index].last >= first
