"""The keys that bookies and clients share."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.config.metadata import MetadataConfig


class MetadataConfigTests(SynchronousTestCase):
    """:class:`MetadataConfig`."""

    def test_shared(self) -> None:
        """Both configurations take them."""
        for kind in (BookieConfig, ClientConfig):
            config: MetadataConfig = kind.load(from_options({"zkTimeout": "4000", "zkEnableSecurity": "true"}))
            self.assertEqual((config.zk_timeout, config.zk_enable_security), (4000, True))
            self.assertEqual(config.notes, ())
