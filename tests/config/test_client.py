"""The configuration of a client."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import ClientConfig
from bookkeeper_twisted.errors import ConfigError


class DerivedDefaultsTests(SynchronousTestCase):
    """Defaults that depend on other fields."""

    def test_wire_protocol(self) -> None:
        """Apache's switch pins V2; our key wins over it."""
        self.assertEqual(ClientConfig().wire_protocol, "auto")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True).wire_protocol, "v2")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True, wire_protocol="v3").wire_protocol, "v3")


class WireTests(SynchronousTestCase):
    """Wires share the sockets to a bookie."""

    def test_main_wire(self) -> None:
        """Entries go over V2 unless V3 is wanted, or has the only socket."""
        for wire, limit, expected in (("auto", 2, 2), ("auto", 0, 2), ("auto", 1, 3), ("v2", 2, 2), ("v3", 2, 3)):
            config = ClientConfig(wire_protocol=wire, max_connections_per_bookie=limit)
            self.assertEqual(config.main_wire, expected)

    def test_one_socket_for_v2(self) -> None:
        """V2 does not do alone, so one socket is refused, with the reason."""
        with self.assertRaisesRegex(ConfigError, "maxConnectionsPerBookie = '1'.*wireProtocol = v2"):
            ClientConfig(wire_protocol="v2", max_connections_per_bookie=1)
