"""The metrics of a bookie's operations on entries and ledgers, and of its journals."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..instruments import Instruments, Ring, Summary


class JournalGroup(NamedTuple):
    """The size and the times of one group of records: those that a journal wrote together.

    :ivar ended: time at which the group was complete, in seconds since the epoch.
    :ivar n_entries, n_bytes: number of entries in the group, and number of bytes of all its records.
    :ivar waited: seconds that the records waited in the queue, on average.
    :ivar written: seconds of the write; 0 if write and sync were one call.
    :ivar synced: seconds of the sync, or of the call that did both; None if the group was not synced.
    """

    ended: float
    n_entries: int
    n_bytes: int
    waited: float
    written: float
    synced: float | None


RECENT_GROUPS = 600
"""Number of the newest groups of journal records whose sizes and times are kept, to be shown on the web console."""


class JournalMetrics:
    """The metrics of one journal; latencies are in milliseconds.

    :ivar groups: the newest groups of records that the journal has written together, with their sizes and durations.
    """

    def __init__(self, instruments: Instruments, index: int) -> None:
        self.groups: Ring[JournalGroup] = Ring(RECENT_GROUPS)
        label = str(index)
        prefix = "bookie_journal_JOURNAL_"

        def summary(name: str) -> Summary:
            return instruments.summary(prefix + name, journalIndex=label)

        def latency(name: str) -> Summary:
            return instruments.latency(prefix + name, journalIndex=label)

        self.add_entry = latency("ADD_ENTRY")
        self.write = latency("FLUSH_LATENCY")
        self.sync = latency("SYNC")
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
        :param used: returns the size in bytes of these items.
        :param limit: maximum number of bytes of the queue.
        :param groups: returns the number of writes and syncs that the journal is doing now.
        """
        prefix, label = "bookie_journal_JOURNAL_", self._label
        self._instruments.gauge(prefix + "QUEUE_SIZE", length, "counter", journalIndex=label)
        self._instruments.gauge(prefix + "MEMORY_USED", used, journalIndex=label)
        self._instruments.gauge(prefix + "MEMORY_MAX", lambda: limit, journalIndex=label)
        self._instruments.gauge(prefix + "FORCE_WRITE_QUEUE_SIZE", groups, "counter", journalIndex=label)
        # In Apache's bookie, this metric is the length of the queue of callbacks after a sync.  In this bookie one call
        # completes all records of a sync, so there is no such queue, and the metric is always 0.
        self._instruments.gauge(prefix + "CB_QUEUE_SIZE", lambda: 0, "counter", journalIndex=label)


_READ_THREADS = "BookieReadThreadPool-read"
"""The value of the label ``thread``.

In Apache's bookie each thread of the pool ``BookieReadThreadPool`` has a queue of its own.  Here the threads that read
from disk share one queue, so this label always has the same value.
"""


class ReadThreadMetrics:
    """The metrics of the read threads: the queue of reads from disk, and the pool of threads that do this work.

    :ivar completed: number of reads that have ended, even if they failed or were cancelled.
    :ivar failed: number of reads that ended with an unexpected error.  A missing entry is not an error of a read.
    :ivar refused: number of reads that were refused because too many reads waited.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.completed = self.failed = self.refused = 0
        self._instruments = instruments
        # Apache's bookie counts completed reads twice, in the thread pool and in its threads.  Here, both metrics have
        # the same value.
        for name in ("completed", "tasks_completed"):
            self._export(name, lambda: self.completed)
        self._export("tasks_failed", lambda: self.failed)
        self._export("tasks_rejected", lambda: self.refused)

    def _export(self, name: str, read: Callable[[], float]) -> None:
        self._instruments.gauge("bookkeeper_server_thread_executor_" + name, read, thread=_READ_THREADS)

    def watch(self, waiting: Callable[[], float], threads: int, limit: int) -> None:
        """Export the length of the queue of reads from disk, and the number of threads.

        :param waiting: returns the number of reads that wait or are in progress.
        :param threads: number of threads that read from disk.
        :param limit: maximum number of reads that may wait.
        """
        self._export("queue", waiting)
        pool = "bookkeeper_server_BookieReadThreadPool_"
        self._instruments.gauge(pool + "queue_0", waiting)  # the name in old versions of Apache's bookie
        self._instruments.gauge(pool + "threads", lambda: threads)
        self._instruments.gauge(pool + "max_queue_size", lambda: limit)


class BookieMetrics:
    """The metrics of a bookie's operations on entries and ledgers.

    :param labels: labels for metrics of the ledger storage, which :func:`directory_labels` returned.
    """

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        self.write_bytes = instruments.counter("bookie_WRITE_BYTES")
        self.read_bytes = instruments.counter("bookie_READ_BYTES")
        self.force_ledger = instruments.counter("bookie_BOOKIE_FORCE_LEDGER")
        self.add_entry_bytes = instruments.summary("bookie_BOOKIE_ADD_ENTRY_BYTES")
        self.reads = ReadThreadMetrics(instruments)
        self.flush = instruments.latency("bookie_flush", **labels)
        self.flush_size = instruments.summary("bookie_flush_size", **labels)
        self.flush_without_space = instruments.counter("bookie_flush_without_space", **labels)
        self.readahead_batch_count = instruments.summary("bookie_readahead_batch_count", **labels)
        self.readahead_batch_size = instruments.summary("bookie_readahead_batch_size", **labels)
        self.throttled_write = instruments.latency("bookie_throttled_write", **labels)
        self.rejected_write_requests = instruments.counter("bookie_rejected_write_requests", **labels)
        self._instruments = instruments

    def watch(self, server_status: Callable[[], float], n_journals: int) -> None:
        """Export the status of the bookie and the number of its journals.

        :param server_status: returns 1 if the bookie is writable, 0 if it is read-only, -1 if it is not registered.
        :param n_journals: number of journal directories.
        """
        self._instruments.gauge("bookie_SERVER_STATUS", server_status)
        self._instruments.gauge("bookie_JOURNAL_DIRS", lambda: n_journals)
