"""Counts acknowledgements of the adds of a batch: which entries have an ack quorum, and which cannot reach it.

An *index set* is a set of entries of a batch, as an integer: bit ``n`` stands for the entry with index ``n`` in the
batch.  Instead of a counter for each entry, there is an index set for each count: *level* ``n`` contains the entries
for which more than ``n`` bookies have answered.  So even an answer for a thousand entries is counted by a few bitwise
operations.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Tally:
    """Counts, up to a threshold, how many bookies have answered for each entry of a batch.

    A *voter* is a bookie that answers.  The entries are given, and returned, as index sets.
    """

    __slots__ = ("_levels", "_votes")

    def __init__(self, threshold: int) -> None:
        """:param threshold: number of bookies that must answer for an entry, at least one."""
        self._levels = [0] * threshold
        self._votes: dict[Hashable, int] = {}

    @property
    def reached(self) -> int:
        """The entries for which the number of answers has reached the threshold, as an index set."""
        return self._levels[-1]

    def add(self, voter: Hashable, index_set: int) -> int:
        """Count the answer of a bookie for entries of the batch; counting it again has no effect.

        :param voter: the bookie, as any value that distinguishes it from others.
        :param index_set: the entries.
        :returns: the entries that reach the threshold by this answer, as an index set.
        """
        votes, levels = self._votes, self._levels
        if voter in votes:
            index_set &= ~votes[voter]
            votes[voter] |= index_set
        else:
            votes[voter] = index_set
        for number, level in enumerate(levels):
            levels[number] = level | index_set
            below, index_set = index_set, index_set & level
        return below & ~level

    def take_back(self, voter: Hashable, index_set: int) -> None:
        """Remove the answers of the bookie ``voter`` for some entries.

        :param index_set: these entries, as an integer in which bit ``n`` stands for entry ``n`` of the batch.
        """
        if self._votes.get(voter, 0) & index_set:
            self._votes[voter] &= ~index_set
            votes, self._votes, self._levels = self._votes, {}, [0] * len(self._levels)
            for each, seen in votes.items():
                self.add(each, seen)

    def of(self, voter: Hashable) -> int:
        """Return the entries of the batch for which the bookie ``voter`` has answered, as an index set."""
        return self._votes.get(voter, 0)


class AckTally(Tally):
    """A tally of the answers of bookies to the adds of one batch.

    A voter is one add request to one bookie.  If entries of a request are sent again, to the same bookie or to another
    one, the new request is another voter.  From this moment, the answer to the old request does not count for these
    entries: it may come from a bookie that is no longer in the ensemble, where readers would not look.

    :ivar replaced: for each replaced request, the entries that were sent again in another request, as an index set.
    """

    __slots__ = ("_failures", "_spare", "replaced")

    def __init__(self, write_quorum: int, ack_quorum: int) -> None:
        super().__init__(ack_quorum)
        self._failures: Tally | None = None
        self._spare = write_quorum - ack_quorum
        self.replaced: dict[Hashable, int] | None = None

    def acknowledge(self, voter: Hashable, index_set: int) -> int:
        """Count the acknowledgement of an add request.

        :param voter: the add request that the bookie has answered.
        :param index_set: the entries.
        :returns: the entries that reach their ack quorum by this answer, as an index set.
        """
        if self.replaced is not None:
            index_set &= ~self.replaced.get(voter, 0)
        return self.add(voter, index_set)

    def fail(self, voter: Hashable, index_set: int) -> int:
        """Count the failure of an add request.

        :param voter: the add request that failed.
        :param index_set: the entries.
        :returns: the entries for which the failure counts, because they were not sent again in another request; as an
            index set.
        """
        if self.replaced is not None:
            index_set &= ~self.replaced.get(voter, 0)
        if self._failures is None:
            self._failures = Tally(self._spare + 1)
        self._failures.add(voter, index_set)
        return index_set

    def replace(self, voter: Hashable, index_set: int) -> None:
        """Ignore, from now on, the answer to a request for some entries: another request sends these entries again.

        :param voter: the request whose answer is ignored.
        :param index_set: the entries, as an integer in which bit ``n`` stands for entry ``n`` of the batch.
        """
        if self.replaced is None:
            self.replaced = {}
        self.replaced[voter] = self.replaced.get(voter, 0) | index_set
        self.take_back(voter, index_set)
        if self._failures is not None:
            self._failures.take_back(voter, index_set)

    def is_replaced(self, voter: Hashable, index_set: int) -> bool:
        """Test whether other requests send all of some entries of a request again (:meth:`replace` was called).

        :param voter: the request.
        :param index_set: the entries, as an integer in which bit ``n`` stands for entry ``n`` of the batch.
        """
        return self.replaced is not None and not index_set & ~self.replaced.get(voter, 0)

    def failed(self, voter: Hashable, index_set: int) -> bool:
        """Test whether an add request failed for at least one of some entries.

        :param voter: the request.
        :param index_set: the entries, as an integer in which bit ``n`` stands for entry ``n`` of the batch.
        """
        return self._failures is not None and bool(self._failures.of(voter) & index_set)

    @property
    def unreachable(self) -> int:
        """The entries that cannot reach an ack quorum, because too many bookies have failed, as an index set."""
        return 0 if self._failures is None else self._failures.reached


def indexes_of(index_set: int) -> Sequence[int]:
    """Return the indexes in the batch of the entries in an index set, ascending.

    :param index_set: the set, not empty; bit 0 stands for the first entry of the batch.
    """
    low = (index_set & -index_set).bit_length() - 1
    if not index_set & (index_set + (1 << low)):  # fast path: the indexes are consecutive
        return range(low, index_set.bit_length())
    return [index for index, bit in enumerate(bin(index_set)[:1:-1]) if bit == "1"]


def set_of(indexes: Sequence[int]) -> int:
    """Return the index set of one or more ``indexes`` of entries in the batch."""
    if isinstance(indexes, range) and indexes.step == 1:
        return ((1 << len(indexes)) - 1) << indexes.start
    bits = bytearray(-(-(max(indexes) + 1) // 8))
    for index in indexes:
        bits[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(bits, "little")


def items_at(items: Sequence[Item], indexes: Sequence[int]) -> Sequence[Item]:
    """Return the ``items`` at the given indexes.

    :param indexes: the indexes, ascending, at least one.
    :returns: ``items`` itself if all of its items are chosen.
    """
    if len(indexes) == len(items):
        return items
    if isinstance(indexes, range):
        return items[indexes.start : indexes.stop]
    return [items[index] for index in indexes]


def leading(index_set: int, first: int) -> int:
    """Return how many consecutive bits of ``index_set`` are 1, beginning with bit ``first``.

    Each bit stands for one entry of the batch.

    :param index_set: the set, which may be empty.
    """
    rest = index_set >> first
    return (~rest & (rest + 1)).bit_length() - 1
