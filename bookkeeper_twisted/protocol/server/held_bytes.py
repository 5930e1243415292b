"""A limit on the memory that all connections together use for one purpose (S11)."""

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
    """A limit on the bytes that all connections hold together.

    Above it, the connection with the largest product of bytes and time is dropped.

    The product of bytes and seconds tells a peer that stops in the middle of a frame, or of its replies, from one that
    sends or reads a long frame fast.

    :param held: names the held bytes in the log.
    :param limit: most bytes of all connections.
    :param dropped: counts the dropped connections.
    :param drop: ends a connection.
    """

    _log = Logger()

    def __init__(self, held: str, limit: int, clock: IReactorTime, dropped: Counter, drop: Callable[[C], None]) -> None:
        self.n_bytes = 0
        self._held = held
        self._limit = limit
        self._clock = clock
        self._dropped = dropped
        self._drop = drop
        self._holding: dict[C, _Held] = {}
        self._dropping = False

    def hold(self, connection: C, n_bytes: int, begun: bool = False) -> None:
        """Record the number of bytes that a ``connection`` holds; the call may drop a connection.

        :param n_bytes: 0 if it holds none, or will hold none.
        :param begun: whether the bytes are others than before.
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
        heaviest = max(self._holding, key=lambda each: self._holding[each].n_bytes * (now - self._holding[each].since))
        # Log again only after half of the memory was free, so that a flood does not fill the log.
        if not self._dropping:
            self._dropping = True
            self._log.warn(
                "{held} hold {n:,} bytes: dropping connections until it is less", held=self._held, n=self.n_bytes
            )
        self._dropped.value += 1
        self.hold(heaviest, 0)
        self._drop(heaviest)
