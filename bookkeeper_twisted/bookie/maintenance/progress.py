"""How far a piece of background work has come, and its suspension."""

import attrs
from twisted.internet.defer import Deferred


@attrs.define
class Progress:
    """How far a compaction of a directory, or a scrub of it, has come.

    :ivar done: bytes behind it.
    :ivar left: bytes before it.
    :ivar began: time of the beginning.
    """

    began: float
    done: int = 0
    left: int = 0

    def eta(self, now: float) -> float | None:
        """Return the seconds until the end at the speed so far, None before anything is known of it."""
        elapsed = now - self.began
        return self.left * elapsed / self.done if self.done else None


class Suspension:
    """Stops work between two steps until it is resumed.

    :ivar suspended: whether the next step waits.
    """

    def __init__(self) -> None:
        self.suspended = False
        self._resumed: Deferred[None] | None = None

    def suspend(self) -> None:
        """Stop at the next step."""
        self.suspended = True

    def resume(self) -> None:
        """Go on."""
        self.suspended = False
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.callback(None)

    async def passed(self) -> None:
        """Wait while the work is suspended."""
        while self.suspended:
            self._resumed = Deferred()
            await self._resumed
