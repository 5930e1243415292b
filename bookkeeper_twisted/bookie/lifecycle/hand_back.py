"""Prepares the directories of our bookie for Apache's bookie: exports our indexes to an index format of Apache's.

The journals are replayed first, so that all their entries are in the exported indexes.  Our cookies are replaced by
Apache's only when all these indexes exist.  After a crash at any point, no entry is lost: our bookie can serve the
directories (it may ask for ``rebuildIndex=true``), or Apache's bookie can serve them, or the export can be run again.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing

import attrs

from ...errors import InvalidCookieError, NoWritableDirectoryError, StorageError
from ...storage.apache.database import discard_log_sizes
from ...storage.apache.exporting import Exported, WriteIndex
from ...storage.apache.index_files import index_files, remove
from ...storage.cookies import read_cookies, stamp_for_apache
from ...storage.files.space_reserve import remove as remove_reserve
from ...storage.index.rows import live_bytes
from ...storage.interfaces import IFileSystem, IndexFactory
from ...storage.ledger_dirs import current, directory_index, distinct
from .store import Store, StorePaths

ShowProgress = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]
"""A function that shows the progress of an export.

For each directory, the export uses it like this, with the number of bytes of all entries in the directory::

    with show(directory, n_bytes) as advance:
        advance(n)  # n more bytes were exported; called many times
"""


@attrs.frozen
class HandBack:
    """An export of a bookie's directories for Apache's bookie.  The directories must be locked before and during it.

    :ivar open_store: opens the journals and the ledger storage, without a replay.
    :ivar write_index: writes the index of a directory for Apache's bookie.
    """

    fs: IFileSystem
    paths: StorePaths
    open_store: Callable[[], Store]
    make_index: IndexFactory
    write_index: WriteIndex
    progress: ShowProgress

    def run(self) -> list[Exported]:
        """Export the indexes, and replace our cookies by Apache's.

        :returns: the result for each index directory; empty if the directories have Apache's cookies, because an
            interrupted run had exported all indexes.
        :raises InvalidCookieError: the directories do not belong to our bookie.
        :raises StorageError: the export failed; the directories still belong to our bookie.
        """
        cookies = read_cookies(self.fs, self.paths.all())
        if not cookies.found:
            raise InvalidCookieError(f"{self.paths.all()[0]} is not a directory of this bookie: nothing to hand back")
        indexes = [current(path) for path in self.paths.indexes]
        exported: list[Exported] = []
        # If the cookies are those of Apache's bookie, the indexes already have Apache's format: Apache's bookie or an
        # interrupted run of this export has written them.
        if not cookies.of_apache:
            self._check(indexes)
            self._replay()
            exported = [self._export(path) for path in indexes]
            for path in self.paths.ledgers:
                discard_log_sizes(self.fs, current(path))  # Apache's bookie cached these sizes; they are outdated
        for path in distinct(self.paths.ledgers, self.paths.indexes):
            remove_reserve(self.fs, current(path))
        stamp_for_apache(self.fs, self.paths.all())
        for path in indexes:
            # Replace our index by an empty index, because it will be outdated once Apache's bookie has added entries.
            self.make_index(self.fs, path, True).close()
        return exported

    def _check(self, index_directories: Sequence[str]) -> None:
        """Check that the indexes are complete, and that Apache's bookie will find each ledger.

        Apache's bookie computes from the id of a ledger in which directory to search for it.

        :raises StorageError: an index is not complete, or has ledgers for which Apache's bookie would search in another
            directory.
        """
        for number, path in enumerate(index_directories):
            with closing(self.make_index(self.fs, path, False)) as index:
                if not index.complete:
                    raise StorageError(f"{path} holds no complete index: rebuild-db-ledger-locations-index makes one")
                count = sum(directory_index(row.ledger_id, len(index_directories)) != number for row in index.ledgers())
            if count:
                raise StorageError(
                    f"{path}: {count} ledgers have been there since before directories joined, where Apache's bookie"
                    " would not find them: decommission the bookie, or wait until they are deleted"
                )

    def _replay(self) -> None:
        with closing(self.open_store()) as store:
            store.recover()
            if store.no_space:
                text = "a ledger disk has no space for what the journals hold: make room first"
                raise NoWritableDirectoryError(f"{text}: {store.no_space}")

    def _export(self, index_directory: str) -> Exported:
        with (
            closing(self.make_index(self.fs, index_directory, False)) as index,
            self.progress(index_directory, live_bytes(index)) as advance,
        ):
            remove(self.fs, index_files(self.fs, index_directory))  # a crash may have left outdated index files
            return self.write_index(self.fs, index_directory, index, advance)
