"""Derives the options of a bookie's parts from its configuration."""

from collections.abc import Callable, Mapping
from functools import partial

from twisted.internet.interfaces import IReactorTime

from ...authentication.plugins import bookie_authentication, check_client_plugin
from ...authorization.access import access_control
from ...config.bookie import BookieConfig
from ...config.fields import BACKGROUND, DISKS, LOG, REQUESTS
from ...config.live import live_attributes
from ...errors import NoSuchLedgerMetadataError
from ...instruments import Instruments
from ...limits.throttle import Rate
from ...metadata.interfaces import IMetadataDriver
from ...metrics import watch_certificate
from ...protocol.server.limits import ServerLimits
from ...security.contexts import ServerTls, settings_of
from ...storage.files.space_reserve import MOST_BYTES
from ...storage.journal.files import JournalSettings
from ...storage.ledger_storage import StorageSettings
from ...tracing.plugins import tracer_of
from ..bookie import BookieOptions
from ..engine import EngineOptions
from ..group_commit import CommitOptions
from ..maintenance.garbage_collector import CollectorOptions, CompactionKind
from ..maintenance.maintenance import COMPACTION_READ, COMPACTION_WRITE, GC_METADATA, SCAN, SCRUB, MaintenanceOptions
from ..requests.context import RequestLimits
from ..requests.encryption import Encryption
from .disk_monitor import DiskThresholds
from .store import StorePaths

_MIB = 1 << 20
_UNLIMITED = 1 << 62

CONFIGURABLE = live_attributes(BookieConfig, BACKGROUND, DISKS, LOG, REQUESTS) - {"compaction_rate"}
"""Settings that an administrator can change while the bookie serves.

``compaction_rate`` is left out: it is only the default of ``compaction_rate_by_entries``, so a change of it while the
bookie serves would have no effect.
"""


def store_paths(config: BookieConfig) -> StorePaths:
    """Return the journal, ledger and index directories that a ``config`` names."""
    return StorePaths(config.journal_directories, config.ledger_directories, config.index_directories)


def journal_settings(config: BookieConfig) -> JournalSettings:
    """Return the settings of the journals from a ``config``; all sizes are in bytes."""
    return JournalSettings(
        max_size=config.journal_max_size_mb * _MIB,
        alignment=config.journal_alignment_size,
        max_backups=config.journal_max_backups,
        preallocate=min(config.journal_pre_alloc_size_mb, config.journal_max_size_mb) * _MIB,
        reuse=config.journal_reuse_files,
        direct=config.journal_sync_data,  # without syncs, buffered writes are faster than direct I/O
    )


def storage_settings(config: BookieConfig) -> StorageSettings:
    """Return the settings of the ledger storage from a ``config``; all sizes are in bytes."""
    return StorageSettings(
        log_size_limit=config.log_size_limit,
        log_direct=config.db_storage_direct_io_entry_logger,
        write_cache_bytes=config.db_storage_write_cache_max_size_mb * _MIB,
        read_cache_bytes=config.db_storage_read_ahead_cache_max_size_mb * _MIB,
        rebuild_index=config.rebuild_index,
        # Reserve as much space as a compaction needs for the copy of one log.
        reserve_bytes=min(config.log_size_limit, MOST_BYTES),
    )


def disk_thresholds(config: BookieConfig) -> DiskThresholds:
    """Return the limits by which a disk counts as full or almost full, from a ``config``."""
    return DiskThresholds(
        config.disk_usage_threshold, config.disk_usage_lwm_threshold, config.disk_usage_warn_threshold,
        config.min_usable_size_for_high_priority_writes, config.read_only_mode_on_any_disk_full_enabled,
    )  # fmt: skip


def maintenance_options(config: BookieConfig) -> MaintenanceOptions:
    """Return the options of the background work from a ``config``; all times are in seconds."""
    minor = CompactionKind(
        config.minor_compaction_threshold, config.minor_compaction_interval,
        _seconds(config.minor_compaction_max_time_millis),
    )  # fmt: skip
    major = CompactionKind(
        config.major_compaction_threshold, config.major_compaction_interval,
        _seconds(config.major_compaction_max_time_millis),
    )  # fmt: skip
    collector = CollectorOptions(
        wait_time=config.gc_wait_time / 1000,
        minor=minor,
        major=major,
        force_allowed=config.force_allow_compaction,
        target_size=config.log_size_limit if config.use_target_entry_log_size_for_gc else 0,
        forced_when_full=config.is_force_gc_allow_when_no_space,
    )
    wait = max(config.gc_overreplicated_ledger_wait_time, 0) / 1000
    bound = config.background_latency_bound_ms
    return MaintenanceOptions(collector, throttle_rates(config), wait, config.scrub_interval, bound)


