"""Counts acknowledgements of the adds of a batch: which entries have an ack quorum, and which cannot reach it.

Entries have places in a batch, and a set of places is an integer with a bit for each.  A *level* is the set of places
for which more than a number of bookies have answered, so that an answer for a thousand entries is a few operations on
integers, whatever the quorums, the striping and the order of the answers.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Tally:
    """A count of the bookies that have answered for each entry of a batch, up to a threshold.

    A bookie is called a voter here, and the index of an entry in the batch its place.
    """

    __slots__ = ("_levels", "_votes")

    def __init__(self, threshold: int) -> None:
        """:param threshold: number of bookies that an entry needs, at least one."""
        self._levels = [0] * threshold
        self._votes: dict[Hashable, int] = {}

    @property
    def reached(self) -> int:
        """The entries of the batch that enough bookies have answered for, as a set of bits."""
        return self._levels[-1]

    def add(self, voter: Hashable, places: int) -> int:
        """Count the answer of a bookie (voter) for entries (places) of the batch; a second call has no effect.

        :param voter: any value that distinguishes it from others.
        :param places: a set of bits.
        :returns: the places that have enough voters since this call.
        """
        votes, levels = self._votes, self._levels
        if voter in votes:
            places &= ~votes[voter]
            votes[voter] |= places
        else:
            votes[voter] = places
        for number, level in enumerate(levels):
            levels[number] = level | places
            below, places = places, places & level
        return below & ~level

    def take_back(self, voter: Hashable, places: int) -> None:
        """Remove the answers of the bookie ``voter`` for ``places``; places without its answer stay as they are."""
        if self._votes.get(voter, 0) & places:
            self._votes[voter] &= ~places
            votes, self._votes, self._levels = self._votes, {}, [0] * len(self._levels)
            for each, seen in votes.items():
                self.add(each, seen)

    def of(self, voter: Hashable) -> int:
        """Return the entries of the batch that the bookie ``voter`` has answered for, as a set of bits."""
        return self._votes.get(voter, 0)


class AckTally(Tally):
    """A tally of the answers of bookies to the adds of one batch.

    A voter is one request to one bookie: a repeated request, to another bookie or to the same one, is another
    voter.  Answers of a voter that was replaced do not count (S16).

    :ivar replaced: the places for which voters were replaced, by voter.
    """

    __slots__ = ("_failures", "_spare", "replaced")

    def __init__(self, write_quorum: int, ack_quorum: int) -> None:
        super().__init__(ack_quorum)
        self._failures: Tally | None = None
        self._spare = write_quorum - ack_quorum
        self.replaced: dict[Hashable, int] | None = None

    def acknowledge(self, voter: Hashable, places: int) -> int:
        """Count the acknowledgements of the bookie ``voter`` for the entries at ``places``.

        :returns: the places that have their ack quorum since this call.
        """
        if self.replaced is not None:
            places &= ~self.replaced.get(voter, 0)
        return self.add(voter, places)

    def fail(self, voter: Hashable, places: int) -> int:
        """Record that the bookie ``voter`` failed to store entries, given as the bits ``places`` of their indexes.

        :returns: the places where the failure counts: the voter was not replaced there.
        """
        if self.replaced is not None:
            places &= ~self.replaced.get(voter, 0)
        if self._failures is None:
            self._failures = Tally(self._spare + 1)
        self._failures.add(voter, places)
        return places

    def replace(self, voter: Hashable, places: int) -> None:
        """Ignore the past and future answers of a bookie for some entries that another bookie will store.

        :param voter: the request that no longer counts.
        :param places: a set of bits.
        """
        if self.replaced is None:
            self.replaced = {}
        self.replaced[voter] = self.replaced.get(voter, 0) | places
        self.take_back(voter, places)
        if self._failures is not None:
            self._failures.take_back(voter, places)

    def is_replaced(self, voter: Hashable, places: int) -> bool:
        """Test whether the bookie ``voter`` was replaced for all entries at ``places``."""
        return self.replaced is not None and not places & ~self.replaced.get(voter, 0)

    def failed(self, voter: Hashable, places: int) -> bool:
        """Test whether the bookie ``voter`` failed for at least one of the entries at ``places``."""
        return self._failures is not None and bool(self._failures.of(voter) & places)

    @property
    def unreachable(self) -> int:
        """The entries of the batch that cannot reach an ack quorum, as too many bookies have failed."""
        return 0 if self._failures is None else self._failures.reached


def places_of(bits: int) -> Sequence[int]:
    """Return the indexes of the bits of a set, ascending.

    :param bits: the set, not empty; bit 0 is the place of the first entry.
    """
    low = (bits & -bits).bit_length() - 1
    if not bits & (bits + (1 << low)):  # the places are consecutive
        return range(low, bits.bit_length())
    return [place for place, bit in enumerate(bin(bits)[:1:-1]) if bit == "1"]


def set_of(places: Sequence[int]) -> int:
    """Encode one or more ``places`` as an integer with one bit for each place."""
    if isinstance(places, range) and places.step == 1:
        return ((1 << len(places)) - 1) << places.start
    bits = bytearray(-(-(max(places) + 1) // 8))
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def items_at(items: Sequence[Item], places: Sequence[int]) -> Sequence[Item]:
    """Return the ``items`` at the given indexes.

    :param places: in ascending order, at least one.
    :returns: the sequence itself if the places are all of its places.
    """
    if len(places) == len(items):
        return items
    if isinstance(places, range):
        return items[places.start : places.stop]
    return [items[place] for place in places]


def leading(bits: int, first: int) -> int:
    """Return how many places in a row, from ``first`` upwards, are in a set.

    :param bits: the set.
    """
    rest = bits >> first
    return (~rest & (rest + 1)).bit_length() - 1
