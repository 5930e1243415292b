"""Reads something slow for several callers at once, and keeps the last result for a time when it cannot be read."""

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from ...errors import BookKeeperError
from ...shared_result import SharedResult

PATIENCE = 2.0
"""Seconds for which a caller waits for a reading."""

T = TypeVar("T")


class LatestReading(Generic[T]):
    """Something that is read again and again; at most one reading is in progress, and all callers wait for it.

    :param read: begins a reading.
    :param kept: seconds for which a result is returned again without another reading.
    :ivar result: the result of the last reading that succeeded; None before the first one.
    :ivar read_at: when it succeeded, in seconds since the epoch; None before that.
    :ivar unread_since: when the first reading without a result began since the last result; None if there is none.
    :ivar failure: why the last reading failed; empty if it succeeded.
    """

    def __init__(
        self, read: Callable[[], Coroutine[Deferred[Any], Any, T]], clock: IReactorTime, kept: float = 0.0
    ) -> None:
        self.result: T | None = None
        self.read_at: float | None = None
        self.unread_since: float | None = None
        self.failure = ""
        self._read = read
        self._clock = clock
        self._kept = kept
        self._reading: SharedResult[None] | None = None
        self._began = 0.0

    @property
    def overdue(self) -> float | None:
        """Return the seconds since the start of the reading in progress, if it takes longer than callers wait for it.

        :returns: None if no reading is in progress, or if it has only begun, perhaps for another caller.
        """
        seconds = self._clock.seconds() - self._began
        return None if self._reading is None or seconds < PATIENCE else seconds

    async def latest(self) -> T | None:
        """Read anew, and return the result; the last result if the reading fails, or takes more than :data:`PATIENCE`.

        A reading that takes longer continues, and the next callers wait for it.

        :returns: None if no reading has succeeded yet.
        """
        now = self._clock.seconds()
        if self.read_at is not None and self.unread_since is None and now - self.read_at < self._kept:
            return self.result
        reading = self._reading
        if reading is None:
            reading = self._reading = SharedResult()
            self._began = now
            if self.unread_since is None:
                self.unread_since = now
            reading.run(self._read_once())
        try:
            await reading.wait().addTimeout(PATIENCE, self._clock)
        except TimeoutError:
            pass
        return self.result

    async def _read_once(self) -> None:
        try:
            self.result = await self._read()
            self.read_at, self.failure, self.unread_since = self._clock.seconds(), "", None
        except (BookKeeperError, OSError) as error:
            self.failure = str(error) or type(error).__name__
        finally:
            self._reading = None