def throttle_rates(config: BookieConfig) -> dict[str, Rate]:
    """Return the initial speed limits of background work, by name of the limiter, from a ``config``.

    As in Apache's bookie, the writes of a compaction are limited by bytes or by entries, not both.
    """
    if config.is_throttle_by_bytes:
        writes = _rate(n_bytes=config.compaction_rate_by_bytes)
    else:
        writes = _rate(config.compaction_rate_by_entries)
    return {
        COMPACTION_READ: _rate(config.compaction_read_rate_by_entries, config.compaction_read_rate_by_bytes),
        COMPACTION_WRITE: writes,
        GC_METADATA: _rate(config.gc_metadata_op_rate_limit),
        SCAN: _rate(config.scan_rate_by_entries, config.scan_rate_by_bytes),
        SCRUB: _rate(config.scrub_rate_by_entries, config.scrub_rate_by_bytes),
    }


def _rate(entries: int = 0, n_bytes: int = 0) -> Rate:
    """Return the limit of ``entries`` and ``n_bytes`` per second; a number that is not positive is no limit."""
    return Rate(max(entries, 0), max(n_bytes, 0))


def _seconds(millis: int) -> float | None:
    return millis / 1000 if millis > 0 else None


def engine_options(
    config: BookieConfig, clock: IReactorTime, metadata: IMetadataDriver, instruments: Instruments
) -> EngineOptions:
    """Return the limits and options of the parts that serve requests, from a ``config``.

    :param clock: the reactor's clock, by which TLS files and authorization rules are read again at intervals.
    :param metadata: the metadata driver; it is open when requests are served.
    :raises ConfigError: the authentication provider is unknown or not allowed, TLS cannot be set up, the rules of
        authorization cannot be used, or the tracer cannot be made.
    """
    n_journals, n_readers = len(config.journal_directories), max(1, config.num_read_worker_threads)
    check_client_plugin(config)
    return EngineOptions(
        bookie=BookieOptions(
            write_data=config.journal_write_data,
            max_throttle_time=config.db_storage_max_throttle_time_ms / 1000,
            read_threads=n_readers,
            max_waiting_reads=config.max_pending_read_requests_per_thread * n_readers or _UNLIMITED,
        ),
        commit=CommitOptions(
            sync_data=config.journal_sync_data,
            sync_interval=config.journal_page_cache_flush_interval_msec / 1000,
            max_wait=config.journal_max_group_wait_msec / 1000,
            max_queued_bytes=config.journal_max_memory_size_mb * _MIB // n_journals,
            max_queued_items=config.journal_queue_size,
        ),
        requests=RequestLimits(
            max_frame_size=config.netty_max_frame_size_bytes,
            max_batch_read_size=config.max_batch_read_size,
            max_adds=config.max_pending_add_requests_per_thread or _UNLIMITED,
            max_adds_in_progress=config.max_adds_in_progress_limit,
            max_reads_in_progress=config.max_reads_in_progress_limit,
        ),
        server=ServerLimits(
            max_frame_size=config.netty_max_frame_size_bytes,
            max_connections=config.max_connections,
            max_connections_per_address=config.max_connections_per_address,
            max_connections_per_principal=config.max_connections_per_principal,
            frame_timeout=config.frame_timeout_sec,
            read_timeout=_seconds(config.wait_timeout_on_response_backpressure_ms),
        ),
        tcp_no_delay=config.server_tcp_no_delay,
        authentication=bookie_authentication(config),
        encryption=_encryption(config, clock.seconds, instruments) if config.encrypts else None,
        access=access_control(config, clock, partial(custom_metadata, metadata), instruments),
        tracer=tracer_of(config),
        max_traced=config.traced_requests_max_per_second,
        keeps_context=config.preserve_mdc_for_task_execution,
    )


async def custom_metadata(metadata: IMetadataDriver, ledger_id: int) -> Mapping[str, bytes]:
    """Read the custom metadata of a ledger, even if the ledger was created just now.

    :param ledger_id: id of the ledger, which need not exist.
    :raises NoSuchLedgerMetadataError: the store has no such ledger.
    """
    if ledger_id < 0:
        raise NoSuchLedgerMetadataError(f"ledger {ledger_id}")
    try:
        found = await metadata.ledgers.read(ledger_id)
    except NoSuchLedgerMetadataError:
        # A server of ZooKeeper may not have received a new ledger from the other servers yet: sync, then read again.
        await metadata.ledgers.sync()
        found = await metadata.ledgers.read(ledger_id)
    return found.value.custom_metadata


def _encryption(config: BookieConfig, seconds: Callable[[], float], instruments: Instruments) -> Encryption:
    server = ServerTls(settings_of(config), seconds)
    watch_certificate(instruments, "bookie", server.expires_at)
    return Encryption(server, config.tls_required)
