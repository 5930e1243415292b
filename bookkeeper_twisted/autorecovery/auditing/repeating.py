"""Repetition of work until it succeeds, with growing pauses."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ...errors import BookKeeperError

T = TypeVar("T")

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0

_log = Logger()


async def until_done(
    clock: IReactorTime, what: str, work: Callable[[], Awaitable[T]], failed: Callable[[], None] = lambda: None
) -> T:
    """Run some work; repeat failed work after a pause of 5 to 300 seconds until the work succeeds.

    :param what: name of the work, for the log.
    :param failed: called after each failure.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            return await work()
        except CancelledError:
            raise
        except BookKeeperError as error:
            _log.warn("{what}: {error}; again in {pause:.0f} s", what=what, error=error, pause=pause)
        except Exception:
            _log.failure("{what} failed; again in {pause:.0f} s", what=what, pause=pause)
        failed()
        await deferLater(clock, pause)
        pause = min(2 * pause, LONGEST_PAUSE)
