"""Counts acknowledgements of the adds of a batch: which entries have an ack quorum, and which cannot reach it.

The index of an entry in its batch is called its place.  A set of entries is an integer with one bit for each place.
*Level* ``n`` is the set of the entries for which more than ``n`` bookies have answered.  So the count of an answer for
a thousand entries takes only a few operations on integers.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Tally:
    """Counts, up to a threshold, how many bookies have answered for each entry of a batch.

    A *voter* is a bookie that answers.  A set of entries is an integer: bit ``n`` stands for the entry with index ``n``
    in the batch, its *place*.
    """

    __slots__ = ("_levels", "_votes")

    def __init__(self, threshold: int) -> None:
        """:param threshold: number of bookies that must answer for an entry, at least one."""
        self._levels = [0] * threshold
        self._votes: dict[Hashable, int] = {}

    @property
    def reached(self) -> int:
        """The entries for which the number of answers has reached the threshold, as a set of bits."""
        return self._levels[-1]

    def add(self, voter: Hashable, places: int) -> int:
        """Count the answer of a bookie for entries of the batch; counting it again has no effect.

        :param voter: the bookie, as any value that distinguishes it from others.
        :param places: the entries, as a set of bits.
        :returns: the entries that reach the threshold by this answer, as a set of bits.
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
        """Remove the answers of the bookie ``voter`` for the entries in ``places``, a set of bits."""
        if self._votes.get(voter, 0) & places:
            self._votes[voter] &= ~places
            votes, self._votes, self._levels = self._votes, {}, [0] * len(self._levels)
            for each, seen in votes.items():
                self.add(each, seen)

    def of(self, voter: Hashable) -> int:
        """Return the entries of the batch for which the bookie ``voter`` has answered, as a set of bits."""
        return self._votes.get(voter, 0)


class AckTally(Tally):
    """A tally of the answers of bookies to the adds of one batch.

    A voter is one add request to one bookie.  If entries of a request are sent again, to the same bookie or to another
    one, the new request is another voter.  From this moment, the answer to the old request does not count for these
    entries.  So an acknowledged entry is on the bookies that the metadata name.

    :ivar replaced: for each replaced request, the entries that were sent again in another request, as a set of bits.
    """

    __slots__ = ("_failures", "_spare", "replaced")

    def __init__(self, write_quorum: int, ack_quorum: int) -> None:
        super().__init__(ack_quorum)
        self._failures: Tally | None = None
        self._spare = write_quorum - ack_quorum
        self.replaced: dict[Hashable, int] | None = None

    def acknowledge(self, voter: Hashable, places: int) -> int:
        """Count the acknowledgement of an add request.

        :param voter: the add request that the bookie has answered.
        :param places: the entries: bit ``n`` stands for the entry with index ``n`` in the batch.
        :returns: the entries that reach their ack quorum by this answer, as a set of bits.
        """
        if self.replaced is not None:
            places &= ~self.replaced.get(voter, 0)
        return self.add(voter, places)

    def fail(self, voter: Hashable, places: int) -> int:
        """Count the failure of an add request.

        :param voter: the add request that failed.
        :param places: the entries: bit ``n`` stands for the entry with index ``n`` in the batch.
        :returns: the entries for which the failure counts, because they were not sent again in another request; as a
            set of bits.
        """
        if self.replaced is not None:
            places &= ~self.replaced.get(voter, 0)
        if self._failures is None:
            self._failures = Tally(self._spare + 1)
        self._failures.add(voter, places)
        return places

    def replace(self, voter: Hashable, places: int) -> None:
        """Ignore the answer to a request for some entries, because another request sends these entries again.

        :param voter: the request that no longer counts.
        :param places: the entries, as a set of bits.
        """
        if self.replaced is None:
            self.replaced = {}
        self.replaced[voter] = self.replaced.get(voter, 0) | places
        self.take_back(voter, places)
        if self._failures is not None:
            self._failures.take_back(voter, places)

    def is_replaced(self, voter: Hashable, places: int) -> bool:
        """Test whether :meth:`replace` was called for all entries in ``places`` of the request ``voter``."""
        return self.replaced is not None and not places & ~self.replaced.get(voter, 0)

    def failed(self, voter: Hashable, places: int) -> bool:
        """Test whether the request ``voter`` failed for one of the entries in ``places``, a set of bits."""
        return self._failures is not None and bool(self._failures.of(voter) & places)

    @property
    def unreachable(self) -> int:
        """The entries that cannot reach an ack quorum, because too many bookies have failed, as a set of bits."""
        return 0 if self._failures is None else self._failures.reached


def places_of(bits: int) -> Sequence[int]:
    """Return the indexes in the batch of the entries in a set of bits, ascending.

    :param bits: the set, not empty; bit 0 stands for the first entry of the batch.
    """
    low = (bits & -bits).bit_length() - 1
    if not bits & (bits + (1 << low)):  # fast path: the bits are consecutive
        return range(low, bits.bit_length())
    return [place for place, bit in enumerate(bin(bits)[:1:-1]) if bit == "1"]


def set_of(places: Sequence[int]) -> int:
    """Return an integer whose bits are set at ``places``, one or more indexes of entries in the batch."""
    if isinstance(places, range) and places.step == 1:
        return ((1 << len(places)) - 1) << places.start
    bits = bytearray(-(-(max(places) + 1) // 8))
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def items_at(items: Sequence[Item], places: Sequence[int]) -> Sequence[Item]:
    """Return the ``items`` at the given indexes.

    :param places: the indexes, ascending, at least one.
    :returns: ``items`` itself if all of its items are chosen.
    """
    if len(places) == len(items):
        return items
    if isinstance(places, range):
        return items[places.start : places.stop]
    return [items[place] for place in places]


def leading(bits: int, first: int) -> int:
    """Return the number of consecutive entries in a set of bits, from the index ``first`` on.

    :param bits: the set of bits.
    """
    rest = bits >> first
    return (~rest & (rest + 1)).bit_length() - 1
