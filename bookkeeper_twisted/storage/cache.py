"""Runs in memory: the write cache (what no entry log holds yet) and the read cache (what was read).

Both keep, for each ledger, a list of runs that never overlap, ordered by entry id.  A writer's run
follows the last one, so an insert is one append; anything else finds its place by bisection and
replaces what it covers: the newest copy of an entry wins.

Where many ledgers take turns, a run for each entry would cost more than the entry.  So the write cache
collects single entries that follow each other in a *tail*, which becomes a run when it is long enough.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from ..model import INVALID_ENTRY_ID, EntryRun, MixedRun

RUN_OVERHEAD = 256
"""What a run costs beside its bytes; counted, so that a flood of tiny runs meets the limit too (S11)."""

ENTRY_OVERHEAD = 48
"""What an entry of a tail costs beside its bytes."""

LEDGER_OVERHEAD = 640
"""What a ledger costs that has anything here: its place, its lists, its tail."""

TAIL_ENTRIES = 64
"""A tail of so many entries becomes a run."""

JOIN_BYTES = 1024 * 1024
JOIN_ENTRIES = 64 * 1024


class GrowingRun:
    """Single entries that follow each other, ids ``first .. next - 1``, at least one.

    It only grows, and it is dropped as a whole: another thread that holds it has something consistent.
    """

    __slots__ = ("ledger_id", "first", "next", "entries")

    def __init__(self, ledger_id: int, first: int, entry: bytes) -> None:
        self.ledger_id = ledger_id
        self.first = first
        self.next = first + 1
        self.entries = [entry]

    def run(self, first: int) -> EntryRun:
        """Return the entries from ``first`` on, which must be one of them; a copy."""
        return EntryRun.of_entries(self.ledger_id, first, self.entries[first - self.first :])


class RunList:
    """The runs of one ledger.

    :ivar tail: entries above all of them.
    """

    __slots__ = ("firsts", "runs", "tail")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.runs: list[EntryRun] = []
        self.tail: GrowingRun | None = None

    @property
    def first(self) -> int:
        """The lowest entry; there must be one."""
        if self.runs:
            return self.firsts[0]
        assert self.tail is not None
        return self.tail.first

    @property
    def last(self) -> int:
        if self.tail is not None:
            return self.tail.next - 1
        return self.runs[-1].last if self.runs else INVALID_ENTRY_ID

    def all(self) -> list[EntryRun]:
        """The runs, and the tail as one.  Any thread, while nothing is added: it changes nothing."""
        tail = self.tail
        return self.runs if tail is None else [*self.runs, tail.run(tail.first)]

    def find(self, entry_id: int) -> EntryRun | None:
        """Return the run that holds ``entry_id``, None if none does."""
        tail = self.tail
        if tail is not None and entry_id >= tail.first:
            return tail.run(entry_id) if entry_id < tail.next else None
        index = bisect_right(self.firsts, entry_id) - 1
        if index >= 0:
            run = self.runs[index]
            if entry_id < run.first + run.count:
                return run
        return None

    def insert(self, run: EntryRun) -> tuple[Sequence[EntryRun], Sequence[EntryRun]]:
        """Puts a run in its place; there must be no tail.

        :returns: the runs that went and the runs that came, which are the new one and uncovered parts of
            the old.
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
        """Takes out the run that begins at ``first``."""
        index = bisect_left(self.firsts, first)
        del self.firsts[index]
        return self.runs.pop(index)

    def overlaps(self, first: int, last: int) -> bool:
        """Whether any of the entries ``first .. last`` is here."""
        if self.tail is not None and self.tail.first <= last and first < self.tail.next:
            return True
        index = bisect_right(self.firsts, last) - 1
        return index >= 0 and self.runs[index].last >= first


