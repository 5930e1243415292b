"""The configuration keys of autorecovery, as in ``bk_server.conf``."""

import attrs

from .fields import BOOLEAN, REPLICATION, decimal, integer, setting, some_of
from .metadata import MetadataConfig
from .settings import MIB

AUDITOR, WORKER = "auditor", "worker"
"""The services of autorecovery: the auditor (or candidate for auditor) and the replication worker."""

LONGEST_DELAY = (1 << 31) - 1
"""The greatest ``lostBookieRecoveryDelay`` that a metadata store can store, in seconds."""


@attrs.frozen(kw_only=True)
class AutorecoveryConfig(MetadataConfig):
    """The settings of auditors and replication workers."""

    # -- autorecovery --
    auto_recovery_daemon_enabled: bool = setting(
        "autoRecoveryDaemonEnabled", False, BOOLEAN, "run an auditor and a replication worker in the bookie's process"
    )
    auto_recovery_services: tuple[str, ...] = setting(
        "autoRecoveryServices", (AUDITOR, WORKER), some_of(AUDITOR, WORKER),
        "what of autorecovery runs in a process that runs it", java="none",
    )  # fmt: skip
    bookie_death_watch_interval: int = setting(
        "bookieDeathWatchInterval", 1000, integer(1),
        "pause before autorecovery in a bookie's process tries again to reach the metadata store", unit="ms",
    )  # fmt: skip

    # -- auditor --
    lost_bookie_recovery_delay: int = setting(
        "lostBookieRecoveryDelay", 0, integer(0, LONGEST_DELAY),
        "wait before the ledgers of one lost bookie are marked; a value in the metadata store wins", unit="s",
    )  # fmt: skip
    auditor_periodic_bookie_check_interval: int = setting(
        "auditorPeriodicBookieCheckInterval", 86400, integer(0),
        "time between two searches for ledgers on lost bookies; 0: one, when an auditor is elected", unit="s",
    )  # fmt: skip
    auditor_periodic_check_interval: int = setting(
        "auditorPeriodicCheckInterval", 604_800, integer(0), "time between two checks of all ledgers; 0: none", unit="s"
    )
    auditor_periodic_placement_policy_check_interval: int = setting(
        "auditorPeriodicPlacementPolicyCheckInterval", 0, integer(0),
        "time between two checks of where the replicas of all ledgers are; 0: none", unit="s",
    )  # fmt: skip
    auditor_replicas_check_interval: int = setting(
        "auditorReplicasCheckInterval", 0, integer(0),
        "time between two comparisons of all ledgers with what bookies list of them; 0: none", unit="s",
        alias="auditorPeriodicReplicasCheckInterval",
    )  # fmt: skip
    auditor_ledger_verification_percentage: int = setting(
        "auditorLedgerVerificationPercentage", 0, integer(0, 100),
        "share of the entries that a check of all ledgers reads; 0: the first and the last of each replica", unit="%",
    )  # fmt: skip
    auditor_max_number_of_concurrent_open_ledger_operations: int = setting(
        "auditorMaxNumberOfConcurrentOpenLedgerOperations",
        500,
        integer(1),
        "ledgers that are checked at a time, of which there are 100 at most",
    )
    auditor_acquire_concurrent_open_ledger_operations_timeout_msec: int = setting(
        "auditorAcquireConcurrentOpenLedgerOperationsTimeOutMSec", 120_000, integer(1),
        "how long one ledger may hold up a check before that is tried again as a whole", unit="ms",
    )  # fmt: skip
    in_flight_read_entry_num_in_ledger_checker: int = setting(
        "inFlightReadEntryNumInLedgerChecker", -1, integer(-1),
        "reads of checks that may be under way; 0 and below: no such limit",
    )  # fmt: skip
    underreplicated_ledger_recovery_grace_period: int = setting(
        "underreplicatedLedgerRecoveryGracePeriod", 0, integer(0),
        "age from which marked ledgers are counted as left behind; 0: none is", unit="s",
    )  # fmt: skip
    repaired_placement_policy_not_adhering_bookie_enabled: bool = setting(
        "repairedPlacementPolicyNotAdheringBookieEnabled", False, BOOLEAN,
        "mark ledgers whose replicas are not where the placement policy wants them",
    )  # fmt: skip
    store_system_time_as_ledger_underreplicated_mark_time: bool = setting(
        "storeSystemTimeAsLedgerUnderreplicatedMarkTime", True, BOOLEAN, "store with a mark when it was made"
    )

    # -- replication worker --
    open_ledger_rereplication_grace_period: int = setting(
        "openLedgerRereplicationGracePeriod", 30000, integer(0),
        "how long the writer of a ledger may take to replace a lost bookie before the ledger is recovered", unit="ms",
    )  # fmt: skip
    lock_release_of_failed_ledger_grace_period: int = setting(
        "lockReleaseOfFailedLedgerGracePeriod", 300_000, integer(0),
        "longest time for which a ledger that could not be repaired is left alone", unit="ms",
    )  # fmt: skip
    rw_rereplicate_backoff_ms: int = setting(
        "rwRereplicateBackoffMs", 5000, integer(1), "pause after a ledger that could not be repaired", unit="ms"
    )
    rereplication_entry_batch_size: int = setting(
        "rereplicationEntryBatchSize", 1000, integer(-1),
        "entries of a fragment that are read, and written, at a time; 0 and below: as many as bytes allow", java="10",
    )  # fmt: skip
    replication_concurrent_ledgers: int = setting(
        "replicationConcurrentLedgers", 4, integer(1, 1000), "ledgers that a worker repairs at a time", java="1"
    )
    replication_window_bytes: int = setting(
        "replicationWindowBytes", MIB, integer(1), "bytes of a fragment that are read, and written, at a time",
        unit="bytes", java="none",
    )  # fmt: skip

    # -- speed limits of autorecovery --
    replication_rate_by_bytes: int = setting(
        "replicationRateByBytes", -1, integer(-1), "bytes of entries a second that workers of this process read; "
        "0 and below: no limit", unit="bytes", live=REPLICATION,
    )  # fmt: skip
    replication_rate_by_entries: int = setting(
        "replicationRateByEntries", 0, integer(-1), "the same in entries", java="none", live=REPLICATION
    )
    replication_write_rate_by_bytes: int = setting(
        "replicationWriteRateByBytes", 0, integer(-1),
        "bytes a second that they write, counted for each bookie that gets them; 0 and below: no limit", unit="bytes",
        java="none", live=REPLICATION,
    )  # fmt: skip
    replication_write_rate_by_entries: int = setting(
        "replicationWriteRateByEntries", 0, integer(-1), "the same in entries", java="none", live=REPLICATION
    )
    replication_latency_bound_ms: float = setting(
        "replicationLatencyBoundMs", 0.0, decimal(0.0),
        "copies slow down while an add or read of a single entry takes longer at a bookie; 0: never", unit="ms",
        java="none", live=REPLICATION,
    )  # fmt: skip
    zk_replication_task_rate_limit: float = setting(
        "zkReplicationTaskRateLimit", 0.0, decimal(0.0),
        "requests a second of auditor and worker about marks, locks, bookies and ledgers under repair; 0: no limit",
        live=REPLICATION,
    )  # fmt: skip
    checker_rate_by_bytes: int = setting(
        "checkerRateByBytes", 0, integer(-1), "bytes a second that checks of ledgers read; 0 and below: no limit",
        unit="bytes", java="none", live=REPLICATION,
    )  # fmt: skip
    checker_rate_by_entries: int = setting(
        "checkerRateByEntries", 0, integer(-1), "the same in entries", java="none",
        live=REPLICATION,
    )  # fmt: skip
    checker_metadata_op_rate_limit: int = setting(
        "checkerMetadataOpRateLimit", 0, integer(-1),
        "ledgers a second whose metadata audits and checks of the auditor read; 0 and below: no limit", java="none",
        live=REPLICATION,
    )  # fmt: skip
