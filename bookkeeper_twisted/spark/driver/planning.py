"""Divides ranges of entries into partitions of about equal cost; does no I/O.

A range of entries is cut into pieces at each ensemble change, because later entries are on other bookies.
Pieces that are too large for a partition are cut again.  A partition is one large piece or several small pieces.  Sizes
are estimated from the average size of the ledger's entries.  The most expensive partitions come first, so that all
cores have work until the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import attrs

from ...blocking_reads import Address, Fragment
from ...ledger.read_answers import ENTRY_OVERHEAD
from ...model import LedgerMetadata
from ..task.partition import FragmentPart

PIECE_COST = 32 << 10
"""The fixed cost of reading a piece (a range of entries), in bytes; it stands for one round trip to a bookie."""

MAX_PIECES = 2000
"""Maximum number of pieces (ranges of entries) of a partition.

Spark sends the list of the pieces to the task, so the list must not become too large.
"""

USUAL_PARTITIONS, WORTH_A_TASK = 16, 8 << 20
"""If the user sets no number of partitions, there are at least USUAL_PARTITIONS partitions.

But there are fewer if a partition would then have less than WORTH_A_TASK bytes.
"""


@attrs.frozen
class EntryRange:
    """The entries to read of one ledger: all entries from ``first`` to ``last``.

    :ivar last: id of the last entry, inclusive.
    :ivar entry_bytes: average size in bytes of a payload in this ledger.
    """

    ledger_id: int
    first: int
    last: int
    metadata: LedgerMetadata = attrs.field(repr=False)
    entry_bytes: float = 0.0

    @property
    def count(self) -> int:
        """The number of entries in the range."""
        return self.last - self.first + 1

    @property
    def size(self) -> float:
        """Estimated size of the range in bytes: payloads and a fixed overhead per entry."""
        return self.count * (self.entry_bytes + ENTRY_OVERHEAD)


def ensembles(metadata: LedgerMetadata, first: int, last: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Split entries ``first .. last`` (inclusive) at ensemble changes; yield first id, last id, bookies of each part.

    :param metadata: metadata of the ledger that contains the range.
    """
    starts = [segment.first_entry_id for segment in metadata.segments] + [last + 1]
    for segment, (start, following) in zip(metadata.segments, pairwise(starts), strict=True):
        low, high = max(start, first), min(following - 1, last)
        if low <= high:
            yield low, high, segment.bookies


def pieces(entries: EntryRange, addresses: Mapping[str, Address], max_bytes: float) -> Iterator[FragmentPart]:
    """Cut a range of entries at ensemble changes, and then into pieces of at most ``max_bytes``.

    :param addresses: addresses of the bookies of all ensembles, by bookie id.
    :param max_bytes: maximum number of bytes of a piece, estimated from the average entry size of the ledger.
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
    """Divide ranges of entries into partitions; return the most expensive partition first.

    :param ranges: the entries to read; empty ranges are left out.
    :param addresses: addresses of the bookies of all ensembles, by bookie id.
    :param max_bytes: maximum number of bytes of a partition.
    :param at_least: the wanted minimum number of partitions; 0 to choose the number by the size of the entries.
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
    """Pack small ranges of entries into partitions, in the given order, so that ranges of a ledger stay together.

    :param target: maximum cost of a partition.
    """
    packed: list[list[FragmentPart]] = []
    cost = target
    for piece in small:
        if cost + piece.cost > target or len(packed[-1]) >= MAX_PIECES:
            packed.append([])
            cost = 0.0
        packed[-1].append(piece)
        cost += piece.cost
    return list(packed)
