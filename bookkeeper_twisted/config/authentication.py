"""Keys that choose how clients and bookies authenticate each other; all processes share them."""

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, TEXT, TEXTS, decimal, setting
from .tls import TlsConfig

CERTIFICATE_PLUGINS = ("BookieAuthZFactory", "certificate")
"""Ends of the names of the plugin that uses ``authorizedRoles``."""


@attrs.frozen(kw_only=True)
class AuthenticationConfig(TlsConfig):
    """The settings of authentication between clients and bookies."""

    bookie_auth_provider_factory_class: str = setting(
        "bookieAuthProviderFactoryClass", "", TEXT, "plugin that authenticates clients; empty: none has to", java="none"
    )
    client_auth_provider_factory_class: str = setting(
        "clientAuthProviderFactoryClass", "", TEXT, "plugin that authenticates this client; empty: none", java="none"
    )
    client_auth_required: bool = setting(
        "clientAuthRequired", False, BOOLEAN, "refuse bookies that say they authenticate nobody"
    )

    authorized_roles: tuple[str, ...] = setting(
        "authorizedRoles", (), TEXTS,
        "roles or spiffe:// ids of the certificates that BookieAuthZFactory lets in", java="none",
    )  # fmt: skip
    client_auth_token_file: str = setting(
        "clientAuthTokenFile", "", TEXT, "file with the token that this client shows, read for each connection"
    )
    token_in_clear: bool = setting(
        "tokenInClear", False, BOOLEAN, "send and take tokens over connections that are not encrypted"
    )
    token_key_file: str = setting(
        "tokenKeyFile", "", TEXT, "file with lines of KEYID SECRET that verify tokens of one's own"
    )
    token_public_keys: tuple[str, ...] = setting(
        "tokenPublicKeys", (), TEXTS, "files in PEM with public keys that verify the tokens of tokenIssuer"
    )
    token_issuer: str = setting("tokenIssuer", "", TEXT, "the issuer that tokens of tokenPublicKeys have to name")
    token_audience: str = setting("tokenAudience", "", TEXT, "the audience that tokens of tokenPublicKeys have to name")
    token_roles_claim: str = setting(
        "tokenRolesClaim", "roles", TEXT, "claim of tokens with the roles of the user, a list or a text with spaces"
    )
    token_clock_skew_sec: float = setting(
        "tokenClockSkewSec", 5.0, decimal(0.0, 3600.0),
        "how long tokens are taken before they begin and after they expire, as clocks differ", unit="s",
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        uses_roles = self.bookie_auth_provider_factory_class.strip().endswith(CERTIFICATE_PLUGINS)
        asks_for_roles = bool(set(self.authorized_roles) - {"null", "none"})
        if asks_for_roles and not uses_roles and not self.allow_insecure_connections:
            reason = "has an effect only with bookieAuthProviderFactoryClass=BookieAuthZFactory"
            raise self._error("authorized_roles", reason)

    def error(self, name: str, reason: str) -> ConfigError:
        """Make the error for a configuration value that an authentication plugin cannot use.

        :param name: name of the attribute with this value.
        :param reason: why the plugin cannot use the value.
        """
        return self._error(name, reason)
