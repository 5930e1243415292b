"""The configuration of a client."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import ClientConfig


class DerivedDefaultsTests(SynchronousTestCase):
    """Defaults that depend on other fields."""

    def test_wire_protocol(self) -> None:
        """Apache's switch pins V2; our key wins over it."""
        self.assertEqual(ClientConfig().wire_protocol, "auto")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True).wire_protocol, "v2")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True, wire_protocol="v3").wire_protocol, "v3")

