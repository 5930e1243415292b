"""From the configuration to the settings of the parts."""

from ..config.autorecovery import AutorecoveryConfig
from ..throttle import Rate
from .limits import CHECKER_METADATA, CHECKER_READ, REPLICATION_METADATA, REPLICATION_READ, REPLICATION_WRITE
from .replication.checker import CheckerSettings
from .replication.copying import CopySettings
from .replication.worker import WorkerSettings

_ANY_NUMBER = 1 << 30


def throttle_rates(config: AutorecoveryConfig) -> dict[str, Rate]:
    """Return the speed limits at the start, by the names of the limiters, from a ``config``."""
    return {
        REPLICATION_READ: _rate(config.replication_rate_by_entries, config.replication_rate_by_bytes),
        REPLICATION_WRITE: _rate(config.replication_write_rate_by_entries, config.replication_write_rate_by_bytes),
        REPLICATION_METADATA: _rate(config.zk_replication_task_rate_limit),
        CHECKER_READ: _rate(config.checker_rate_by_entries, config.checker_rate_by_bytes),
        CHECKER_METADATA: _rate(config.checker_metadata_op_rate_limit),
    }


def checker_settings(config: AutorecoveryConfig) -> CheckerSettings:
    """Return the settings of the auditor's check of all ledgers from a ``config``."""
    return CheckerSettings(
        percentage=config.auditor_ledger_verification_percentage,
        max_in_flight=config.in_flight_read_entry_num_in_ledger_checker,
    )


def copy_settings(config: AutorecoveryConfig) -> CopySettings:
    """Return the settings of the copies that a worker makes from a ``config``."""
    entries = config.rereplication_entry_batch_size
    return CopySettings(
        window_entries=entries if entries > 0 else _ANY_NUMBER, window_bytes=config.replication_window_bytes
    )


def worker_settings(config: AutorecoveryConfig, holder: str) -> WorkerSettings:
    """Of the replication worker.

    :param holder: host name for its locks.
    """
    return WorkerSettings(
        holder,
        ledgers=config.replication_concurrent_ledgers,
        grace=config.open_ledger_rereplication_grace_period / 1000,
        longest_hold=config.lock_release_of_failed_ledger_grace_period / 1000,
        backoff=config.rw_rereplicate_backoff_ms / 1000,
    )


def _rate(entries: float = 0, n_bytes: float = 0) -> Rate:
    """A limit from configured numbers: none where they are not positive."""
    return Rate(max(entries, 0), max(n_bytes, 0))
