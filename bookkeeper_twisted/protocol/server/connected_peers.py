"""The open connections of a bookie: limits their number, and ends those whose peers are idle or too slow."""

import heapq
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ... import instruments
from ...limits.attended_time import AttendedTime
from ...metrics import ConnectionMetrics
from ...security.principals import Principal
from ..connection_state import ConnectionState
from ..peer_lines import PeerLines
from .limits import (
    ENTERING_SHARE,
    LEAST_ENTERING,
    MAX_FOUND,
    MAX_LEAVING,
    SECONDS_FOR_EACH,
    SECONDS_IN_USE,
    ServerLimits,
)

MOST_MEASURED = 1000
"""Maximum number of connections whose delays are measured at once: each takes a system call."""


class TimedConnection(Protocol):
    """A connection that knows for how long its peer has been idle or has not read replies."""

    peer: str
    host: str
    principal: Principal
    state: ConnectionState

    @property
    def has_room(self) -> bool: ...

    @property
    def is_waiting(self) -> bool: ...

    @property
    def idle_for(self) -> float | None: ...

    @property
    def stalled_for(self) -> float: ...

    @property
    def round_trip(self) -> float | None:
        """Return the seconds that the network takes to the peer and back; None if they are not known."""

    def is_late(self, latest: float) -> bool:
        """Test whether the peer began a frame or its authentication before ``latest`` and has not completed it.

        While the bookie does not read from the peer, the result is False.
        """

    def end(self) -> None: ...

    def abort(self) -> None: ...


C = TypeVar("C", bound=TimedConnection)


class ConnectionShares(Generic[C]):
    """The number of open connections of each address and of each principal."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self._by_principal: Counter[Principal] = Counter()
        self._identified: dict[C, Principal] = {}

    def may_connect(self, connection: C) -> bool:
        """Test whether the address of a new ``connection`` may have one more connection."""
        most = self._limits.max_connections_per_address
        return not most or self._by_host[connection.host] < most

    def connected(self, connection: C) -> None:
        """Count a new ``connection`` among those of its address."""
        self._by_host[connection.host] += 1

    def identified(self, connection: C) -> bool:
        """Count a ``connection`` among those of its principal; call this when the principal is known.

        :returns: False if the principal has too many connections; the caller must then close this connection.
        """
        most, principal = self._limits.max_connections_per_principal, connection.principal
        if not most or principal.kind == "none" or connection in self._identified:
            return True
        if self._by_principal[principal] >= most:
            return False
        self._by_principal[principal] += 1
        self._identified[connection] = principal
        return True

    def left(self, connection: C) -> None:
        """Subtract an ended ``connection`` from the numbers of its address and its principal."""
        self._give(self._by_host, connection.host)
        principal = self._identified.pop(connection, None)
        if principal is not None:
            self._give(self._by_principal, principal)

    def _give(self, counts: "Counter[str] | Counter[Principal]", key: "str | Principal") -> None:
        counts[key] -= 1  # type: ignore[index]
        if not counts[key]:  # type: ignore[index]
            del counts[key]  # type: ignore[arg-type]


class Sweeps:
    """A timer that calls a function regularly while connections exist.

    :param seconds: seconds between two calls.
    :param sweep: the function, which drops peers that exceed a time limit.  If the timer fires late because the process
        was suspended, the function is not called: bytes that peers have sent in time may have arrived, but are not
        read yet.
    """

    def __init__(self, clock: IReactorTime, seconds: float, sweep: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._do_sweep = sweep
        self._time = AttendedTime(clock.seconds)
        self._call: IDelayedCall | None = None

    def start(self) -> None:
        """Start the timer, unless it is running."""
        if self._call is None:
            self._time.scheduled(self._seconds)
            self._call = self._clock.callLater(self._seconds, self._sweep)

    def stop(self) -> None:
        """Stop the timer."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _sweep(self) -> None:
        self._call = None
        is_late = self._time.arrived()
        self.start()
        if not is_late:
            self._do_sweep()


