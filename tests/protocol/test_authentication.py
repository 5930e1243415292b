"""The provider that asks for nothing, and how providers are found."""

from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled, Peer, authentication_provider
from bookkeeper_twisted.testing.contracts import authentication_contract


class DisabledTests(authentication_contract.AuthenticationContract):
    """The contract on it."""

    def make(self) -> AuthenticationDisabled:
        return AuthenticationDisabled()

    def test_at_once(self) -> None:
        """It is a plugin, and complete on both sides before anything is sent."""
        self.assertTrue(IPlugin.providedBy(self.provider))
        exchanges = self.provider.bookie_exchange(Peer("p")), self.provider.client_exchange(Peer("b"))
        self.assertTrue(all(exchange.complete for exchange in exchanges))


class ProviderTests(SynchronousTestCase):
    """:func:`authentication_provider`."""

    def test_names(self) -> None:
        """The default, our name and those of Apache's classes mean the provider that asks for nothing."""
        for name in (
            BookieConfig().bookie_auth_provider_factory_class,
            "disabled",
            "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$AuthenticationDisabledAuthProviderFactory",
        ):
            self.assertIsInstance(authentication_provider(name, "key", "default"), AuthenticationDisabled)

    def test_unknown(self) -> None:
        """A name that no plugin answers to is refused with key, origin and the known names."""
        error = self.assertRaises(ConfigError, authentication_provider, "sasl", "bookieAuth", "file x")
        self.assertRegex(str(error), "bookieAuth = 'sasl', file x: .*disabled")

    def test_insecure(self) -> None:
        """Where insecure connections are allowed, such a name means that no peer is authenticated."""
        self.assertIsInstance(authentication_provider("sasl", "bookieAuth", "file x", True), AuthenticationDisabled)
