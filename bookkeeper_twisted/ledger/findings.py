"""The findings of a check: which positions of which fragments lack entries, and what could not be found out."""

from collections.abc import Iterator
from enum import Enum

import attrs

from .fragments import LedgerFragment


class LossKind(Enum):
    """The reasons why a bookie cannot give entries that it should keep."""

    GONE = "gone"
    """It is not registered, neither as writable nor as read-only."""
    MISSING = "missing"
    """It answers that it does not have them."""
    DAMAGED = "damaged"
    """It gives other bytes than were written, or cannot read its disk."""
    LEAVING = "leaving"
    """It may well have them, and is to be replaced nevertheless."""


@attrs.frozen
class ReplicaLoss:
    """Entries that one position of a fragment lacks.

    :ivar ranges: first and last ids, ascending; of each range those entries are meant that the position keeps.
        Empty where the position keeps nothing: the ensemble names a bookie that is gone, and no entry is lost.
    """

    position: int
    bookie_id: str
    kind: LossKind
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class Inconclusive:
    """A position that could not be checked to its end: says nothing about its entries.

    :ivar cause: text of the last error, of a bookie that is overloaded, slow or cannot be reached.
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

    :ivar fragments: all that were looked at, in ascending order.
    :ivar requests: that bookies answered or failed.
    :ivar entries: that were read.
    :ivar n_bytes: of these entries.
    """

    ledger_id: int
    fragments: tuple[FragmentReport, ...] = ()
    requests: int = 0
    entries: int = 0
    n_bytes: int = 0

    @property
    def damaged(self) -> tuple[FragmentReport, ...]:
        """The fragments in which a position lacks entries, or a bookie is gone."""
        return tuple(report for report in self.fragments if report.losses)

    @property
    def bookies(self) -> frozenset[str]:
        """Ids of the bookies of all fragments."""
        return frozenset(bookie_id for report in self.fragments for bookie_id in report.fragment.ensemble)

    @property
    def is_whole(self) -> bool:
        """Whether it is certain that no position lacks anything."""
        return not any(report.losses or report.inconclusive for report in self.fragments)

    @property
    def is_conclusive(self) -> bool:
        """Whether every position was checked."""
        return not any(report.inconclusive for report in self.fragments)

    def whole(self) -> Iterator[tuple[int, int, int, str]]:
        """Of each position that lacks nothing, in final fragments: first and last entry, the position, its bookie."""
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
