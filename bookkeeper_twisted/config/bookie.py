"""The configuration of a bookie: a frozen object.

Values come from these sources, in rising priority: defaults, a ``bk_server.conf`` file, ``BK_<key>`` in the
environment, ``--key value`` on the command line (:meth:`BookieConfig.load`).  The constructor checks every field and
the rules between fields, so each configuration object is valid. A
:class:`~bookkeeper_twisted.errors.ConfigError` names the key, the origin of its value, and the reason.
"""

import attrs

from ..errors import IncorrectParameterError
from ..model import check_bookie_id
from .fields import (
    BACKGROUND,
    BOOLEAN,
    DIRECTORIES,
    DISKS,
    FRACTION,
    LOG,
    REQUESTS,
    TEXT,
    TEXTS,
    decimal,
    integer,
    one_of,
    setting,
)
from .http import PORT, HttpConfig
from .log_levels import DEFAULT, LEVELS, LOG_LEVELS, levels_by_namespace
from .settings import FRAME, MIB, derived

_WARN = 0.9
_PROMETHEUS = ".PrometheusMetricsProvider"

JSON = "json"
"""The value of ``logFormat`` for a log of JSON lines."""


@attrs.frozen(kw_only=True)
class BookieConfig(HttpConfig):
    """The configuration of a bookie process.  Each attribute is a key of ``bk_server.conf``, in snake case."""

    # -- address and identity --
    bookie_port: int = setting("bookiePort", 3181, PORT, "TCP port; 0 lets the system choose one")
    listening_interface: str = setting(
        "listeningInterface", "", TEXT, "network interface to listen on; empty: all, and the host name is advertised"
    )
    listen_endpoint: str = setting(
        "listenEndpoint", "", TEXT,
        "endpoint string of Twisted to listen on, as tcp:3181:interface=127.0.0.1; clients are given bookiePort",
        java="none",
    )  # fmt: skip
    advertised_address: str = setting(
        "advertisedAddress", "", TEXT, "host name or address that clients get; empty: found out"
    )
    bookie_id: str = setting("bookieId", "", TEXT, "identity of the bookie for ever; empty: <address>:<port>")
    allow_loopback: bool = setting("allowLoopback", False, BOOLEAN, "whether a loopback address may be advertised")
    use_host_name_as_bookie_id: bool = setting(
        "useHostNameAsBookieID", False, BOOLEAN, "use the host name instead of the address in the identity"
    )
    use_short_host_name: bool = setting("useShortHostName", False, BOOLEAN, "cut the host name at its first dot")
    server_tcp_no_delay: bool = setting("serverTcpNoDelay", True, BOOLEAN, "send small replies at once")
    tls_required: bool = setting(
        "tlsRequired", False, BOOLEAN, "refuse requests of clients that have not begun TLS; Java's bookies cannot",
        java="none",
    )  # fmt: skip
    permitted_startup_users: tuple[str, ...] = setting(
        "permittedStartupUsers", (), TEXTS, "users of this machine who may start a bookie; empty: any", java="none"
    )
    authorizer_class: str = setting(
        "authorizerClass", "", TEXT, "plugin that decides who may do what, as rules; empty: everybody does everything",
        java="none",
    )  # fmt: skip
    authorization_rules: str = setting(
        "authorizationRules", "", TEXT, "file with the rules of authorizerClass=rules, read again when it changes",
        java="none",
    )  # fmt: skip
    audit_log_file: str = setting(
        "auditLogFile", "", TEXT, "file for a line about each fence, delete, administration and refusal; empty: none",
        java="none",
    )  # fmt: skip
    max_connections: int = setting(
        "maxConnections", 10000, integer(1),
        "connections served at a time; beyond that one that is not let in, or else the idlest, goes for a new one",
        java="none",
    )  # fmt: skip
    max_connections_per_address: int = setting(
        "maxConnectionsPerAddress", 0, integer(0), "connections from one address; beyond that new ones are refused;"
        " 0: no limit", java="none",
    )  # fmt: skip
    max_connections_per_principal: int = setting(
        "maxConnectionsPerPrincipal", 0, integer(0),
        "connections of one client that has proven who it is; beyond that new ones are refused; 0: no limit",
        java="none",
    )  # fmt: skip
    frame_timeout_sec: float = setting(
        "frameTimeoutSec",
        60.0,
        decimal(0.001),
        "how long a frame may take from its first byte to its last, and an authentication from the accept to its end",
        unit="s",
        java="none",
    )
    wait_timeout_on_response_backpressure_ms: int = setting(
        "waitTimeoutOnResponseBackpressureMs", 60000, integer(-1),
        "how long a connection may have replies to read without reading a byte of them; -1: no limit", unit="ms",
        java="-1",
    )  # fmt: skip

    # -- directories --
    journal_directories: tuple[str, ...] = setting(
        "journalDirectories", ("/tmp/bk-txn",), DIRECTORIES, "journal directories, best each on a disk of its own",
        alias="journalDirectory",
    )  # fmt: skip
    ledger_directories: tuple[str, ...] = setting(
        "ledgerDirectories", ("/tmp/bk-data",), DIRECTORIES, "directories of the entry logs"
    )
    index_directories: tuple[str, ...] = setting(
        "indexDirectories", derived(lambda self: self.ledger_directories), DIRECTORIES,
        "directories of the indexes, one for each ledger directory", default_text="as ledgerDirectories",
    )  # fmt: skip
    allow_storage_expansion: bool = setting(
        "allowStorageExpansion", False, BOOLEAN, "accept new empty directories beside the known ones"
    )
    rebuild_index: bool = setting(
        "rebuildIndex", False, BOOLEAN, "rebuild the indexes from the entry logs at this start", java="none"
    )

    # -- metadata --
    zk_servers: str = setting("zkServers", "", TEXT, "ZooKeeper servers, where metadataServiceUri is not set")
    zk_ledgers_root_path: str = setting(
        "zkLedgersRootPath", "/ledgers", TEXT, "root of all nodes, where metadataServiceUri is not set"
    )
    metadata_service_uri: str = setting(
        "metadataServiceUri", derived(lambda self: self._default_metadata_uri()), TEXT,
        "sqlite:////absolute/path, memory:name, zk+hierarchical://host:port/ledgers or metadata-store:zk:host:port",
        default_text="zk+null://<zkServers><zkLedgersRootPath> if zkServers is set, "
        "else metadata.db in the first ledger directory (a cluster of one bookie)",
        java="zk+hierarchical://localhost:2181/ledgers",
    )  # fmt: skip

    # -- journal --
    journal_max_size_mb: int = setting(
        "journalMaxSizeMB", 64, integer(1, 1 << 20), "size at which a journal file is full; files are recycled",
        unit="MiB", java="2048",
    )  # fmt: skip
    journal_max_backups: int = setting(
        "journalMaxBackups", 1, integer(0), "journal files kept although nothing needs them, before they are recycled",
        java="5",
    )  # fmt: skip
    journal_pre_alloc_size_mb: int = setting(
        "journalPreAllocSizeMB", 64, integer(1),
        "what a new journal file is filled with before use, at most journalMaxSizeMB, so that syncs are fast",
        unit="MiB", java="16",
    )  # fmt: skip
    journal_alignment_size: int = setting(
        "journalAlignmentSize", 512, integer(512, MIB), "groups begin at multiples of this; itself one of 512",
        unit="bytes",
    )  # fmt: skip
    journal_max_group_wait_msec: int = setting(
        "journalMaxGroupWaitMSec", 0, integer(0, 60000),
        "how long a group waits for company; 0: a group is what arrived during the last sync", unit="ms", java="2",
    )  # fmt: skip
    journal_sync_data: bool = setting(
        "journalSyncData", True, BOOLEAN, "sync before adds are acknowledged; false gives up durability"
    )
    journal_write_data: bool = setting(
        "journalWriteData", True, BOOLEAN, "write entries to the journal; false gives up durability"
    )
    journal_page_cache_flush_interval_msec: int = setting(
        "journalPageCacheFlushIntervalMSec", 1000, integer(1), "time between syncs where journalSyncData is false",
        unit="ms",
    )  # fmt: skip
    journal_reuse_files: bool = setting(
        "journalReuseFiles", True, BOOLEAN, "write over old journal files instead of growing new ones", java="false"
    )
    journal_max_memory_size_mb: int = setting(
        "journalMaxMemorySizeMb", 64, integer(1), "bytes that may wait for the journal; beyond it adders are paused",
        unit="MiB", java="5 % of direct memory",
    )  # fmt: skip
    journal_queue_size: int = setting(
        "journalQueueSize", 10000, integer(1), "runs of adds that may wait for the journal"
    )

    # -- entry logs, caches --
    ledger_storage_class: str = setting(
        "ledgerStorageClass", "", TEXT, "plugin that keeps entries; empty, and Apache's three: entry logs and an index",
        java="org.apache.bookkeeper.bookie.SortedLedgerStorage",
    )  # fmt: skip
    flush_interval: int = setting("flushInterval", 10000, integer(1), "longest time between checkpoints", unit="ms")
    log_size_limit: int = setting(
        "logSizeLimit", 1 << 30, integer(1, 1 << 30), "size at which an entry log is full", unit="bytes"
    )
    db_storage_direct_io_entry_logger: bool = setting(
        "dbStorage_directIOEntryLogger", True, BOOLEAN, "write entry logs past the page cache, where the disk can",
        java="false",
    )  # fmt: skip
    db_storage_write_cache_max_size_mb: int = setting(
        "dbStorage_writeCacheMaxSizeMb", 64, integer(1), "memory for entries not yet in an entry log, all directories",
        unit="MiB", java="25 % of direct memory",
    )  # fmt: skip
    db_storage_read_ahead_cache_max_size_mb: int = setting(
        "dbStorage_readAheadCacheMaxSizeMb", 64, integer(0),
        "memory for entries read ahead, all directories, where the system cannot tell what its page cache holds",
        unit="MiB", java="25 % of direct memory",
    )  # fmt: skip
    db_storage_max_throttle_time_ms: int = setting(
        "dbStorage_maxThrottleTimeMs", 10000, integer(0), "longest wait of an add for room in the write cache",
        unit="ms",
    )  # fmt: skip

    # -- limits --
    netty_max_frame_size_bytes: int = setting(
        "nettyMaxFrameSizeBytes", FRAME, integer(1024, 1 << 30), "longest request or reply, its length field included",
        unit="bytes",
    )  # fmt: skip
    max_batch_read_size: int = setting(
        "maxBatchReadSize", FRAME, integer(1), "maximum number of bytes in the reply to one batch read", unit="bytes"
    )
    max_adds_in_progress_limit: int = setting(
        "maxAddsInProgressLimit", 0, integer(0), "adds under way in the whole bookie; 0: no such limit"
    )
    max_reads_in_progress_limit: int = setting(
        "maxReadsInProgressLimit", 0, integer(0), "reads under way in the whole bookie; 0: no such limit"
    )
    max_pending_read_requests_per_thread: int = setting(
        "maxPendingReadRequestsPerThread",
        10000,
        integer(0),
        "reads waiting for the disk; more get ETOOMANYREQUESTS; 0: no limit but that of bytes",
    )
    max_pending_add_requests_per_thread: int = setting(
        "maxPendingAddRequestsPerThread",
        10000,
        integer(0),
        "adds of one connection before it is no longer read; 0: no limit but that of bytes",
    )
    num_read_worker_threads: int = setting(
        "numReadWorkerThreads", 2, integer(0, 1024), "threads that read entry logs; 0: as 1", java="8"
    )

    slow_request_threshold_ms: int = setting(
        "slowRequestThresholdMs", 0, integer(0), "requests that take this long are lines of the log; 0: none are",
        unit="ms", java="none", live=REQUESTS,
    )  # fmt: skip

    # -- disk space, read-only mode --
    disk_usage_threshold: float = setting(
        "diskUsageThreshold", 0.95, FRACTION, "a directory on a disk used more than this is full", live=DISKS
    )
    disk_usage_warn_threshold: float = setting(
        "diskUsageWarnThreshold", derived(lambda self: min(_WARN, self.disk_usage_threshold)), FRACTION,
        "usage from which the log warns, by default diskUsageThreshold if that is less", default_text=str(_WARN),
        live=DISKS,
    )  # fmt: skip
    disk_usage_lwm_threshold: float = setting(
        "diskUsageLwmThreshold", derived(lambda self: self.disk_usage_threshold), FRACTION,
        "usage below which full directories are used again", default_text="as diskUsageThreshold", live=DISKS,
    )  # fmt: skip
    disk_check_interval: int = setting(
        "diskCheckInterval", 10000, integer(1), "time between disk checks", unit="ms",
        live=DISKS,
    )  # fmt: skip
    min_usable_size_for_entry_log_creation: int = setting(
        "minUsableSizeForEntryLogCreation", derived(lambda self: self.log_size_limit), integer(0),
        "free space a new entry log needs", unit="bytes", default_text="as logSizeLimit",
    )  # fmt: skip
    min_usable_size_for_high_priority_writes: int = setting(
        "minUsableSizeForHighPriorityWrites", derived(lambda self: self.min_usable_size_for_entry_log_creation),
        integer(0), "free space up to which a read-only bookie takes recovery adds", unit="bytes",
        default_text="as minUsableSizeForEntryLogCreation", live=DISKS,
    )  # fmt: skip
    persist_bookie_status_enabled: bool = setting(
        "persistBookieStatusEnabled", False, BOOLEAN,
        "keep the status in BOOKIE_STATUS files, so that a bookie set read-only by hand starts so",
    )  # fmt: skip
    read_only_mode_on_any_disk_full_enabled: bool = setting(
        "readOnlyModeOnAnyDiskFullEnabled", True, BOOLEAN,
        "go read-only when one disk is full; false: when all are, or a checkpoint finds no space", live=DISKS,
    )  # fmt: skip
    read_only_mode_enabled: bool = setting(
        "readOnlyModeEnabled", True, BOOLEAN, "go read-only when disks are full; false: stop", live=DISKS
    )
    force_read_only_bookie: bool = setting("forceReadOnlyBookie", False, BOOLEAN, "start read-only")

    # -- garbage collection, compaction --
    gc_wait_time: int = setting(
        "gcWaitTime", 600_000, integer(1), "time between two garbage collections", unit="ms",
        live=BACKGROUND,
    )  # fmt: skip
    gc_metadata_op_rate_limit: int = setting(
        "gcMetadataOpRateLimit", 1000, integer(-1), "metadata reads a second of garbage collections; 0: no limit",
        live=BACKGROUND,
    )
    gc_overreplicated_ledger_wait_time: int = setting(
        "gcOverreplicatedLedgerWaitTime", 86_400_000, integer(-1),
        "time between two searches for ledgers whose replicas here were replaced; 0: none", unit="ms", live=BACKGROUND,
    )  # fmt: skip
    minor_compaction_threshold: float = setting(
        "minorCompactionThreshold", 0.2, decimal(0.0, 1.0),
        "a minor compaction takes entry logs of which less than this share is live; 0: none", live=BACKGROUND,
    )  # fmt: skip
    minor_compaction_interval: int = setting(
        "minorCompactionInterval", 3600, integer(0), "time between minor compactions; 0: none", unit="s",
        live=BACKGROUND,
    )
    minor_compaction_max_time_millis: int = setting(
        "minorCompactionMaxTimeMillis", -1, integer(-1), "time after which a minor compaction begins no further logs; "
        "-1 or 0: no limit", unit="ms", live=BACKGROUND,
    )  # fmt: skip
    major_compaction_threshold: float = setting(
        "majorCompactionThreshold", 0.8, decimal(0.0, 1.0),
        "a major compaction takes entry logs of which less than this share is live; 0: none", live=BACKGROUND,
    )  # fmt: skip
    major_compaction_interval: int = setting(
        "majorCompactionInterval", 86400, integer(0), "time between major compactions; 0: none", unit="s",
        live=BACKGROUND,
    )
    major_compaction_max_time_millis: int = setting(
        "majorCompactionMaxTimeMillis", -1, integer(-1), "time after which a major compaction begins no further logs; "
        "-1 or 0: no limit", unit="ms", live=BACKGROUND,
    )  # fmt: skip
    force_allow_compaction: bool = setting(
        "forceAllowCompaction", False, BOOLEAN,
        "a forced garbage collection compacts although periodic compaction is disabled", live=BACKGROUND,
    )  # fmt: skip
    use_target_entry_log_size_for_gc: bool = setting(
        "useTargetEntryLogSizeForGc", False, BOOLEAN, "small entry logs count as if they had logSizeLimit",
        live=BACKGROUND,
    )
    is_force_gc_allow_when_no_space: bool = setting(
        "isForceGCAllowWhenNoSpace", False, BOOLEAN,
        "a disk that is full forces a garbage collection; false: it ends compactions", live=BACKGROUND,
    )  # fmt: skip
    is_throttle_by_bytes: bool = setting(
        "isThrottleByBytes", False, BOOLEAN, "limit what a compaction writes by bytes in the place of entries",
        live=BACKGROUND,
    )
    compaction_rate: int = setting(
        "compactionRate", 1000, integer(-1), "older name of compactionRateByEntries",
        live=BACKGROUND,
    )  # fmt: skip
    compaction_rate_by_entries: int = setting(
        "compactionRateByEntries", derived(lambda self: self.compaction_rate), integer(-1),
        "entries a second that compactions write, without isThrottleByBytes; 0: no limit",
        default_text="as compactionRate", live=BACKGROUND,
    )  # fmt: skip
    compaction_rate_by_bytes: int = setting(
        "compactionRateByBytes", 1_000_000, integer(-1),
        "bytes a second that compactions write, with isThrottleByBytes; 0: no limit", unit="bytes", live=BACKGROUND,
    )  # fmt: skip
    compaction_read_rate_by_entries: int = setting(
        "compactionReadRateByEntries", 0, integer(0), "entries a second that compactions read; 0: no limit",
        java="none", live=BACKGROUND,
    )  # fmt: skip
    compaction_read_rate_by_bytes: int = setting(
        "compactionReadRateByBytes", 0, integer(0), "bytes a second that compactions read; 0: no limit", unit="bytes",
        java="none", live=BACKGROUND,
    )  # fmt: skip
    scan_rate_by_entries: int = setting(
        "scanRateByEntries", 0, integer(0),
        "index rows a second that are read before an entry log is removed; 0: no limit", java="none", live=BACKGROUND,
    )  # fmt: skip
    scan_rate_by_bytes: int = setting(
        "scanRateByBytes", 0, integer(0),
        "bytes a second that are read of the index and of an entry log before it is removed; 0: no limit",
        unit="bytes", java="none", live=BACKGROUND,
    )  # fmt: skip

    scrub_interval: int = setting(
        "scrubInterval", 604_800, integer(0), "time between two scrubs, which read and verify everything; 0: none",
        unit="s", java="none", live=BACKGROUND,
    )  # fmt: skip
    scrub_rate_by_entries: int = setting(
        "scrubRateByEntries", 0, integer(0), "entries a second that a scrub reads; 0: no limit", java="none",
        live=BACKGROUND,
    )
    scrub_rate_by_bytes: int = setting(
        "scrubRateByBytes", 10_000_000, integer(0), "bytes a second that a scrub reads; 0: no limit", unit="bytes",
        java="none", live=BACKGROUND,
    )  # fmt: skip

    background_latency_bound_ms: float = setting(
        "backgroundLatencyBoundMs", 0.0, decimal(0.0),
        "background work slows down while one add or read of clients in a hundred takes longer; 0: never", unit="ms",
        java="none", live=BACKGROUND,
    )  # fmt: skip

    # -- log --
    log_level: str = setting(
        "logLevel", "info", one_of(*LEVELS),
        "the least level of the lines in the log of the process", java="none", live=LOG,
    )  # fmt: skip
    log_levels: tuple[str, ...] = setting(
        "logLevels", (), LOG_LEVELS,
        "levels by namespace, as bookkeeper_twisted.protocol:debug,kazoo:error; that of default wins over logLevel",
        java="none", live=LOG,
    )  # fmt: skip
    log_format: str = setting(
        "logFormat", "text", one_of("text", JSON),
        "form of the lines in the log of the process; json: one object a line, with the fields of its event by name",
        java="none",
    )  # fmt: skip
    # -- metrics without the HTTP server --
    enable_statistics: bool = setting("enableStatistics", True, BOOLEAN, "false: statsProviderClass has no effect")
    stats_provider_class: str = setting(
        "statsProviderClass", "", TEXT,
        "Apache's ...PrometheusMetricsProvider: serve /metrics on a port of its own where httpServerEnabled is false",
        java="org.apache.bookkeeper.stats.NullStatsProvider",
    )  # fmt: skip
    prometheus_stats_http_enable: bool = setting(
        "prometheusStatsHttpEnable", True, BOOLEAN, "false: that provider opens no port"
    )
    prometheus_stats_http_always: bool = setting(
        "prometheusStatsHttpAlways", False, BOOLEAN,
        "that provider opens its port beside an HTTP server, too: metrics for other machines, all else for this one",
        java="none",
    )  # fmt: skip
    prometheus_stats_http_address: str = setting(
        "prometheusStatsHttpAddress", "0.0.0.0", TEXT, "address of that port; 127.0.0.1 closes it to other machines"
    )
    prometheus_stats_http_port: int = setting(
        "prometheusStatsHttpPort", 8000, PORT, "number of that port; 0 lets the system choose one"
    )

    @property
    def levels(self) -> dict[str, str]:
        """The log level by logger namespace; the key ``DEFAULT`` has the level of all other namespaces."""
        return {DEFAULT: self.log_level, **levels_by_namespace(self.log_levels)}

    @property
    def serves_metrics_alone(self) -> bool:
        """Whether to serve ``/metrics`` on a separate port, as Apache's Prometheus provider does."""
        wanted = self.enable_statistics and self.stats_provider_class.endswith(_PROMETHEUS)
        open_beside = self.prometheus_stats_http_always or not self.http_server_enabled
        return wanted and self.prometheus_stats_http_enable and open_beside

    def _default_metadata_uri(self) -> str:
        if self.zk_servers:
            return f"zk+null://{self.zk_servers.replace(',', ';')}{self.zk_ledgers_root_path}"
        return f"sqlite:///{self.ledger_directories[0]}/metadata.db" if self.ledger_directories else ""

    def _check(self) -> None:
        super()._check()
        self._check_tls()
        self._check_identity()
        self._check_directories()
        self._check_sizes()
        self._check_compactions()
        self._check_disk_usage()

    def _check_tls(self) -> None:
        if self.tls_required and not self.encrypts:
            raise self._error("tls_required", "needs tlsProviderFactoryClass, which is not set")
        if self.encrypts and self.listen_endpoint.startswith("ssl:"):
            reason = "with tlsProviderFactoryClass every endpoint speaks TLS, this one would do it twice: use tcp:"
            raise self._error("listen_endpoint", reason)
        if self.authorization_rules and not self.authorizer_class:
            raise self._error("authorization_rules", "has an effect only with authorizerClass=rules")

    def _check_identity(self) -> None:
        try:
            check_bookie_id(self.bookie_id or "default")
        except IncorrectParameterError as error:
            raise self._error("bookie_id", str(error)) from None

    def _check_directories(self) -> None:
        for name in ("journal_directories", "ledger_directories", "index_directories"):
            if not getattr(self, name):
                raise self._error(name, "at least one directory is needed")
        n_ledger, n_index = len(self.ledger_directories), len(self.index_directories)
        if n_index != n_ledger:
            raise self._error("index_directories", f"{n_index} directories for {n_ledger} ledger directories")

    def _check_sizes(self) -> None:
        if self.journal_alignment_size % 512:
            raise self._error("journal_alignment_size", "must be a multiple of 512")

    def _check_disk_usage(self) -> None:
        """Check the thresholds of disk usage by the rules of Apache's disk checker."""
        for name in ("disk_usage_lwm_threshold", "disk_usage_warn_threshold"):
            if getattr(self, name) > self.disk_usage_threshold:
                limit = f"diskUsageThreshold = {self.disk_usage_threshold}, {self.origin('disk_usage_threshold')}"
                raise self._error(name, f"must not be above {limit}")

    def _check_compactions(self) -> None:
        """Check the intervals and thresholds of minor and major compaction by the rules of Apache's bookie."""
        for name in ("minor", "major"):
            interval = getattr(self, f"{name}_compaction_interval")
            if interval and interval * 1000 < self.gc_wait_time:
                raise self._error(f"{name}_compaction_interval", f"is shorter than gcWaitTime = {self.gc_wait_time} ms")
        minor = self.minor_compaction_interval and self.minor_compaction_threshold
        if not minor or not (self.major_compaction_interval and self.major_compaction_threshold):
            return
        for name in ("minor_compaction_interval", "minor_compaction_threshold"):
            major = getattr(self, name.replace("minor", "major"))
            if getattr(self, name) >= major:
                raise self._error(name, f"must be below that of major compactions, {major}")
