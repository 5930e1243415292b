"""Configuration keys for the metadata store: time limits, and ZooKeeper's sessions and retries."""

import attrs

from .authentication import AuthenticationConfig
from .fields import BOOLEAN, TEXT, decimal, integer, setting


@attrs.frozen(kw_only=True)
class MetadataConfig(AuthenticationConfig):
    """The settings that a metadata driver needs in addition to its URI."""

    zk_timeout: int = setting(
        "zkTimeout", 10000, integer(1), "silence after which ZooKeeper takes this process for dead", unit="ms"
    )
    metadata_operation_timeout_sec: float = setting(
        "metadataOperationTimeoutSec", 30.0, decimal(0.001),
        "how long one call to the metadata store may take, waits for a connection and repetitions included", unit="s",
        java="none",
    )  # fmt: skip
    zk_enable_security: bool = setting(
        "zkEnableSecurity", False, BOOLEAN, "let only the identity that creates a node in ZooKeeper use it"
    )
    zk_auth: str = setting(
        "zkAuth", "", TEXT, "that identity, as scheme:credential, for example digest:user:password", java="none",
        secret=True,
    )  # fmt: skip
    zk_client_secure: bool = setting(
        "zkClientSecure", False, BOOLEAN, "reach ZooKeeper over TLS, at its secureClientPort; in Java a system property"
    )
    zk_ssl_key_store_type: str = setting("zkSslKeyStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    zk_ssl_key_store_location: str = setting(
        "zkSslKeyStoreLocation", "", TEXT, "store with the key that ZooKeeper is shown; PEM: key, then certificates"
    )
    zk_ssl_key_store_password_path: str = setting(
        "zkSslKeyStorePasswordPath", "", TEXT, "file with the password of zkSslKeyStoreLocation"
    )
    zk_ssl_trust_store_type: str = setting("zkSslTrustStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    zk_ssl_trust_store_location: str = setting(
        "zkSslTrustStoreLocation", "", TEXT, "store with the issuers of the certificates of ZooKeeper servers"
    )
    zk_ssl_trust_store_password_path: str = setting(
        "zkSslTrustStorePasswordPath", "", TEXT, "file with the password of zkSslTrustStoreLocation"
    )
    zk_ssl_hostname_verification: bool = setting(
        "zkSslHostnameVerification", True, BOOLEAN,
        "refuse a ZooKeeper server whose certificate does not name the host that was connected to",
    )  # fmt: skip
    zk_retry_backoff_start_ms: int = setting(
        "zkRetryBackoffStartMs", 200, integer(1), "wait before a call to ZooKeeper whose answer was lost is repeated",
        unit="ms", java="zkTimeout",
    )  # fmt: skip
    zk_retry_backoff_max_ms: int = setting(
        "zkRetryBackoffMaxMs", 10000, integer(1), "that wait at most; it doubles with each repetition", unit="ms",
        java="zkTimeout",
    )  # fmt: skip
    zk_retry_backoff_max_retries: int = setting(
        "zkRetryBackoffMaxRetries", 6, integer(0, 1000), "how often a call is repeated", java="2147483647"
    )

    def _check(self) -> None:
        super()._check()
        if self.zk_client_secure:
            if not self.zk_ssl_trust_store_location:
                raise self._error("zk_client_secure", "zkSslTrustStoreLocation is not set: it has to name a file")
            return
        for name in ("zk_ssl_key_store_location", "zk_ssl_trust_store_location"):
            if getattr(self, name) and not self.allow_insecure_connections:
                raise self._error(name, "has an effect only with zkClientSecure=true")
