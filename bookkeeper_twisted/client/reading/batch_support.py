"""Which bookies do not know batch reads, remembered for a while: a bookie may be upgraded."""

from twisted.internet.interfaces import IReactorTime

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
