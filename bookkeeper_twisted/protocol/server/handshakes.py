"""A limit on the number of peers that have begun TLS but are not authenticated yet: OpenSSL uses 60 KiB for each."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Counter

C = TypeVar("C")


SECONDS_AT_LEAST = 2.0
"""Seconds that each handshake may take even if there are more handshakes than the limit.

When a bookie starts, many honest clients connect at the same time.
"""

MOST_TIMES = 3
"""If the number of unfinished handshakes is above the limit times this factor, the oldest is dropped, whatever its age.

If it is below that, but above the limit, only handshakes older than :data:`SECONDS_AT_LEAST` are dropped.
"""


class Handshakes(Generic[C]):
    """The connections that have begun TLS and whose peers are not authenticated yet.

    Above the limit, the connections that began TLS first are dropped.  An honest peer needs only a few round trips,
    while an attacker who wants to fill the memory stays as long as possible.  So the oldest connections are rarely
    honest.

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
        """Add a ``connection`` that begins TLS; if there are too many now, drop up to two of the oldest connections.

        Two are dropped for one that is added, so that the number falls below the limit again.
        """
        self._under_way[connection] = now = self._clock.seconds()
        for _ in range(2):
            self._drop_first(now - SECONDS_AT_LEAST)

    def _drop_first(self, latest: float) -> None:
        """If there are too many connections, drop the oldest one, unless it began TLS after the time ``latest``."""
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
        """Remove a ``connection`` that has ended or whose peer is authenticated; do nothing if it has not begun TLS."""
        self._under_way.pop(connection, None)
        if len(self._under_way) <= self._limit // 2:
            self._dropping = False
