"""The metrics of background work on stored entries: garbage collection, compaction and scrub."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from ..instruments import Counter, Instruments

_TENTHS = 10
"""Entry logs are counted by their share of live bytes, in this many ranges of equal width."""


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
        # Apache's bookie exported two of these counters under other names before version 4.10
        for name, counted in (("DELETED_LEDGER_COUNT", self.deleted_ledgers), ("MINOR_COMPACTION_COUNT", self.minors)):
            instruments.gauge("bookie_" + name, partial(_value, counted), "counter", **labels)
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

        :param directory: position of the directory in the configuration, from 0.
        :param logs: for each entry log with live entries: the size in bytes of all its entries, and of its live
            entries.
        :param used: size in bytes of all entry logs.
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


def _value(counter: Counter) -> float:
    return counter.value


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
