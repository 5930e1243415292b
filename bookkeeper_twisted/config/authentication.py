"""Keys that choose how clients and bookies authenticate each other; bookies, clients and autorecovery share them."""

import attrs

from .fields import BOOLEAN, TEXT, TEXTS, decimal, fields_of, one_of, setting
from .tls import TlsConfig

CERTIFICATE_PLUGINS = ("BookieAuthZFactory", "certificate")
"""Names of the plugin that uses ``authorizedRoles``; a configured Java class name must end with one of these names."""

SYSTEM = "system"
"""The value of ``clientRole`` for a client inside the cluster, such as the client of a replication worker."""

_OFF = frozenset({"", "null", "none", "disabled"})
_NONE = frozenset({"AuthenticationDisabledAuthProviderFactory", "NullClientAuthProviderFactory"})
_SASL = (
    "sasl_jaas_config", "sasl_jaas_bookie_section_name", "sasl_jaas_client_section_name",
    "sasl_jaas_auditor_section_name", "sasl_jaas_client_allowed_ids", "sasl_service_name",
)  # fmt: skip
"""Attributes of the configuration that are only useful with SASL authentication."""


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
    client_role: str = setting(
        "clientRole", "standard", one_of("standard", SYSTEM),
        "system: this client is part of the cluster, and uses saslJaasAuditorSectionName; autorecovery always is",
    )  # fmt: skip
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
    token_audience: str = setting(
        "tokenAudience", "", TEXT, "the audience that every token has to name; needed for tokenPublicKeys"
    )
    token_roles_claim: str = setting(
        "tokenRolesClaim", "roles", TEXT, "claim of tokens with the roles of the user, a list or a text with spaces"
    )
    token_clock_skew_sec: float = setting(
        "tokenClockSkewSec", 5.0, decimal(0.0, 3600.0),
        "how long tokens are taken before they begin and after they expire, as clocks differ", unit="s",
    )  # fmt: skip

    # -- SASL --
    sasl_mechanism: str = setting(
        "saslMechanism", "", TEXT,
        "GSSAPI, DIGEST-MD5, or PLAIN within TLS; empty: GSSAPI if the section is for Kerberos, else DIGEST-MD5",
    )  # fmt: skip
    sasl_service_name: str = setting(
        "saslServiceName", "bookkeeper", TEXT,
        "GSSAPI: first part of the principals of bookies; Java: bookkeeper.sasl.servicename",
    )  # fmt: skip
    sasl_jaas_config: str = setting(
        "saslJaasConfig", "", TEXT,
        "JAAS file with users and passwords, or with the login to Kerberos; Java: java.security.auth.login.config",
        java="none",
    )  # fmt: skip
    sasl_jaas_bookie_section_name: str = setting(
        "saslJaasBookieSectionName", "Bookie", TEXT, "section of that file with the users of a bookie"
    )
    sasl_jaas_client_section_name: str = setting(
        "saslJaasClientSectionName", "BookKeeper", TEXT, "section of that file with the user of a client"
    )
    sasl_jaas_auditor_section_name: str = setting(
        "saslJaasAuditorSectionName", "Auditor", TEXT, "section of that file with the user of autorecovery"
    )
    sasl_jaas_client_allowed_ids: str = setting(
        "saslJaasClientAllowedIds", ".*bookkeeper.*", TEXT,
        "regular expression that the whole name of a user has to match at a bookie",
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        uses_roles = self.bookie_auth_provider_factory_class.strip().endswith(CERTIFICATE_PLUGINS)
        asks_for_roles = bool(set(self.authorized_roles) - {"null", "none"})
        if asks_for_roles and not uses_roles and not self.allow_insecure_connections:
            reason = "has an effect only with bookieAuthProviderFactoryClass=BookieAuthZFactory"
            raise self._error("authorized_roles", reason)
        asks_nobody = not _names_one(self.client_auth_provider_factory_class)
        if self.client_auth_required and asks_nobody and not self.allow_insecure_connections:
            reason = "has an effect only with clientAuthProviderFactoryClass, which names no plugin that authenticates"
            raise self._error("client_auth_required", reason)
        self._check_sasl()

    def _check_sasl(self) -> None:
        providers = self.bookie_auth_provider_factory_class, self.client_auth_provider_factory_class
        if self.allow_insecure_connections or any(_names_one(provider) for provider in providers):
            return
        for name in _SASL:
            if not self._is_default(name):
                reason = "has an effect only with bookieAuthProviderFactoryClass or clientAuthProviderFactoryClass"
                raise self._error(name, f"{reason}, of which none is set")

    def _is_default(self, name: str) -> bool:
        value = getattr(self, name)
        return value == fields_of(type(self))[name].default or str(value).lower() in _OFF


def _names_one(provider: str) -> bool:
    """Return whether ``provider`` names a plugin that authenticates peers, not a plugin that accepts every peer."""
    name = provider.strip().rpartition("$")[2]
    return name.lower() not in _OFF and name not in _NONE
