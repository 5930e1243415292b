"""The findings of a check: lost entries by fragment and position, and positions without a result."""

from collections.abc import Iterator
from enum import Enum

import attrs

from .fragments import LedgerFragment


class LossKind(Enum):
    """The reasons why a bookie cannot return entries that it should hold."""

    GONE = "gone"
    """The bookie is registered neither as writable nor as read-only."""
    MISSING = "missing"
    """The bookie answers that it does not have the entries."""
    DAMAGED = "damaged"
    """The bookie gives other bytes than were written, or cannot read its disk."""
    LEAVING = "leaving"
    """The bookie may have the entries, and is to be replaced all the same."""


@attrs.frozen
class ReplicaLoss:
    """The entries that one position of a fragment lacks.

    :ivar ranges: first and last ids, ascending; a range stands for those of its entries that the position keeps.
        Empty if the position keeps nothing: the ensemble names a bookie that is gone, but no entry is lost.
    """

    position: int
    bookie_id: str
    kind: LossKind
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class Inconclusive:
    """A position whose check did not end, so that the state of its entries is unknown.

    :ivar cause: text of the last error, of a bookie that is overloaded, slow or unreachable.
    """

    position: int
    bookie_id: str
    cause: str


@attrs.frozen
class FragmentReport:
    """The result of the check of one fragment."""

    fragment: LedgerFragment
    losses: tuple[ReplicaLoss, ...] = ()
    inconclusive: tuple[Inconclusive, ...] = ()


@attrs.frozen
class CheckReport:
    """The result of the check of a ledger.

    :ivar fragments: the checked fragments, in ascending order.
    :ivar requests: number of requests that bookies answered or failed.
    :ivar entries: number of entries that were read.
    :ivar n_bytes: bytes of these entries.
    """

    ledger_id: int
    fragments: tuple[FragmentReport, ...] = ()
    requests: int = 0
    entries: int = 0
    n_bytes: int = 0

    @property
    def damaged(self) -> tuple[FragmentReport, ...]:
        """The fragments where a position lacks entries, or where the ensemble names a lost bookie."""
        return tuple(report for report in self.fragments if report.losses)

    @property
    def bookies(self) -> frozenset[str]:
        """The ids of the bookies of all fragments."""
        return frozenset(bookie_id for report in self.fragments for bookie_id in report.fragment.ensemble)

    @property
    def is_whole(self) -> bool:
        """Whether it is certain that no position lacks an entry."""
        return not any(report.losses or report.inconclusive for report in self.fragments)

    @property
    def is_conclusive(self) -> bool:
        """Whether every position was checked."""
        return not any(report.inconclusive for report in self.fragments)

    def whole(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield first entry, last entry, position and bookie for each position of a final fragment without losses."""
        for report in self.fragments:
            fragment = report.fragment
            bad = {loss.position for loss in report.losses} | {one.position for one in report.inconclusive}
            for position, bookie_id in enumerate(fragment.ensemble if fragment.closed else ()):
                if position not in bad:
                    yield fragment.first, fragment.last, position, bookie_id

    def losses(self) -> Iterator[ReplicaLoss]:
        """Yield the losses of all fragments."""
        for report in self.fragments:
            yield from report.losses
