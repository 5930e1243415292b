"""All connections of a client: thousands of ledger handles share a few sockets to each bookie.

``maxConnectionsPerBookie`` is the maximum number of sockets to a bookie.  Each socket uses one wire protocol.  If V2 is
used for entries, one of the sockets is reserved for the operations that only V3 has.  If the maximum is 1, the only
socket uses V3.  If it is 0, every handle has its own sockets.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, DeferredList

from ...codec.wire_protocol import IWireProtocol
from ...config.client import ClientConfig
from ...errors import ClientClosedError
from ...limits.attended_time import AttendedTime
from ...protocol.client.request_ids import RequestIds
from ...protocol.wire_protocols import client_wires
from .bookie_peer import BookiePeer, PeerCounts
from .bookie_socket import BookieSocket, SocketSettings


class ConnectionPool:
    """The sockets of a client, by bookie and wire protocol; used on the reactor's thread only.

    :ivar settings: the settings that all sockets share.
    :ivar wires: the wire protocols in use.
    :ivar closed: the error with which requests fail after :meth:`close`; None before.
    """

    def __init__(
        self, settings: SocketSettings, config: ClientConfig, watch: Callable[[BookiePeer], None] = lambda peer: None
    ) -> None:
        """:param watch: called with each :class:`~.bookie_peer.BookiePeer` before the first connection to it."""
        self.settings = settings
        self._limit = config.max_connections_per_bookie
        self.wires = client_wires(config)
        self._interval = config.connection_keepalive_sec
        self._idle_limit = config.connection_idle_sec
        self._minimum = config.min_connections_per_bookie
        self._grace = config.connection_grace_sec
        self._peers: dict[tuple[str, IWireProtocol], BookiePeer] = {}
        self._tick_call: Any = None
        self._time = AttendedTime(settings.clock.seconds)
        self.closed: Exception | None = None
        self._watch = watch

    def socket(self, bookie_id: str, wire: IWireProtocol, ids: RequestIds) -> BookieSocket:
        """Choose a socket to a bookie for a ledger handle, or make a new one.

        :param wire: the wire protocol of the socket.
        :param ids: the request ids of the handle.
        :raises bookkeeper_twisted.errors.BookKeeperError: no socket is usable, or the pool is closed.
        """
        if self.closed is not None:
            raise self.closed
        peer = self._peers.get((bookie_id, wire))
        if peer is None:
            peer = BookiePeer(self.settings, bookie_id, wire, self.wires.sockets(wire, self._limit))
            self._peers[peer.key] = peer
            self._watch(peer)
        if self._tick_call is None:
            self._tick_later()
        return peer.choose(ids)

    def _tick_later(self) -> None:
        self._time.scheduled(self._interval)
        self._tick_call = self.settings.clock.callLater(self._interval, self._tick)

    def _tick(self) -> None:
        """Close idle sockets, and test whether the bookies at the other sockets are alive.

        Do nothing if this call comes late: this process did not run for some time, so replies may have arrived that it
        has not read.
        """
        self._tick_call = None
        if not self._time.arrived():
            idle = ClientClosedError("the connection was not used")
            for peer in self._peers.values():
                peer.tick(self._idle_limit, self._minimum, idle)
        if any(peer.sockets for peer in self._peers.values()):
            self._tick_later()

    def counts(self) -> dict[tuple[str, IWireProtocol], PeerCounts]:
        """Return the numbers of sockets, bytes and replies (PeerCounts) for each bookie and wire protocol."""
        return {key: peer.counts() for key, peer in self._peers.items()}

    def close(self, error: Exception) -> "Deferred[None]":
        """Refuse later requests with ``error``, close all connections, and fire when they are closed.

        Outstanding requests may still take ``connectionGraceSec`` seconds.
        """
        self.closed = error
        if self._tick_call is not None:
            self._tick_call.cancel()
            self._tick_call = None
        gone = [peer.close(error, self._grace) for peer in self._peers.values()]
        return DeferredList(gone).addCallback(lambda _: None)
