"""The keys that bookies and clients share."""

from typing import Any
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.config.metadata import MetadataConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.metadata.drivers import options_of


class MetadataConfigTests(SynchronousTestCase):
    """:class:`MetadataConfig`."""

    def test_shared(self) -> None:
        """Both configurations take them."""
        for kind in (BookieConfig, ClientConfig):
            config: MetadataConfig = kind.load(from_options({"zkTimeout": "4000", "zkEnableSecurity": "true"}))
            self.assertEqual((config.zk_timeout, config.zk_enable_security), (4000, True))
            self.assertEqual(config.notes, ())

    def test_zookeeper_in_clear(self) -> None:
        """Without zkClientSecure the driver gets no TLS; files that are named for it are then a mistake."""
        self.assertIsNone(options_of(ClientConfig()).tls)
        for key in ("zk_ssl_trust_store_location", "zk_ssl_key_store_location"):
            keys: dict[str, Any] = {key: "/x"}
            error = self.assertRaises(ConfigError, ClientConfig, **keys)
            self.assertIn("has an effect only with zkClientSecure=true", str(error))
            ClientConfig(**keys, allow_insecure_connections=True)

    def test_zookeeper_over_tls(self) -> None:
        """zkClientSecure needs a trust store; a key store means that its certificate is shown."""
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra tls") from None
        error = self.assertRaises(ConfigError, ClientConfig, zk_client_secure=True)
        self.assertIn("zkClientSecure = 'true', default: zkSslTrustStoreLocation is not set", str(error))
        config = ClientConfig(
            zk_client_secure=True, zk_ssl_trust_store_location="/t", zk_ssl_trust_store_type="PEM",
            zk_ssl_trust_store_password_path="/tp", zk_ssl_hostname_verification=False,
        )  # fmt: skip
        tls = options_of(config).tls
        assert tls is not None
        self.assertEqual((tls.trusted.path, tls.trusted.kind, tls.trusted.password_path), ("/t", "PEM", "/tp"))
        self.assertEqual((tls.client_authentication, tls.hostname_verification), (False, False))
        config = ClientConfig(
            zk_client_secure=True, zk_ssl_trust_store_location="/t", zk_ssl_key_store_location="/k",
            zk_ssl_key_store_type="PEM", zk_ssl_key_store_password_path="/kp",
        )  # fmt: skip
        tls = options_of(config).tls
        assert tls is not None
        keys = tls.keys
        self.assertEqual((keys.path, keys.certificate_path, keys.password_path), ("/k", "/k", "/kp"))
        self.assertEqual((tls.client_authentication, tls.hostname_verification), (True, True))
