"""The choice of the order in which a reader asks the bookies that keep an entry."""

from collections.abc import Sequence

from ...errors import BadRequestError, NoSuchEntryError
from ...ledger.bookie_health import BookieHealth
from ...ledger.schedule import Schedule
from ...placement.bookie_watcher import BookieWatcher

_HEALTHY, _FAILED, _READ_ONLY, _SLOW, _UNKNOWN = range(5)


class ReadOrder:
    """The order in which one reader asks the bookies that keep an entry.

    By default this is the order of the write set, which spreads the load over the bookies.  A *sticky* reader asks the
    same bookie first until this bookie fails, which makes better use of the bookie's caches.  This is possible only if
    every bookie of the ensemble stores every entry.

    :ivar schedule: the distribution of entries to positions of the ensemble.
    :param reorder: whether bookies that are likely to fail or to be slow are asked last.
    :param sticky: the position in the ensemble of the bookie that a sticky reader asks first; None to spread the load.
    """

    def __init__(
        self, schedule: Schedule, known: BookieWatcher, health: BookieHealth, reorder: bool, sticky: int | None
    ) -> None:  # fmt: skip
        self.schedule = schedule
        self._known = known
        self._health = health
        self._reorder = reorder
        self._sticky = None if schedule.striped else sticky

    def of(self, ensemble: Sequence[str], entry_id: int) -> list[str]:
        """Return the ids of the bookies in an entry's write set; the reader asks them in this order.

        :param ensemble: the ensemble of the entry.
        """
        first = entry_id if self._sticky is None else self._sticky
        return self.preferred([ensemble[position] for position in self.schedule.write_set(first)])

    def everybody(self, ensemble: Sequence[str], entry_id: int) -> list[str]:
        """Return the ids of all bookies of an ensemble; the reader asks them in this order.

        The write set of ``entry_id`` comes first, then the other bookies.  But bookies that are likely to fail or to be
        slow come last.

        :param entry_id: id of an entry, which need not be written yet.
        """
        start = entry_id % len(ensemble)
        return self.preferred([*ensemble[start:], *ensemble[:start]])

    def preferred(self, bookies: list[str]) -> list[str]:
        """Return ``bookies``, but move bookies that are likely to fail or to be slow to the end."""
        return sorted(bookies, key=self._rank) if self._reorder else bookies

    def _rank(self, bookie_id: str) -> tuple[int, float]:
        if bookie_id not in self._known.writable and bookie_id not in self._known.read_only:
            return _UNKNOWN, 0.0
        if self._health.is_slow(bookie_id):
            return _SLOW, 0.0
        if bookie_id not in self._known.writable:
            return _READ_ONLY, 0.0
        failed_at = self._health.failed_at(bookie_id)
        return (_HEALTHY, 0.0) if failed_at is None else (_FAILED, failed_at)

    def succeeded(self, bookie_id: str) -> None:
        """Record that the bookie ``bookie_id`` returned an entry."""
        self._health.succeeded(bookie_id)

    def overtaken(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` was slow: another bookie, which was asked later, answered first."""
        self._health.was_slow(bookie_id)

    def failed(self, bookie_id: str, ensemble: Sequence[str], error: Exception) -> None:
        """Record that a bookie did not return an entry; a sticky reader moves to the next position in the ensemble.

        :param ensemble: the ensemble of the entry.
        :param error: the error.  After "no such entry" or a refused batch read, a sticky reader stays at its position.
        """
        self._health.failed(bookie_id, error)
        if self._sticky is None or isinstance(error, NoSuchEntryError | BadRequestError):
            return
        if bookie_id == ensemble[self._sticky]:
            self._sticky = (self._sticky + 1) % len(ensemble)
