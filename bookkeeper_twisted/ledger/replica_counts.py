"""Counts the replicas of the entries of a fragment, by the lists of its bookies."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from .schedule import Schedule

Ranges = Sequence[tuple[int, int]]
"""First and last ids of contiguous ranges, ascending."""


def fewest_replicas(schedule: Schedule, first: int, last: int, listed: Sequence[Ranges]) -> int:
    """Return the smallest number of replicas that an entry has at the positions which are to keep it.

    :param first: entries ``first .. last``, both included, count.
    :param listed: what the bookie of each position has.
    :returns: the write quorum where there is no entry.
    """
    period = schedule.ensemble_size
    fewest = schedule.write_quorum
    for phase in range(min(period, last - first + 1)):
        start = first + phase
        write_set = schedule.write_set(start)
        fewest = min(fewest, _fewest(start, last, period, [listed[position] for position in write_set]))
    return fewest


def _fewest(start: int, last: int, period: int, listed: Sequence[Ranges]) -> int:
    """The same for every ``period``-th entry from ``start`` on.

    The number of replicas changes only at the ends of ranges, so that a few entries speak for all.
    """
    points = {start}
    for ranges in listed:
        for low, high in ranges:
            for point in (low, high + 1):
                points.add(start + max(0, -((start - point) // period)) * period)
    return min(sum([_has(ranges, point) for ranges in listed]) for point in points if point <= last)


def _has(ranges: Ranges, entry_id: int) -> bool:
    place = bisect_right(ranges, entry_id, key=itemgetter(0))
    return place > 0 and ranges[place - 1][1] >= entry_id
