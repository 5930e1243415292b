"""The limits that all connections of a bookie share, and the counts that are compared with these limits."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from twisted.internet.interfaces import IReactorTime

from ...codec.connection import ServerDecoder
from ...codec.wire_protocol import IWireProtocol
from ...codec.wires import INCLUDED
from ...metrics import ConnectionMetrics
from ..connection_state import ConnectionState
from ..interfaces import IRequestSession, IServerConnection
from ..peer_lines import PeerLines
from ..turns import Turns
from .connected_peers import ConnectedPeers, TimedConnection
from .handshakes import Handshakes
from .held_bytes import HeldBytes
from .limits import DEFAULT_LIMITS, ServerLimits
from .outbox import Outbox

_UNTRUSTED = frozenset({ConnectionState.CONNECTING, ConnectionState.ENCRYPTING, ConnectionState.AUTHENTICATING})


class StatedConnection(TimedConnection, Protocol):
    """A connection whose state tells whether its peer is untrusted."""

    state: ConnectionState


C = TypeVar("C", bound=StatedConnection)


def is_untrusted(connection: StatedConnection) -> bool:
    """Test whether the peer of a ``connection`` is untrusted."""
    return connection.state in _UNTRUSTED


class SharedLimits(Generic[C]):
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
        self.peers: ConnectedPeers[C] = ConnectedPeers(clock, metrics, limits, self.peer_lines)
        self.stopping = False
        self.turns = Turns(clock, outbox.flush)

        def drop(connection: C) -> None:
            connection.abort()

        self.incomplete: HeldBytes[C] = HeldBytes(
            "frames that are not complete", limits.incomplete_bytes, clock, metrics.shed, drop, is_untrusted
        )
        unread = "replies that are not read"
        self.handshakes: Handshakes[C] = Handshakes(limits.max_handshakes, clock, metrics.shed, drop)
        self.unread: HeldBytes[C] = HeldBytes(unread, limits.unread_bytes, clock, metrics.shed, drop)

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
