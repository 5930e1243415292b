"""Keys of bookies and clients for the metadata store: time limits, and sessions and retries of ZooKeeper."""

import attrs

from .authentication import AuthenticationConfig
from .fields import BOOLEAN, TEXT, decimal, integer, setting


@attrs.frozen(kw_only=True)
class MetadataConfig(AuthenticationConfig):
    """The settings that a metadata driver needs, other than its URI."""

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
