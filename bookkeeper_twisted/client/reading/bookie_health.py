"""What a client lately saw of bookies it read from; forgotten after a while."""

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
        """It did not give what it was asked for."""
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
