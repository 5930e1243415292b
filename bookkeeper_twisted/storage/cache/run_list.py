"""The runs of one ledger in memory, disjoint and ordered by entry id.

A writer's run follows the last one, so that an insert is one append; any other run finds its place by bisection and
replaces the entries that it covers: the newest copy of an entry wins.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ...entries.entry_run import EntryRun
from ...model import INVALID_ENTRY_ID

NO_ENTRY = 1 << 63
"""Above every entry id."""

RUN_OVERHEAD = 256
"""The cost of a run beside its bytes; counted, so that a flood of tiny runs meets the limit too (S11)."""


class RunList:
    """The runs of one ledger."""

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

    def entry(self, entry_id: int) -> bytes | None:
        """Return the bytes of the entry ``entry_id``, or None if no run holds it."""
        run = self.find(entry_id)
        return run.entry(entry_id) if run is not None else None

    def find(self, entry_id: int) -> EntryRun | None:
        """Return the run that holds ``entry_id``, or None."""
        index = bisect_right(self.firsts, entry_id) - 1
        if index >= 0:
            run = self.runs[index]
            if entry_id < run.first + run.count:
                return run
        return None

    def next_from(self, entry_id: int) -> int:
        """Return the lowest entry id here that is ``entry_id`` or higher, or :data:`NO_ENTRY`."""
        index = bisect_right(self.firsts, entry_id)
        if index and self.runs[index - 1].last >= entry_id:
            return entry_id
        return self.firsts[index] if index < len(self.firsts) else NO_ENTRY

    def insert(self, run: EntryRun) -> tuple[Sequence[EntryRun], Sequence[EntryRun]]:
        """Insert a run, which replaces the entries with the same ids.

        :returns: the removed runs, and the inserted ones: the new run and the uncovered parts of the
            old ones.
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
        """Remove the run that begins at ``first``, and return it."""
        index = bisect_left(self.firsts, first)
        del self.firsts[index]
        return self.runs.pop(index)

    def overlaps(self, first: int, last: int) -> bool:
        """Test whether any of the entries ``first .. last`` is here."""
        index = bisect_right(self.firsts, last) - 1
        return index >= 0 and self.runs[index].last >= first
