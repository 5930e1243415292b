"""Keys of authentication."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_file
from bookkeeper_twisted.errors import ConfigError

_JAVA = "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$"
_SASL = (
    "saslJaasConfig", "saslJaasBookieSectionName", "saslJaasClientSectionName", "saslJaasAuditorSectionName",
    "saslJaasClientAllowedIds",
)  # fmt: skip


class SaslKeysTests(SynchronousTestCase):
    """Keys of SASL demand that somebody is authenticated."""

    def test_without_provider(self) -> None:
        """Each is refused where no provider is named, or only those that authenticate nobody."""
        off = f"bookieAuthProviderFactoryClass={_JAVA}AuthenticationDisabledAuthProviderFactory\n"
        off += "clientAuthProviderFactoryClass=disabled\n"
        for config in (BookieConfig, ClientConfig):
            for key in _SASL:
                for before in ("", off):
                    error = self.assertRaises(ConfigError, config.load, from_file(f"{before}{key}=/x", "f"))
                    self.assertRegex(str(error), f"{key} = '/x', f:[13]: has an effect only with .* none is set")

    def test_password(self) -> None:
        """A login that is written where its file is asked for is refused without its password."""
        line = "saslJaasConfig=foo required username=\"u\" password=\"sesame\";"
        error = self.assertRaises(ConfigError, BookieConfig.load, from_file(line, "f"))
        self.assertIn("foo required", str(error))
        self.assertNotIn("sesame", str(error))

    def test_with_provider(self) -> None:
        """They are taken where a provider is named, of bookie or client."""
        for provider in ("bookieAuthProviderFactoryClass", "clientAuthProviderFactoryClass"):
            text = "\n".join([f"{provider}=sasl", *(f"{key}=/x" for key in _SASL)])
            config = BookieConfig.load(from_file(text, "f"))
            self.assertEqual((config.sasl_jaas_config, config.sasl_jaas_bookie_section_name), ("/x", "/x"))
            self.assertEqual((config.warnings, config.notes), ((), ()))

    def test_off(self) -> None:
        """The default and values that mean "off" demand nothing; nor does anything where that is allowed."""
        for value in ("Bookie", "null", "none"):
            BookieConfig.load(from_file(f"saslJaasBookieSectionName={value}", "f"))
        BookieConfig.load(from_file("saslJaasConfig=/x\nallowInsecureConnections=true", "f"))


class RequiredTests(SynchronousTestCase):
    """The key by which a client refuses bookies that authenticate nobody."""

    def test_without_plugin(self) -> None:
        """It is refused where no plugin of clients is named that authenticates: the client would ask no bookie."""
        for text in ("", "clientAuthProviderFactoryClass=disabled\n", "bookieAuthProviderFactoryClass=sasl\n"):
            for config in (BookieConfig, ClientConfig):
                given = from_file(f"{text}clientAuthRequired=true", "f")
                error = self.assertRaises(ConfigError, config.load, given)
                self.assertRegex(str(error), "clientAuthRequired = 'true', f:[12]: .* only with clientAuthProviderFact")
        self.assertRaises(ConfigError, ClientConfig, client_auth_required=True)

    def test_taken(self) -> None:
        """It is taken with a plugin, and without one if it demands nothing or insecure connections are allowed."""
        for text in (
            "clientAuthProviderFactoryClass=sasl\nclientAuthRequired=true", "clientAuthRequired=false",
            "allowInsecureConnections=true\nclientAuthRequired=true",
        ):  # fmt: skip
            ClientConfig.load(from_file(text, "f"))