class PeerDelay(NamedTuple):
    """The delays of replies to a peer, which the peer or the network causes.

    :ivar peer: host and port.
    :ivar stalled: seconds for which the peer has read nothing of replies that wait; 0 if none wait.
    :ivar round_trip: seconds that the network takes to the peer and back; None if they are not known.
    """

    peer: str
    stalled: float
    round_trip: float | None


def _idle_seconds(connection: TimedConnection) -> float | None:
    """Return the seconds for which a connection has been idle; None if it is in use."""
    seconds = connection.idle_for
    return None if seconds is None or seconds < SECONDS_IN_USE else seconds


class ConnectedPeers(Generic[C]):
    """The open connections of one bookie."""

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, metrics: ConnectionMetrics, limits: ServerLimits, lines: PeerLines
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._limits = limits
        self._lines = lines
        self._connections: dict[C, None] = {}
        self._entering: OrderedDict[C, None] = OrderedDict()  # their peers are not let in yet; the oldest comes first
        self._leaving: set[C] = set()
        self._idle: OrderedDict[C, None] = OrderedDict()  # found idle by the last search; the next to end comes first
        self._searched_at = -math.inf
        self._shares: ConnectionShares[C] = ConnectionShares(limits)
        self._refusing = False
        self._stopped = False
        self._gone: Deferred[None] | None = None
        self._sweeps = Sweeps(clock, limits.sweep_interval, self.end_late)

    def __len__(self) -> int:
        return len(self._connections)

    def __iter__(self) -> Iterator[C]:
        return iter(self._connections)

    def admit(self, connection: C) -> bool:
        """Admit a new connection; at the maximum number, first end another one.

        :returns: False if the bookie has the maximum number of connections and none of them can be ended, or if the
            peer's IP address has too many connections.  The caller must then close the new connection.
        """
        if not self._shares.may_connect(connection):
            self._refuse_share(connection, self._metrics.refused_addresses, "its address has too many connections")
            return False
        if len(self._connections) - len(self._leaving) >= self._limits.max_connections and not self._evict():
            self._metrics.refused.value += 1
            # log only the first of consecutive refusals, so that many attempts to connect do not fill the log
            if not self._refusing:
                self._refusing = True
                n = len(self._connections)
                self._lines.log(self._log.warn, "{n} connections, refusing {peer}", connection.peer, n=n)
            return False
        self._refusing = False
        self._connections[connection] = self._entering[connection] = None
        self._shares.connected(connection)
        self._metrics.accepted.value += 1
        self._metrics.active.value += 1
        if not self._stopped:
            self._sweeps.start()
        return True

    def identified(self, connection: C) -> bool:
        """Count a ``connection`` whose peer is let in among those of its principal.

        :returns: False if the principal has too many connections.  The caller must then close this connection.
        """
        self._entering.pop(connection, None)
        if self._shares.identified(connection):
            return True
        self._refuse_share(connection, self._metrics.refused_principals, "its principal has too many connections")
        return False

    def _refuse_share(self, connection: C, counter: instruments.Counter, reason: str) -> None:
        counter.value += 1
        self._lines.log(self._log.info, "refusing {peer}: {reason}", connection.peer, reason=reason)

    def _evict(self) -> bool:
        """End a connection for a new one.

        If many peers are not let in yet, end the connection of the one that connected first: those who cannot
        authenticate must not displace clients.  Otherwise end the longest idle connection.

        :returns: False if all connections are in use.
        """
        if len(self._entering) > max(self._limits.max_connections // ENTERING_SHARE, LEAST_ENTERING):
            leaves = next(iter(self._entering))
        else:
            found = self._idlest()
            if found is None:
                return False
            leaves = found
        if leaves not in self._entering:
            self._lines.log(
                self._log.warn, "{n} connections: the idle one of {peer} is closed for a new one", leaves.peer,
                n=len(self._connections),
            )  # fmt: skip
        self._metrics.evicted.value += 1
        self._drop(leaves)
        return True

    def _idlest(self) -> C | None:
        """Return the longest idle connection, preferably one whose peer has sent no complete frame yet.

        To search all connections takes long.  So a search finds many idle connections, for several calls, and the next
        search begins some time later (:data:`SECONDS_FOR_EACH`).

        :returns: None if all connections are in use, or if it is too early for the next search.
        """
        while self._idle or self._search():
            connection, _ = self._idle.popitem(last=False)
            if _idle_seconds(connection) is not None:
                return connection
        return None

    def _search(self) -> bool:
        """Search the idle connections; return whether any was found."""
        now = self._clock.seconds()
        if now - self._searched_at < len(self._connections) * SECONDS_FOR_EACH:
            return False
        self._searched_at = now
        idle = [
            (connection.is_waiting, -seconds, connection)
            for connection in self._connections
            if connection not in self._leaving and (seconds := _idle_seconds(connection)) is not None
        ]
        found = heapq.nsmallest(MAX_FOUND, idle, key=itemgetter(0, 1))
        self._idle = OrderedDict.fromkeys([connection for _, _, connection in found])
        return bool(found)

    def _drop(self, connection: C) -> None:
        """End a connection, and do not count it against the limit of connections any more.

        Usually its replies are sent before it is closed, so that the peer gets no reset.  The connection is dropped at
        once if the peer does not read, or if so many connections are being closed that the bookie could run out of file
        descriptors.
        """
        is_many = len(self._leaving) >= MAX_LEAVING
        self._entering.pop(connection, None)
        self._idle.pop(connection, None)
        self._leaving.add(connection)
        if is_many or not connection.has_room:
            connection.abort()
        else:
            connection.end()

    def slowest(self) -> PeerDelay | None:
        """Return the peer that delays its replies most: has not read for the longest time, or else is farthest away.

        Of many connections, only :data:`MOST_MEASURED` are measured.  Without connections, return None.
        """
        delays = [
            PeerDelay(each.peer, each.stalled_for, each.round_trip) for each in islice(self._connections, MOST_MEASURED)
        ]
        return max(delays, key=lambda delay: (delay.stalled, delay.round_trip or 0.0), default=None)

    def end_late(self) -> None:
        """End the connections whose peers take too long to send a frame or to read replies."""
        limits = self._limits
        latest = self._clock.seconds() - limits.frame_timeout
        late = [connection for connection in self._connections if connection.is_late(latest)]
        self._drop_all(late, "no complete frame", limits.frame_timeout)
        if limits.read_timeout is not None:
            stalled = [each for each in self._connections if each.stalled_for >= limits.read_timeout]
            self._drop_all(stalled, "no byte of their replies read", limits.read_timeout)

    def _drop_all(self, connections: Sequence[C], reason: str, seconds: float) -> None:
        """End connections whose peers were too slow to send a request or to read replies; write one log line.

        :param reason: what the peers did not do, for the log line.
        :param seconds: the time limit that the peers have exceeded.
        """
        for connection in connections:
            self._drop(connection)
        if connections:
            self._metrics.timed_out.value += len(connections)
            self._log.info(
                "{n} connections closed: {reason} in {seconds:g} s, {peer} among them",
                n=len(connections), reason=reason, seconds=seconds, peer=connections[0].peer,
            )  # fmt: skip

    def left(self, connection: C) -> None:
        """Remove an ended ``connection``; if it was the last one, the Deferred of :meth:`when_gone` fires."""
        for connections in (self._connections, self._entering, self._idle):
            connections.pop(connection, None)
        self._shares.left(connection)
        self._leaving.discard(connection)
        if not self._connections:
            self._sweeps.stop()
        self._metrics.active.value -= 1
        if not self._connections and self._gone is not None and not self._gone.called:
            self._gone.callback(None)

    def stop(self) -> None:
        """Stop the regular search for connections whose peers exceed a time limit."""
        self._stopped = True
        self._sweeps.stop()

    def when_gone(self) -> "Deferred[None]":
        """Return a Deferred that fires when all connections have ended."""
        self._gone = Deferred()
        if not self._connections:
            self._gone.callback(None)
        return self._gone
