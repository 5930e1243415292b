"""Entries of several ledgers that a bookie handles as one object: they arrived together, with the same master key.

If the ledger changes at nearly every entry, the object is a :class:`MixedRun`, which has single entries.  If there are
several consecutive entries of each ledger (a run), the object is a :class:`RunSequence`, which has runs.  A separate
object for each short run, from the request to the reply, would take more time than writing the entries.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, compress
from typing import TypeVar

from .entry_run import NOWHERE, EntryRun, lay_out

T = TypeVar("T")


class MixedRun:
    """One or more entries of several ledgers in the order of arrival, with ids in any order.

    A received chunk contains such entries if a client writes to several ledgers in turn.  An EntryRun object for each
    entry would use more memory and time than the entry itself.

    :ivar ledger_ids, entry_ids: the ledger id and the entry id of each entry.
    :ivar lacs: the LAC field of each entry.
    :ivar entries: the bytes of each entry, without its ``i32 size``.
    :ivar data: the records, each ``i32 size`` and ``size`` entry bytes.
    """

    __slots__ = ("ledger_ids", "entry_ids", "lacs", "entries", "data", "count", "size")

    def __init__(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], lacs: Sequence[int], entries: Sequence[bytes]
    ) -> None:
        self.ledger_ids = ledger_ids
        self.entry_ids = entry_ids
        self.lacs = lacs
        self.entries = entries
        self.data = lay_out(entries)[0]
        self.count = len(entries)
        self.size = len(self.data)

    def runs(self) -> Iterator[EntryRun]:
        """Yield each entry as a run of its own, in order."""
        for ledger_id, entry_id, entry in zip(self.ledger_ids, self.entry_ids, self.entries, strict=True):
            yield EntryRun.of_entries(ledger_id, entry_id, [entry])

    def ids(self) -> Iterator[tuple[int, int]]:
        """Return (ledger id, entry id) of every entry, in order."""
        return zip(self.ledger_ids, self.entry_ids, strict=True)

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Return (ledger id, entry id, entry id) of each entry, in order: first and last id of a run of one entry."""
        return zip(self.ledger_ids, self.entry_ids, self.entry_ids, strict=True)

    def dispatch(self, of_run: object, of_mixed: "Callable[[MixedRun], T]") -> list[T]:
        """Call ``of_mixed`` once, with this object, and return the result in a list; ``of_run`` is for runs only."""
        return [of_mixed(self)]

    def part_numbers(self, n: int) -> Sequence[int]:
        """Return 0 to ``n`` - 1: :meth:`split` into ``n`` parts may put entries into each of these parts."""
        return range(n)

    def split(self, n: int, elsewhere: Mapping[int, int] = NOWHERE) -> "Iterator[tuple[int, MixedRun]]":
        """Split the entries by ``ledger id mod n``; yield (number, entries) of each part that is not empty.

        See :meth:`.Entries.split` for parameters and errors.
        """
        if n == 1:
            yield 0, self
            return
        for number, chosen in _chosen(self.ledger_ids, n, elsewhere):
            ledger_ids, entry_ids, lacs = [
                list(compress(column, chosen)) for column in (self.ledger_ids, self.entry_ids, self.lacs)
            ]
            yield number, MixedRun(ledger_ids, entry_ids, lacs, list(compress(self.entries, chosen)))

    def __repr__(self) -> str:
        return f"<MixedRun of {len(set(self.ledger_ids))} ledgers, {self.count} entries, {self.size} bytes>"


class RunSequence:
    """One or more runs (consecutive entries of one ledger) in their order of arrival; the ledgers may differ."""

    __slots__ = ("ledger_ids", "count", "size", "_runs")

    def __init__(self, runs: Sequence[EntryRun]) -> None:
        self._runs = runs
        self.ledger_ids = [run.ledger_id for run in runs]
        self.count = sum([run.count for run in runs])
        self.size = sum([run.size for run in runs])

    @property
    def entry_ids(self) -> Sequence[int]:
        return [run.last for run in self._runs]

    @property
    def lacs(self) -> Sequence[int]:
        return [run.last_add_confirmed() for run in self._runs]

    @property
    def data(self) -> bytes:
        """Return the records of all runs as one byte string; each call copies them."""
        return b"".join([run.data for run in self._runs])

    def runs(self) -> Iterator[EntryRun]:
        """Return an iterator over the runs, in order."""
        return iter(self._runs)

    def ids(self) -> Iterator[tuple[int, int]]:
        """Return (ledger id, entry id) of every entry, in order."""
        return chain.from_iterable(run.ids() for run in self._runs)

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Return (ledger id, first entry id, last entry id) of each run, in order."""
        return ((run.ledger_id, run.first, run.last) for run in self._runs)

    def dispatch(self, of_run: Callable[[EntryRun], T], of_mixed: object) -> list[T]:
        """Call ``of_run`` with each run, and return the results in order; ``of_mixed`` is for a MixedRun only."""
        return list(map(of_run, self._runs))

    def part_numbers(self, n: int) -> Sequence[int]:
        """Return the numbers of all ``n`` parts, as entries of several ledgers may belong to any of them.

        See :meth:`.Entries.part_numbers`.
        """
        return range(n)

    def split(self, n: int, elsewhere: Mapping[int, int] = NOWHERE) -> "Iterator[tuple[int, RunSequence]]":
        """Split the runs by ``ledger id mod n``; yield (number, runs) of each part that is not empty.

        See :meth:`.Entries.split` for parameters and errors.
        """
        if n == 1:
            yield 0, self
            return
        for number, chosen in _chosen(self.ledger_ids, n, elsewhere):
            yield number, RunSequence(list(compress(self._runs, chosen)))

    def __repr__(self) -> str:
        return f"<RunSequence of {len(self._runs)} runs, {self.count} entries, {self.size} bytes>"


def _chosen(ledger_ids: Sequence[int], n: int, elsewhere: Mapping[int, int]) -> Iterator[tuple[int, Sequence[bool]]]:
    """Split entries into ``n`` parts by ledger; yield (number, selection) of each part that is not empty.

    A ledger belongs to the part ``elsewhere[ledger id]``, or by default to the part ``ledger id mod n``.  The selection
    has a bool for each of ``ledger_ids``: whether the ledger belongs to this part.
    """
    numbers = [ledger_id % n for ledger_id in ledger_ids]
    if elsewhere:
        numbers = list(map(elsewhere.get, ledger_ids, numbers))
    for number in sorted(set(numbers)):
        yield number, [other == number for other in numbers]


def sequence(runs: Sequence[EntryRun]) -> EntryRun | RunSequence:
    """Return ``runs`` as one object with the methods of :class:`.Entries`; return a single run unchanged."""
    return runs[0] if len(runs) == 1 else RunSequence(runs)
