"""The metrics of a bookie, grouped by layer, under the names that Apache's bookie exports.

For speed, a value is recorded once for many entries that were processed together, never for each entry:
``summary.success.record(ms, count)``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector

from .instruments import Counter, Histogram, Instruments, Summary, pieces, render

__all__ = [
    "AdaptiveMetrics", "AuthorizationMetrics", "BookieMetrics", "ConnectionMetrics", "DiskMetrics", "Instruments",
    "JournalMetrics", "MaintenanceMetrics", "RequestMetrics", "ScrubMetrics", "StorageMetrics", "ThrottleMetrics",
    "directory_labels", "new_registry", "pieces", "process_registry", "render",
]  # fmt: skip

_TENTHS = 10
"""Entry logs are counted by their share of live bytes, in this many ranges of equal width."""

_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

# the bounds of histograms from BP-62: of the milliseconds of a batch read, and of the bytes of its reply
_BATCH_LATENCIES = (5, 10, 20, 50, 100, 200, 500, 1000, 3000)
_BATCH_SIZES = (128, 512, 1024, 2048, 4096, 16 * 1024, 128 * 1024, 1024 * 1024)


def new_registry(*collectors: Instruments) -> CollectorRegistry:
    """Make a registry that exports the instruments of some bookies or clients, without metrics of the process."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return registry


