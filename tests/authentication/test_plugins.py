"""How a configuration chooses its authentication."""

from typing import cast

from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.plugins import DisabledPlugin, bookie_authentication, client_authentication
from bookkeeper_twisted.bookie.lifecycle.settings import engine_options
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metadata.interfaces import IMetadataDriver
from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled, Peer
from bookkeeper_twisted.testing.contracts import authentication_contract

_JAVA = "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$AuthenticationDisabledAuthProviderFactory"
_KEY = "bookieAuthProviderFactoryClass"


class DisabledTests(authentication_contract.AuthenticationContract):
    """The contract on the plugin that asks for nothing."""

    def make(self) -> DisabledPlugin:
        return DisabledPlugin()

    def test_at_once(self) -> None:
        """It is complete on both sides before anything is sent."""
        self.assertTrue(IPlugin.providedBy(self.plugin))
        exchanges = self.bookie.bookie_exchange(Peer("p")), self.client.client_exchange(Peer("b"))
        self.assertTrue(all(exchange.complete for exchange in exchanges))


class ChoiceTests(SynchronousTestCase):
    """The keys that name a plugin."""

    def load(self, **settings: str) -> AuthenticationConfig:
        return AuthenticationConfig.load([Setting(key, value, "file x") for key, value in settings.items()])

    def test_names(self) -> None:
        """The default, our name and that of Apache's class mean that nobody is asked."""
        for name in ("", "disabled", _JAVA):
            config = AuthenticationConfig(
                bookie_auth_provider_factory_class=name, client_auth_provider_factory_class=name
            )
            self.assertIsInstance(bookie_authentication(config), AuthenticationDisabled)
            self.assertIsInstance(client_authentication(config), AuthenticationDisabled)

    def test_unknown(self) -> None:
        """A name that no plugin answers to is refused with key, origin and the known names."""
        error = self.assertRaises(ConfigError, bookie_authentication, self.load(**{_KEY: "nothing"}))
        self.assertRegex(str(error), f"{_KEY} = 'nothing', file x: .*disabled")
        error = self.assertRaises(
            ConfigError, client_authentication, self.load(clientAuthProviderFactoryClass="nothing")
        )
        self.assertRegex(str(error), "clientAuthProviderFactoryClass = 'nothing', file x: .*disabled")

    def test_unknown_client_plugin(self) -> None:
        """A bookie, which may become a client, does not start with an unknown plugin of clients."""
        config = BookieConfig(client_auth_provider_factory_class="org.example.Auth")
        unused = cast(IMetadataDriver, None)
        error = self.assertRaises(ConfigError, engine_options, config, Clock(), unused, Instruments())
        self.assertIn("clientAuthProviderFactoryClass = 'org.example.Auth'", str(error))

    def test_insecure(self) -> None:
        """Where insecure connections are allowed, such a name means that no peer is authenticated."""
        config = self.load(**{_KEY: "nothing", "allowInsecureConnections": "true"})
        self.assertIsInstance(bookie_authentication(config), AuthenticationDisabled)
