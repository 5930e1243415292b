"""The arithmetic of placement: a weighted random order of bookies, and the racks for the positions of an ensemble.

The rule for racks: the bookies of each write set must be in at least a given number of different racks.  (A write set
is ``Wq`` consecutive positions of the ensemble; after the last position comes the first.)  :class:`RackSearch` assigns
a rack to one position after the other, and prefers unused racks.  If no rack for a position satisfies the rule, the
search goes back to the position before and tries another rack there.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import log
from statistics import median
from typing import Protocol

import attrs


class Chance(Protocol):
    """A source of random numbers: the methods of ``random.Random`` that the client uses."""

    def sample(self, population: Sequence[str], k: int) -> list[str]:
        """Draw ``k`` different items of a ``population``."""

    def getrandbits(self, k: int, /) -> int:
        """Return ``k`` random bits."""

    def random(self) -> float:
        """Return a number from 0 (inclusive) to 1 (exclusive)."""


class Adherence(Enum):
    """Whether an ensemble satisfies the rules of a placement policy."""

    STRICT = "strict"
    FAIL = "fail"


@attrs.frozen
class Candidates:
    """The bookies from which a placement policy may choose.

    :ivar writable: ids of the bookies that accept entries of new ledgers.
    :ivar excluded: bookies that must not be chosen, whether writable or not.
    :ivar free_bytes: the free space of each bookie in bytes, as far as it is known; the weight for random draws.
    """

    writable: Collection[str]
    excluded: Collection[str] = ()
    free_bytes: Mapping[str, int] = attrs.field(factory=dict)


def shuffled(candidates: Candidates, taken: Collection[str], chance: Chance, max_multiple: float) -> list[str]:
    """Return the bookies that may be chosen, in a random order that prefers free space.

    A bookie's weight is its known free space; bookies with more weight tend to come first.  A bookie without free
    space, or with unknown free space, gets the smallest weight of the others.

    :param taken: ids of bookies that are in the ensemble already; they are left out.
    :param chance: source of random numbers; with the same seed, the order is the same.
    :param max_multiple: greatest weight of a bookie, as a multiple of the median free space; 0 for no limit.
    """
    # Sort the bookies, so that the same seed gives the same order.
    bookies = sorted(set(candidates.writable) - set(candidates.excluded) - set(taken))
    weights = [candidates.free_bytes.get(bookie, 0) for bookie in bookies]
    positive = sorted(weight for weight in weights if weight > 0)
    if not positive:
        return chance.sample(bookies, len(bookies))
    limit = max_multiple * median(positive) if max_multiple else positive[-1]
    # Weighted random order: draw for each bookie an exponential variate whose rate is the weight, and sort by it.
    keys = [-log(1.0 - chance.random()) / min(weight or positive[0], limit) for weight in weights]
    return [bookie for _, bookie in sorted(zip(keys, bookies, strict=True))]


MAX_STEPS = 10_000
"""Maximum number of attempts of one search, each with one rack at one position; real clusters need far fewer."""

NOWHERE = ""
"""The rack name of a bookie whose rack is unknown; it does not help a write set to be in enough different racks."""


def windows(size: int, write_quorum: int, position: int) -> Iterator[list[int]]:
    """Yield each write set that contains ``position``, as a list of positions in the ensemble.

    :param size: number of bookies in the ensemble.
    :param position: index in the ensemble, from 0.
    """
    starts: Iterable[int] = range(position - write_quorum + 1, position + 1) if size > write_quorum else (0,)
    for start in starts:
        yield [(start + i) % size for i in range(write_quorum)]


def can_span(racks: Sequence[str | None], write_quorum: int, position: int, wanted: int) -> bool:
    """Test whether each write set with the ``position`` can have bookies in enough racks.

    A position without a bookie can still get one in a new rack, so it counts as one more rack.

    :param racks: the rack of each position of the ensemble; None for a position without a bookie.
    :param position: index in the ensemble, from 0.
    :param wanted: number of different racks in which a write set must be.
    """
    for window in windows(len(racks), write_quorum, position):
        window_racks = [racks[p] for p in window]
        if len({rack for rack in window_racks if rack}) + window_racks.count(None) < wanted:
            return False
    return True


@attrs.define
class RackSearch:
    """A search that assigns a rack to each position of an ensemble, so that each write set is in enough racks.

    :ivar wanted: number of different racks in which each write set must be.
    :ivar free: for each rack, in random order, the number of its bookies that are not assigned to a position yet.
    :ivar first: the rack of this host, which is tried first for position 0; None if it is unknown.
    :ivar used: number of positions to which each rack is assigned.
    :ivar steps: number of attempts so far, each with one rack at one position.
    """

    size: int
    write_quorum: int
    wanted: int
    free: dict[str, int]
    first: str | None
    racks: list[str | None] = attrs.field(init=False)
    used: Counter[str] = attrs.field(factory=Counter)
    steps: int = 0

    def run(self) -> list[str] | None:
        """Return the rack of each position; None if the search found no racks that satisfy the rule."""
        self.racks = [None] * self.size
        return [rack for rack in self.racks if rack] if self._fill(0) else None

    def _fill(self, position: int) -> bool:
        if position == self.size:
            return True
        for rack in self._order(position):
            self.steps += 1
            if self.steps > MAX_STEPS:
                return False
            self.racks[position] = rack
            if can_span(self.racks, self.write_quorum, position, self.wanted):
                self._take(rack, 1)
                if self._fill(position + 1):
                    return True
                self._take(rack, -1)
            self.racks[position] = None
        return False

    def _take(self, rack: str, count: int) -> None:
        self.free[rack] -= count
        self.used[rack] += count

    def _order(self, position: int) -> list[str]:
        """Return the racks with a free bookie, the least used rack first; for position 0, the local rack is first."""
        racks = [rack for rack, count in self.free.items() if count > 0]
        local = self.first if position == 0 else None
        return sorted(racks, key=lambda rack: (rack != local, self.used[rack]))
