"""Keys that choose how clients and bookies authenticate each other; all processes share them."""

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, TEXT, TEXTS, decimal, setting
from .tls import TlsConfig


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

    def error(self, name: str, reason: str) -> ConfigError:
        """Make the error for a configuration value that an authentication plugin cannot use.

        :param name: name of the attribute with this value.
        :param reason: why the plugin cannot use the value.
        """
        return self._error(name, reason)
