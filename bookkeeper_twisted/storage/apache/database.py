"""The directories of the databases of ``DbLedgerStorage``, and how to delete them.

RocksDB cannot open a database without the file ``CURRENT``.  So this file is deleted first: if a crash interrupts the
deletion, the remaining files cannot be opened as a database.
"""

import posixpath

from ..interfaces import IFileSystem

LEDGERS = "ledgers"
LOCATIONS = "locations"
_LOG_SIZES = "metadata-cache"
_CURRENT = "CURRENT"


def database_path(index_directory: str, name: str) -> str:
    """Return the path of the database called ``name``.

    :param index_directory: path of the index directory, ending in ``current``.
    """
    return posixpath.join(index_directory, name)


def is_database(fs: IFileSystem, index_directory: str, name: str) -> bool:
    """Test whether an index directory contains the database called ``name``.

    :param index_directory: path of the index directory, ending in ``current``.
    """
    return fs.exists(posixpath.join(index_directory, name, _CURRENT))


def has_index(fs: IFileSystem, index_directory: str) -> bool:
    """Test whether an index directory contains the database ``locations``, Apache's index of the entries.

    :param index_directory: path of the index directory, ending in ``current``.
    """
    return is_database(fs, index_directory, LOCATIONS)


def discard_index(fs: IFileSystem, index_directory: str) -> None:
    """Delete both databases from an index directory, ``locations`` first; the deletion is durable on return.

    :param index_directory: path of the index directory, ending in ``current``.
    :raises OSError: a file could not be deleted; other files may still exist, too.
    """
    for name in (LOCATIONS, LEDGERS):
        _discard(fs, database_path(index_directory, name))


def discard_log_sizes(fs: IFileSystem, directory: str) -> None:
    """Delete the database in which Apache's bookie caches the sizes of entry logs; it can compute them again.

    :param directory: path of a ledger directory, ending in ``current``.
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
