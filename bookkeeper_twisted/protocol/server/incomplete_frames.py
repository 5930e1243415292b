"""The memory that frames hold whose rest has not come, bounded over all connections (S11)."""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...instruments import Counter

C = TypeVar("C")


@attrs.define(eq=False)
class _Frame:
    since: float
    n_bytes: int


class IncompleteFrames(Generic[C]):
    """Drops the connection that has held most for longest, whenever the frames of all of them hold too much.

    Bytes times seconds tell a peer that stops in the middle of a frame from one that sends a long frame fast.

    :param limit: bytes.
    :param dropped: counts the connections that were dropped.
    :param drop: ends a connection.
    """

    _log = Logger()

    def __init__(self, limit: int, clock: IReactorTime, dropped: Counter, drop: Callable[[C], None]) -> None:
        self.n_bytes = 0
        self._limit = limit
        self._clock = clock
        self._dropped = dropped
        self._drop = drop
        self._frames: dict[C, _Frame] = {}
        self._dropping = False

    def hold(self, connection: C, n_bytes: int, begun: bool = False) -> None:
        """Record how many bytes the incomplete frame of a ``connection`` has; it may be dropped here.

        :param n_bytes: 0 if there is no such frame, or will be none.
        :param begun: whether it is another frame than before.
        """
        frame = self._frames.get(connection)
        if frame is None:
            if not n_bytes:
                return
            frame = self._frames[connection] = _Frame(self._clock.seconds(), 0)
        elif begun:
            frame.since = self._clock.seconds()
        self.n_bytes += n_bytes - frame.n_bytes
        frame.n_bytes = n_bytes
        if not n_bytes:
            del self._frames[connection]
        if self.n_bytes > self._limit:
            self._drop_heaviest()
        elif self._dropping and self.n_bytes <= self._limit // 2:
            self._dropping = False

    def _drop_heaviest(self) -> None:
        now = self._clock.seconds()
        heaviest = max(self._frames, key=lambda each: self._frames[each].n_bytes * (now - self._frames[each].since))
        if not self._dropping:  # said again once half of the memory was free: a flood must not fill the log
            self._dropping = True
            self._log.warn(
                "frames that are not complete hold {n:,} bytes: dropping connections until it is less", n=self.n_bytes
            )
        self._dropped.value += 1
        self.hold(heaviest, 0)
        self._drop(heaviest)
