"""Divides the time of the reactor thread among the connections of a bookie, so that small requests wait little.

A *turn* is one iteration of the reactor.  These are the rules:

- In one turn, the requests of all connections together may take :data:`TURN` seconds.
- One connection may process requests for :data:`SHARE` seconds (its *share*) without a break.
- A connection whose bytes arrive when the time of the turn is used up stores them undecoded.  It waits for a later
  turn.  A connection that had to stop in the middle of its requests also waits.
- In a later turn, waiting connections are served in this order: first those with few stored requests, and those that
  were stopped before their share was used up; then those with many stored requests; last, in rotation, those that used
  up their share.  At least one of the last kind is served in each turn.
- The reactor thread may lose the processor, or Python's interpreter lock, while a connection processes requests.  So a
  connection with few requests has used up its share only if it has used that much processor time.
- A peer is *untrusted* until it has sent a request, and has completed TLS and authentication.  The handshakes, tokens
  and refused requests of all untrusted peers together may take :data:`UNTRUSTED_TURN` additional seconds in each turn.
  New peers and peers that have begun a handshake are served alternately, so that neither kind uses all of this time.

So a peer with small requests waits only for a turn or two, whatever other peers request.
"""

import time
from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

TURN = 0.02
"""Seconds that the requests of all trusted peers together may take in one turn of the reactor.

When they are used up, no connection begins another request in this turn.
"""

UNTRUSTED_TURN = 0.005
"""Seconds that the work for all untrusted peers together may take in one turn of the reactor."""

SHARE = 0.005
"""Seconds for which one connection may process requests without a break; then it must let other connections run."""

SMALL_SHARE = 0.001
"""Seconds for which a connection that had to wait for this turn may process requests.

This time is shorter than :data:`SHARE`, because other connections wait at the same time.
"""

FEW = 16
"""A waiting connection with at most this number of requests comes before others, however many bytes these are."""

_COUNTED = 0.001
"""Seconds of work in a turn below which no delayed call is scheduled to reset the measured time in the next turn.

The delayed call would take as long as such short work.
"""


class Waiting(Protocol):
    """A connection that waits until its requests may be processed."""

    def take_turn(self) -> None: ...

    def abort(self) -> None:
        """Drop the connection, because the processing of its requests (``take_turn``) has raised an error."""


class _Budget:
    """A limit on the time for the requests of trusted peers, or of untrusted peers, in each turn of the reactor.

    :ivar most: the limit in seconds: when it is reached, no other work for these peers begins in this turn.
    :ivar spent: seconds that were used in the current turn.
    """

    __slots__ = ("most", "spent")

    def __init__(self, most: float) -> None:
        self.most = most
        self.spent = 0.0


