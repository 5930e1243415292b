"""The limits that all connections of a bookie share, and the counts that are compared with these limits.

OpenSSL uses 60 KiB for each peer that has begun TLS, so the number of peers that are not authenticated yet is limited
(:class:`Handshakes`), as is the memory for bytes of one kind, such as incomplete frames (:class:`HeldBytes`).
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...codec.connection import ServerDecoder
from ...codec.wire_protocol import IWireProtocol
from ...codec.wires import INCLUDED
from ...instruments import Counter
from ...metrics import ConnectionMetrics
from ..connection_state import ConnectionState
from ..interfaces import IRequestSession, IServerConnection
from ..peer_lines import PeerLines
from ..turns import Turns
from .connected_peers import ConnectedPeers, TimedConnection
from .limits import DEFAULT_LIMITS, ServerLimits
from .outbox import Outbox

SECONDS_AT_LEAST = 2.0
"""Seconds that each handshake may take even if there are more handshakes than the limit.

When a bookie starts, many honest clients connect at the same time.
"""

MOST_TIMES = 3
"""If the number of unfinished handshakes is above the limit times this factor, the oldest is dropped, whatever its age.

If it is below that, but above the limit, only handshakes older than :data:`SECONDS_AT_LEAST` are dropped.
"""

_UNTRUSTED = frozenset({ConnectionState.CONNECTING, ConnectionState.ENCRYPTING, ConnectionState.AUTHENTICATING})


C = TypeVar("C")
ConnectionT = TypeVar("ConnectionT", bound=TimedConnection)


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


def is_untrusted(connection: TimedConnection) -> bool:
    """Test whether the peer of a ``connection`` is untrusted."""
    return connection.state in _UNTRUSTED


class SharedLimits(Generic[ConnectionT]):
    """The limits that all connections of a bookie share, and the counts that are compared with these limits.

    :param open_session: makes the session that answers the requests of a new connection.
    :param clock: the clock of all time limits.
    :param protocols: the protocols that peers may speak, in the order in which they are tried.
    :ivar is_scarce: whether all replies together use so much memory that new replies must be small.
    :ivar reply_limit: the current maximum number of bytes of a reply with several entries.
    :ivar unsent_limit: the current limit of the bytes of a connection's queued replies; above it, the bookie makes no
        more replies for this connection.
    :ivar peer_lines: logs, at a limited rate, lines about peers, so that a peer cannot fill the log.
    :ivar peers: the open connections.
    :ivar turns: decides which connection may process requests in this turn of the reactor, and for how long.
    :ivar incomplete, unread: limit the bytes of incomplete frames, and of replies that peers have not read.
    :ivar handshakes: limits the number of peers that have begun TLS and are not authenticated yet.
    :ivar stopping: whether the bookie is stopping, and accepts no more requests and connections.
    """

    def __init__(
        self, outbox: Outbox, open_session: Callable[[IServerConnection], IRequestSession], clock: IReactorTime,
        metrics: ConnectionMetrics, limits: ServerLimits = DEFAULT_LIMITS, tcp_no_delay: bool = True,
        protocols: Sequence[IWireProtocol] = INCLUDED,
    ) -> None:  # fmt: skip
        self.outbox = outbox
        self.open_session = open_session
        self.clock = clock
        self.metrics = metrics
        self.limits = limits
        self.tcp_no_delay = tcp_no_delay
        self.protocols = protocols
        self.is_scarce = False
        self.reply_limit = limits.max_frame_size
        self.unsent_limit = limits.unsent_bytes
        self.peer_lines = PeerLines(clock.seconds)
        self.peers: ConnectedPeers[ConnectionT] = ConnectedPeers(clock, metrics, limits, self.peer_lines)
        self.stopping = False
        self.turns = Turns(clock, outbox.flush)

        def drop(connection: ConnectionT) -> None:
            connection.abort()

        self.incomplete: HeldBytes[ConnectionT] = HeldBytes(
            "frames that are not complete", limits.incomplete_bytes, clock, metrics.shed, drop, is_untrusted
        )
        unread = "replies that are not read"
        self.handshakes: Handshakes[ConnectionT] = Handshakes(limits.max_handshakes, clock, metrics.shed, drop)
        self.unread: HeldBytes[ConnectionT] = HeldBytes(unread, limits.unread_bytes, clock, metrics.shed, drop)

    def new_decoder(self) -> ServerDecoder:
        """Return a decoder for a connection on which no bytes were received yet."""
        return ServerDecoder(self.limits.max_frame_size, self.protocols)

    def count_pending(self, n_bytes: int) -> None:
        """Count bytes of replies that are being prepared, or that wait for peers to read them.

        Above a limit of these bytes, new replies must be small.

        :param n_bytes: number of bytes; negative to subtract counted bytes when they are sent, or when their requests
            are dropped.
        """
        limits, pending = self.limits, self.metrics.pending_bytes
        pending.value += n_bytes
        scarce = self.is_scarce = pending.value >= limits.pending_bytes
        self.reply_limit = limits.small_reply if scarce else limits.max_frame_size
        self.unsent_limit = min(limits.unsent_bytes, limits.small_reply) if scarce else limits.unsent_bytes