def process_registry() -> CollectorRegistry:
    """Make a registry of CPU time, memory and file descriptors of this process (``process_*``).

    It is empty except on Linux.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


_NO_NAME = re.compile("[^A-Za-z0-9_]")
"""Characters that are not allowed in the name of a metric."""


def directory_labels(ledger_dirs: Sequence[str], index_dirs: Sequence[str]) -> Mapping[str, str]:
    """Return the labels of metrics of a ledger storage: its directories, separated by commas.

    :param ledger_dirs: paths of the ledger directories.
    :param index_dirs: paths of the index directories.
    """
    return {"indexDir": ",".join(index_dirs), "ledgerDir": ",".join(ledger_dirs)}


class JournalMetrics:
    """The metrics of one journal; latencies are in milliseconds."""

    def __init__(self, instruments: Instruments, index: int) -> None:
        label = str(index)
        prefix = "bookie_journal_JOURNAL_"

        def summary(name: str) -> Summary:
            return instruments.summary(prefix + name, journalIndex=label)

        self.add_entry = summary("ADD_ENTRY")
        self.write = summary("FLUSH_LATENCY")
        self.sync = summary("SYNC")
        self.queue_latency = summary("QUEUE_LATENCY")
        self.group_entries = summary("FORCE_WRITE_BATCH_ENTRIES")
        self.group_bytes = summary("FORCE_WRITE_BATCH_BYTES")
        groups, n_bytes = self.group_entries.success, self.group_bytes.success
        instruments.gauge(prefix + "WRITE_BYTES", lambda: n_bytes.sum, "counter", journalIndex=label)
        instruments.gauge("bookie_journal_groups", lambda: groups.count, "counter", journalIndex=label)
        self._instruments = instruments
        self._label = label

    def watch_queue(
        self, length: Callable[[], float], used: Callable[[], float], limit: int, groups: Callable[[], float]
    ) -> None:
        """Export metrics of the queue of adds that wait for the journal.

        :param length: returns the number of items in the queue.
        :param used: returns the bytes of these items.
        :param limit: most bytes of the queue.
        :param groups: returns the number of groups that the journal is writing or syncing.
        """
        prefix, label = "bookie_journal_JOURNAL_", self._label
        self._instruments.gauge(prefix + "QUEUE_SIZE", length, "counter", journalIndex=label)
        self._instruments.gauge(prefix + "MEMORY_USED", used, journalIndex=label)
        self._instruments.gauge(prefix + "MEMORY_MAX", lambda: limit, journalIndex=label)
        self._instruments.gauge(prefix + "FORCE_WRITE_QUEUE_SIZE", groups, "counter", journalIndex=label)
        # In Apache's bookie, this metric is the length of the queue of callbacks after a sync.  In this bookie one call
        # completes a whole group, so there is no such queue, and the metric is always 0.
        self._instruments.gauge(prefix + "CB_QUEUE_SIZE", lambda: 0, "counter", journalIndex=label)


class StorageCounts(Protocol):
    """The counts of a ledger storage, which its metrics export."""

    write_cache_hits: int
    read_cache_hits: int
    resident_hits: int
    cache_misses: int

    def pending_bytes(self) -> int: ...
    def pending_entries(self) -> int: ...
    def read_cache_bytes(self) -> int: ...
    def ledger_count(self) -> int: ...
    def undeleted(self) -> int: ...
    def entry_count(self) -> int: ...


class StorageMetrics:
    """The metrics of a ledger storage, read from its counts.

    :param labels: labels that :func:`directory_labels` returned.
    :param write_cache_limit: most bytes in the write caches.
    """

    def __init__(
        self, instruments: Instruments, storage: StorageCounts, labels: Mapping[str, str], write_cache_limit: int
    ) -> None:
        def counter(name: str, read: Callable[[], float]) -> None:
            instruments.gauge(name, read, "counter", **labels)

        counter("bookie_write_cache_hits", lambda: storage.write_cache_hits)
        counter("bookie_write_cache_misses", lambda: storage.read_cache_hits + storage.cache_misses)
        counter("bookie_read_cache_hits", lambda: storage.read_cache_hits + storage.resident_hits)
        counter("bookie_read_cache_misses", lambda: storage.cache_misses - storage.resident_hits)
        instruments.gauge("bookie_write_cache_size", storage.pending_bytes, **labels)
        instruments.gauge("bookie_write_cache_count", storage.pending_entries, **labels)
        instruments.gauge("bookie_read_cache_size", storage.read_cache_bytes, **labels)
        instruments.gauge("bookie_write_cache_max_size", lambda: write_cache_limit)
        # the same number under two names, because Apache's ledger storage and its garbage collector both export it
        for name in ("bookie_ledgers_count", "bookie_ACTIVE_LEDGER_TOTAL"):
            instruments.gauge(name, storage.ledger_count, **labels)
        instruments.gauge("bookie_undeleted_ledgers", storage.undeleted, **labels)
        instruments.gauge("bookie_entries_count", storage.entry_count, **labels)


class BookieMetrics:
    """The metrics of a bookie's operations on entries and ledgers.

    :param labels: labels for metrics of the ledger storage, which :func:`directory_labels` returned.
    """

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        self.write_bytes = instruments.counter("bookie_WRITE_BYTES")
        self.read_bytes = instruments.counter("bookie_READ_BYTES")
        self.force_ledger = instruments.counter("bookie_BOOKIE_FORCE_LEDGER")
        self.add_entry_bytes = instruments.summary("bookie_BOOKIE_ADD_ENTRY_BYTES")
        self.flush = instruments.summary("bookie_flush", **labels)
        self.flush_size = instruments.summary("bookie_flush_size", **labels)
        self.flush_without_space = instruments.counter("bookie_flush_without_space", **labels)
        self.readahead_batch_count = instruments.summary("bookie_readahead_batch_count", **labels)
        self.readahead_batch_size = instruments.summary("bookie_readahead_batch_size", **labels)
        self.throttled_write = instruments.summary("bookie_throttled_write", **labels)
        self.rejected_write_requests = instruments.counter("bookie_rejected_write_requests", **labels)
        self._instruments = instruments

    def watch(self, server_status: Callable[[], float], n_journals: int) -> None:
        """Export the status of the bookie and the number of its journals.

        :param server_status: returns 1 if the bookie is writable, 0 if it is read-only, -1 if it is not registered.
        :param n_journals: number of journal directories.
        """
        self._instruments.gauge("bookie_SERVER_STATUS", server_status)
        self._instruments.gauge("bookie_JOURNAL_DIRS", lambda: n_journals)


class DiskMetrics:
    """The metrics of the disks of ledger directories.

    :param used: returns the used share of the disk of a directory at the last check, from 0 to 1.
    :param writable: returns the number of writable directories.
    """

    def __init__(
        self, instruments: Instruments, directories: Sequence[str], used: Callable[[str], float],
        writable: Callable[[], float],
    ) -> None:  # fmt: skip
        instruments.gauge("bookie_ledger_writable_dirs", writable)
        instruments.gauge("bookie_ledger_num_dirs", lambda: len(directories))
        for directory in directories:
            percent = partial(_percent, used, directory)
            instruments.gauge(f"bookie_ledger_dir_{_NO_NAME.sub('_', directory)}_usage", percent)
            instruments.gauge("bookie_ledger_dir_usage", percent, ledgerDir=directory)


def _percent(used: Callable[[str], float], directory: str) -> float:
    return 100 * used(directory)


class BatchReadMetrics:
    """The metrics of batch reads as histograms: latencies in milliseconds, replies in bytes and entries."""

    def __init__(self, instruments: Instruments) -> None:
        prefix = "bookkeeper_server_BATCH_READ_ENTRY_"

        def latency(success: str) -> Histogram:
            return instruments.histogram(prefix + "REQUEST", _BATCH_LATENCIES, success=success)

        self.failure = latency("false")
        self.success = latency("true")
        self.size = instruments.histogram(prefix + "RESPONSE_SIZE", _BATCH_SIZES)
        self.entries = instruments.histogram(prefix + "RESPONSE_ENTRIES", _COUNTS)


class RequestMetrics:
    """The metrics of requests by operation; a latency is the time from the decoding of a request to its reply."""

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        """:param labels: labels for metrics of the ledger storage, which :func:`directory_labels` returned."""
        prefix = "bookkeeper_server_"
        self.add = instruments.summary(prefix + "ADD_ENTRY_REQUEST")
        self.read = instruments.summary(prefix + "READ_ENTRY_REQUEST")
        instruments.share(prefix + "ADD_ENTRY", self.add)
        instruments.share(prefix + "READ_ENTRY", self.read)
        instruments.share("bookie_read_entry", self.read, **labels)
        self.batch_read = BatchReadMetrics(instruments)
        self.fence_read = instruments.summary(prefix + "READ_ENTRY_FENCE_REQUEST")
        self.long_poll = instruments.summary(prefix + "READ_ENTRY_LONG_POLL_REQUEST")
        self.read_lac = instruments.summary(prefix + "READ_LAC_REQUEST")
        self.write_lac = instruments.summary(prefix + "WRITE_LAC_REQUEST")
        self.force = instruments.summary(prefix + "FORCE_LEDGER_REQUEST")
        self.bookie_info = instruments.summary(prefix + "GET_BOOKIE_INFO_REQUEST")
        self.list_entries = instruments.summary(prefix + "GET_LIST_OF_ENTRIES_OF_LEDGER_REQUEST")
        # Apache's bookie exports a second metric of each operation, which leaves out the time in Apache's queues; both
        # metrics have the same values here
        instruments.share(prefix + "READ_ENTRY_FENCE_READ", self.fence_read)
        instruments.share(prefix + "READ_LAC", self.read_lac)
        instruments.share(prefix + "WRITE_LAC", self.write_lac)
        instruments.share(prefix + "FORCE_LEDGER", self.force)
        instruments.share(prefix + "GET_BOOKIE_INFO", self.bookie_info)
        instruments.share(prefix + "GET_LIST_OF_ENTRIES_OF_LEDGER", self.list_entries)
        self._instruments = instruments

    def watch_lane(self, lane: str, waiting: Callable[[], float]) -> None:
        """Export how many calls wait for a ``lane``: a queue of storage work with its own threads.

        :param lane: name of the lane, and value of the label ``thread``.
        :param waiting: returns the number.
        """
        self._instruments.gauge("bookkeeper_server_thread_executor_queue", waiting, thread=lane)

    def watch_permits(self, name: str, in_progress: Callable[[], float], blocked: Callable[[], float]) -> None:
        """Export the number of requests in progress, and of requests that wait because too many are in progress.

        :param name: ``ADD_ENTRY`` or ``READ_ENTRY``.
        :param in_progress: returns the number of requests in progress.
        :param blocked: returns the number of waiting requests.
        """
        self._instruments.gauge(f"bookkeeper_server_{name}_IN_PROGRESS", in_progress)
        self._instruments.gauge(f"bookkeeper_server_{name}_BLOCKED", blocked)


class ConnectionMetrics:
    """The metrics of a bookie's connections.

    :ivar replies_per_write: number of replies that were written to a socket together.  The common reply to several adds
        counts once for each add.
    """

    def __init__(self, instruments: Instruments) -> None:
        prefix = "bookie_connection_"
        self.replies_per_write = replies = instruments.histogram(prefix + "replies_per_write", _COUNTS)
        instruments.gauge(prefix + "replies", lambda: replies.sum, "counter")
        instruments.gauge(prefix + "writes", lambda: replies.count, "counter")
        self.accepted = instruments.counter("bookie_connections_accepted")
        self.refused = instruments.counter("bookie_connections_refused")
        self.refused_addresses = instruments.counter("bookie_connections_refused_by_share", of="address")
        self.refused_principals = instruments.counter("bookie_connections_refused_by_share", of="principal")
        self.evicted = instruments.counter("bookie_connections_evicted")
        self.timed_out = instruments.counter("bookie_connections_timed_out")
        self.broken = instruments.counter("bookie_connections_broken")
        self.shed = instruments.counter("bookie_connections_shed")
        self.failed_handshakes = instruments.counter("bookie_connections_failed_handshakes")
        self.active = instruments.counter("bookie_connections_active")
        self.pending_bytes = instruments.counter("bookie_connections_pending_bytes")
        self._instruments = instruments


    def watch_principals(self, kinds: Sequence[str], count: Callable[[str], float]) -> None:
        """Export the number of connections by the kind of their principal.

        :param count: returns the number of connections of a kind, when it is exported.
        """
        for kind in kinds:
            self._instruments.gauge("bookie_connections_by_principal", partial(count, kind), principal_kind=kind)


class AuthorizationMetrics:
    """The metrics of authorization.

    :param actions: the permissions for which refusals are counted.
    :ivar refused: the number of refused requests, by the permission that they needed.
    """

    def __init__(self, instruments: Instruments, actions: Sequence[str]) -> None:
        self.refused = {
            action: instruments.counter("bookie_authorization_refused", action=action) for action in actions
        }
        self._instruments = instruments

    def watch_audit(self, lost: Callable[[], float]) -> None:
        """Export the number of lines that the audit log has lost.

        :param lost: returns the number, when it is exported.
        """
        self._instruments.gauge("bookie_audit_log_lost_lines", lost, "counter")


class ThrottleMetrics:
    """The metrics of one speed limiter of background work.

    :ivar waited: seconds that requests to the limiter have waited, even those that were cancelled.
    """

    def __init__(self, instruments: Instruments, name: str) -> None:
        self.granted_entries = instruments.counter("throttle_granted_entries", throttle=name)
        self.granted_bytes = instruments.counter("throttle_granted_bytes", throttle=name)
        self.waited = instruments.counter("throttle_waited_seconds", throttle=name)
        self._instruments = instruments
        self._name = name

    def watch(self, waiting: Callable[[], float], entries: Callable[[], float], n_bytes: Callable[[], float]) -> None:
        """Export the number of waiting requests to the limiter, and its limits.

        :param waiting: returns the number of waiting requests.
        :param entries: returns the limit of entries a second, 0 for no limit.
        :param n_bytes: returns the limit of bytes a second, 0 for no limit.
        """
        self._instruments.gauge("throttle_waiting", waiting, throttle=self._name)
        self._instruments.gauge("throttle_limit_entries", entries, throttle=self._name)
        self._instruments.gauge("throttle_limit_bytes", n_bytes, throttle=self._name)


class YieldStatus(Protocol):
    """The degree to which background work is slowed down to serve clients faster, and the latency that decides this."""

    @property
    def bound(self) -> float: ...
    @property
    def factor(self) -> float: ...
    @property
    def latency(self) -> float | None: ...


class AdaptiveMetrics:
    """The metrics of background work that is slowed down while clients see high latencies.

    The metrics are the latency of clients and its bound, in ms, and the share of its speed limits that the work may
    use.

    :param status: returns an object with these three numbers.
    :param labels: labels that distinguish several kinds of such work in one process.
    """

    def __init__(
        self, instruments: Instruments, status: Callable[[], YieldStatus],
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        instruments.gauge("throttle_factor", lambda: status().factor, **labels)
        instruments.gauge("throttle_latency_bound_ms", lambda: status().bound, **labels)
        instruments.gauge("throttle_foreground_p99_ms", lambda: status().latency or 0.0, **labels)


class MaintenanceMetrics:
    """The metrics of garbage collection and compaction.

    :param labels: labels that :func:`directory_labels` returned.
    :ivar run, compaction: durations, in milliseconds, of garbage collections and of compactions.
    """

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        def counter(name: str) -> Counter:
            return instruments.counter("bookie_" + name, **labels)

        self.run = instruments.summary("bookie_THREAD_RUNTIME", **labels)
        self.compaction = instruments.summary("bookie_COMPACT_RUNTIME", **labels)
        self.deleted_ledgers = counter("DELETED_LEDGER_TOTAL")
        self.reclaimed_by_deletion = counter("RECLAIMED_DELETION_SPACE_BYTES")
        self.reclaimed_by_compaction = counter("RECLAIMED_COMPACTION_SPACE_BYTES")
        self.not_removed = counter("RECLAIM_FAILED_TO_DELETE")
        self.majors = counter("MAJOR_COMPACTION_TOTAL")
        self.minors = counter("MINOR_COMPACTION_TOTAL")
        self.compacted_bytes = counter("compacted_bytes")
        self._space: dict[int, tuple[int, int, int]] = {}
        self._usage: dict[int, list[int]] = {}
        for tenth in range(_TENTHS):
            name = f"bookie_entry_log_usage_buckets_le_{100 * (tenth + 1) // _TENTHS}"
            instruments.gauge(name, partial(self._logs_used, tenth), **labels)
        for column, name in enumerate(
            ("ACTIVE_ENTRY_LOG_TOTAL", "ACTIVE_ENTRY_LOG_SPACE_BYTES", "ENTRY_LOG_SPACE_BYTES")
        ):
            instruments.gauge("bookie_" + name, partial(self._total, column), **labels)
        self._instruments = instruments
        self._labels = labels

    def watch(self, done: Callable[[], float], left: Callable[[], float], eta: Callable[[], float]) -> None:
        """Export the progress of the compaction in progress.

        :param done: returns the number of bytes that the compaction has processed.
        :param left: returns the number of bytes that are left.
        :param eta: returns the estimated seconds until its end, not-a-number if unknown.
        """
        self._instruments.gauge("bookie_compaction_done_bytes", done, **self._labels)
        self._instruments.gauge("bookie_compaction_left_bytes", left, **self._labels)
        self._instruments.gauge("bookie_compaction_eta_seconds", eta, **self._labels)

    def watch_damage(self, damaged: Callable[[], float]) -> None:
        """Export the number of damaged entry logs, which compaction does not delete.

        :param damaged: returns the number of damaged logs.
        """
        self._instruments.gauge("bookie_damaged_entry_logs", damaged, **self._labels)

    def measured(self, directory: int, logs: Sequence[tuple[int, int]], used: int) -> None:
        """Record the sizes of the entry logs in a ledger directory; they replace the sizes recorded before.

        :param directory: index of the directory.
        :param logs: for each entry log with live entries, the bytes of all its entries and of the live ones.
        :param used: bytes of all entry logs.
        """
        self._space[directory] = len(logs), sum(live for _, live in logs), used
        tenths = [min(_TENTHS * live // max(n_bytes, 1), _TENTHS - 1) for n_bytes, live in logs]
        self._usage[directory] = [tenths.count(tenth) for tenth in range(_TENTHS)]

    def _logs_used(self, tenth: int) -> float:
        """Count the entry logs, in all directories, whose share of live bytes is in one of ten ranges.

        :param tenth: number of the range: 0 for shares below a tenth, 9 for the highest shares.
        """
        return sum(counts[tenth] for counts in self._usage.values())

    def _total(self, column: int) -> float:
        return sum(space[column] for space in self._space.values())


class ScrubMetrics:
    """The metrics of the scrub, which verifies stored entries.

    :param labels: labels that :func:`directory_labels` returned.
    :ivar damages: number of damaged ranges of entries found since the start of the process.
    :ivar marked: number of ledgers that were marked underreplicated because of damage.
    """

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        self.bytes = instruments.counter("bookie_scrubbed_bytes", **labels)
        self.damages = instruments.counter("bookie_scrub_damages", **labels)
        self.marked = instruments.counter("bookie_scrub_marked_ledgers", **labels)
        self._instruments = instruments
        self._labels = labels

    def watch(self, findings: Callable[[], float]) -> None:
        """Export the number of damaged ranges of entries that are known at present.

        :param findings: returns the number of damaged ranges.
        """
        self._instruments.gauge("bookie_damaged_runs", findings, **self._labels)
