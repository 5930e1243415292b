"""The fragments of a ledger (the entries that one ensemble keeps), and the sample of entries that a check reads."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import attrs

from ..model import LedgerMetadata, Segment
from .placement import Chance
from .schedule import Schedule, schedule_of

EVERY_ENTRY = 100
"""The sample percentage with which a check reads all entries."""


@attrs.frozen
class LedgerFragment:
    """Consecutive entries of a ledger that one ensemble keeps.

    :ivar last: id of the last entry known to be acknowledged; ``first - 1`` if there is none.
    :ivar closed: whether the entries of the fragment are final.  If not, its writer may be alive, and no other process
        may add entries to the fragment or change its ensemble.
    """

    ledger_id: int
    first: int
    last: int
    ensemble: tuple[str, ...]
    schedule: Schedule
    closed: bool

    @property
    def count(self) -> int:
        """The number of entries in the fragment."""
        return self.last - self.first + 1

    def ends(self, position: int) -> tuple[int, int] | None:
        """Return the ids of the first and the last entry that the bookie at a position keeps; None if none.

        :param position: index in the ensemble, from 0.
        """
        return self.schedule.ends(position, self.first, self.last)

    def moves(self, bookies: Mapping[int, str]) -> "Moves":
        """Return the replacements of bookies that the ledger's metadata need after the repair of this fragment.

        :param bookies: for each repaired position, the bookie that now has the entries.  If it is the bookie that the
            ensemble already has there, the position needs no change.
        """
        pairs = {position: (self.ensemble[position], new) for position, new in bookies.items()}
        return Moves(self.first, {position: (old, new) for position, (old, new) in pairs.items() if old != new})

    def sample(self, position: int, percentage: int, chance: Chance) -> list[int] | None:
        """Return the ids of the entries that a check reads at a position of the ensemble.

        These are the first and the last entry that the bookie at the position keeps, and about ``percentage`` percent
        of the entries between them, spread evenly.

        :param position: index in the ensemble, from 0.
        :param percentage: percentage of the entries to read, from 0 to 100.
        :param chance: source of random numbers for the choice of the entries between the first and the last.
        :returns: ascending ids; None for all entries that the bookie keeps.
        """
        ends = self.ends(position)
        if ends is None:
            return []
        first, last = ends
        span = last - first + 1
        wanted = span * percentage // EVERY_ENTRY
        if wanted >= span:
            return None
        chosen = {first, last}
        if wanted:
            bucket = span // wanted
            drawn = [start + int(chance.random() * bucket) for start in range(first, last + 1, bucket)]
            chosen.update(i for i in drawn if i <= last and self.schedule.keeps(position, i))
        return None if len(chosen) == span else sorted(chosen)


@attrs.frozen
class Moves:
    """The replacements of bookies in one fragment, to be applied to the metadata of the ledger.

    :ivar first: id of the first entry of the fragment.
    :ivar bookies: for each position in the ensemble, (old bookie, bookie that has the entries now).
    """

    first: int
    bookies: Mapping[int, tuple[str, str]]

    def are_needed(self, metadata: LedgerMetadata) -> bool:
        """Test whether the ledger ``metadata`` still has, at its position, a bookie that is to be replaced.

        The newest ensemble of a ledger that is not closed does not count, because only the writer may change it.
        """
        return any(self._applied(segment) != segment.bookies for segment in self._segments(metadata))

    def apply(self, metadata: LedgerMetadata) -> LedgerMetadata:
        """Return the ledger ``metadata`` with the old bookies replaced by the new ones.

        A position stays unchanged if ``metadata`` does not have the old bookie there any more, or if the ensemble has
        the new bookie already.
        """
        changed = self._segments(metadata)
        segments = (
            Segment(segment.first_entry_id, self._applied(segment)) if segment in changed else segment
            for segment in metadata.segments
        )
        return attrs.evolve(metadata, segments=tuple(segments))

    def _segments(self, metadata: LedgerMetadata) -> list[Segment]:
        final = metadata.segments if metadata.closed else metadata.segments[:-1]
        return [segment for segment in final if segment.first_entry_id == self.first]

    def _applied(self, segment: Segment) -> tuple[str, ...]:
        bookies = list(segment.bookies)
        for position, (old, new) in self.bookies.items():
            if bookies[position] == old and new not in bookies:
                bookies[position] = new
        return tuple(bookies)


def fragments_of(ledger_id: int, metadata: LedgerMetadata, last_confirmed: int) -> Iterator[LedgerFragment]:
    """Yield the fragments of a ledger, one for each ensemble, including fragments without entries.

    :param last_confirmed: the highest known LAC; not used for a closed ledger.
    """
    schedule = schedule_of(metadata)
    newest = metadata.segments[-1].first_entry_id
    end = metadata.last_entry_id if metadata.closed else last_confirmed
    # In an open ledger, the fragments before the newest count as closed only if the known LAC, which may be lower than
    # the writer's, has reached their last entry.  Before that, some of their entries may still be on their way.
    settled = metadata.closed or last_confirmed >= newest - 1
    starts = [segment.first_entry_id for segment in metadata.segments]
    for segment, (start, following) in zip(metadata.segments, pairwise([*starts, end + 1]), strict=True):
        is_newest = start == newest
        closed = metadata.closed or (settled and not is_newest)
        last = max(min(following - 1, end) if metadata.closed else following - 1, start - 1)
        yield LedgerFragment(ledger_id, start, last, segment.bookies, schedule, closed)
