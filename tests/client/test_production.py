"""The client's door to the world."""

import socket
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.production import local_host_name, rack_resolver, system_chance, tcp_endpoints
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import IMetadataDriver
from bookkeeper_twisted.placement.racks import MappingResolver, NoRacks, ScriptResolver
from bookkeeper_twisted.protocol.direct_transport import DirectClient

from ..bounds import until
from ..protocol.loopback import new_reactor


class EndpointTests(SynchronousTestCase):
    """TCP endpoints."""

    def setUp(self) -> None:
        """A reactor that connects nowhere."""
        self.reactor = MemoryReactorClock()
        self.endpoint_of = tcp_endpoints(self.reactor, ClientConfig(client_connect_timeout_millis=2500))

    def test_kinds(self) -> None:
        """Addresses are used as they are, names are looked up."""
        self.assertIsInstance(self.endpoint_of("127.0.0.1", 3181), TCP4ClientEndpoint)
        self.assertIsInstance(self.endpoint_of("::1", 3181), TCP6ClientEndpoint)
        self.assertIsInstance(self.endpoint_of("bookie.example", 3181), HostnameEndpoint)

    def test_timeout(self) -> None:
        """The configured time-out applies."""
        self.endpoint_of("127.0.0.1", 3181).connect(Factory.forProtocol(Protocol))
        host, port, _, timeout, _ = self.reactor.tcpClients[0]
        self.assertEqual((host, port, timeout), ("127.0.0.1", 3181, 2.5))

    def test_at_once(self) -> None:
        """On a reactor of sockets, connections send at once."""
        reactor = new_reactor(self)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            endpoint = tcp_endpoints(reactor, ClientConfig())(*listener.getsockname())
            connected = endpoint.connect(Factory.forProtocol(Protocol))
            for _ in until(lambda: connected.called, 100):
                reactor.iterate(0.1)
        protocol: Any = self.successResultOf(connected)
        self.assertIsInstance(protocol.transport, DirectClient)
        protocol.transport.connectionLost(Failure(ConnectionDone()))


class ChanceTests(SynchronousTestCase):
    """Randomness."""

    def test_differs(self) -> None:
        """Two generators give two sequences."""
        self.assertNotEqual(system_chance().getrandbits(63), system_chance().getrandbits(63))


def _driver() -> IMetadataDriver:
    return MemoryStore("m").driver(MemoryReactorClock(), "memory:m")


class RackTests(SynchronousTestCase):
    """Where racks come from."""

    def test_resolvers(self) -> None:
        """A table wins over a plugin, and that over a script; without any nothing is known."""
        reactor, driver = MemoryReactorClock(), _driver()
        plugin = ClientConfig(network_topology_script_file_name="/s", repp_dns_resolver_class="pulsar")
        self.assertIsInstance(rack_resolver(reactor, plugin, driver), NoRacks)  # this store has none
        table = ClientConfig(network_topology_mapping_file_name="/t", repp_dns_resolver_class="pulsar")
        self.assertIsInstance(rack_resolver(reactor, table, driver), MappingResolver)
        script = ClientConfig(network_topology_script_file_name="/s")
        both = ClientConfig(network_topology_script_file_name="/s", network_topology_mapping_file_name="/t")
        self.assertIsInstance(rack_resolver(reactor, ClientConfig(), driver), NoRacks)
        self.assertIsInstance(rack_resolver(reactor, script, driver), ScriptResolver)
        self.assertIsInstance(rack_resolver(reactor, both, driver), MappingResolver)

    def test_table(self) -> None:
        """The table is the file that is named."""
        path = self.mktemp()
        Path(path).write_text("a /r1")
        config = ClientConfig(network_topology_mapping_file_name=path)
        resolver = rack_resolver(MemoryReactorClock(), config, _driver())
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(resolver.racks(["a"]))), {"a": "/r1"})

    def test_local_host(self) -> None:
        """This machine has a name, and none where its place shall not matter."""
        self.assertTrue(local_host_name(ClientConfig()))
        self.assertEqual(local_host_name(ClientConfig(ignore_local_node_in_placement_policy=True)), "")
