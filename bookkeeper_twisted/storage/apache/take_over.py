"""Takes over the directories of an Apache bookie: creates our indexes from Apache's indexes.

*The cookies tell whose index is valid.* As long as any directory has the cookie of Apache's bookie, Apache's indexes
are valid.  So a take-over completes our indexes before it deletes the first of these cookies, and an export completes
Apache's databases before it writes the first of these cookies.  After a crash, the take-over or export can begin again.
Databases in directories without a cookie of Apache's bookie were left by a crash, and are deleted.
"""

import posixpath

from ..cookies import APACHE_COOKIE_NAME
from ..interfaces import IFileSystem, IndexFactory
from ..rebuild import rebuild_index
from .database import discard_index, has_index
from .importing import Imported, check_states, import_index
from .index_files import index_files, remove, states_of
from .interfaces import OpenKeyValues
from .regrouping import Pairs, regroup


def is_apaches(fs: IFileSystem, directories: Pairs) -> bool:
    """Test whether any of the ``directories`` has a cookie of Apache's bookie.

    :param fs: the file system that holds the directories.
    """
    return any(
        fs.exists(posixpath.join(path, APACHE_COOKIE_NAME)) for path in (*directories.ledgers, *directories.indexes)
    )


def check_take_over(fs: IFileSystem, directories: Pairs, open_key_values: OpenKeyValues) -> None:
    """Check that the databases of Apache's bookie are readable, and that no other process has them open.

    :param directories: the ledger directories and their index directories.
    :param open_key_values: opens a database.
    :raises StorageError: :func:`take_over` would fail; nothing was changed.
    """
    for path in directories.indexes:
        if has_index(fs, path):
            check_states(fs, path, open_key_values)


def take_over(
    fs: IFileSystem, directories: Pairs, make_index: IndexFactory, open_key_values: OpenKeyValues
) -> Imported:
    """Create our index of each directory of an Apache bookie; Apache's indexes stay unchanged.

    For a directory without a RocksDB database, the index is created by a scan of the entry logs, with the ledger states
    from Apache's index files.  If no directory has a database, and there are several directories, the entries of each
    ledger are copied to the directory in which our bookie looks for the ledger (:mod:`.regrouping`).

    :param directories: the ledger directories and their index directories.
    :param make_index: creates a new index.
    :param open_key_values: opens a database.
    :raises StorageError: the take-over failed.  Apache's bookie can still use the directories, and this function can be
        called again.
    """
    check_take_over(fs, directories, open_key_values)
    total = Imported()
    files = [path for directory in directories.indexes for path in index_files(fs, directory)]
    if files and len(directories.ledgers) > 1 and not any(has_index(fs, path) for path in directories.indexes):
        return regroup(fs, directories, files, make_index)
    for path, index_path in zip(directories.ledgers, directories.indexes, strict=True):
        if has_index(fs, index_path):
            total.add(import_index(fs, path, index_path, make_index, open_key_values))
        else:
            states = states_of(fs, index_files(fs, index_path))
            rebuilt = rebuild_index(fs, path, index_path, make_index, states=states)
            rebuilt.index.close()
            total.add(Imported(rebuilt.entries, rebuilt.kept_states))
    return total


def discard_left_over(fs: IFileSystem, directories: Pairs) -> None:
    """Delete databases that a crash left next to our indexes; delete nothing if a directory has Apache's cookie.

    :raises OSError: a file could not be deleted.
    """
    if is_apaches(fs, directories):
        return
    for path in directories.indexes:
        if has_index(fs, path):
            discard_index(fs, path)


def discard_index_files(fs: IFileSystem, directories: Pairs) -> None:
    """Delete Apache's index files after a take-over, because our bookie does not use them.

    :raises OSError: a file could not be deleted.
    """
    for path in directories.indexes:
        remove(fs, index_files(fs, path))
