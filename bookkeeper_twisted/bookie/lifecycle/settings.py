"""From the configuration to the options of the parts."""

from ...config.bookie import BookieConfig
from ...protocol.server.connection import ServerLimits
from ...storage.journal.files import JournalSettings
from ...storage.ledger_storage import StorageSettings
from ..bookie import BookieOptions
from ..engine import EngineOptions
from ..group_commit import CommitOptions
from ..requests.context import RequestLimits
from .store import StorePaths

_MIB = 1 << 20
_UNLIMITED = 1 << 62


def store_paths(config: BookieConfig) -> StorePaths:
    """Where everything lies."""
    return StorePaths(config.journal_directories, config.ledger_directories, config.index_directories)


def journal_settings(config: BookieConfig) -> JournalSettings:
    """Of every journal."""
    return JournalSettings(
        max_size=config.journal_max_size_mb * _MIB,
        alignment=config.journal_alignment_size,
        max_backups=config.journal_max_backups,
        preallocate=min(config.journal_pre_alloc_size_mb, config.journal_max_size_mb) * _MIB,
        reuse=config.journal_reuse_files,
        direct=config.journal_sync_data,  # without syncs the page cache is the faster place
    )


def storage_settings(config: BookieConfig) -> StorageSettings:
    """Of the ledger storage."""
    return StorageSettings(
        log_size_limit=config.log_size_limit,
        log_direct=config.db_storage_direct_io_entry_logger,
        write_cache_bytes=config.db_storage_write_cache_max_size_mb * _MIB,
        read_cache_bytes=config.db_storage_read_ahead_cache_max_size_mb * _MIB,
        rebuild_index=config.rebuild_index,
    )


def engine_options(config: BookieConfig) -> EngineOptions:
    """Limits and habits of the parts that serve."""
    n_journals, n_readers = len(config.journal_directories), max(1, config.num_read_worker_threads)
    return EngineOptions(
        bookie=BookieOptions(
            write_data=config.journal_write_data,
            max_throttle_time=config.db_storage_max_throttle_time_ms / 1000,
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
        server=ServerLimits(max_frame_size=config.netty_max_frame_size_bytes, max_connections=config.max_connections),
        tcp_no_delay=config.server_tcp_no_delay,
    )
