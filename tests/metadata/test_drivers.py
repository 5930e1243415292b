"""From URI to driver."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import InvalidMetadataUriError
from bookkeeper_twisted.metadata.drivers import create_cluster_admin, create_driver, options_of
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedAdmin, EmbeddedDriver
from bookkeeper_twisted.metadata.interfaces import DEFAULT_OPTIONS, MetadataOptions


class CreateDriverTests(SynchronousTestCase):
    """:func:`create_driver`, with the plugins of this package."""

    def test_known_schemes(self) -> None:
        """Our own drivers are found, whatever the case of the scheme and what follows a plus."""
        for uri in ("memory:", "MEMORY:name", "memory+null:", "sqlite:////nowhere/metadata.db"):
            driver = create_driver(Clock(), uri)
            self.assertIsInstance(driver, EmbeddedDriver)
            self.assertEqual(driver.uri, uri)

    def test_unknown_scheme(self) -> None:
        """An unknown scheme is refused with the list of the known ones."""
        for uri in ("", "nothing", "file:///x", "etcd://host/scope"):
            error = self.assertRaises(InvalidMetadataUriError, create_driver, Clock(), uri)
            self.assertIn(repr(uri), str(error))
            self.assertIn("memory:", str(error))
            self.assertIn("sqlite:", str(error))

    def test_no_text(self) -> None:
        """What is no text at all is no URI."""
        error = self.assertRaises(InvalidMetadataUriError, create_driver, Clock(), None)
        self.assertEqual(str(error), "a metadata service URI is text, not NoneType")

    def test_refused_by_the_driver(self) -> None:
        """A plugin that knows the scheme has the last word on the rest."""
        self.assertRaises(InvalidMetadataUriError, create_driver, Clock(), "sqlite://host/x")

    def test_admin(self) -> None:
        """The same plugin makes who makes and unmakes clusters."""
        admin = create_cluster_admin(Clock(), "memory:")
        self.assertIsInstance(admin, EmbeddedAdmin)
        self.assertRaises(InvalidMetadataUriError, create_cluster_admin, Clock(), "etcd://host/scope")


class OptionsTests(SynchronousTestCase):
    """:func:`options_of`."""

    def test_defaults(self) -> None:
        """A configuration that says nothing says what drivers assume."""
        self.assertEqual(options_of(BookieConfig()), DEFAULT_OPTIONS)
        self.assertEqual(options_of(ClientConfig()), DEFAULT_OPTIONS)

    def test_values(self) -> None:
        """Milliseconds become seconds, and each key its option."""
        config = ClientConfig(
            zk_timeout=4000, zk_enable_security=True, zk_auth="digest:a:b", zk_retry_backoff_start_ms=50,
            zk_retry_backoff_max_ms=500, zk_retry_backoff_max_retries=2,
        )  # fmt: skip
        expected = MetadataOptions(4.0, None, True, ("digest:a:b",), 2, 0.05, 0.5)
        self.assertEqual(options_of(config), expected)
