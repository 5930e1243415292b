"""Which entries of a sent run are acknowledged by enough bookies.  Pure.

A bit for each entry, an integer for each level: bit ``i`` of level ``k`` says that at least ``k``
positions answered for entry ``first + i``.  A reply for a thousand entries is then a few operations on
integers of a thousand bits, whatever the quorums, the striping and the order of the replies.
"""

from .placement import Schedule


class Tally:
    """Counts, for each entry of a run, the positions that were counted for it, up to a threshold."""

    __slots__ = ("_levels", "_seen", "_first")

    def __init__(self, first: int, count: int, threshold: int, positions: int) -> None:
        self._first = first
        self._seen = [0] * positions
        self._levels = [(1 << count) - 1] + [0] * threshold

    def add(self, position: int, first: int, count: int) -> None:
        """Counts a position for a range of entries; again for the same entry has no effect."""
        bits = ((1 << count) - 1) << (first - self._first)
        new = bits & ~self._seen[position]
        self._seen[position] |= bits
        levels = self._levels
        for level in range(len(levels) - 1, 0, -1):
            levels[level] |= levels[level - 1] & new

    def drop(self, position: int, first: int) -> None:
        """Takes back what was counted for a position from an entry on."""
        self._seen[position] &= (1 << max(first - self._first, 0)) - 1
        levels = [self._levels[0]] + [0] * (len(self._levels) - 1)
        for seen in self._seen:
            for level in range(len(levels) - 1, 0, -1):
                levels[level] |= levels[level - 1] & seen
        self._levels = levels

    @property
    def reached(self) -> int:
        """The entries that reached the threshold, a bit each."""
        return self._levels[-1]

    @property
    def positions(self) -> list[int]:
        """Those that are counted for some entry."""
        return [position for position, seen in enumerate(self._seen) if seen]


class AckSet:
    """Answers of the positions of one ensemble for one run of entries."""

    __slots__ = ("_first", "_acks", "_failures")

    def __init__(self, first: int, count: int, schedule: Schedule) -> None:
        self._first = first
        positions = schedule.ensemble_size
        self._acks = Tally(first, count, schedule.ack_quorum, positions)
        spare = schedule.write_quorum - schedule.ack_quorum
        self._failures = Tally(first, count, spare + 1, positions)

    def ack(self, position: int, first: int, count: int) -> None:
        """The bookie at a position has these entries."""
        self._acks.add(position, first, count)

    def fail(self, position: int, first: int, count: int) -> None:
        """The bookie at a position failed these entries."""
        self._failures.add(position, first, count)

    def forget(self, position: int, first: int) -> None:
        """Another bookie is to keep the entries from ``first`` on at a position."""
        self._acks.drop(position, first)
        self._failures.drop(position, self._first)

    def has_quorum(self, first: int, count: int) -> bool:
        """Whether these entries have their ack quorum, whatever lies before them."""
        bits = ((1 << count) - 1) << (first - self._first)
        return not bits & ~self._acks.reached

    @property
    def failed_positions(self) -> list[int]:
        """Where a bookie failed some entry."""
        return self._failures.positions

    @property
    def acked(self) -> int:
        """How many entries from the first one on, without a gap, have their ack quorum."""
        done = self._acks.reached
        return (~done & (done + 1)).bit_length() - 1

    @property
    def first_unreachable(self) -> int | None:
        """Index of the first entry for which the bookies that did not fail are too few."""
        lost = self._failures.reached
        return (lost & -lost).bit_length() - 1 if lost else None
