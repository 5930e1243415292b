"""A bookie on a network in memory that never answers: for benchmarks and tests of the client's sockets."""

from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock

from bookkeeper_twisted.client.connections.bookie_socket import SocketSettings
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.testing.memory_network import MemoryNetwork

ADDRESS = ("h", 1)
BOOKIE = "h:1"


class SilentBookie:
    """A bookie that listens in memory, and reads what it is sent.

    :ivar held: attempts that wait for an address; None if there is no waiting.
    """

    def listen(self) -> None:
        """Begins, with a clock and a network of its own."""
        self.clock = Clock()
        self.network = MemoryNetwork()
        self.network.listeners[ADDRESS] = Factory.forProtocol(Protocol)
        self.held: list[Deferred[IStreamClientEndpoint]] | None = None
        self.flow_ids = FlowIds()
        self.settings = SocketSettings(
            clock=self.clock, resolve=self._resolve, limits=ConnectionLimits(), no_delay=True, flow_ids=self.flow_ids
        )

    def _resolve(self, bookie_id: str) -> Any:
        if self.held is None:
            return succeed(self.network.endpoint(*ADDRESS))
        waiting: Deferred[IStreamClientEndpoint] = Deferred()
        self.held.append(waiting)
        return waiting

    def hold(self) -> None:
        """Attempts wait from now on."""
        self.held = []

    def let(self) -> None:
        """The attempts that wait go on."""
        held, self.held = self.held or [], None
        for waiting in held:
            waiting.callback(self.network.endpoint(*ADDRESS))

    def ids(self) -> RequestIds:
        """Those of another flow."""
        return RequestIds(self.flow_ids.allocate())
