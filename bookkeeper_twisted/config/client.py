"""The configuration of a client."""

import attrs

from .fields import BOOLEAN, TEXT, WORD, decimal, integer, setting
from .metadata import MetadataConfig
from .settings import FRAME, MIB, derived

SCRIPT_RACKS = "org.apache.bookkeeper.net.ScriptBasedMapping"
"""The value of ``reppDnsResolverClass`` that makes the client use the script in ``networkTopologyScriptFileName``."""


@attrs.frozen(kw_only=True)
class ClientConfig(MetadataConfig):
    """The configuration of a client."""

    add_entry_timeout_sec: float = setting(
        "addEntryTimeoutSec", 5.0, decimal(0.001), "how long a bookie may take for an add", unit="s"
    )
    read_entry_timeout_sec: float = setting(
        "readEntryTimeoutSec", 5.0, decimal(0.001), "how long a bookie may take for a read", unit="s"
    )
    client_connect_timeout_millis: int = setting(
        "clientConnectTimeoutMillis", 10000, integer(1), "how long a connection attempt may take", unit="ms"
    )
    ledger_encryption: bool = setting(
        "ledgerEncryption", False, BOOLEAN, "encrypt the entries of ledgers that this client creates", java="none"
    )
    ledger_key_provider: str = setting(
        "ledgerKeyProvider", "", TEXT, "plugin with the keys of encrypted ledgers: file, environment, your own",
        java="none",
    )  # fmt: skip
    ledger_key_file: str = setting(
        "ledgerKeyFile", "", TEXT, "keys of ledgerKeyProvider=file: lines with a name and 32 bytes in base64",
        java="none",
    )  # fmt: skip
    ledger_key_variable: str = setting(
        "ledgerKeyVariable", "BOOKKEEPER_LEDGER_KEYS", TEXT,
        "environment variable with the keys of ledgerKeyProvider=environment", java="none",
    )  # fmt: skip
    client_tcp_no_delay: bool = setting("clientTcpNoDelay", True, BOOLEAN, "send small requests at once")
    netty_max_frame_size_bytes: int = setting(
        "nettyMaxFrameSizeBytes", FRAME, integer(1024, 1 << 30), "longest request or reply, its length field included",
        unit="bytes",
    )  # fmt: skip
    max_connections_per_bookie: int = setting(
        "maxConnectionsPerBookie", 2, integer(0),
        "most sockets to one bookie, shared by all ledgers; 1: V3 carries everything; 0: each open ledger has its own",
        java="none",
    )  # fmt: skip
    min_connections_per_bookie: int = setting(
        "minConnectionsPerBookie", 0, integer(0), "unused sockets to one bookie that are kept, of each wire version",
        java="none",
    )  # fmt: skip
    connection_idle_sec: float = setting(
        "connectionIdleSec", 240.0, decimal(0.001), "how long an unused socket is kept", unit="s", java="none"
    )
    connection_keepalive_sec: float = setting(
        "connectionKeepaliveSec", 10.0, decimal(0.001),
        "silence after which a bookie is asked for a sign of life, and after that again until its socket is given up",
        unit="s", java="none",
    )  # fmt: skip
    connection_grace_sec: float = setting(
        "connectionGraceSec", 0.0, decimal(0),
        "how long requests that are under way may take when the client is closed; 0: they fail at once", unit="s",
        java="none",
    )  # fmt: skip
    batch_read_enabled: bool = setting("batchReadEnabled", True, BOOLEAN, "read ranges with batch reads")
    use_v2_wire_protocol: bool = setting("useV2WireProtocol", False, BOOLEAN, "Apache's way to say wireProtocol = v2")
    wire_protocol: str = setting(
        "wireProtocol", derived(lambda self: "v2" if self.use_v2_wire_protocol else "auto"),
        WORD, "auto: V2 for adds and reads, V3 on demand for what only V3 has; v2, v3, or the name of a plugin",
        default_text="auto", java="none",
    )  # fmt: skip
    max_in_flight_bytes: int = setting(
        "maxInFlightBytes", 32 * MIB, integer(1), "bytes of unacknowledged adds of one ledger; beyond it append waits",
        unit="bytes", java="none",
    )  # fmt: skip
    max_client_in_flight_bytes: int = setting(
        "maxClientInFlightBytes", 256 * MIB, integer(1), "the same of all ledgers of a client together", unit="bytes",
        java="none",
    )  # fmt: skip
    read_ahead_bytes: int = setting(
        "readAheadBytes", 4 * MIB, integer(1), "bytes an iteration over entries reads ahead", unit="bytes", java="none"
    )

    # -- reading --
    first_speculative_read_timeout: float = setting(
        "firstSpeculativeReadTimeout", 2000.0, decimal(0),
        "how long a read waits for one bookie before it asks the next as well; 0: until it has failed", unit="ms",
        alias="speculativeReadTimeout",
    )  # fmt: skip
    max_speculative_read_timeout: float = setting(
        "maxSpeculativeReadTimeout", 2000.0, decimal(0), "longest such wait", unit="ms"
    )
    speculative_read_timeout_backoff_multiplier: float = setting(
        "speculativeReadTimeoutBackoffMultiplier", 2.0, decimal(1), "growth of that wait from bookie to bookie"
    )
    first_speculative_read_lac_timeout: float = setting(
        "firstSpeculativeReadLACTimeout", 1500.0, decimal(0),
        "how long a long poll waits at one bookie before it asks the next as well; 0: until it has failed", unit="ms",
    )  # fmt: skip
    max_speculative_read_lac_timeout: float = setting(
        "maxSpeculativeReadLACTimeout", 5000.0, decimal(0), "longest such wait", unit="ms"
    )
    speculative_read_lac_timeout_backoff_multiplier: float = setting(
        "speculativeReadLACTimeoutBackoffMultiplier", 2.0, decimal(1), "growth of that wait from bookie to bookie"
    )
    sticky_reads_enabled: bool = setting(
        "stickyReadSEnabled", False, BOOLEAN,
        "a reader stays with one bookie until that fails, where every bookie has every entry",
    )  # fmt: skip
    reorder_read_sequence_enabled: bool = setting(
        "reorderReadSequenceEnabled", True, BOOLEAN,
        "ask bookies last that failed or were slow, that are read-only, or not there",
    )  # fmt: skip
    bookie_failure_history_expiration_msec: float = setting(
        "bookieFailureHistoryExpirationMSec", 60000.0, decimal(1), "how long that is remembered of a bookie", unit="ms"
    )
    recovery_read_batch_size: int = setting(
        "recoveryReadBatchSize", 64, integer(1, 10000),
        "entries a recovery reads at a time, where it cannot read batches", java="1",
    )  # fmt: skip

    # -- bookies that fail while a ledger is written --
    delay_ensemble_change: bool = setting(
        "delayEnsembleChange", False, BOOLEAN,
        "replace a failed bookie only when entries cannot reach their ack quorum without",
    )  # fmt: skip
    max_num_ensemble_changes: int = setting(
        "maxNumEnsembleChanges", (1 << 31) - 1, integer(0), "changes of bookies after which a writer gives up"
    )
    add_entry_quorum_timeout_sec: float = setting(
        "addEntryQuorumTimeoutSec", -1.0, decimal(-1.0),
        "how long an entry may wait for its ack quorum before its writer ends; below 0: for ever", unit="s",
    )  # fmt: skip
    wait_for_bookies_sec: float = setting(
        "waitForBookiesSec", 0.0, decimal(0.0),
        "how long bookies that an entry needs are tried again where none can replace them; 0: the writer ends at once",
        unit="s", java="none",
    )  # fmt: skip
    explicit_lac_interval: int = setting(
        "explicitLacInterval", 15, integer(0),
        "least time without an entry after which a writer tells bookies its last add confirmed; 0: never",
        unit="ms", java="0",
    )  # fmt: skip

    # -- placement: the choice of the bookies of a ledger --
    opportunistic_striping: bool = setting(
        "opportunisticStriping", False, BOOLEAN, "take a smaller ensemble where there are too few bookies"
    )
    ensemble_placement_policy: str = setting(
        "ensemblePlacementPolicy", "rack-aware", TEXT,
        "random, rack-aware, Apache's name of the class, or the name of a plugin",
    )  # fmt: skip
    repp_dns_resolver_class: str = setting(
        "reppDnsResolverClass", SCRIPT_RACKS, TEXT,
        "where racks come from: Apache's class for the script, Pulsar's for those in ZooKeeper, or a plugin",
    )  # fmt: skip
    network_topology_script_file_name: str = setting(
        "networkTopologyScriptFileName", "", TEXT, "program that prints a rack for each host it is given"
    )
    network_topology_mapping_file_name: str = setting(
        "networkTopologyMappingFileName", "", TEXT,
        "file with a host or bookie id and its rack in each line; wins over reppDnsResolverClass", java="none",
    )  # fmt: skip
    min_num_racks_per_write_quorum: int = setting(
        "minNumRacksPerWriteQuorum", 2, integer(1), "racks that the copies of an entry are spread over"
    )
    enforce_min_num_racks_per_write_quorum: bool = setting(
        "enforceMinNumRacksPerWriteQuorum", False, BOOLEAN, "rather no ensemble than one on too few racks"
    )
    ignore_local_node_in_placement_policy: bool = setting(
        "ignoreLocalNodeInPlacementPolicy", False, BOOLEAN, "do not prefer the rack of this machine for a first copy"
    )
    disk_weight_based_placement_enabled: bool = setting(
        "diskWeightBasedPlacementEnabled", False, BOOLEAN, "prefer bookies with more free space"
    )
    bookie_max_multiple_for_weight_based_placement: int = setting(
        "bookieMaxMultipleForWeightBasedPlacement", 3, integer(0),
        "most weight of a bookie, in medians of all; 0: no limit",
    )  # fmt: skip
    get_bookie_info_interval_seconds: float = setting(
        "getBookieInfoIntervalSeconds", 86400.0, decimal(0.001), "time between requests for free space", unit="s"
    )
    get_bookie_info_retry_interval_seconds: float = setting(
        "getBookieInfoRetryIntervalSeconds", 60.0, decimal(0.001), "the same, of a bookie that did not answer", unit="s"
    )

    # -- bookies to avoid --
    bookie_health_check_enabled: bool = setting(
        "bookieHealthCheckEnabled", False, BOOLEAN, "give no new ledgers to bookies that fail often"
    )
    bookie_health_check_interval_seconds: float = setting(
        "bookieHealthCheckIntervalSeconds", 60.0, decimal(0.001), "time between looks at the failures", unit="s"
    )
    bookie_error_threshold_per_interval: int = setting(
        "bookieErrorThresholdPerInterval", 100, integer(1), "failures between two looks that are too many"
    )
    bookie_quarantine_time_seconds: float = setting(
        "bookieQuarantineTimeSeconds", 1800.0, decimal(0.001), "longest time a bookie is avoided", unit="s"
    )
    bookie_quarantine_ratio: float = setting(
        "bookieQuarantineRatio", 1.0, decimal(0.0, 1.0), "chance that a client avoids a bookie that fails too often"
    )
    bookie_connection_error_quarantine_enabled: bool = setting(
        "bookieConnectionErrorQuarantineEnabled", False, BOOLEAN, "count failed connections as failures"
    )
