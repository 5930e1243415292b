"""Repetition of work until it succeeds, with growing pauses between the tries."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ...errors import BookKeeperError

T = TypeVar("T")

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0

_log = Logger()


async def until_done(
    clock: IReactorTime, what: str, work: Callable[[], Awaitable[T]], failed: Callable[[], None] = lambda: None
) -> T:
    """Repeat some work until it succeeds; the pauses between the attempts grow from 5 to 60 seconds.

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
