"""A limit on the peers that have begun TLS and are not let in yet: each takes some 100 KiB in OpenSSL (S11)."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.logger import Logger

from ...instruments import Counter

C = TypeVar("C")


class Handshakes(Generic[C]):
    """The connections that have begun TLS, until their peers are let in.

    Beyond the limit, the one that began first is dropped.  An honest peer takes some round trips, while one that is
    there for the memory stays as long as it may: among those that began first there is hardly an honest one.

    :param limit: most of these connections; at least 1.
    :param dropped: the counter of dropped connections.
    :param drop: a function that drops a connection.
    """

    _log = Logger()

    def __init__(self, limit: int, dropped: Counter, drop: Callable[[C], None]) -> None:
        self._limit = limit
        self._dropped = dropped
        self._drop = drop
        self._under_way: OrderedDict[C, None] = OrderedDict()
        self._dropping = False

    def __len__(self) -> int:
        return len(self._under_way)

    def begun(self, connection: C) -> None:
        """Add a ``connection`` that begins TLS; the call may drop another one."""
        self._under_way[connection] = None
        if len(self._under_way) > self._limit:
            first, _ = self._under_way.popitem(last=False)
            # Log again only after their number fell to half of the limit, so that a flood does not fill the log.
            if not self._dropping:
                self._dropping = True
                self._log.warn("more than {n:,} TLS handshakes are under way: dropping the first", n=self._limit)
            self._dropped.value += 1
            self._drop(first)

    def ended(self, connection: C) -> None:
        """Remove a ``connection`` that has ended or whose peer is let in, if it is there."""
        self._under_way.pop(connection, None)
        if len(self._under_way) <= self._limit // 2:
            self._dropping = False
