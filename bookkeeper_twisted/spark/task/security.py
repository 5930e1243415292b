"""The client's settings for TLS, authentication and keys, in a form that can be sent to Spark's tasks.

The settings are names of files and other plain values.  Each process reads the files itself (private keys,
certificates, JAAS files, tokens, keys of ledgers), so that secrets are not part of a plan or message of Spark.
"""

from typing import TYPE_CHECKING, Any, cast

from ...config.authentication import AuthenticationConfig
from ...config.client import ClientConfig
from ...config.fields import fields_of

if TYPE_CHECKING:
    from ...blocking_reads.secured import ConnectionSecurity

SecuritySettings = tuple[tuple[str, object], ...]
"""The settings of TLS and of authentication that differ from their defaults: attribute names and values."""

KeySettings = tuple[tuple[str, object], ...]
"""The settings from which a task makes the key provider of encrypted ledgers: attribute names and values."""


def security_settings(config: AuthenticationConfig) -> SecuritySettings:
    """Return the settings of TLS and authentication in a configuration; an empty tuple if all are defaults.

    :param config: any configuration with these settings, for example that of a client.
    """
    usual = AuthenticationConfig()
    names = sorted(fields_of(AuthenticationConfig))
    return tuple((name, getattr(config, name)) for name in names if getattr(config, name) != getattr(usual, name))


def key_settings(config: ClientConfig) -> KeySettings:
    """Return the settings of the key provider for encrypted ledgers; an empty tuple if none is configured.

    They include the settings of TLS and of authentication, because a provider may use a network service.

    :param config: the configuration of a client.
    """
    if not config.ledger_key_provider.strip():
        return ()
    names = ("ledger_key_provider", "ledger_key_file", "ledger_key_variable")
    return (*security_settings(config), *((name, getattr(config, name)) for name in names))


def connection_security(settings: SecuritySettings) -> "ConnectionSecurity":
    """Read the files that the ``settings`` name, and return how to secure connections to bookies.

    :raises ConfigError: a file cannot be used, a value is wrong, or an extra is not installed.
    """
    # imported here, so that a task with unencrypted connections does not load Twisted
    from ...authentication.plugins import client_authentication
    from ...blocking_reads.secured import ConnectionSecurity
    from ...security.contexts import ClientTls, settings_of
    from .pacing import monotonic_seconds, time_of_day

    config = AuthenticationConfig(**cast(Any, dict(settings)))
    encryption = ClientTls(settings_of(config), time_of_day).connecting_to if config.encrypts else None
    authentication = client_authentication(config)
    required, is_direct = config.client_auth_required, config.tls_direct
    return ConnectionSecurity(encryption, authentication, required, monotonic_seconds, is_direct)
