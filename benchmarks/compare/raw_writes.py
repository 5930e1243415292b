"""Writes bytes twice by the bare calls, as a bookie does: so much a disk gives for adds, whoever asks for it."""

import mmap
import os
import threading
import time
from pathlib import Path

from bookkeeper_twisted.storage.files.filesystem import RealFileSystem

_PIECE = 4 << 20
_PREALLOCATED, _BEGUN = 4, 8
"""Pieces that the journal is extended by, and after which the write-back of the log is begun."""


def raw_seconds(folder: Path, n_bytes: int) -> float:
    """Write so many bytes to a journal, durably and past the page cache, and beside it to a log, through it.

    :param folder: is made, and what is written there is removed.
    :returns: seconds until the kernel has written all back.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal, log = folder / "journal", folder / "log"
    threads = [threading.Thread(target=way, args=(path, n_bytes // _PIECE)) for way, path in (
        (_write_journal, journal), (_write_log, log),
    )]  # fmt: skip
    os.sync()
    try:
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.sync()
        seconds = time.perf_counter() - begun
        assert journal.stat().st_size >= n_bytes // _PIECE * _PIECE == log.stat().st_size
        return seconds
    finally:
        for path in (journal, log):
            path.unlink(missing_ok=True)


def _write_journal(path: Path, count: int) -> None:
    aligned = mmap.mmap(-1, _PIECE)
    aligned.write(os.urandom(_PIECE))
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
    for number in range(count):
        if not number % _PREALLOCATED:
            os.posix_fallocate(fd, number * _PIECE, _PREALLOCATED * _PIECE)
        os.pwrite(fd, aligned, number * _PIECE)
    os.close(fd)


def _write_log(path: Path, count: int) -> None:
    data = os.urandom(_PIECE)
    file = RealFileSystem().open(str(path), create=True)
    for number in range(count):
        file.pwrite(data, number * _PIECE)
        if number % _BEGUN == _BEGUN - 1:
            file.start_writeback((number + 1 - _BEGUN) * _PIECE, _BEGUN * _PIECE)
    file.close()
