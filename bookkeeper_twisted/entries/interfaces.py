"""The interface of an object with one or more entries, of one ledger or of many, that a bookie adds in one step.

The decoder of requests decides whether entries become a run of one ledger (:mod:`.entry_run`) or an object with several
ledgers (:mod:`.mixed_runs`).  All other modules use these methods, so that they need not distinguish the two.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from .entry_run import NOWHERE, EntryRun
from .mixed_runs import MixedRun

T = TypeVar("T")


class Entries(Protocol):
    """One or more entries that a bookie adds in one step, in the order of arrival.

    Three classes have these methods.  An EntryRun is one run: consecutive entries of one ledger.  A RunSequence is
    several runs.  A MixedRun is entries of several ledgers in any order, without runs.

    The attributes ``ledger_ids``, ``entry_ids`` and ``lacs`` have one item for each run: its ledger id, the id of its
    last entry, and the LAC in its last entry.  In a MixedRun, they have one item for each entry.
    """

    @property
    def count(self) -> int:
        """Return the number of entries."""

    @property
    def size(self) -> int:
        """Return the number of bytes of all records, including the ``i32 size`` of each."""

    @property
    def data(self) -> bytes:
        """Return the records, each ``i32 size`` and ``size`` entry bytes."""

    @property
    def ledger_ids(self) -> Sequence[int]: ...

    @property
    def entry_ids(self) -> Sequence[int]: ...

    @property
    def lacs(self) -> Sequence[int]: ...

    def runs(self) -> Iterator[EntryRun]:
        """Return all runs (consecutive entries of one ledger), in order; a MixedRun returns a run for each entry."""

    def ids(self) -> Iterable[tuple[int, int]]:
        """Return (ledger id, entry id) of every entry, in order."""

    def spans(self) -> Iterable[tuple[int, int, int]]:
        """Return (ledger id, first entry id, last entry id) of each run, in order."""

    def dispatch(self, of_run: Callable[[EntryRun], T], of_mixed: Callable[[MixedRun], T]) -> list[T]:
        """Call ``of_run`` or ``of_mixed`` with the entries, and return the results of the calls, in order.

        :param of_run: called with each run, if the entries are runs.
        :param of_mixed: called once with all entries, if they are a MixedRun (entries of several ledgers in any order).
        """

    def part_numbers(self, n: int) -> Iterable[int]:
        """Return the numbers of the parts that may get entries when :meth:`split` divides these entries.

        If the entries belong to several ledgers, the ledgers are not examined, so that the result can include parts
        that get no entry.  The result does not depend on the argument ``elsewhere`` of :meth:`split`.

        :param n: number of parts; they are numbered from 0 on.
        """

    def split(self, n: int, elsewhere: Mapping[int, int] = NOWHERE) -> "Iterable[tuple[int, Entries]]":
        """Split the entries by ledger into ``n`` parts; return (number, entries) of each part that is not empty.

        All entries of a ledger belong to the part with the number ``ledger id mod n``.

        :param elsewhere: exceptions: maps a ledger id to the number of the part to which this ledger belongs instead.
        """
