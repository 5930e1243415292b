"""Entries of several ledgers that a bookie handles as one item: they share one key and lie together in a chunk.

They are single entries (:class:`MixedRun`) if writers take turns, and runs (:class:`RunSequence`) if each ledger gets a
run in its turn.  A request, a journal item, a completion and a reply for each short run would cost more than its
entries.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress
from types import MappingProxyType

from .entry_run import EntryRun, lay_out


class MixedRun:
    """Entries of several ledgers in the order of arrival, with ids in any order, never empty.

    A chunk holds them if writers take turns: a run for each entry would cost more than the entry itself.

    :ivar ledger_ids: one per entry, as are the other sequences.
    :ivar lacs: the LAC field of each entry.
    :ivar entries: the bytes of each entry, without the size word.
    :ivar data: the records, each ``i32 size`` and ``size`` entry bytes.
    """

    __slots__ = ("ledger_ids", "entry_ids", "lacs", "entries", "data")

    def __init__(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], lacs: Sequence[int], entries: Sequence[bytes]
    ) -> None:
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.lacs = lacs
        self.entries = entries
        self.data = lay_out(entries)[0]

    @property
    def count(self) -> int:
        return len(self.entry_ids)

    @property
    def size(self) -> int:
        """Return the bytes of all records, including their size words."""
        return len(self.data)

    def runs(self) -> Iterator[EntryRun]:
        """Yield every entry as a separate run, in order."""
        for ledger_id, entry_id, entry in zip(self.ledger_ids, self.entry_ids, self.entries, strict=True):
            yield EntryRun.of_entries(ledger_id, entry_id, [entry])

    def ids(self) -> Iterator[tuple[int, int]]:
        """Return ledger and id of every entry, in order."""
        return zip(self.ledger_ids, self.entry_ids, strict=True)

    def split(
        self, n: int, elsewhere: Mapping[int, int] = MappingProxyType({})
    ) -> "Iterator[tuple[int, MixedRun]]":
        """Split the entries by ``ledger id mod n``; yield the number and the entries of each part that is not empty.

        :param elsewhere: the numbers of ledgers that have another one.
        """
        if n == 1:
            yield 0, self
            return
        numbers = [ledger_id % n for ledger_id in self.ledger_ids]
        if elsewhere:
            numbers = list(map(elsewhere.get, self.ledger_ids, numbers))
        for number in sorted(set(numbers)):
            chosen = [other == number for other in numbers]
            ledger_ids, entry_ids, lacs = [
                list(compress(column, chosen)) for column in (self.ledger_ids, self.entry_ids, self.lacs)
            ]
            yield number, MixedRun(ledger_ids, entry_ids, lacs, list(compress(self.entries, chosen)))

    def __repr__(self) -> str:
        return f"<MixedRun of {len(set(self.ledger_ids))} ledgers, {self.count} entries, {self.size} bytes>"


class RunSequence:
    """Runs of any ledgers in the order of arrival, at least one.

    :ivar ledger_ids: one per run, as are the other sequences.
    :ivar entry_ids: the id of the last entry of each run.
    :ivar lacs: the LAC field of that entry.
    :ivar data: the records, each ``i32 size`` and ``size`` entry bytes.
    """

    __slots__ = ("ledger_ids", "entry_ids", "lacs", "count", "data", "_runs")

    def __init__(self, runs: Sequence[EntryRun]) -> None:
        self._runs = runs
        self.ledger_ids = [run.ledger_id for run in runs]
        self.entry_ids = [run.last for run in runs]
        self.lacs = [run.last_add_confirmed() for run in runs]
        self.count = sum([run.count for run in runs])
        self.data = b"".join([run.data for run in runs])

    @property
    def size(self) -> int:
        """Return the bytes of all records, including their size words."""
        return len(self.data)

    def runs(self) -> Iterator[EntryRun]:
        """Return all runs, in order."""
        return iter(self._runs)

    def ids(self) -> Iterator[tuple[int, int]]:
        """Return ledger and id of every entry, in order."""
        return chain.from_iterable(run.ids() for run in self._runs)

    def split(self, n: int) -> "Iterator[tuple[int, RunSequence]]":
        """Split the runs by ``ledger id mod n``; yield the number and the runs of each part that is not empty."""
        if n == 1:
            yield 0, self
            return
        for number in sorted({ledger_id % n for ledger_id in self.ledger_ids}):
            yield number, RunSequence([run for run in self._runs if run.ledger_id % n == number])

    def __repr__(self) -> str:
        return f"<RunSequence of {len(self._runs)} runs, {self.count} entries, {self.size} bytes>"


Entries = EntryRun | MixedRun | RunSequence
"""The entries of one request to add."""


def sequence(runs: Sequence[EntryRun]) -> EntryRun | RunSequence:
    """Combine one or more ``runs`` to one item; return a single run unchanged."""
    return runs[0] if len(runs) == 1 else RunSequence(runs)
