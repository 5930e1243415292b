"""Takes directories over from Apache's ``DbLedgerStorage``, and sees that one index alone speaks for each of them."""

import posixpath
from collections.abc import Sequence

import attrs

from ...errors import DamageError, StorageError
from ..cookies import APACHE_COOKIE_NAME
from ..interfaces import IFileSystem, IndexFactory
from ..rebuild import rebuild_index
from .database import discard_index, has_index
from .importing import Imported, check_states, import_index
from .interfaces import OpenKeyValues


@attrs.frozen
class Pairs:
    """The directories of a bookie, ``current`` included, paired by position."""

    ledgers: Sequence[str]
    indexes: Sequence[str]


def check_take_over(fs: IFileSystem, directories: Pairs, open_key_values: OpenKeyValues) -> None:
    """Check that the databases of Apache's bookie can be read, and that it does not have them open.

    :raises StorageError: :func:`take_over` would fail; nothing is changed.
    """
    for path in directories.indexes:
        if has_index(fs, path) and fs.exists(posixpath.join(path, APACHE_COOKIE_NAME)):
            check_states(fs, path, open_key_values)


def take_over(
    fs: IFileSystem, directories: Pairs, make_index: IndexFactory, open_key_values: OpenKeyValues
) -> Imported | None:
    """Import the index of each directory that has only one of Apache's.

    A run that was cut off is taken up where it ended; directories with neither index are scanned.

    :returns: None where there is none: the indexes are to be rebuilt from the entry logs, if at all.
    """
    waiting = [path for path in directories.indexes if has_index(fs, path) and not _is_ours(fs, path, make_index)]
    if not waiting:
        return None
    total = Imported()
    for path, index_path in zip(directories.ledgers, directories.indexes, strict=True):
        if index_path in waiting:
            total.add(import_index(fs, path, index_path, make_index, open_key_values))
        elif _is_ours(fs, index_path, make_index):
            discard_index(fs, index_path)
        else:
            rebuild_index(fs, path, index_path, make_index).index.close()
    return total


def settle(fs: IFileSystem, directories: Pairs, make_index: IndexFactory) -> None:
    """Remove databases that a crash has left beside a complete index of ours.

    :raises StorageError: a database speaks for a directory, because an export or a take-over was cut off.
    """
    for path in directories.indexes:
        if not has_index(fs, path):
            continue
        if not _is_ours(fs, path, make_index):
            raise StorageError(
                f"{path} has the index of Apache's bookie: a take-over or an export was cut off. Start once with"
                " rebuildIndex=true to take the directories over, or give them back with convert-to-db-storage"
            )
        discard_index(fs, path)


def _is_ours(fs: IFileSystem, index_directory: str, make_index: IndexFactory) -> bool:
    """Whether our index speaks for a directory; one that is damaged did, and databases beside it are older."""
    try:
        index = make_index(fs, index_directory, False)
    except DamageError:
        return True
    try:
        return index.complete
    finally:
        index.close()