class WriteCache:
    """One half of the memory between the journal and the entry logs.

    :ivar bytes: records held.
    :ivar count: entries held.
    :ivar cost: what is held against the limit: bytes, and what runs, tails and ledgers cost beside them.
    :ivar outgoing: a cache that is no longer needed.  It goes piece by piece as this one grows: to free all
        of it at once would hold the thread up for milliseconds.
    """

    __slots__ = ("bytes", "count", "outgoing", "_runs", "_in_tails", "_ledgers")

    def __init__(self) -> None:
        self.bytes = 0
        self.count = 0
        self._runs = 0
        self.outgoing: WriteCache | None = None
        self._in_tails = 0
        self._ledgers: dict[int, RunList] = {}

    @property
    def cost(self) -> int:
        overhead = self._runs * RUN_OVERHEAD + self._in_tails * ENTRY_OVERHEAD + len(self._ledgers) * LEDGER_OVERHEAD
        return self.bytes + overhead

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def add(self, run: EntryRun) -> None:
        """Insert a ``run``; it replaces copies of the same entries."""
        runs = self._ledgers.get(run.ledger_id)
        if runs is None:
            runs = self._ledgers[run.ledger_id] = RunList()
        elif runs.tail is not None:
            self._end_tail(runs)
        gone, come = runs.insert(run)
        for old in gone:
            self._count(old, -1)
        for new in come:
            self._count(new, 1)
        if self.outgoing is not None:
            self._let_go(run.size)

    def add_mixed(self, run: MixedRun) -> None:
        """Insert the entries of a mixed ``run``; they replace copies of the same entries."""
        self.bytes += run.size
        self.count += run.count
        self._in_tails += run.count
        ledgers = self._ledgers
        for ledger_id, entry_id, entry in zip(run.ledger_ids, run.entry_ids, run.entries, strict=True):
            runs = ledgers.get(ledger_id)
            tail = runs.tail if runs is not None else None
            if tail is None or tail.next != entry_id or len(tail.entries) >= TAIL_ENTRIES:
                self._begin_tail(ledger_id, entry_id, entry)
            else:
                tail.entries.append(entry)
                tail.next = entry_id + 1
        if self.outgoing is not None:
            self._let_go(run.size)

    def _let_go(self, n_bytes: int) -> None:
        """Frees twice as many bytes as came in, so that both caches are never more than the old one was."""
        if self.outgoing is not None and not self.outgoing.shrink(2 * n_bytes):
            self.outgoing = None

    def shrink(self, n_bytes: int) -> bool:
        """Free ``n_bytes`` bytes or a little more of a cache that is no longer read.

        :returns: whether anything is left.
        """
        ledgers = self._ledgers
        while n_bytes > 0 and ledgers:
            ledger_id, held = ledgers.popitem()
            while held.runs and n_bytes > 0:
                n_bytes -= held.runs.pop().size
            if held.runs:
                ledgers[ledger_id] = held
            elif held.tail is not None:
                n_bytes -= sum(map(len, held.tail.entries))
        return bool(ledgers)

    def _begin_tail(self, ledger_id: int, entry_id: int, entry: bytes) -> None:
        """Puts an entry that continues no tail, and that is counted as one of a tail, where it belongs."""
        runs = self._ledgers.get(ledger_id)
        if runs is None:
            runs = self._ledgers[ledger_id] = RunList()
        elif runs.tail is not None:
            self._end_tail(runs)
        if entry_id > runs.last:
            runs.tail = GrowingRun(ledger_id, entry_id, entry)
            return
        single = EntryRun.of_entries(ledger_id, entry_id, [entry])
        self._count(single, -1)
        self._in_tails -= 1
        self._runs += 1
        self.add(single)

    def _end_tail(self, runs: RunList) -> None:
        """Make the tail a run; the run is there before the tail goes, since other threads look for either."""
        tail = runs.tail
        assert tail is not None
        runs.insert(tail.run(tail.first))
        runs.tail = None
        self._in_tails -= len(tail.entries)
        self._runs += 1

    def discard_ledger(self, ledger_id: int) -> None:
        """Remove the entries of ``ledger_id``; another thread may be going through :meth:`joined`."""
        held = self._ledgers.pop(ledger_id, None)
        if held is None:
            return
        for run in held.runs:
            self._count(run, -1)
        if held.tail is not None:
            self._in_tails -= len(held.tail.entries)
            self.count -= len(held.tail.entries)
            self.bytes -= sum(map(len, held.tail.entries)) + 4 * len(held.tail.entries)

    def _count(self, run: EntryRun, sign: int) -> None:
        self.bytes += sign * len(run.data)
        self.count += sign * run.count
        self._runs += sign

    def absorb(self, newer: "WriteCache") -> None:
        """Add all entries of a ``newer`` cache, one that was filled after this one."""
        for runs in newer._ledgers.values():
            for run in runs.all():
                self.add(run)

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the run that holds ``entry_id`` of ``ledger_id``, None if none does."""
        runs = self._ledgers.get(ledger_id)
        return runs.find(entry_id) if runs is not None else None

    def runs_of(self, ledger_id: int) -> RunList | None:
        """Return the runs of ``ledger_id``, None if nothing of it is here."""
        return self._ledgers.get(ledger_id)

    def last_entry(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` here, -1 if there is none."""
        runs = self._ledgers.get(ledger_id)
        return runs.last if runs is not None else INVALID_ENTRY_ID

    def overlaps(self, ledger_id: int, first: int, last: int) -> bool:
        """Test whether any entry of ``first .. last``, both included, of ``ledger_id`` is here."""
        runs = self._ledgers.get(ledger_id)
        return runs is not None and runs.overlaps(first, last)

    def ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        """Return first and last ids, both included, of the runs of ``ledger_id``, one perhaps twice.

        Any thread may call it: it looks at the tail first, which is among the runs before it goes, and at a copy of the
        list of runs that is made in one step.
        """
        runs = self._ledgers.get(ledger_id)
        if runs is None:
            return []
        tail = runs.tail
        ranges = [(tail.first, tail.next - 1)] if tail is not None else []
        return [(run.first, run.last) for run in list(runs.runs)] + ranges

    def joined(self, max_bytes: int = JOIN_BYTES, max_entries: int = JOIN_ENTRIES) -> Iterator[EntryRun]:
        """Everything ordered by ledger and entry, runs that follow each other made one up to the limits.

        :param max_bytes: bound of what is joined; a run that is bigger already stays as it is.
        """
        for ledger_id in sorted(self._ledgers):
            group: list[EntryRun] = []
            size = count = 0
            held = self._ledgers.get(ledger_id)
            for run in held.all() if held is not None else ():
                size += len(run.data)
                count += run.count
                if group and (run.first != group[-1].last + 1 or size > max_bytes or count > max_entries):
                    yield EntryRun.join(group)
                    group, size, count = [], len(run.data), run.count
                group.append(run)
            if group:
                yield EntryRun.join(group)


