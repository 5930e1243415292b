"""A limit on peers that have begun TLS but are not admitted yet: each takes 60 KiB in OpenSSL (safety rule S11)."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Counter

C = TypeVar("C")


SECONDS_AT_LEAST = 2.0
"""Seconds that a handshake may take even above the limit, because many honest clients connect to a new bookie at once.
"""

MOST_TIMES = 3
"""If more handshakes are open than this many times their limit, the oldest is dropped, however young it is."""


class Handshakes(Generic[C]):
    """The connections that have begun TLS, until their peers are admitted.

    Beyond the limit, the connections that began first are dropped.  An honest peer needs only some round trips, while
    an attacker who wants to fill the memory stays as long as possible.  So hardly an honest peer is among the first.

    :param limit: the number of connections above which slow ones are dropped; at least 1.
    :param dropped: the counter of dropped connections.
    :param drop: a function that drops a connection.
    """

    _log = Logger()

    def __init__(self, limit: int, clock: IReactorTime, dropped: Counter, drop: Callable[[C], None]) -> None:
        self._limit = limit
        self._clock = clock
        self._dropped = dropped
        self._drop = drop
        self._under_way: OrderedDict[C, float] = OrderedDict()
        self._dropping = False

    def __len__(self) -> int:
        return len(self._under_way)

    def begun(self, connection: C) -> None:
        """Add a ``connection`` that begins TLS; the call may drop up to two other connections."""
        self._under_way[connection] = now = self._clock.seconds()
        for _ in range(2):
            self._drop_first(now - SECONDS_AT_LEAST)

    def _drop_first(self, latest: float) -> None:
        """Drop the connection that began first, if there are too many and it began at the time ``latest`` or before."""
        count, first = len(self._under_way), next(iter(self._under_way))
        if count <= self._limit or (self._under_way[first] > latest and count <= MOST_TIMES * self._limit):
            return
        # Log again only after the number of handshakes fell to half of the limit, so that a flood does not fill the
        # log.
        if not self._dropping:
            self._dropping = True
            self._log.warn("{n:,} TLS handshakes are under way: dropping the first", n=count)
        del self._under_way[first]
        self._dropped.value += 1
        self._drop(first)

    def ended(self, connection: C) -> None:
        """Remove a ``connection`` that has ended or whose peer is admitted; do nothing if it has not begun TLS."""
        self._under_way.pop(connection, None)
        if len(self._under_way) <= self._limit // 2:
            self._dropping = False
