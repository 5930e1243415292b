"""Creates SQLite database files with private permissions, and detects lost database files before SQLite opens them."""

import os
from contextlib import suppress

PRIVATE_FILE = 0o600
"""Permissions of a file that only its owner may read."""


def make_private_file(path: str) -> None:
    """Create an empty file at ``path`` that only its owner can read; SQLite would create one that everyone can read.

    An existing file is not changed.  Errors are ignored, because SQLite reports them when it opens the file.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def has_lost_file(path: str) -> bool:
    """Test whether the database file ``path`` is missing or empty although its write-ahead log contains commits.

    Such a file was lost, because SQLite begins a log only after the first page of the file is durable.  Call this
    before SQLite opens the file, because SQLite would delete the log.  If ``path`` is a symbolic link, the log may be
    next to the link or next to its target.
    """
    return not _size(path) and any(_size(f"{place}-wal") for place in (path, os.path.realpath(path)))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
