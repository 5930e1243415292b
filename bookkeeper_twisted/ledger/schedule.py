"""The distribution schedule: which positions of an ensemble keep an entry.

Entry ``n`` of a ledger is kept by ``Wq`` positions of the ensemble, its write set, which begin at ``n mod E``.  An add
succeeds when the bookies at ``Aq`` of these positions have stored the entry.  Entry ids have 64 bits.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

import attrs

from ..errors import IncorrectParameterError
from ..model import LedgerMetadata

Ranges = Sequence[tuple[int, int]]
"""(first id, last id) of ranges of consecutive entries, ascending."""


def _write_sets(schedule: "Schedule") -> tuple[tuple[int, ...], ...]:
    size = schedule.ensemble_size
    return tuple(tuple((n + i) % size for i in range(schedule.write_quorum)) for n in range(size))


@attrs.frozen
class Schedule:
    """The round-robin distribution of entries over the positions of an ensemble.

    :ivar striped: whether the ledger is striped: no bookie of the ensemble keeps all entries.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1.
    """

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    striped: bool = attrs.field(
        init=False, eq=False, repr=False,
        default=attrs.Factory(lambda self: self.ensemble_size > self.write_quorum, takes_self=True),
    )  # fmt: skip
    _sets: tuple[tuple[int, ...], ...] = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_write_sets, takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        if not self.ensemble_size >= self.write_quorum >= self.ack_quorum >= 1:
            raise IncorrectParameterError(
                "ensemble size >= write quorum >= ack quorum >= 1 does not hold for "
                f"{self.ensemble_size}, {self.write_quorum}, {self.ack_quorum}"
            )

    def write_set(self, entry_id: int) -> tuple[int, ...]:
        """Return the positions in the ensemble whose bookies store ``entry_id``; readers ask them in this order."""
        return self._sets[entry_id % self.ensemble_size]

    def stretches(self, position: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield (first id, count) of each run of consecutive entries that the bookie at ``position`` must store.

        :param position: index in the ensemble, from 0.
        :param first, last: ids of the first and the last entry of the examined range.
        """
        if not self.striped:
            yield first, last - first + 1
            return
        size = self.ensemble_size
        # The bookie at ``position`` stores entry n if (position - n) mod E < Wq.  So the last entry of each run of
        # stored entries is an n with n mod E = position.
        end = first + (position - first) % size
        while (start := end - self.write_quorum + 1) <= last:
            low, high = max(start, first), min(end, last)
            yield low, high - low + 1
            end += size

    def keeps(self, position: int, entry_id: int) -> bool:
        """Test whether the bookie at ``position``, an index in the ensemble, must store the entry ``entry_id``."""
        return (position - entry_id) % self.ensemble_size < self.write_quorum

    def ends(self, position: int, first: int, last: int) -> tuple[int, int] | None:
        """Return the lowest and the highest id in a range that the bookie at a position keeps; None if it keeps none.

        :param position: index in the ensemble, from 0.
        :param first: first id of the range of entries; the range includes ``last``.
        """
        size = self.ensemble_size
        # the position keeps entry n if (position - n) mod E < Wq
        low = first + max((position - first) % size - self.write_quorum + 1, 0)
        behind = (position - last) % size
        high = last if behind < self.write_quorum else last - (size - behind)
        return (low, high) if low <= last and high >= first else None

    def count(self, position: int, first: int, last: int) -> int:
        """Return the number of entries of ``first .. last``, inclusive, that the bookie at a position keeps.

        :param position: index in the ensemble, from 0.
        """
        rounds, rest = divmod(last - first + 1, self.ensemble_size)
        return rounds * self.write_quorum + sum(self.keeps(position, n) for n in range(last - rest + 1, last + 1))

    def is_covered(self, answered: Collection[int]) -> bool:
        """Test whether each possible ack quorum contains a position whose bookie has answered.

        :param answered: positions that answered.
        """
        return all(sum(p not in answered for p in positions) < self.ack_quorum for positions in self._sets)


_shared = lru_cache(maxsize=256)(Schedule)


def schedule_of(metadata: LedgerMetadata) -> Schedule:
    """Return the schedule of a ledger; ledgers with equal ensemble size and quorums share one object.

    :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1.
    """
    return _shared(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)


def fewest_replicas(schedule: Schedule, first: int, last: int, listed: Sequence[Ranges]) -> int:
    """Count, for each entry from ``first`` to ``last``, the bookies of its write set that have it; return the minimum.

    :param listed: for each position of the ensemble, the ranges of entries that its bookie has.
    :returns: the lowest number of replicas; the write quorum if there is no entry.
    """
    period = schedule.ensemble_size
    fewest = schedule.write_quorum
    for phase in range(min(period, last - first + 1)):
        start = first + phase
        write_set = schedule.write_set(start)
        fewest = min(fewest, _fewest(start, last, period, [listed[position] for position in write_set]))
    return fewest


def _fewest(start: int, last: int, period: int, listed: Sequence[Ranges]) -> int:
    """Return the lowest number of replicas of the entries ``start``, ``start + period``, ... up to ``last``.

    The number of replicas changes only where a range in ``listed`` begins or ends, so only such entries are examined.

    :param listed: for each bookie of the write set of these entries, the ranges of entries that it has.
    """
    points = {start}
    for ranges in listed:
        for low, high in ranges:
            for point in (low, high + 1):
                points.add(start + max(0, -((start - point) // period)) * period)
    return min(sum([_has(ranges, point) for ranges in listed]) for point in points if point <= last)


def _has(ranges: Ranges, entry_id: int) -> bool:
    index = bisect_right(ranges, entry_id, key=itemgetter(0))
    return index > 0 and ranges[index - 1][1] >= entry_id
