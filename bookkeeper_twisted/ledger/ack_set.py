"""Which entries of a sent run are acknowledged by enough bookies.  Pure.

A bit for each entry, a stretch of such bits for each level: bit ``i`` of level ``k`` says that more than ``k``
positions answered for entry ``first + i``.  All levels are one integer, and so is what the positions answered:
a reply for a thousand entries is a few operations on integers, whatever the quorums, the striping and the
order of the replies, and where nothing failed it is one small object.
"""

from functools import lru_cache

from .schedule import Schedule


@lru_cache(maxsize=4096)
def _lowest_bits(count: int, threshold: int) -> int:
    """The lowest bit of each level: a factor that repeats a level in all of them."""
    return sum(1 << level * count for level in range(threshold))


class Tally:
    """Counts, for each entry of a run, the positions that were counted for it, up to a threshold."""

    __slots__ = ("_first", "_count", "_threshold", "_seen", "_levels")

    def __init__(self, first: int, count: int, threshold: int) -> None:
        self._first = first
        self._count = count
        self._threshold = threshold
        self._seen = 0
        self._levels = 0

    def add(self, position: int, first: int, count: int) -> None:
        """Counts a position for a range of entries; again for the same entry has no effect."""
        bits = ((1 << count) - 1) << (first - self._first)
        shift = position * self._count
        new = bits & ~(self._seen >> shift)
        self._seen |= new << shift
        self._raise(new)

    def _raise(self, entries: int) -> None:
        """One position more has these entries: each is on the level above that which it had reached."""
        below = self._levels << self._count | (1 << self._count) - 1
        self._levels |= below & entries * _lowest_bits(self._count, self._threshold)

    def drop(self, position: int, first: int) -> None:
        """Takes back what was counted for a position from an entry on."""
        seen = self._seen_by(position)
        kept = seen & (1 << max(first - self._first, 0)) - 1
        self._seen ^= (seen ^ kept) << position * self._count
        self._levels = 0
        for each in self.positions:
            self._raise(self._seen_by(each))

    def _seen_by(self, position: int) -> int:
        return self._seen >> position * self._count & (1 << self._count) - 1

    @property
    def reached(self) -> int:
        """The entries that reached the threshold, a bit each."""
        return self._levels >> (self._threshold - 1) * self._count

    @property
    def positions(self) -> list[int]:
        """The positions that are counted for some entry."""
        end = -(-self._seen.bit_length() // self._count)
        return [position for position in range(end) if self._seen_by(position)]


class AckSet(Tally):
    """Answers of the positions of one ensemble for one run of entries: a tally of those that have them, and, where
    there are any, of those that failed."""

    __slots__ = ("_schedule", "_failures")

    def __init__(self, first: int, count: int, schedule: Schedule) -> None:
        super().__init__(first, count, schedule.ack_quorum)
        self._schedule = schedule
        self._failures: Tally | None = None

    def fail(self, position: int, first: int, count: int) -> None:
        """The bookie at a position failed these entries."""
        if self._failures is None:
            spare = self._schedule.write_quorum - self._schedule.ack_quorum
            self._failures = Tally(self._first, self._count, spare + 1)
        self._failures.add(position, first, count)

    def forget(self, position: int, first: int) -> None:
        """Another bookie is to keep the entries from ``first`` on at a position."""
        self.drop(position, first)
        if self._failures is not None:
            self._failures.drop(position, self._first)

    def has_quorum(self, first: int, count: int) -> bool:
        """Whether these entries have their ack quorum, whatever lies before them."""
        bits = ((1 << count) - 1) << (first - self._first)
        return not bits & ~self.reached

    @property
    def failed_positions(self) -> list[int]:
        """Where a bookie failed some entry."""
        return [] if self._failures is None else self._failures.positions

    @property
    def acked(self) -> int:
        """How many entries from the first one on, without a gap, have their ack quorum."""
        done = self.reached
        return (~done & (done + 1)).bit_length() - 1

    @property
    def first_unreachable(self) -> int | None:
        """Index of the first entry for which the bookies that did not fail are too few."""
        lost = 0 if self._failures is None else self._failures.reached
        return (lost & -lost).bit_length() - 1 if lost else None
