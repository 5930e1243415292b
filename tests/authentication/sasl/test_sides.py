"""Both sides of SASL from a configuration."""

from typing import Any

from twisted.plugin import IPlugin

from bookkeeper_twisted.authentication.plugins import SaslPlugin, bookie_authentication, client_authentication
from bookkeeper_twisted.authentication.sasl.digest_md5 import DigestBookieExchange, DigestClientExchange
from bookkeeper_twisted.authentication.sasl.plain import PlainBookieExchange, PlainClientExchange
from bookkeeper_twisted.authentication.sasl.production import system_world
from bookkeeper_twisted.authentication.sasl.sides import SaslBookie, SaslClient
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.testing.contracts import authentication_contract

from .sasl_case import BOOKIE, CLIENT, JAAS, SaslCase

_APACHE = "org.apache.bookkeeper.sasl."


class DigestContractTests(authentication_contract.AuthenticationContract, SaslCase):
    """The contract on DIGEST-MD5."""

    def setUp(self) -> None:
        SaslCase.setUp(self)
        authentication_contract.AuthenticationContract.setUp(self)

    def make(self) -> SaslPlugin:
        return SaslPlugin()

    def make_config(self) -> AuthenticationConfig:
        return self.config()

    def test_plugin(self) -> None:
        """It is a plugin, and its name in frames is that of Apache's."""
        self.assertTrue(IPlugin.providedBy(self.plugin))
        self.assertEqual((self.bookie.plugin, self.client.plugin), ("sasl", "sasl"))  # type: ignore[attr-defined]


class PlainContractTests(DigestContractTests):
    """The contract on PLAIN."""

    mechanism = "PLAIN"

    def peers(self) -> tuple[Peer, Peer]:
        return Peer("127.0.0.1:1", is_encrypted=True), Peer("bookie:3181", is_encrypted=True)


class ConfigurationTests(SaslCase):
    """Keys."""

    def refused(self, side: Any, **more: Any) -> str:  # type: ignore[override]
        """Why a side cannot be made."""
        return str(self.assertRaises(ConfigError, side, self.config(**more), self.world))

    def test_names(self) -> None:
        """Our name and those of Apache's classes choose it."""
        for name in ("sasl", _APACHE + "SASLBookieAuthProviderFactory", _APACHE + "SASLClientProviderFactory"):
            config = self.config(bookie_auth_provider_factory_class=name, client_auth_provider_factory_class=name)
            self.assertIsInstance(bookie_authentication(config), SaslBookie)
            self.assertIsInstance(client_authentication(config), SaslClient)

    def test_mechanisms(self) -> None:
        """DIGEST-MD5 is the default; names are in either case."""
        for name, kinds in (
            (AuthenticationConfig().sasl_mechanism, (DigestBookieExchange, DigestClientExchange)),
            ("digest-md5", (DigestBookieExchange, DigestClientExchange)),
            ("plain", (PlainBookieExchange, PlainClientExchange)),
        ):
            config = self.config(sasl_mechanism=name)
            self.assertIsInstance(SaslBookie(config, self.world).bookie_exchange(CLIENT), kinds[0])
            self.assertIsInstance(SaslClient(config, self.world).client_exchange(BOOKIE), kinds[1])

    def test_other_mechanisms(self) -> None:
        """Another name is refused as unknown."""
        for side in (SaslBookie, SaslClient):
            self.assertIn(
                "saslMechanism = 'CRAM-MD5', default: no such mechanism; DIGEST-MD5, GSSAPI and PLAIN are there",
                self.refused(side, sasl_mechanism="CRAM-MD5"),
            )

    def test_plain_in_clear(self) -> None:
        """PLAIN without TLS is refused at the start, as nobody could be let in; DIGEST-MD5 is not."""
        for side in (SaslBookie, SaslClient):
            reason = self.refused(side, sasl_mechanism="PLAIN", tls_provider_factory_class="")
            self.assertIn("saslMechanism = 'PLAIN', default: passwords are refused in clear, so PLAIN needs", reason)
            side(self.config(tls_provider_factory_class=""), self.world)

    def test_allowed_ids(self) -> None:
        """What is no regular expression is refused with the key."""
        reason = self.refused(SaslBookie, sasl_jaas_client_allowed_ids="(")
        self.assertIn("saslJaasClientAllowedIds = '('", reason)
        self.assertIn("no regular expression", reason)

    def test_sections(self) -> None:
        """The sections have Apache's names, and can have others."""
        self.write(JAAS.replace("Bookie {", "B {").replace("BookKeeper {", "C {").replace("Auditor {", "D {"))
        for side, key in (
            (SaslBookie, "sasl_jaas_bookie_section_name"), (SaslClient, "sasl_jaas_client_section_name")
        ):  # fmt: skip
            self.assertIn("it has no section 'Book", self.refused(side))
            side(self.config(**{key: side.__name__[4]}), self.world)
        self.assertIn("it has no section 'Auditor'", self.refused(SaslClient, client_role="system"))

    def test_roles(self) -> None:
        """A client of the cluster's own uses the section of the auditor."""
        config = self.config(client_role="system")
        client = SaslClient(config, self.world).client_exchange(BOOKIE)
        bookie = self.bookie()
        self.token(client, None)
        self.token(bookie, self.token(client, self.token(bookie, b"")))
        self.assertEqual(bookie.principal.name, "auditor-bookkeeper")

    def test_world(self) -> None:
        """Random bytes are of the wanted number and differ, and the clock goes on."""
        world = system_world()
        self.assertEqual(len(world.random_bytes(30)), 30)
        self.assertNotEqual(world.random_bytes(30), world.random_bytes(30))
        self.assertLessEqual(world.seconds(), world.seconds())


class SecretTests(SaslCase):
    """What representations show."""

    def test_representations(self) -> None:
        """No side and no exchange shows a password or a digest of one."""
        for value in (self.bookie()._users, self.bookie()._users.digests("x"), self.client()._account):
            self.assertNotRegex(repr(value) + str(value), "sesame|digest=")
