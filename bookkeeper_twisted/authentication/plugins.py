"""The authentication plugins, and functions that find the plugin that a configuration names."""

from collections.abc import Callable, Iterable

from twisted.logger import Logger
from twisted.plugin import IPlugin, getPlugins
from zope.interface import Attribute, Interface, implementer

from ..config.authentication import AuthenticationConfig
from ..errors import ConfigError
from ..protocol.authentication import AuthenticationDisabled, IBookieAuthentication, IClientAuthentication

_log = Logger()
_JAVA = "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$"
_SASL = "org.apache.bookkeeper.sasl."


class IAuthenticationPlugin(Interface):
    """A plugin for one method of authentication.

    It makes an IBookieAuthentication, by which a bookie authenticates clients, and an IClientAuthentication, by which a
    client authenticates itself to bookies.
    """

    names: frozenset[str] = Attribute(
        "Values of ``bookieAuthProviderFactoryClass`` and ``clientAuthProviderFactoryClass`` it answers to."
    )

    def for_bookie(config: AuthenticationConfig) -> IBookieAuthentication:
        """Return the bookie's side of this method of authentication.

        :param config: the configuration of the bookie.
        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration.
        """

    def for_client(config: AuthenticationConfig) -> IClientAuthentication:
        """Return the client's side of this method of authentication.

        :param config: the configuration of a client, or of a bookie or autorecovery process that is also a client.
        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration.
        """


@implementer(IPlugin, IAuthenticationPlugin)
class DisabledPlugin:
    """The plugin that authenticates nobody, which Apache's bookie and client use by default."""

    names = frozenset(
        {
            "", "null", "none", "disabled", _JAVA + "AuthenticationDisabledAuthProviderFactory",
            _JAVA + "NullClientAuthProviderFactory",
        }
    )  # fmt: skip

    def for_bookie(self, config: AuthenticationConfig) -> IBookieAuthentication:
        """Return the bookie's side for a cluster without authentication: every client is admitted."""
        return AuthenticationDisabled()

    def for_client(self, config: AuthenticationConfig) -> IClientAuthentication:
        """Return the client's side for a cluster without authentication: the client sends no token."""
        return AuthenticationDisabled()


@implementer(IPlugin, IAuthenticationPlugin)
class TokenPlugin:
    """The plugin for authentication by signed tokens (:mod:`bookkeeper_twisted.authentication.tokens`).

    :param seconds: a function that returns the time in seconds since 1970, by which tokens expire.
    """

    names = frozenset({"token"})

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds

    def for_bookie(self, config: AuthenticationConfig) -> IBookieAuthentication:
        """Return the bookie's side of authentication by signed tokens."""
        from .tokens import token_bookie

        return token_bookie(config, self._seconds)

    def for_client(self, config: AuthenticationConfig) -> IClientAuthentication:
        """Return the client's side of authentication by signed tokens."""
        from .tokens import token_client

        return token_client(config)


@implementer(IPlugin, IAuthenticationPlugin)
class CertificatePlugin:
    """The plugin for authentication by roles in certificates (:mod:`bookkeeper_twisted.authentication.certificates`).

    :param seconds: a function that returns the time in seconds; used to limit the rate of log lines.
    """

    names = frozenset({"BookieAuthZFactory", "certificate", "org.apache.bookkeeper.tls.BookieAuthZFactory"})

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds

    def for_bookie(self, config: AuthenticationConfig) -> IBookieAuthentication:
        """Return the bookie's side of authentication by roles in TLS certificates."""
        from .certificates import certificate_bookie

        return certificate_bookie(config, self._seconds)

    def for_client(self, config: AuthenticationConfig) -> IClientAuthentication:
        """Return the client's side of authentication by TLS certificates."""
        from .certificates import certificate_client

        return certificate_client(config)


@implementer(IPlugin, IAuthenticationPlugin)
class SaslPlugin:
    """The plugin for authentication by passwords or Kerberos, like Apache's plugin ``sasl`` (:mod:`.sasl`)."""

    names = frozenset({"sasl", _SASL + "SASLBookieAuthProviderFactory", _SASL + "SASLClientProviderFactory"})

    def for_bookie(self, config: AuthenticationConfig) -> IBookieAuthentication:
        """Return the bookie's side of SASL authentication (passwords or Kerberos)."""
        from .sasl.production import system_world
        from .sasl.sides import SaslBookie

        return SaslBookie(config, system_world())

    def for_client(self, config: AuthenticationConfig) -> IClientAuthentication:
        """Return the client's side of SASL authentication (passwords or Kerberos)."""
        from .sasl.production import system_world
        from .sasl.sides import SaslClient

        return SaslClient(config, system_world())


def bookie_authentication(config: AuthenticationConfig) -> IBookieAuthentication:
    """Return the bookie's side of the authentication that ``bookieAuthProviderFactoryClass`` names.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name, or the plugin cannot use the configuration.
    """
    return _plugin(config, "bookie_auth_provider_factory_class").for_bookie(config)


def check_client_plugin(config: AuthenticationConfig) -> None:
    """Check that ``clientAuthProviderFactoryClass`` names a plugin, without making a client.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name.
    """
    _plugin(config, "client_auth_provider_factory_class")


def client_authentication(config: AuthenticationConfig) -> IClientAuthentication:
    """Return the client's side of the authentication that ``clientAuthProviderFactoryClass`` names.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name, or the plugin cannot use the configuration.
    """
    return _plugin(config, "client_auth_provider_factory_class").for_client(config)


def _plugin(config: AuthenticationConfig, name: str) -> IAuthenticationPlugin:
    plugins: Iterable[IAuthenticationPlugin] = getPlugins(IAuthenticationPlugin)
    try:
        return config.chosen(name, plugins, "authentication provider")
    except ConfigError as error:
        if not config.allow_insecure_connections:
            raise
        _log.warn("{error}; no peer is authenticated", error=error)
        return DisabledPlugin()
