"""The result of a check of a ledger: which entries its bookies lack, and which replicas could not be checked."""

from collections.abc import Iterator
from enum import Enum

import attrs

from .fragments import LedgerFragment


class LossKind(Enum):
    """The reasons why a bookie cannot return entries that it should have."""

    GONE = "gone"
    """The bookie is registered neither as writable nor as read-only."""
    MISSING = "missing"
    """The bookie answers that it does not have the entries."""
    DAMAGED = "damaged"
    """The bookie returns other bytes than were written, or cannot read its disk."""
    LEAVING = "leaving"
    """The bookie may still have the entries, but must be replaced, for example because it is decommissioned."""


@attrs.frozen
class ReplicaLoss:
    """The entries of a fragment that the bookie at one position of the ensemble cannot return.

    :ivar ranges: (first id, last id) of each range with lost entries, ascending.  Entries in a range that the bookie
        need not store, because the ledger is striped, are not lost.  The tuple is empty if the bookie itself is lost,
        but need not store any entry of the fragment.
    """

    position: int
    bookie_id: str
    kind: LossKind
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class Inconclusive:
    """A position of the ensemble whose check failed, so that it is unknown which entries its bookie has.

    :ivar cause: text of an error, for example that the bookie is overloaded, slow or unreachable.
    """

    position: int
    bookie_id: str
    cause: str


@attrs.frozen
class FragmentReport:
    """The result of the check of one fragment.

    :ivar losses: the lost entries, with one item for each position of the ensemble and each reason (:class:`LossKind`).
    :ivar inconclusive: the positions that could not be checked.
    """

    fragment: LedgerFragment
    losses: tuple[ReplicaLoss, ...] = ()
    inconclusive: tuple[Inconclusive, ...] = ()


@attrs.frozen
class CheckReport:
    """The result of the check of a ledger.

    :ivar fragments: the checked fragments, in ascending order.
    :ivar requests: number of requests to bookies, answered or failed.
    :ivar entries: number of entries that were read.
    :ivar n_bytes: number of bytes of these entries.
    """

    ledger_id: int
    fragments: tuple[FragmentReport, ...] = ()
    requests: int = 0
    entries: int = 0
    n_bytes: int = 0

    @property
    def damaged(self) -> tuple[FragmentReport, ...]:
        """The reports on fragments whose ensemble has a bookie that lacks entries or is lost."""
        return tuple(report for report in self.fragments if report.losses)

    @property
    def bookies(self) -> frozenset[str]:
        """The ids of the bookies of all fragments."""
        return frozenset(bookie_id for report in self.fragments for bookie_id in report.fragment.ensemble)

    @property
    def is_whole(self) -> bool:
        """Whether every replica was checked, and no bookie lacks an entry."""
        return not any(report.losses or report.inconclusive for report in self.fragments)

    @property
    def is_conclusive(self) -> bool:
        """Whether every position of every ensemble could be checked."""
        return not any(report.inconclusive for report in self.fragments)

    def whole(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (first entry, last entry, position, bookie) of each complete replica of a closed fragment."""
        for report in self.fragments:
            fragment = report.fragment
            bad = {loss.position for loss in report.losses} | {one.position for one in report.inconclusive}
            for position, bookie_id in enumerate(fragment.ensemble if fragment.closed else ()):
                if position not in bad:
                    yield fragment.first, fragment.last, position, bookie_id

    def lacking(self) -> Iterator[str]:
        """Yield the ids of the bookies that are lost, lack entries, or could not be checked, some more than once."""
        for report in self.fragments:
            yield from (loss.bookie_id for loss in report.losses)
            yield from (one.bookie_id for one in report.inconclusive)

    def losses(self) -> Iterator[ReplicaLoss]:
        """Yield the losses of all fragments: for each position of an ensemble, one item for each kind of loss."""
        for report in self.fragments:
            yield from report.losses
