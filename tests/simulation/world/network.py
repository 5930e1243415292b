"""TCP between simulated nodes: listening, connecting, and what a crash does to connections."""

from collections.abc import Callable

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionRefusedError, TimeoutError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from zope.interface import implementer

from bookkeeper_twisted.testing.streams import Random

from .clock import Life, SimClock
from .links import Links
from .transport import SimTransport

_CLIENT_PORT = 40_000


class SimNetwork:
    """Nodes find each other by name, which is the host of their addresses."""

    def __init__(self, sim: SimClock, chance: Random) -> None:
        self.links = Links(sim, chance)
        self.sim = sim
        self._listeners: dict[tuple[str, int], tuple[IProtocolFactory, Life]] = {}
        self._machines: dict[str, Life] = {}
        self._off: dict[str, bool] = {}
        self._transports: dict[str, list[SimTransport]] = {}
        self._half_open: dict[str, list[SimTransport]] = {}

    def started(self, life: Life) -> None:
        """A node lives again: its machine answers what it knows nothing of with a reset."""
        self._machines[life.name] = life
        self._off[life.name] = False
        for transport in self._half_open.pop(life.name, []):
            if transport.life.alive:
                transport.reset()

    def listen(self, life: Life, port: int, factory: IProtocolFactory) -> None:
        """Takes connections for as long as the life lasts."""
        self._listeners[life.name, port] = (factory, life)

    def crashed(self, life: Life, abruptly: bool) -> None:
        """The connections of a life that has ended.

        :param abruptly: its machine has gone off too: peers get no packet before it is back.
        """
        self._off[life.name] = abruptly
        for transport in self._transports.pop(life.name, []):
            transport.crashed(abruptly)
            if abruptly and transport.opposite.life.alive:
                self._half_open.setdefault(life.name, []).append(transport.opposite)

    def reset(self, one: str, other: str) -> None:
        """Ends the connections between two nodes, with what is on its way."""
        for transport in list(self._transports.get(one, ())):
            if transport.opposite.host == other and transport.connected:
                for end in (transport, transport.opposite):
                    end.pipe.clear()
                    end.reset()

    def endpoint(self, life: Life, timeout: float) -> Callable[[str, int], IStreamClientEndpoint]:
        """How a life connects to a host and port."""
        return lambda host, port: _Endpoint(self, life, host, port, timeout)

    # -- used by attempts --

    def listener(self, host: str, port: int) -> tuple[IProtocolFactory, Life] | None:
        """The factory that takes connections at an address."""
        found = self._listeners.get((host, port))
        return found if found is not None and found[1].alive else None

    def is_off(self, host: str) -> bool:
        """Whether no machine answers at all."""
        return self._off.get(host, True)

    def join(self, client: Life, server: Life) -> tuple[SimTransport, SimTransport]:
        """Both ends of a new connection."""
        near = SimTransport(self.links, client, client.name, server.name)
        far = SimTransport(self.links, server, server.name, client.name)
        near.join(far)
        far.join(near)
        for end in (near, far):
            ends = self._transports.setdefault(end.host, [])
            ends[:] = [known for known in ends if known.connected]
            ends.append(end)
        return near, far


@implementer(IStreamClientEndpoint)
class _Endpoint:
    def __init__(self, network: SimNetwork, life: Life, host: str, port: int, timeout: float) -> None:
        self._network = network
        self._life = life
        self._address = (host, port)
        self._timeout = timeout

    def connect(self, protocolFactory: IProtocolFactory) -> "Deferred[IProtocol]":
        return _Attempt(self._network, self._life, *self._address, protocolFactory).begin(self._timeout)


class _Attempt:
    """One way there and back."""

    def __init__(self, network: SimNetwork, life: Life, host: str, port: int, factory: IProtocolFactory) -> None:
        self._network = network
        self._life = life
        self._host = host
        self._port = port
        self._factory = factory
        self._over = False
        self._result: Deferred[IProtocol] = Deferred(self._cancelled)

    def begin(self, timeout: float) -> "Deferred[IProtocol]":
        if self._life.alive:
            network = self._network
            self._timeout = network.sim.call_at(self._life, network.sim.seconds() + timeout, self._fail, TimeoutError())
            network.links.carry(self._life.name, self._host, self._life, self._there)
        return self._result

    def _cancelled(self, _: object) -> None:
        self._over = True
        if self._timeout.active():
            self._timeout.cancel()

    def _fail(self, error: Exception) -> None:
        if not self._over:
            self._cancelled(None)
            self._result.errback(error)

    def _there(self) -> None:
        """The first packet has arrived at the machine."""
        network = self._network
        if self._over or network.is_off(self._host):
            return
        link = network.links.between(self._life.name, self._host)
        found = network.listener(self._host, self._port)
        back = network.links.carry
        if found is None or link.refuses:
            back(self._host, self._life.name, self._life, lambda: self._fail(ConnectionRefusedError()))
            return
        factory, server = found
        near, far = network.join(self._life, server)
        if link.ignores:
            far.reading = False
            link.when_minded(lambda: self._accept_later(factory, far))
        else:
            self._accept_later(factory, far)
        back(self._host, self._life.name, self._life, lambda: self._back(near))

    def _accept_later(self, factory: IProtocolFactory, transport: SimTransport) -> None:
        sim = self._network.sim
        sim.call_at(transport.life, sim.seconds(), self._accept, factory, transport)

    def _accept(self, factory: IProtocolFactory, transport: SimTransport) -> None:
        if not transport.connected:
            return
        protocol = factory.buildProtocol(IPv4Address("TCP", transport.peer, _CLIENT_PORT))
        if protocol is None:
            transport.abortConnection()
            return
        transport.protocol = protocol
        transport.reading = True
        protocol.makeConnection(transport)
        transport.opposite.pipe.go_on()

    def _back(self, transport: SimTransport) -> None:
        """The answer has arrived."""
        if self._over:
            transport.abortConnection()
            return
        if not transport.connected:
            self._fail(ConnectionRefusedError())
            return
        self._cancelled(None)
        protocol = self._factory.buildProtocol(IPv4Address("TCP", self._host, self._port))
        assert protocol is not None
        transport.protocol = protocol
        protocol.makeConnection(transport)
        self._result.callback(protocol)