class Turns:
    """A scheduler of connections: it decides which of them may process requests now, and for how long.

    The work for untrusted peers is measured, limited and queued separately (see the module docstring).

    :param flush: a function that writes the queued replies of all connections.
    :param processor: returns the processor time that the reactor thread has used, in seconds.
    """

    _log = Logger()

    __slots__ = (
        "_clock", "_flush", "_processor", "_processed", "_trusted", "_untrusted", "_measured", "_began", "_share",
        "_little", "_much", "_more", "_beginning", "_entering", "_last_untrusted", "_next",
    )  # fmt: skip

    def __init__(
        self, clock: IReactorTime, flush: Callable[[], None], processor: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock = clock
        self._flush = flush
        self._processor = processor
        # the processor time at which the connection that is served now has begun; None for one that did not wait
        self._processed: float | None = None
        self._trusted = self._measured = _Budget(TURN)
        self._untrusted = _Budget(UNTRUSTED_TURN)
        self._began: float | None = None
        self._share = SHARE
        self._little: dict[Waiting, None] = {}
        self._much: dict[Waiting, None] = {}
        self._more: dict[Waiting, None] = {}
        self._beginning: dict[Waiting, None] = {}
        self._entering = self._last_untrusted = dict[Waiting, None]()
        self._next: IDelayedCall | None = None

    @property
    def is_spent(self) -> bool:
        """Test whether authenticated peers have used up the time that their requests may take in this reactor turn."""
        return self.is_spent_for(False)

    def is_spent_for(self, is_untrusted: bool) -> bool:
        """Test whether the time for trusted or for untrusted peers in this reactor turn is used up.

        :param is_untrusted: True for untrusted peers, False for all other peers.
        """
        budget = self._untrusted if is_untrusted else self._trusted
        return budget.spent >= budget.most

    def begin(self, is_untrusted: bool = False) -> bool:
        """Begin to measure the time of the work for a connection.

        :param is_untrusted: whether the peer is untrusted.
        :returns: False if other work, which has caused this work, is being measured already; its time then includes
            the time of this work.  If True, :meth:`end` must be called after the work.
        """
        if self._began is not None:
            return False
        self._measured = self._untrusted if is_untrusted else self._trusted
        self._began = self._clock.seconds()
        return True

    def end(self) -> float:
        """Stop measuring the time of the work for a connection (see :meth:`begin`); return the measured seconds."""
        assert self._began is not None
        seconds = self._clock.seconds() - self._began
        self._measured.spent += seconds
        self._began = None
        if self._measured.spent >= _COUNTED:
            self._go_on_later()
        return seconds

    def is_over(self) -> bool:
        """Test whether the connection whose requests are being processed must stop now.

        It must stop if it has used up its own time, or if the time for all connections in this turn is used up.
        """
        if self._began is None:
            return self.is_spent
        elapsed = self._clock.seconds() - self._began
        return elapsed >= self._share or self._measured.spent + elapsed >= self._measured.most

    def wait(self, connection: Waiting, is_small: bool, is_stopped: bool = False) -> None:
        """Queue a ``connection``: call its ``take_turn`` in a later turn of the reactor.

        :param is_small: whether the received bytes that wait have few requests.
        :param is_stopped: whether the connection has begun to process these bytes, and had to stop.
        """
        if is_stopped:
            waiting = self._more if self._has_had_share(is_small) else self._little
        else:
            waiting = self._little if is_small else self._much
        waiting[connection] = None
        self._go_on_later()

    def _has_had_share(self, is_small: bool) -> bool:
        """Test whether the connection whose requests are being processed has used up its share.

        :param is_small: whether its requests are few; then it is judged by processor time.
        """
        if self._began is None or self._clock.seconds() - self._began < self._share:
            return False
        if not is_small:
            return True
        return self._processed is not None and self._processor() - self._processed >= self._share

    def wait_untrusted(self, connection: Waiting, begins: bool = False) -> None:
        """Queue a ``connection`` with an untrusted peer: call its ``take_turn`` in a later turn of the reactor.

        The untrusted peers that wait are called after all other peers.

        :param begins: whether the peer is new, so that its handshake has not begun yet.
        """
        (self._beginning if begins else self._entering)[connection] = None
        self._go_on_later()

    def withdraw(self, connection: Waiting) -> None:
        """Remove a ``connection`` from the waiting connections, if it is among them."""
        for waiting in (self._little, self._much, self._more, self._beginning, self._entering):
            waiting.pop(connection, None)

    @property
    def _n_waiting(self) -> int:
        return len(self._little) + len(self._much) + len(self._more)

    @property
    def _n_untrusted(self) -> int:
        return len(self._beginning) + len(self._entering)

    def _go_on_later(self) -> None:
        if self._next is None:
            self._next = self._clock.callLater(0, self._go_on)

    def _go_on(self) -> None:
        """Let each waiting connection process requests once, until the time for requests in this turn is used up."""
        self._next = None
        self._trusted.spent = self._untrusted.spent = 0.0
        is_owed = bool(self._more)
        for _ in range(self._n_waiting):
            if self.is_spent_for(is_untrusted=False):
                break
            # Reserve the last SHARE seconds of each turn for a connection in _more, which used up its time when it was
            # last served: otherwise new requests of other connections could delay it for ever.
            is_last = is_owed and self._trusted.spent >= TURN - SHARE
            waiting = (self._more if is_last else self._little) or self._little or self._much or self._more
            is_owed = is_owed and waiting is not self._more
            self._serve(waiting, SHARE if waiting is self._more else SMALL_SHARE, is_untrusted=False)
        for _ in range(self._n_untrusted):
            if self.is_spent_for(is_untrusted=True):
                break
            other = self._beginning if self._last_untrusted is self._entering else self._entering
            self._last_untrusted = other or self._last_untrusted
            self._serve(self._last_untrusted, SMALL_SHARE, is_untrusted=True)
        if self._n_waiting or self._n_untrusted:
            self._go_on_later()

    def _serve(self, waiting: dict[Waiting, None], share: float, is_untrusted: bool) -> None:
        """Let the first of the ``waiting`` connections process requests for at most about ``share`` seconds.

        :param share: after this many seconds, the connection begins no other request.
        :param is_untrusted: whether the peers of the ``waiting`` connections are untrusted.
        """
        connection = next(iter(waiting))
        del waiting[connection]
        self._share = share
        self._processed = self._processor()
        self.begin(is_untrusted)
        try:
            connection.take_turn()
            self._flush()
        except Exception:
            self._log.failure("a connection could not go on")
            connection.abort()
        finally:
            self.end()
            self._share = SHARE
            self._processed = None
