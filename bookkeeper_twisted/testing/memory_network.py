"""TCP connections within one process, without sockets; the test decides when bytes arrive."""

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.test.iosim import FakeTransport, IOPump, connect
from zope.interface import implementer

_ADDRESS = IPv4Address("TCP", "127.0.0.1", 1)


class MemoryNetwork:
    """A network in memory: servers that listen at addresses (host and port), and the connections to them.

    :ivar listeners: the protocol factory of each listening address; other addresses refuse connections.
    :ivar unanswered: addresses at which attempts to connect get no answer: they are neither accepted nor refused.
    :ivar attempts: the address of each attempt to connect, in order.
    """

    def __init__(self) -> None:
        self.listeners: dict[tuple[str, int], IProtocolFactory] = {}
        self.unanswered: set[tuple[str, int]] = set()
        self.attempts: list[tuple[str, int]] = []
        self._pumps: dict[tuple[str, int], list[IOPump]] = {}

    def endpoint(self, host: str, port: int) -> IStreamClientEndpoint:
        """Return an endpoint by which a client connects to an address of this network."""
        return _MemoryEndpoint(self, (host, port))

    def connect(self, address: tuple[str, int], factory: IProtocolFactory) -> "Deferred[IProtocol]":
        """Connect a client, made by ``factory``, to the server at an ``address``."""
        self.attempts.append(address)
        if address in self.unanswered:
            return Deferred()
        listener = self.listeners.get(address)
        if listener is None:
            return fail(ConnectionRefusedError())
        server, client = listener.buildProtocol(_ADDRESS), factory.buildProtocol(_ADDRESS)
        if server is None or client is None:
            return fail(ConnectionRefusedError())
        pump = connect(server, FakeTransport(server, True), client, FakeTransport(client, False))
        self._pumps.setdefault(address, []).append(pump)
        return succeed(client)

    def move(self) -> bool:
        """Deliver all bytes that clients and servers have written to each other.

        :returns: whether there were any bytes to deliver.
        """
        moved = False
        for pumps in list(self._pumps.values()):
            for pump in pumps:
                while pump.pump():
                    moved = True
        return moved

    def break_connections(self, address: tuple[str, int]) -> None:
        """Break all connections to an ``address``; bytes that were written but not delivered yet are lost."""
        for pump in self._pumps.pop(address, []):
            pump.clientIO.stream.clear()
            pump.serverIO.stream.clear()
            pump.serverIO.abortConnection()
            while pump.pump():
                pass


@implementer(IStreamClientEndpoint)
class _MemoryEndpoint:
    def __init__(self, network: MemoryNetwork, address: tuple[str, int]) -> None:
        self._network = network
        self._address = address

    def connect(self, protocolFactory: IProtocolFactory) -> "Deferred[IProtocol]":
        return self._network.connect(self._address, protocolFactory)
