"""Copies the live bytes of entry logs raw, with nothing else done to them: so much a disk gives for a copy."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bookkeeper_twisted.storage.files.disk_queue import DiskQueue, FileRange
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IFile
from bookkeeper_twisted.storage.ledger_dirs import entry_log_name
from bookkeeper_twisted.storage.maintenance.row_reader import PAGE, PASSED_OVER, STEP_BYTES, RowCutter, Step

from ..shared.machine import forget_pages

_PIECE = 1 << 20
_BYTES = os.urandom(_PIECE)


def raw_rate(directory: Path) -> float:
    """Copy the live bytes of a ledger directory, and throw the copy away.

    :param directory: ``current`` included; a bookie may have it open, but not compact it.
    :returns: bytes a second, durable, logs not in memory: past the page cache or through it, whichever is faster.
    """
    index = SqliteRunIndex.open_to_read(RealFileSystem(), str(directory))
    assert index is not None
    cutter = RowCutter(index)
    steps = list(iter(lambda: cutter.next_step(STEP_BYTES, PASSED_OVER), None))
    index.close()
    n_bytes = sum(step.n_bytes for step in steps)
    return max(n_bytes / _seconds(way, steps, directory) for way in (_past_the_cache, _through_the_cache))


Way = Callable[[Sequence[Step], dict[int, IFile], IFile], None]


def _seconds(way: Way, steps: Sequence[Step], directory: Path) -> float:
    log_ids = {extent.log_id for step in steps for extent in step.extents}
    direct = way is _past_the_cache
    for log_id in log_ids:
        forget_pages(directory / entry_log_name(log_id))
    os.sync()
    fs, path = RealFileSystem(), str(directory.parent / "raw-copy")
    begun = time.perf_counter()
    logs = {log_id: fs.open(str(directory / entry_log_name(log_id)), direct=direct) for log_id in log_ids}
    target = fs.open(path, create=True, direct=direct)
    try:
        way(steps, logs, target)
        target.sync()
        return time.perf_counter() - begun
    finally:
        for file in (*logs.values(), target):
            file.close()
        fs.unlink(path)


def _past_the_cache(steps: Sequence[Step], logs: dict[int, IFile], target: IFile) -> None:
    queue, at = DiskQueue(), 0
    target.truncate(sum(step.n_bytes + PAGE for step in steps))
    ranges = [
        [FileRange(logs[each.log_id], each.start, each.end - each.start) for each in step.extents] for step in steps
    ]
    queue.begin(ranges[0])
    for step, following in zip(steps, [*ranges[1:], []], strict=True):
        queue.begin(following)
        queue.take()
        for begin in range(0, step.n_bytes, _PIECE):
            n_pages = -(-min(_PIECE, step.n_bytes - begin) // PAGE)
            queue.write(target, [_BYTES[: n_pages * PAGE]], at)
            at += n_pages * PAGE
    queue.wait_for_writes()
    queue.close()


def _through_the_cache(steps: Sequence[Step], logs: dict[int, IFile], target: IFile) -> None:
    at = 0
    for step in steps:
        for piece in step.pieces:
            data = logs[piece.row.log_id].pread(piece.size, piece.offset)
            target.pwrite(data, at)
            target.start_writeback(at, len(data))
            at += len(data)
