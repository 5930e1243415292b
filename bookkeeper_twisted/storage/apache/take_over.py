"""Takes directories over from Apache's bookie: makes our indexes from its indexes.

*The cookies say whose index is valid.*  As long as one directory has Apache's, its indexes are the valid ones: a
take-over completes ours before the first of these cookies goes, an export completes the databases before the first one
comes.  So either can be cut off anywhere and begun anew.  Databases without such a cookie are left from a crash, and
are removed.
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
    """Test whether one of the ``directories`` has the cookie of Apache's bookie.

    :param fs: the file system of the directories.
    """
    return any(
        fs.exists(posixpath.join(path, APACHE_COOKIE_NAME)) for path in (*directories.ledgers, *directories.indexes)
    )


def check_take_over(fs: IFileSystem, directories: Pairs, open_key_values: OpenKeyValues) -> None:
    """Check that the databases of Apache's bookie can be read, and that no bookie has them open.

    :param directories: of entry logs and indexes.
    :param open_key_values: opens a database.
    :raises StorageError: :func:`take_over` would fail; nothing was changed.
    """
    for path in directories.indexes:
        if has_index(fs, path):
            check_states(fs, path, open_key_values)


def take_over(
    fs: IFileSystem, directories: Pairs, make_index: IndexFactory, open_key_values: OpenKeyValues
) -> Imported:
    """Make our index for each directory of Apache's bookie; its own indexes stay unchanged.

    A directory without a database is scanned, and the states of its ledgers come from its index files.  Several
    directories with index files are regrouped.

    :param directories: of entry logs and indexes.
    :param make_index: makes a new index.
    :param open_key_values: opens a database.
    :raises StorageError: the take-over failed; Apache's bookie can go on, or this can be called again.
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
    """Remove databases of Apache's bookie beside our indexes, unless one of the ``directories`` has its cookie.

    :raises OSError: a file of ``fs`` could not be removed.
    """
    if is_apaches(fs, directories):
        return
    for path in directories.indexes:
        if has_index(fs, path):
            discard_index(fs, path)


def discard_index_files(fs: IFileSystem, directories: Pairs) -> None:
    """Remove the index files of ``directories`` after a take-over, as only Apache's bookie would read them.

    :raises OSError: a file of ``fs`` could not be removed.
    """
    for path in directories.indexes:
        remove(fs, index_files(fs, path))