class ReadCache:
    """Runs that were read from disk, the least recently used ones going first.

    :ivar limit: bytes it may hold, :data:`RUN_OVERHEAD` for each run included.
    :ivar cost: of what it holds.
    """

    __slots__ = ("limit", "cost", "_ledgers", "_order")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cost = 0
        self._ledgers: dict[int, RunList] = {}
        self._order: OrderedDict[tuple[int, int], None] = OrderedDict()

    def __len__(self) -> int:
        """The number of runs held."""
        return len(self._order)

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the run that holds ``entry_id`` of ``ledger_id``, None if none does; the run counts as used."""
        runs = self._ledgers.get(ledger_id)
        run = runs.find(entry_id) if runs is not None else None
        if run is not None:
            self._order.move_to_end((ledger_id, run.first))
        return run

    def keep(self, run: EntryRun) -> None:
        """Insert a ``run``; one that is here already, or that exceeds the limit alone, changes nothing."""
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
        while self.cost > self.limit:
            self._remove(*next(iter(self._order)))

    def discard_mixed(self, run: MixedRun) -> None:
        """Remove every run that holds an entry of a mixed ``run``, which is a newer copy."""
        if not self._ledgers.keys().isdisjoint(run.ledger_ids):
            for single in run.runs():
                self.discard(single)

    def discard(self, run: EntryRun) -> None:
        """Remove every run that holds an entry of this ``run``, which is a newer copy."""
        runs = self._ledgers.get(run.ledger_id)
        while runs is not None and runs.overlaps(run.first, run.last):
            index = bisect_right(runs.firsts, run.last) - 1
            self._remove(run.ledger_id, runs.firsts[index])

    def discard_ledger(self, ledger_id: int) -> None:
        """Remove every run of ``ledger_id``."""
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
