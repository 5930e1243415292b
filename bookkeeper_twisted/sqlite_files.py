"""The files of SQLite databases, as SQLite does not treat them: private, and not replaced where one of them is lost."""

import os
from contextlib import suppress

PRIVATE_FILE = 0o600
"""Permissions of a file that only its owner may read."""


def make_private_file(path: str) -> None:
    """Make an empty file at ``path`` that only its owner can read; SQLite would make a file that everyone can read.

    An existing file stays as it is.  Errors are ignored here: SQLite opens the file next and reports them.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def has_lost_file(path: str) -> bool:
    """Test whether SQLite's write-ahead log of ``path`` has commits, but the file itself is missing or empty.

    SQLite would delete such a log.  It never makes one before the first page of its file is durable.  The log of a file
    behind a symbolic link is beside the file.
    """
    return not _size(path) and any(_size(f"{place}-wal") for place in (path, os.path.realpath(path)))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
