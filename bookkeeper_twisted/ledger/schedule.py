"""The distribution schedule: which positions of an ensemble keep which entry.

Entry ``n`` of a ledger is kept by the ``Wq`` positions of the ensemble that begin at ``n mod E``; an
add succeeds at ``Aq`` of them.  Ids have 64 bits here, as everywhere.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache

import attrs

from ..errors import IncorrectParameterError


def _write_sets(schedule: "Schedule") -> tuple[tuple[int, ...], ...]:
    size = schedule.ensemble_size
    return tuple(tuple((n + i) % size for i in range(schedule.write_quorum)) for n in range(size))


@attrs.frozen
class Schedule:
    """The round-robin distribution of entries over the positions of an ensemble.

    :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1.
    """

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    _sets: tuple[tuple[int, ...], ...] = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_write_sets, takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        if not self.ensemble_size >= self.write_quorum >= self.ack_quorum >= 1:
            raise IncorrectParameterError(
                "ensemble size >= write quorum >= ack quorum >= 1 does not hold for "
                f"{self.ensemble_size}, {self.write_quorum}, {self.ack_quorum}"
            )

    @property
    def striped(self) -> bool:
        """Whether some bookie of the ensemble lacks some entry."""
        return self.ensemble_size > self.write_quorum

    def write_set(self, entry_id: int) -> tuple[int, ...]:
        """Return the positions that keep the entry ``entry_id``, in the order in which they are read."""
        return self._sets[entry_id % self.ensemble_size]

    def stretches(self, position: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield first id and count of each stretch of consecutive entries that a position keeps.

        :param position: index in the ensemble, from 0.
        :param first: entries ``first .. last``, both included, count.
        """
        if not self.striped:
            yield first, last - first + 1
            return
        size = self.ensemble_size
        # the position keeps n where (position - n) mod E < Wq, so a stretch ends at n = position (mod E)
        end = first + (position - first) % size
        while (start := end - self.write_quorum + 1) <= last:
            low, high = max(start, first), min(end, last)
            yield low, high - low + 1
            end += size

    def keeps(self, position: int, entry_id: int) -> bool:
        """Test whether ``position``, an index in the ensemble, keeps the entry ``entry_id``."""
        return (position - entry_id) % self.ensemble_size < self.write_quorum

    def ends(self, position: int, first: int, last: int) -> tuple[int, int] | None:
        """Return the lowest and the highest id that a position keeps, None if there is none.

        :param position: index in the ensemble, from 0.
        :param first: entries ``first .. last``, both included, count.
        """
        size = self.ensemble_size
        # the position keeps n where (position - n) mod E < Wq
        low = first + max((position - first) % size - self.write_quorum + 1, 0)
        behind = (position - last) % size
        high = last if behind < self.write_quorum else last - (size - behind)
        return (low, high) if low <= last and high >= first else None

    def is_covered(self, heard: Collection[int]) -> bool:
        """Test whether no write set has an ack quorum of positions that did not answer (S17).

        :param heard: positions that answered.
        """
        return all(sum(p not in heard for p in positions) < self.ack_quorum for positions in self._sets)


@lru_cache(maxsize=256)
def schedule_of(ensemble_size: int, write_quorum: int, ack_quorum: int) -> Schedule:
    """Return the schedule of these sizes; ledgers of the same sizes share one object.

    :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1.
    """
    return Schedule(ensemble_size, write_quorum, ack_quorum)
