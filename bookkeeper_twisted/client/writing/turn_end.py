"""What is put off to the end of the reactor's turn, by one scheduled call for all who ask."""

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger


class TurnEnd:
    """Calls in the order in which they were asked for.  Thousands of writers that append in one turn share it."""

    __slots__ = ("_clock", "_calls")
    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._calls: list[Callable[[], None]] = []

    def call(self, what: Callable[[], None]) -> None:
        """Calls ``what`` once, at the end of this turn; asked for by a call, in the next one."""
        if not self._calls:
            self._clock.callLater(0, self._run)
        self._calls.append(what)

    def _run(self) -> None:
        calls, self._calls = self._calls, []
        for call in calls:
            self.now(call)

    def now(self, what: Callable[[], None]) -> None:
        """Calls ``what``; that it fails concerns nobody else."""
        try:
            what()
        except Exception:
            self._log.failure("what was put off to the end of a turn failed")
