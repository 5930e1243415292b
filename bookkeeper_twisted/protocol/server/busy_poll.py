"""Looking again for a moment before going to sleep.

A peer that waits for each answer asks again within microseconds.  If the process sleeps meanwhile, it has to be
woken by an interrupt, which costs more than a small request, above all on a virtual machine.  So after
a turn in which a request was answered at once, the reactor looks again for events for some microseconds, and
only then blocks.  Whatever becomes ready ends that, so nobody waits longer for it; and where it was in vain the
reactor sleeps at once, until a wait has been short again.

Where all that has come is the next request of one connection, it is handled right here: a turn of the reactor for
each would cost as much as the request.  Timed calls wait for that no longer than :data:`ROUND`, and whatever else
becomes ready ends it.
"""

import select
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

ROUND = 0.0005
"""Seconds after which the reactor gets its turn, however busy one connection is."""

_WORTH = 4
"""A wait of so many times the limit is short enough to try again."""

Events = list[tuple[int, int]]
"""Descriptors, and what is ready there."""


class BusyPoller:
    """An ``epoll`` object that may look several times before it blocks.

    :ivar answered: set by those who have just answered a request; taken back by every poll.
    :ivar caught: requests that came before it blocked.
    """

    def __init__(self, epoll: "select.epoll", limit: float, handle: Callable[[int, int], bool]) -> None:
        """
        :param limit: seconds to look again.
        :param handle: handles an event of a descriptor here; returns whether it has.
        """
        self.answered = False
        self.caught = 0
        self._poll = epoll.poll
        self._limit = limit
        self._handle = handle
        self._pays = True
        self.register = epoll.register
        self.modify = epoll.modify
        self.unregister = epoll.unregister
        self.fileno = epoll.fileno
        self.close = epoll.close

    def poll(self, timeout: float = -1, maxevents: int = -1) -> Events:
        """See ``select.epoll.poll``."""
        if not self.answered or 0 <= timeout <= self._limit:
            return self._poll(timeout, maxevents)
        began = perf_counter()
        if self._pays:
            events = self._look_again(began, timeout, maxevents)
            if events is not None:
                return events
        self.answered = False
        events = self._poll(timeout, maxevents)
        self._pays = perf_counter() - began < _WORTH * self._limit
        return events

    def _look_again(self, began: float, timeout: float, maxevents: int) -> Events | None:
        """Looks until something comes.

        :returns: what the reactor has to handle, or None if nothing came any more.
        """
        limit, last = self._limit, began + (min(timeout, ROUND) if timeout > 0 else ROUND)
        end = began + limit
        while (now := perf_counter()) < end:
            events = self._poll(0, maxevents)
            if not events:
                continue
            self.caught += 1
            self.answered = False
            if len(events) > 1 or now > last or not self._handle(*events[0]):
                return events
            if not self.answered:
                return []
            end = perf_counter() + limit
        return None


def _handle(reactor: Any, fd: int, event: int) -> bool:
    """Handles an event as the reactor would, if it is of a connection that answers at once.  Calls that are to be
    made soon are left to the reactor's turn."""
    selectable = reactor._selectables.get(fd)
    if reactor._newTimedCalls or not getattr(selectable, "answers_at_once", False):
        return False
    reactor._doReadOrWrite(selectable, fd, event)
    return True


def make_busy(reactor: Any, limit: float) -> BusyPoller | None:
    """Lets a reactor look again before it blocks.

    :param limit: seconds; 0 leaves the reactor as it is.
    :returns: what is to be told of answers; None if this is no reactor on ``epoll``.
    """
    poller: Any = getattr(reactor, "_poller", None)
    if not limit:
        return None
    if hasattr(select, "epoll") and isinstance(poller, select.epoll):
        poller = reactor._poller = BusyPoller(poller, limit, partial(_handle, reactor))
    return poller if isinstance(poller, BusyPoller) else None
