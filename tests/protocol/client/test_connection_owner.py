"""Default limits of a connection."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits


class LimitTests(SynchronousTestCase):
    """Defaults."""

    def test_defaults(self) -> None:
        """They are those of the configuration."""
        config, limits = ClientConfig(), ConnectionLimits()
        self.assertEqual(limits.add_timeout, config.add_entry_timeout_sec)
        self.assertEqual(limits.read_timeout, config.read_entry_timeout_sec)
