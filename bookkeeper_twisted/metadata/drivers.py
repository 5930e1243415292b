"""Chooses a metadata driver by the scheme of a metadata service URI."""

from twisted.plugin import getPlugins

from ..config.metadata import MetadataConfig
from ..errors import InvalidMetadataUriError
from ..security.contexts import TlsSettings
from .interfaces import DEFAULT_OPTIONS, IClusterAdmin, IMetadataDriver, IMetadataDriverFactory, MetadataOptions


def options_of(config: MetadataConfig) -> MetadataOptions:
    """Convert the settings in ``config`` to the options of a metadata driver; all times become seconds."""
    return MetadataOptions(
        session_timeout=config.zk_timeout / 1000,
        operation_timeout=config.metadata_operation_timeout_sec,
        secure=config.zk_enable_security,
        auth=(config.zk_auth,) if config.zk_auth else (),
        max_retries=config.zk_retry_backoff_max_retries,
        retry_start=config.zk_retry_backoff_start_ms / 1000,
        retry_max=config.zk_retry_backoff_max_ms / 1000,
        tls=_tls_of(config) if config.zk_client_secure else None,
    )


def _tls_of(config: MetadataConfig) -> TlsSettings:
    store = config.zk_ssl_key_store_location
    return TlsSettings(
        prefix="zkSsl", key_store_type=config.zk_ssl_key_store_type, key_store=store, certificate_path=store,
        key_store_password_path=config.zk_ssl_key_store_password_path,
        trust_store_type=config.zk_ssl_trust_store_type, trust_store=config.zk_ssl_trust_store_location,
        trust_store_password_path=config.zk_ssl_trust_store_password_path,
        client_authentication=bool(store), hostname_verification=config.zk_ssl_hostname_verification,
        refresh_seconds=config.tls_cert_files_refresh_duration_seconds,
    )  # fmt: skip


def create_driver(reactor: object, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IMetadataDriver:
    """Make a metadata driver with the first plugin that supports the scheme of ``uri``; the caller opens the driver.

    :param reactor: used by the driver for timers, sockets and threads.
    :raises InvalidMetadataUriError: no plugin supports the scheme, or the plugin rejects the URI.
    """
    return _factory(uri).create(reactor, uri, options)


def create_cluster_admin(reactor: object, uri: str, options: MetadataOptions = DEFAULT_OPTIONS) -> IClusterAdmin:
    """Make a cluster administrator with the first plugin that supports the scheme of ``uri``.

    :raises InvalidMetadataUriError: no plugin supports the scheme, or the plugin rejects the URI.
    """
    return _factory(uri).create_admin(reactor, uri, options)


def _factory(uri: str) -> IMetadataDriverFactory:
    """Return the first plugin that supports the scheme of ``uri``.

    Only the part of the scheme before a ``+`` selects the plugin: ``zk`` in ``zk+hierarchical://hosts/root``.
    """
    if not isinstance(uri, str):
        raise InvalidMetadataUriError(f"a metadata service URI is text, not {type(uri).__name__}")
    scheme = uri.partition(":")[0].partition("+")[0].lower()
    factories = list(getPlugins(IMetadataDriverFactory))
    for factory in factories:
        if scheme in factory.schemes:
            return factory
    known = ", ".join(sorted({f"{name}:" for factory in factories for name in factory.schemes}))
    raise InvalidMetadataUriError(f"no metadata driver for {uri!r}; known are {known or 'none'}")
