"""Looking again for a moment before going to sleep.

A peer that waits for each answer asks again within microseconds.  If the process sleeps meanwhile, it has to be
woken by an interrupt, which costs more than a small request, above all on a virtual machine.  So after
a turn in which a request was answered at once, the reactor looks again for events for some microseconds, and
only then blocks.  Whatever becomes ready ends that, so nobody waits longer for it; and where it was in vain the
reactor sleeps at once, until a wait has been short again.
"""

import select
from time import perf_counter
from typing import Any

_WORTH = 4
"""A wait of so many times the limit is short enough to try again."""


class BusyPoller:
    """An ``epoll`` object that may look several times before it blocks.

    :ivar answered: set by those who have just answered a request; taken back by every poll.
    :ivar caught: waits that ended before they blocked.
    """

    def __init__(self, epoll: "select.epoll", limit: float) -> None:
        """:param limit: seconds to look again."""
        self.answered = False
        self.caught = 0
        self._poll = epoll.poll
        self._limit = limit
        self._pays = True
        self.register = epoll.register
        self.modify = epoll.modify
        self.unregister = epoll.unregister
        self.fileno = epoll.fileno
        self.close = epoll.close

    def poll(self, timeout: float = -1, maxevents: int = -1) -> list[tuple[int, int]]:
        """See ``select.epoll.poll``."""
        if not self.answered or 0 <= timeout <= self._limit:
            return self._poll(timeout, maxevents)
        self.answered = False
        began = perf_counter()
        if self._pays:
            end = began + self._limit
            while perf_counter() < end:
                events = self._poll(0, maxevents)
                if events:
                    self.caught += 1
                    return events
        events = self._poll(timeout, maxevents)
        self._pays = perf_counter() - began < _WORTH * self._limit
        return events


def make_busy(reactor: Any, limit: float) -> BusyPoller | None:
    """Lets a reactor look again before it blocks.

    :param limit: seconds; 0 leaves the reactor as it is.
    :returns: what is to be told of answers; None if this is no reactor on ``epoll``.
    """
    poller: Any = getattr(reactor, "_poller", None)
    if not limit:
        return None
    if hasattr(select, "epoll") and isinstance(poller, select.epoll):
        poller = reactor._poller = BusyPoller(poller, limit)
    return poller if isinstance(poller, BusyPoller) else None
