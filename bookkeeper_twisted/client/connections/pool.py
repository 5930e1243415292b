"""All connections of a client: thousands of flows over few sockets for each bookie.

There are at most ``maxConnectionsPerBookie`` sockets to a bookie, for any number of requests and
flows.  A connection speaks one wire protocol, so the number is shared: if V2 carries the entries, one
socket is kept for the operations that only V3 has, and V2 has the others.  With 1, V3 carries everything.  With 0 every
flow has sockets of its own.
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

    :ivar settings: the settings of the sockets.
    :ivar wires: the wire protocols in use.
    """

    def __init__(
        self, settings: SocketSettings, config: ClientConfig, watch: Callable[[BookiePeer], None] = lambda peer: None
    ) -> None:
        """:param watch: called with each bookie at the first connection to it."""
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
        self._closed: Exception | None = None
        self._watch = watch

    def new_flow(self) -> RequestIds:
        """Return the request ids of a new flow, to be given back by :meth:`end_flow`."""
        return RequestIds(self.settings.flow_ids.take())

    def end_flow(self, ids: RequestIds) -> None:
        """Release the id of a flow that has left every socket.

        :param ids: the request ids of the flow.
        """
        self.settings.flow_ids.release(ids.flow_id)

    def socket(self, bookie_id: str, wire: IWireProtocol, ids: RequestIds) -> BookieSocket:
        """Choose a socket to a bookie for a flow, or make a socket.

        :param wire: the protocol that the socket speaks.
        :param ids: the request ids of the flow, which the socket then counts.
        :raises bookkeeper_twisted.errors.BookKeeperError: no socket is usable, or the pool is closed.
        """
        if self._closed is not None:
            raise self._closed
        peer = self._peers.get((bookie_id, wire))
        if peer is None:
            peer = BookiePeer(self.settings, bookie_id, wire, self.wires.sockets(wire, self._limit))
            self._peers[peer.key] = peer
            self._watch(peer)
        if self._tick_call is None:
            self._tick_later()
        return peer.choose(ids)

    def leave(
        self, bookie_id: str, wire: IWireProtocol, socket: BookieSocket, ids: RequestIds, error: Exception
    ) -> None:  # fmt: skip
        """Detach a flow from a ``socket`` to a bookie.

        :param wire: the protocol of that socket.
        :param ids: the request ids of the flow.
        :param error: the error with which the flow's outstanding requests fail.
        """
        self._peers[bookie_id, wire].leave(socket, ids, error)

    def _tick_later(self) -> None:
        self._time.scheduled(self._interval)
        self._tick_call = self.settings.clock.callLater(self._interval, self._tick)

    def _tick(self) -> None:
        """Check the sockets, unless this call is late: replies that arrived during the delay are not read yet."""
        self._tick_call = None
        if not self._time.arrived():
            idle = ClientClosedError("the connection was not used")
            for peer in self._peers.values():
                peer.tick(self._idle_limit, self._minimum, idle)
        if any(peer.sockets for peer in self._peers.values()):
            self._tick_later()

    def counts(self) -> dict[tuple[str, IWireProtocol], PeerCounts]:
        """Return the counts of each :class:`~.bookie_peer.BookiePeer`, by bookie and wire protocol."""
        return {key: peer.counts() for key, peer in self._peers.items()}

    def close(self, error: Exception) -> "Deferred[None]":
        """Refuse later requests, end all connections with ``error``, and fire when all connections are closed.

        Requests under way may take ``connectionGraceSec`` seconds first.
        """
        self._closed = error
        if self._tick_call is not None:
            self._tick_call.cancel()
            self._tick_call = None
        gone = [peer.close(error, self._grace) for peer in self._peers.values()]
        return DeferredList(gone).addCallback(lambda _: None)
