"""Keys that choose how clients and bookies authenticate each other; all processes share them."""

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, TEXT, setting
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

    def error(self, name: str, reason: str) -> ConfigError:
        """Make the error for a configuration value that an authentication plugin cannot use.

        :param name: name of the attribute with this value.
        :param reason: why the plugin cannot use the value.
        """
        return self._error(name, reason)
