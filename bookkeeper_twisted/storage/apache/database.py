"""The paths of the databases of ``DbLedgerStorage``, and their removal.

A database without its file ``CURRENT`` is invalid.  So that file is removed first: a removal that is cut off leaves
nothing that could be opened.
"""

import posixpath

from ..interfaces import IFileSystem

LEDGERS = "ledgers"
LOCATIONS = "locations"
_LOG_SIZES = "metadata-cache"
_CURRENT = "CURRENT"


def database_path(index_directory: str, name: str) -> str:
    """Return the directory of a database.

    :param index_directory: ``current`` included.
    """
    return posixpath.join(index_directory, name)


def is_database(fs: IFileSystem, index_directory: str, name: str) -> bool:
    """Test whether an index directory holds the database called ``name``.

    :param index_directory: its path, ``current`` included.
    """
    return fs.exists(posixpath.join(index_directory, name, _CURRENT))


def has_index(fs: IFileSystem, index_directory: str) -> bool:
    """Test whether an index directory holds the locations of entries in a database of Apache's bookie.

    :param index_directory: its path, ``current`` included.
    """
    return is_database(fs, index_directory, LOCATIONS)


def discard_index(fs: IFileSystem, index_directory: str) -> None:
    """Remove the databases from an index directory, beginning with the entry locations; durable on return.

    :param index_directory: its path, ``current`` included.
    :raises OSError: a file could not be removed; others may be left, too.
    """
    for name in (LOCATIONS, LEDGERS):
        _discard(fs, database_path(index_directory, name))


def discard_log_sizes(fs: IFileSystem, directory: str) -> None:
    """Remove the sizes of entry logs that Apache's bookie may have stored; it computes missing ones again.

    :param directory: of entry logs, ``current`` included.
    """
    _discard(fs, database_path(directory, _LOG_SIZES))


def _discard(fs: IFileSystem, path: str) -> None:
    if not fs.is_directory(path):
        return
    names = fs.list(path)
    if _CURRENT in names:
        fs.unlink(posixpath.join(path, _CURRENT))
        fs.sync_directory(path)
    for name in names:
        if name != _CURRENT:
            fs.unlink(posixpath.join(path, name))
    if names:
        fs.sync_directory(path)
