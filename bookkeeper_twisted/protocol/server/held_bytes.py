"""A limit on the memory that all connections of a bookie together use for one kind of bytes, such as incomplete frames.

Above the limit, connections are dropped.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Counter

C = TypeVar("C")


@attrs.define(eq=False)
class _Held:
    since: float
    n_bytes: int


class HeldBytes(Generic[C]):
    """A limit on the memory that all connections together may use for one kind of bytes.

    Above the limit, connections are dropped.  Connections of untrusted peers are dropped before all other connections.
    In each of these two groups, the connection is dropped first for which the number of stored bytes, times the seconds
    for which it has stored bytes, is largest.

    This product is small for a peer that sends or reads a long frame fast, and large for a peer that stops in the
    middle of a frame or of its replies.

    :param held: a name of the kind of bytes for log lines, such as "replies that are not read".
    :param limit: maximum number of bytes of all connections.
    :param dropped: the counter of dropped connections.
    :param drop: a function that drops a connection.
    :param is_untrusted: tests whether the peer of a connection is untrusted; such peers are dropped first.
    """

    _log = Logger()

    def __init__(
        self, held: str, limit: int, clock: IReactorTime, dropped: Counter, drop: Callable[[C], None],
        is_untrusted: Callable[[C], bool] = lambda connection: False,
    ) -> None:  # fmt: skip
        self.n_bytes = 0
        self._held = held
        self._limit = limit
        self._clock = clock
        self._dropped = dropped
        self._drop = drop
        self._is_untrusted = is_untrusted
        self._holding: dict[C, _Held] = {}
        self._dropping = False

    def record(self, connection: C, n_bytes: int, begun: bool = False) -> None:
        """Record how many bytes a ``connection`` keeps in memory now; above the limit, drop a connection.

        :param n_bytes: the number of bytes; 0 also for a connection that ends.
        :param begun: whether these bytes belong to a new frame; if so, their age is counted from now.
        """
        held = self._holding.get(connection)
        if held is None:
            if not n_bytes:
                return
            held = self._holding[connection] = _Held(self._clock.seconds(), 0)
        elif begun:
            held.since = self._clock.seconds()
        self.n_bytes += n_bytes - held.n_bytes
        held.n_bytes = n_bytes
        if not n_bytes:
            del self._holding[connection]
        if self.n_bytes > self._limit:
            self._drop_heaviest()
        elif self._dropping and self.n_bytes <= self._limit // 2:
            self._dropping = False

    def _drop_heaviest(self) -> None:
        now = self._clock.seconds()

        def weight(connection: C) -> tuple[bool, float]:
            held = self._holding[connection]
            return self._is_untrusted(connection), held.n_bytes * (now - held.since)

        heaviest = max(self._holding, key=weight)
        # Log again only after the held bytes have fallen to half of the limit, so that a flood does not fill the log.
        if not self._dropping:
            self._dropping = True
            self._log.warn(
                "{held} hold {n:,} bytes: dropping connections until it is less", held=self._held, n=self.n_bytes
            )
        self._dropped.value += 1
        self.record(heaviest, 0)
        self._drop(heaviest)
