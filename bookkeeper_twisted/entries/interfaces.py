"""The methods of entries that a bookie adds together, the same for one ledger and for many.

Only the decoder of requests decides whether entries become a run of one ledger (:mod:`.entry_run`) or a mixture of
ledgers (:mod:`.mixed_runs`).  Every other module calls these methods; for a run, each of them costs one call.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from .entry_run import NOWHERE, EntryRun
from .mixed_runs import MixedRun

T = TypeVar("T")


class Entries(Protocol):
    """The entries of one request to add, at least one, in the order of arrival.

    They are runs, or single entries where entries of several ledgers alternate.  Three sequences have one item for each
    run or single entry: ``ledger_ids`` its ledger, ``entry_ids`` the id of its last entry, and ``lacs`` the LAC field
    of that last entry.
    """

    @property
    def count(self) -> int:
        """Return the number of entries."""

    @property
    def size(self) -> int:
        """Return the bytes of all records, including their size words."""

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
        """Return all runs, in order; a single entry is a run of its own."""

    def ids(self) -> Iterable[tuple[int, int]]:
        """Return ledger and id of every entry, in order."""

    def spans(self) -> Iterable[tuple[int, int, int]]:
        """Return the ledger, the first and the last entry of each run, in order."""

    def each(self, of_run: Callable[[EntryRun], T], of_mixed: Callable[[MixedRun], T]) -> list[T]:
        """Call one of two functions with the entries, and return the results, in order.

        :param of_run: called with each run.
        :param of_mixed: called once, with all single entries.
        """

    def numbers(self, n: int) -> Iterable[int]:
        """Return the numbers of the parts that :meth:`split` may return for the same ``n``.

        :param n: as in :meth:`split`.
        """

    def split(self, n: int, elsewhere: Mapping[int, int] = NOWHERE) -> "Iterable[tuple[int, Entries]]":
        """Split the entries by ``ledger id mod n``; return the number and the entries of each part that is not empty.

        :param elsewhere: part numbers of ledgers that are not in the part ``ledger id mod n``, by ledger id.
        """
