"""What a client remembers for a while of bookies it read from: failures, slowness, missing batch reads."""

from twisted.internet.interfaces import IReactorTime

from ...errors import BadRequestError, ClientClosedError, NoSuchEntryError, NoSuchLedgerError

_HARMLESS = (NoSuchEntryError, NoSuchLedgerError, BadRequestError, ClientClosedError)
"""Errors that say nothing against a bookie."""


class BookieHealth:
    """Failures and slowness by bookie.

    :param remembered: seconds.
    """

    def __init__(self, clock: IReactorTime, remembered: float) -> None:
        self._clock = clock
        self._remembered = remembered
        self._failures: dict[str, float] = {}
        self._slow: dict[str, float] = {}

    def failed(self, bookie_id: str, error: Exception) -> None:
        """Record that a bookie did not answer a read with what it asked for."""
        if not isinstance(error, _HARMLESS):
            self._failures[bookie_id] = self._clock.seconds()

    def was_slow(self, bookie_id: str) -> None:
        """Another one that was asked later answered first."""
        self._slow[bookie_id] = self._clock.seconds()

    def succeeded(self, bookie_id: str) -> None:
        """It gave what it was asked for; how fast is another matter."""
        self._failures.pop(bookie_id, None)

    def failed_at(self, bookie_id: str) -> float | None:
        """When it failed last, by the clock; None if it did not, or that is long ago."""
        return self._recent(self._failures, bookie_id)

    def is_slow(self, bookie_id: str) -> bool:
        """Whether it was lately."""
        return self._recent(self._slow, bookie_id) is not None

    def _recent(self, times: dict[str, float], bookie_id: str) -> float | None:
        time = times.get(bookie_id)
        if time is not None and self._clock.seconds() >= time + self._remembered:
            del times[bookie_id]
            return None
        return time


REMEMBERED = 300.0
"""Seconds."""

_ENOUGH_LOSSES = 2


class BatchSupport:
    """Every bookie is taken to know batch reads until it showed otherwise.

    A bookie that knows nothing of them either refuses the operation, or closes the connection.  A lost
    connection alone says little, so it takes more than one in a row, each followed by a plain read that
    succeeded.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._lacking: dict[str, float] = {}
        self._losses: dict[str, int] = {}

    def is_expected(self, bookie_id: str) -> bool:
        """Whether a batch read is worth trying."""
        until = self._lacking.get(bookie_id)
        if until is None:
            return True
        if self._clock.seconds() < until:
            return False
        del self._lacking[bookie_id]
        return True

    def gave_one(self, bookie_id: str) -> None:
        """A batch read succeeded."""
        self._losses.pop(bookie_id, None)

    def refused(self, bookie_id: str) -> None:
        """The bookie said that it does not know batch reads."""
        self._lacking[bookie_id] = self._clock.seconds() + REMEMBERED

    def lost_connection(self, bookie_id: str) -> None:
        """The connection ended on a batch read, and a plain read succeeded afterwards."""
        losses = self._losses.pop(bookie_id, 0) + 1
        if losses < _ENOUGH_LOSSES:
            self._losses[bookie_id] = losses
        else:
            self.refused(bookie_id)
