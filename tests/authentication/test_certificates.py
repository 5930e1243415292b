"""Authentication by the roles in certificates."""

from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.certificates import CertificateBookie
from bookkeeper_twisted.authentication.plugins import CertificatePlugin, bookie_authentication, client_authentication
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.contracts import authentication_contract

_JAVA = "org.apache.bookkeeper.tls.BookieAuthZFactory"
TLS: dict[str, Any] = {"tls_provider_factory_class": "TLSContextFactory", "tls_client_authentication": True}


def config(**more: Any) -> AuthenticationConfig:
    """A configuration with roles."""
    given: dict[str, Any] = {"authorized_roles": ("writers", "spiffe://here/bookie"), **TLS, **more}
    return AuthenticationConfig(
        bookie_auth_provider_factory_class=_JAVA, client_auth_provider_factory_class="certificate", **given
    )


def certified(*roles: str, uris: tuple[str, ...] = (), kind: Any = "certificate") -> Peer:
    """A client with roles."""
    return Peer("10.0.0.1:7", Principal(kind, "CN=joe", roles, uris), True)


class RoleContractTests(authentication_contract.AuthenticationContract):
    """The contract."""

    def make(self) -> CertificatePlugin:
        return CertificatePlugin(lambda: 0.0)

    def make_config(self) -> AuthenticationConfig:
        return config()

    def peers(self) -> tuple[Peer, Peer]:
        return certified("writers"), Peer("bookie:3181", is_encrypted=True)

    def test_at_once(self) -> None:
        """Nothing is sent; the client is who its certificate says."""
        bookie, client = self.exchanges()
        self.assertTrue(bookie.complete and client.complete)
        self.assertEqual(bookie.principal, Principal("certificate", "CN=joe", ("writers",)))
        self.assertEqual(self.bookie.plugin, "BookieAuthZFactory")


class RoleTests(SynchronousTestCase):
    """Who is let in."""

    def setUp(self) -> None:
        self.now = 0.0
        self.bookie = CertificateBookie(("writers", " readers ", "", "spiffe://here/bookie"), lambda: self.now)

    def is_let_in(self, peer: Peer) -> bool:
        """Whether the exchange is complete from the start."""
        return bool(self.bookie.bookie_exchange(peer).complete)

    def test_first_role(self) -> None:
        """The first role counts, as in Java, and has to be the same to the letter."""
        let_in: tuple[tuple[str, ...], ...] = (("writers",), ("readers",), ("writers", "nobody"))
        for roles in let_in:
            self.assertTrue(self.is_let_in(certified(*roles)), roles)
        for roles in ((), ("",), ("nobody", "writers"), ("Writers",), ("writers ",), ("writer",), ("", "writers")):
            self.assertFalse(self.is_let_in(certified(*roles)), roles)

    def test_spiffe(self) -> None:
        """A SPIFFE id is compared with the only URI, and with no role."""
        self.assertTrue(self.is_let_in(certified(uris=("spiffe://here/bookie",))))
        for peer in (
            certified("spiffe://here/bookie"), certified(uris=("writers",)), certified(uris=("spiffe://here/bookie/x",)),
            certified(uris=("spiffe://here/bookie", "spiffe://here/other")), certified(uris=("spiffe://HERE/bookie",)),
        ):  # fmt: skip
            self.assertFalse(self.is_let_in(peer), peer)

    def test_no_certificate(self) -> None:
        """Without a certificate nobody is let in, whatever else has shown who it is."""
        self.assertFalse(self.is_let_in(Peer("10.0.0.1:7", NOBODY, True)))
        self.assertFalse(self.is_let_in(certified("writers", kind="token")))

    def test_refusal(self) -> None:
        """Each token is refused, with the subject and the roles, and nobody is authenticated."""
        exchange = self.bookie.bookie_exchange(certified("nobody", uris=("spiffe://x",)))
        for _ in range(2):
            error = self.assertRaises(UnauthorizedAccessError, exchange.next_token, b"")
            for text in ("CN=joe", "nobody", "spiffe://x", "authorizedRoles"):
                self.assertIn(text, str(error))
            self.assertFalse(exchange.complete)
            self.assertEqual(exchange.principal, NOBODY)

    def test_line(self) -> None:
        """A refused client is one line of the log in a minute, with its subject and roles on one line."""
        odd = Peer("10.0.0.1:7", Principal("certificate", "CN=joe\nx", ("no\x1b",)), True)
        with capturedLogs() as events:
            for _ in range(3):
                self.bookie.bookie_exchange(odd)
            self.now = 61.0
            self.bookie.bookie_exchange(Peer("10.0.0.1:8"))
        lines = list(map(formatEvent, events))
        self.assertEqual(len(lines), 2)
        self.assertIn(r"its certificate is that of 'CN=joe\nx'; its first role counts, of ['no\x1b']", lines[0])
        self.assertIn("10.0.0.1:8: it has shown no certificate (2 such lines were left out", lines[1])


class RoleConfigTests(SynchronousTestCase):
    """The keys of the configuration."""

    def test_names(self) -> None:
        """Java's name of the class and the short one are the same plugin."""
        for name in (_JAVA, "BookieAuthZFactory", "certificate"):
            chosen = AuthenticationConfig(bookie_auth_provider_factory_class=name, authorized_roles=("a",), **TLS)
            self.assertEqual(bookie_authentication(chosen).plugin, "BookieAuthZFactory")
        self.assertEqual(client_authentication(config()).plugin, "BookieAuthZFactory")

    def test_without_certificates(self) -> None:
        """Without TLS or the certificates of clients neither side is made."""
        clear = {"tls_provider_factory_class": "", "tls_client_authentication": False}
        for changed in ({"tls_client_authentication": False}, clear):
            for make in (bookie_authentication, client_authentication):
                error = self.assertRaises(ConfigError, make, config(**changed))
                self.assertIn("AuthProviderFactoryClass = ", str(error))
                self.assertIn("tlsClientAuthentication=true", str(error))

    def test_no_roles(self) -> None:
        """Without roles nobody could be let in: the bookie is not made, as in Java."""
        for roles in ((), ("",), (" ",)):
            error = self.assertRaises(ConfigError, bookie_authentication, config(authorized_roles=roles))
            self.assertIn("authorizedRoles = ", str(error))
        client_authentication(config(authorized_roles=()))

    def test_roles_alone(self) -> None:
        """Roles that no plugin looks at are refused, unless insecure connections are allowed."""
        for provider in ("", "token"):
            given: dict[str, Any] = {"authorized_roles": ("a",), "bookie_auth_provider_factory_class": provider}
            error = self.assertRaises(ConfigError, AuthenticationConfig, **given)
            self.assertIn("authorizedRoles = 'a'", str(error))
            AuthenticationConfig(allow_insecure_connections=True, **given)
