"""Sets of ledger ids, stored as ranges; used for options, for filters, and in the offsets of a stream."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Self

import attrs

from ..model import MAX_LEDGER_ID


@attrs.frozen
class IdRanges:
    """A set of ledger ids, kept as ranges.

    :ivar ranges: first and last id of each range, ascending; there is a gap between any two ranges.
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, ids: Iterable[int]) -> Self:
        """Return the set that contains ``ids``, which may come in any order."""
        return cls(_joined((n, n) for n in sorted(ids)))

    @classmethod
    def of_ranges(cls, ranges: Iterable[tuple[int, int]]) -> Self:
        """Return the set of all ids in ``ranges``: pairs of first and last id, in any order, which may overlap."""
        return cls(_joined(sorted(ranges)))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, ledger_id: int) -> bool:
        at = bisect_right(self.ranges, ledger_id, key=itemgetter(0)) - 1
        return at >= 0 and ledger_id <= self.ranges[at][1]

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges:
            yield from range(first, last + 1)

    def intersection(self, other: "IdRanges") -> "IdRanges":
        """Return the set of the ids that are in both this set and ``other``."""
        common: list[tuple[int, int]] = []
        for first, last in self.ranges:
            at = max(bisect_right(other.ranges, first, key=itemgetter(0)) - 1, 0)
            end = bisect_right(other.ranges, last, key=itemgetter(0))
            common += [(max(first, low), min(last, high)) for low, high in other.ranges[at:end] if high >= first]
        return IdRanges(tuple(common))

    def complement(self) -> "IdRanges":
        """Return the set of all possible ledger ids that are not in this set."""
        gaps: list[tuple[int, int]] = []
        following = 0
        for first, last in self.ranges:
            if first > following:
                gaps.append((following, first - 1))
            following = last + 1
        if following <= MAX_LEDGER_ID:
            gaps.append((following, MAX_LEDGER_ID))
        return IdRanges(tuple(gaps))

    def union(self, ids: Collection[int]) -> "IdRanges":
        """Return this set with ``ids`` added, which may come in any order; return this object if ``ids`` is empty."""
        return IdRanges(_joined(sorted([*self.ranges, *((n, n) for n in ids)]))) if ids else self

    def to_text(self) -> str:
        """Return the set as text such as ``3-7,9``."""
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a set from ``text`` that :meth:`to_text` returned.

        :raises ValueError: the text does not have this form.
        """
        parts = (part.partition("-") for part in text.split(",") if part)
        return cls(tuple((int(first), int(last or first)) for first, _, last in parts))

    __str__ = to_text


ALL_IDS = IdRanges().complement()


def _joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join ascending ranges that touch or overlap."""
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)
