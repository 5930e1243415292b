"""Which bookie keeps which entry, and which bookies a new ledger gets.  Pure.

Entry ``n`` of a ledger is kept by the ``Wq`` positions of the ensemble that begin at ``n mod E``; an
add succeeds at ``Aq`` of them.  Ids have 64 bits here, as everywhere.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from statistics import median
from typing import Protocol

import attrs
from zope.interface import implementer

from ..errors import IncorrectParameterError, NotEnoughBookiesError
from .interfaces import Adherence, Candidates, IPlacementPolicy


class Chance(Protocol):
    """The part of ``random.Random`` the client draws from."""

    def sample(self, population: Sequence[str], k: int) -> list[str]:
        """``k`` different ones."""

    def getrandbits(self, k: int, /) -> int:
        """``k`` random bits."""

    def random(self) -> float:
        """From 0 (included) to 1 (excluded)."""


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
        """The positions that keep an entry, in the order in which they are read."""
        return self._sets[entry_id % self.ensemble_size]

    def stretches(self, position: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """First id and count of each stretch of consecutive entries of ``first .. last`` kept at a position."""
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

    def is_covered(self, heard: Collection[int]) -> bool:
        """Whether no write set has an ack quorum of positions that were not heard (S17)."""
        return all(sum(p not in heard for p in positions) < self.ack_quorum for positions in self._sets)


@lru_cache(maxsize=256)
def schedule_of(ensemble_size: int, write_quorum: int, ack_quorum: int) -> Schedule:
    """The schedule of these sizes, which all ledgers that have them share."""
    return Schedule(ensemble_size, write_quorum, ack_quorum)


def shuffled(candidates: Candidates, taken: Collection[str], chance: Chance, max_multiple: float) -> list[str]:
    """The bookies that may be chosen, in the order of a draw without replacement.

    Bookies with more free space tend to come first, where it is known.  A weight is at most
    ``max_multiple`` medians (0: no limit); a bookie without any, or whose space is not known,
    has the smallest weight of the others, so that it is drawn at all.
    """
    # sorted: one seed gives one order
    bookies = sorted(set(candidates.writable) - set(candidates.excluded) - set(taken))
    weights = [candidates.free_bytes.get(bookie, 0) for bookie in bookies]
    positive = sorted(weight for weight in weights if weight > 0)
    if not positive:
        return chance.sample(bookies, len(bookies))
    limit = max_multiple * median(positive) if max_multiple else positive[-1]
    # Exponential variates with these rates: the order of their values is that of weighted draws.
    keys = [-log(1.0 - chance.random()) / min(weight or positive[0], limit) for weight in weights]
    return [bookie for _, bookie in sorted(zip(keys, bookies, strict=True))]


@implementer(IPlacementPolicy)
class RandomPlacement:
    """Any bookies, without regard to where they are.

    :param chance: where it comes from.
    :param max_multiple: limit for weights, see :func:`shuffled`.
    """

    def __init__(self, chance: Chance, max_multiple: float = 3.0) -> None:
        self._chance = chance
        self._max_multiple = max_multiple

    async def prepare(self, bookies: Collection[str]) -> None:
        """Nothing: one bookie is as good as another."""

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> Sequence[str]:  # fmt: skip
        """See :meth:`~.interfaces.IPlacementPolicy.new_ensemble`."""
        return self._draw(size, candidates, ())

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """See :meth:`~.interfaces.IPlacementPolicy.replace_bookie`."""
        return self._draw(1, candidates, ensemble)[0]

    def adherence(self, ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Strict: there are no rules to break."""
        return Adherence.STRICT

    def _draw(self, size: int, candidates: Candidates, taken: Collection[str]) -> tuple[str, ...]:
        bookies = shuffled(candidates, taken, self._chance, self._max_multiple)
        if len(bookies) < size:
            raise NotEnoughBookiesError(f"{size} bookies are needed, {len(bookies)} are available")
        return tuple(bookies[:size])
