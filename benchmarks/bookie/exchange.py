"""``python -m benchmarks exchange``: seconds and memory of the exchange of an index with Apache's ``DbLedgerStorage``.

Entries of many ledgers in turn, 1,000 of a ledger side by side, in one directory.  Each step is a process of its own:
the export, the import of what it made, and beside it the rebuild from the entry logs.
"""

import os
import resource
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.queues import Queue

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.storage.apache.exporting import export_index
from bookkeeper_twisted.storage.apache.importing import import_index
from bookkeeper_twisted.storage.apache.rocksdb import RocksKeyValues
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch, LedgerRow
from bookkeeper_twisted.storage.rebuild import rebuild_index

_RUN = 1000
_LOG_SIZE = 1 << 30
_FS = RealFileSystem()


def _fill(path: str, n_entries: int, n_ledgers: int, size: int) -> int:
    payload = bytes(size)
    with closing(SqliteRunIndex.open(_FS, path)) as index, closing(EntryLogWriter.open(_FS, path, _LOG_SIZE)) as log:
        index.commit(IndexBatch(ledgers=[LedgerRow(i, b"key" * 7) for i in range(n_ledgers)], complete=True))
        for number in range(n_entries // _RUN):
            ledger_id, turn = number % n_ledgers, number // n_ledgers
            ids = range(turn * _RUN, turn * _RUN + _RUN)
            heads = [ledger_id.to_bytes(8, "big") + entry_id.to_bytes(8, "big") for entry_id in ids]
            run = EntryRun.of_entries(ledger_id, ids[0], [head + payload for head in heads])
            index.commit(IndexBatch(runs=log.append(run)))
        log.sync()
    return n_entries


def _export(path: str) -> int:
    with closing(SqliteRunIndex.open(_FS, path)) as index:
        return export_index(_FS, path, index, RocksKeyValues.open).entries


def _import(path: str) -> int:
    return import_index(_FS, path, path, SqliteRunIndex.open, RocksKeyValues.open).entries


def _rebuild(path: str) -> int:
    rebuilt = rebuild_index(_FS, path, path, SqliteRunIndex.open)
    rebuilt.index.close()
    return rebuilt.entries


def _measured(answers: "Queue[tuple[int, float, float]]", work: Callable[..., int], *given: object) -> None:
    start = time.perf_counter()
    count = work(*given)
    answers.put((count, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def _in_a_process(name: str, work: Callable[..., int], *given: object) -> None:
    context = get_context("spawn")
    answers: Queue[tuple[int, float, float]] = context.Queue()
    process = context.Process(target=_measured, args=(answers, work, *given))
    process.start()
    count, seconds, peak = answers.get()
    process.join()
    rate = count / seconds
    print(f"{name:8} {count:>12,} entries {seconds:8.1f} s {rate:>12,.0f} entries/s {peak:8.0f} MiB", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run all steps and print a line for each; returns the exit status."""
    parser = ArgumentParser(prog="python -m benchmarks exchange", description=__doc__)
    parser.add_argument("--entries", type=int, default=5_000_000)
    parser.add_argument("--ledgers", type=int, default=1000)
    parser.add_argument("--size", type=int, default=100, help="bytes of an entry beside its ids (%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="exchange-") as path:
        size = options.size + 16
        print(f"{options.entries:,} entries of {size} B in {options.ledgers:,} ledgers, {os.cpu_count()} cores")
        _in_a_process("fill", _fill, path, options.entries, options.ledgers, options.size)
        _in_a_process("export", _export, path)
        _in_a_process("import", _import, path)
        _in_a_process("rebuild", _rebuild, path)
    return 0
