"""The turns of the reactor, shared among the connections of a bookie so that small requests go first.

The requests of all connections together take :data:`TURN` of a turn of the reactor, however many connections there are.
Bytes that arrive then are put off, undecoded, until a later turn.  There, connections that sent little come first,
then those that were put off with more, then, in rotation, those whose requests took longer than a share: a peer that
asks for little waits for a turn or two, whatever others ask for.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

TURN = 0.02
"""Seconds that the requests of all connections may take of a turn of the reactor, but for those that have begun."""

SHARE = 0.005
"""Seconds of these that one connection may take, but for the request that has begun."""

SMALL_SHARE = 0.001
"""The same for a connection that was put off: many wait then."""

SMALL = 4096
"""Bytes up to which what was put off goes before all that is longer."""

_COUNTED = 0.001
"""Seconds of work from which it matters in which turn they were: a timer for each chunk would cost as much as it."""


class Waiting(Protocol):
    """A connection that waits for its turn."""

    def take_turn(self) -> None: ...


class Turns:
    """A scheduler that chooses the connection that may work now.

    :param flush: writes the replies made so far.
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
        """Test whether the requests of this turn have used up its time."""
        return self._spent >= TURN

    def begin(self) -> bool:
        """Begin to measure the time of requests.

        :returns: False if it is counted already, as they come from the work of others; else the caller calls
            :meth:`end`.
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
        """Test whether the working connection has to let other connections work."""
        if self._began is None:
            return self.is_spent
        elapsed = self._clock.seconds() - self._began
        return elapsed >= self._share or self._spent + elapsed >= TURN

    def wait(self, connection: Waiting, n_bytes: int | None = None) -> None:
        """Have ``take_turn`` of a ``connection`` called in a later turn.

        :param n_bytes: bytes that were put off; None if it had its share, and has more to do.
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
        """Begin a turn for the waiting connections, at most one turn for each."""
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
