"""Divides the time of each reactor turn among the connections of a bookie, so that small requests go first.

In one turn of the reactor, the requests of all connections together may take :data:`TURN` seconds, however many
connections there are.  Bytes that arrive after that are kept undecoded for a later turn.  In that turn connections with
few kept bytes come first, then those with many, and last, in rotation, those whose requests used up their share of
time.  So a peer with small requests waits for a turn or two, whatever other peers request.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

TURN = 0.02
"""Seconds of a reactor turn after which no connection begins another request."""

SHARE = 0.005
"""Seconds of a reactor turn after which one connection begins no other request."""

SMALL_SHARE = 0.001
"""Seconds after which a connection that had to wait for its turn begins no other request: less, as many wait then."""

SMALL = 4096
"""A waiting connection with at most this number of undecoded bytes comes before all that have more."""

_COUNTED = 0.001
"""Seconds of requests below which no timer is set for the end of the turn: it would cost as much as the requests."""


class Waiting(Protocol):
    """A connection that waits for its turn."""

    def take_turn(self) -> None: ...


class Turns:
    """A scheduler of connections: it decides which of them may process requests now, and for how long.

    :param flush: a function that writes the replies made so far.
    """

    __slots__ = ("_clock", "_flush", "_spent", "_began", "_share", "_little", "_much", "_more", "_next")

    def __init__(self, clock: IReactorTime, flush: Callable[[], None]) -> None:
        self._clock = clock
        self._flush = flush
        self._spent = 0.0
        self._began: float | None = None
        self._share = SHARE
        self._little: dict[Waiting, None] = {}
        self._much: dict[Waiting, None] = {}
        self._more: dict[Waiting, None] = {}
        self._next: IDelayedCall | None = None

    @property
    def is_spent(self) -> bool:
        """Test whether the requests of this reactor turn have used up the time for requests."""
        return self._spent >= TURN

    def begin(self) -> bool:
        """Begin to measure the time that the requests of a connection take.

        :returns: False if the time is measured already, because the work of another connection has led to these
            requests.  Otherwise the caller must call :meth:`end`.
        """
        if self._began is not None:
            return False
        self._began = self._clock.seconds()
        return True

    def end(self) -> None:
        """End the measurement that :meth:`begin` began."""
        assert self._began is not None
        self._spent += self._clock.seconds() - self._began
        self._began = None
        if self._spent >= _COUNTED:
            self._go_on_later()

    def is_over(self) -> bool:
        """Test whether the connection whose requests are processed now must let other connections have their turn."""
        if self._began is None:
            return self.is_spent
        elapsed = self._clock.seconds() - self._began
        return elapsed >= self._share or self._spent + elapsed >= TURN

    def wait(self, connection: Waiting, n_bytes: int | None = None) -> None:
        """Call ``take_turn`` of a ``connection`` in a later turn of the reactor.

        :param n_bytes: number of bytes kept for later; None if the connection used up its share and has more requests.
        """
        waiting = self._more if n_bytes is None else self._little if n_bytes <= SMALL else self._much
        waiting[connection] = None
        self._go_on_later()

    def withdraw(self, connection: Waiting) -> None:
        """Remove a ``connection`` from those that wait for a turn, if it is among them."""
        for waiting in (self._little, self._much, self._more):
            waiting.pop(connection, None)

    @property
    def _n_waiting(self) -> int:
        return len(self._little) + len(self._much) + len(self._more)

    def _go_on_later(self) -> None:
        if self._next is None:
            self._next = self._clock.callLater(0, self._go_on)

    def _go_on(self) -> None:
        """Let waiting connections process requests, each at most once, until the time of this turn is used up."""
        self._next = None
        self._spent = 0.0
        for _ in range(self._n_waiting):
            if self.is_spent:
                break
            waiting = self._little or self._much or self._more
            connection = next(iter(waiting))
            del waiting[connection]
            self._share = SHARE if waiting is self._more else SMALL_SHARE
            self.begin()
            try:
                connection.take_turn()
                self._flush()
            finally:
                self.end()
                self._share = SHARE
        if self._n_waiting:
            self._go_on_later()
