"""The metrics of a bookie's ledger storage, and of its disks."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from ..instruments import Instruments

_NO_NAME = re.compile("[^A-Za-z0-9_]")
"""Characters that are not allowed in the name of a metric."""


def directory_labels(ledger_dirs: Sequence[str], index_dirs: Sequence[str]) -> Mapping[str, str]:
    """Return the labels of metrics of a ledger storage: its directories, separated by commas.

    :param ledger_dirs: paths of the ledger directories.
    :param index_dirs: paths of the index directories.
    """
    return {"indexDir": ",".join(index_dirs), "ledgerDir": ",".join(ledger_dirs)}


class StorageCounts(Protocol):
    """The counters of a ledger storage, for example cache hits, that its metrics export."""

    write_cache_hits: int
    read_cache_hits: int
    resident_hits: int
    cache_misses: int

    def pending_bytes(self) -> int: ...
    def pending_entries(self) -> int: ...
    def read_cache_bytes(self) -> int: ...
    def read_cache_entries(self) -> int: ...
    def ledger_count(self) -> int: ...
    def undeleted(self) -> int: ...
    def entry_count(self) -> int: ...


class StorageMetrics:
    """The metrics of a ledger storage, which read the counters of the storage at each export.

    :param labels: labels that :func:`directory_labels` returned.
    :param write_cache_limit: maximum number of bytes in the write caches.
    """

    def __init__(
        self, instruments: Instruments, storage: StorageCounts, labels: Mapping[str, str], write_cache_limit: int
    ) -> None:
        def counter(name: str, read: Callable[[], float]) -> None:
            instruments.gauge(name, read, "counter", **labels)

        counter("bookie_write_cache_hits", lambda: storage.write_cache_hits)
        counter("bookie_write_cache_misses", lambda: storage.read_cache_hits + storage.cache_misses)
        for end in ("", "_count"):  # old versions exported summaries, whose names end with "_count"
            counter("bookie_read_cache_hits" + end, lambda: storage.read_cache_hits + storage.resident_hits)
            counter("bookie_read_cache_misses" + end, lambda: storage.cache_misses - storage.resident_hits)
        instruments.gauge("bookie_write_cache_size", storage.pending_bytes, **labels)
        instruments.gauge("bookie_write_cache_count", storage.pending_entries, **labels)
        instruments.gauge("bookie_read_cache_size", storage.read_cache_bytes, **labels)
        instruments.gauge("bookie_read_cache_count", storage.read_cache_entries, **labels)
        instruments.gauge("bookie_write_cache_max_size", lambda: write_cache_limit)
        # Apache's bookie exports the number of ledgers twice, by its ledger storage and by its garbage collector
        for name in ("bookie_ledgers_count", "bookie_ACTIVE_LEDGER_TOTAL"):
            instruments.gauge(name, storage.ledger_count, **labels)
        instruments.gauge("bookie_undeleted_ledgers", storage.undeleted, **labels)
        instruments.gauge("bookie_entries_count", storage.entry_count, **labels)
        # old versions of Apache's bookie exported four of these numbers under the following names
        for name, read in {
            "ledgers_count": storage.ledger_count, "entries_count": storage.entry_count,
            "write_cache_size": storage.pending_bytes, "read_cache_size": storage.read_cache_bytes,
        }.items():  # fmt: skip
            instruments.gauge("bookie_storage_" + name, read, **labels)


class DiskMetrics:
    """The metrics of the disks of ledger and journal directories.

    :param directories: paths of the ledger directories.
    :param journals: paths of the journal directories.
    :param used: returns the used share of the disk of a directory, from 0 to 1, as measured by the last check; None if
        the directory could not be measured, and then its usage is not exported.
    :param writable: returns the number of writable ledger directories.
    """

    def __init__(
        self, instruments: Instruments, directories: Sequence[str], journals: Sequence[str],
        used: Callable[[str], float | None], writable: Callable[[], float],
    ) -> None:  # fmt: skip
        instruments.gauge("bookie_ledger_writable_dirs", writable)
        instruments.gauge("bookie_ledger_num_dirs", lambda: len(directories))
        for directory in directories:
            percent = partial(_percent, used, directory)
            instruments.gauge(f"bookie_ledger_dir_{_NO_NAME.sub('_', directory)}_usage", percent)
            instruments.gauge("bookie_ledger_dir_usage", percent, ledgerDir=directory)
            instruments.gauge("bookie_ledger_dir_usable", partial(_is_usable, used, directory), ledgerDir=directory)
        for index, directory in enumerate(journals):
            percent = partial(_percent, used, directory)
            instruments.gauge("bookie_journal_dir_usage", percent, journalIndex=str(index), journalDir=directory)


def _percent(used: Callable[[str], float | None], directory: str) -> float | None:
    share = used(directory)
    return None if share is None else 100 * share


def _is_usable(used: Callable[[str], float | None], directory: str) -> int:
    return int(used(directory) is not None)
