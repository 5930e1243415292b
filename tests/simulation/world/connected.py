"""Two nodes with a network between them, and protocols that remember."""

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IProtocol
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from . import Life, SimClock, SimNetwork, stream
from .transport import SimTransport

PORT = 3181


class Remembering(Protocol):
    """:ivar chunks: what came.
    :ivar reason: why the connection ended.
    """

    transport: SimTransport

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.reason: type[BaseException] | None = None

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)

    def dataReceived(self, data: bytes) -> None:
        self.chunks.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.reason = reason.type


class Server(Factory):
    """Keeps its connections."""

    def __init__(self) -> None:
        self.connections: list[Remembering] = []

    def buildProtocol(self, addr: IAddress | None) -> Remembering:
        self.connections.append(Remembering())
        return self.connections[-1]


class NetworkCase(SynchronousTestCase):
    """A client and a server, each on its machine."""

    def setUp(self) -> None:
        self.sim = SimClock(stream(1, "ties"))
        self.network = SimNetwork(self.sim, stream(1, "network"))
        self.client, self.server = Life(self.sim, "client"), Life(self.sim, "server")
        self.network.started(self.client)
        self.factory = Server()
        self.serve(self.server)

    def serve(self, life: Life) -> None:
        self.network.started(life)
        self.network.listen(life, PORT, self.factory)

    def pass_time(self, seconds: float = 1.0) -> None:
        self.sim.run_until(self.sim.seconds() + seconds)

    def connect(self, timeout: float = 5.0) -> "Deferred[IProtocol]":
        endpoint = self.network.endpoint(self.client, timeout)("server", PORT)
        return endpoint.connect(Factory.forProtocol(Remembering))

    def connected(self) -> tuple[Remembering, Remembering]:
        """Both ends of a new connection."""
        connecting = self.connect()
        self.pass_time()
        near = self.successResultOf(connecting)
        assert isinstance(near, Remembering)
        return near, self.factory.connections[-1]
