"""The division of ranges of entries into partitions of about equal cost.  Pure.

A range is cut where the ensemble changes, since other bookies keep what follows, and where a piece would be larger
than a partition may be. The sizes of entries are not known before they are read; the average of the ledger stands
for them. Small pieces share a partition. The most expensive partitions come first, so that all cores have work
until the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import attrs

from ...blocking_reads import Address, Fragment
from ...model import LedgerMetadata
from ..task.partition import FragmentPart

PIECE_COST = 32 << 10
"""The cost of a piece beside its bytes, in bytes: a round trip to its bookie."""

MAX_PIECES = 2000
"""Pieces of a partition: what is sent to a task stays small."""

ENTRY_OVERHEAD = 40

USUAL_PARTITIONS, WORTH_A_TASK = 16, 8 << 20
"""Partitions where their number is not asked for, unless they would be smaller than this, in bytes."""


@attrs.frozen
class EntryRange:
    """Entries of one ledger that are to be read.

    :ivar last: the last of them.
    :ivar entry_bytes: average bytes of a payload.
    """

    ledger_id: int
    first: int
    last: int
    metadata: LedgerMetadata = attrs.field(repr=False)
    entry_bytes: float = 0.0

    @property
    def count(self) -> int:
        """The number of entries."""
        return self.last - self.first + 1

    @property
    def size(self) -> float:
        """The estimated number of bytes."""
        return self.count * (self.entry_bytes + ENTRY_OVERHEAD)


def ensembles(metadata: LedgerMetadata, first: int, last: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield first id, last id and bookies of each part of ``first .. last`` (inclusive) that one ensemble keeps.

    :param metadata: of the ledger.
    """
    starts = [segment.first_entry_id for segment in metadata.segments] + [last + 1]
    for segment, (start, following) in zip(metadata.segments, pairwise(starts), strict=True):
        low, high = max(start, first), min(following - 1, last)
        if low <= high:
            yield low, high, segment.bookies


def pieces(entries: EntryRange, addresses: Mapping[str, Address], max_bytes: float) -> Iterator[FragmentPart]:
    """Cut a range by ensembles and by size.

    :param addresses: of the bookies of all ensembles, by id.
    :param max_bytes: of a piece, estimated by the average of the ledger.
    """
    entry_cost = entries.entry_bytes + ENTRY_OVERHEAD
    number = entries.ledger_id
    for first, last, bookies in ensembles(entries.metadata, entries.first, entries.last):
        count = last - first + 1
        parts = min(count, max(1, -int(-count * entry_cost // max_bytes)))
        ensemble = tuple(addresses[bookie_id] for bookie_id in bookies)
        for i in range(parts):
            start, end = first + count * i // parts, first + count * (i + 1) // parts
            fragment = Fragment(entries.ledger_id, start, end - 1, ensemble, entries.metadata.write_quorum_size)
            yield FragmentPart(fragment, number, (end - start) * entry_cost + PIECE_COST)
            number += 1


def partitions(
    ranges: Iterable[EntryRange], addresses: Mapping[str, Address], max_bytes: int, at_least: int = 0
) -> list[Sequence[FragmentPart]]:
    """Plan partitions for some ranges, the most expensive first.

    :param ranges: ranges without entries are left out.
    :param addresses: of the bookies of all ensembles, by id.
    :param max_bytes: of a partition.
    :param at_least: the smallest number of partitions, if there are as many entries; 0 leaves it to their size.
    """
    wanted = [entries for entries in ranges if entries.count > 0]
    total = sum(entries.size + PIECE_COST for entries in wanted)
    target = min(float(max_bytes), total / at_least if at_least else max(total / USUAL_PARTITIONS, WORTH_A_TASK))
    cut = [piece for entries in wanted for piece in pieces(entries, addresses, target)]
    full = [piece for piece in cut if piece.cost > target / 2]
    small = [piece for piece in cut if piece.cost <= target / 2]
    planned: list[Sequence[FragmentPart]] = [[piece] for piece in full]
    planned += _packed(small, target)
    return sorted(planned, key=lambda partition: -sum(piece.cost for piece in partition))


def _packed(small: Sequence[FragmentPart], target: float) -> list[Sequence[FragmentPart]]:
    """Group small pieces in order, so that pieces of neighbouring ledgers stay together."""
    packed: list[list[FragmentPart]] = []
    cost = target
    for piece in small:
        if cost + piece.cost > target or len(packed[-1]) >= MAX_PIECES:
            packed.append([])
            cost = 0.0
        packed[-1].append(piece)
        cost += piece.cost
    return list(packed)
