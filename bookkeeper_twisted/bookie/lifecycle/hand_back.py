"""The way back to Apache's bookie: our indexes become those of its ``DbLedgerStorage``.

The journals are replayed first, so that nothing is left in them that only our index would lead to.  Databases, then
indexes, then cookies are exchanged: it may be cut off anywhere, and either of our bookie, with ``rebuildIndex=true``
where it asks for that, and Apache's can go on with everything, or it is run again.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from ...errors import InvalidCookieError, NoWritableDirectoryError
from ...storage.apache.exporting import Exported, export_index, hand_over, is_handed_over
from ...storage.apache.interfaces import OpenKeyValues
from ...storage.cookies import read_cookies, stamp_for_apache
from ...storage.interfaces import IFileSystem, IndexFactory
from ...storage.ledger_dirs import current
from .store import Store, StorePaths

ShowProgress = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]
"""Given a directory and the bytes of its entries; gives the function to call with bytes whose places are written."""


@attrs.frozen
class HandBack:
    """What is needed to hand the directories of a bookie back.  The caller holds their locks.

    :ivar open_store: opens the store over them, of which nothing is replayed yet.
    """

    fs: IFileSystem
    paths: StorePaths
    open_store: Callable[[], Store]
    make_index: IndexFactory
    open_key_values: OpenKeyValues
    progress: ShowProgress

    def run(self) -> list[Exported]:
        """Do it.

        :returns: what was written for each index directory of which that was not done before.
        :raises InvalidCookieError: the directories are not ours.
        :raises StorageError: it failed; the directories are still ours.
        """
        if not read_cookies(self.fs, self.paths.all()).found:
            raise InvalidCookieError(f"{self.paths.all()[0]} is not a directory of this bookie: nothing to hand back")
        indexes = [current(path) for path in self.paths.indexes]
        waiting = [path for path in indexes if not self._is_done(path)]
        if len(waiting) == len(indexes):  # else the journals were replayed, or are still as Apache's bookie left them
            self._replay()
        exported = [self._export(path) for path in waiting]
        hand_over(self.fs, waiting, self.make_index)
        stamp_for_apache(self.fs, self.paths.all())
        return exported

    def _is_done(self, index_directory: str) -> bool:
        index = self.make_index(self.fs, index_directory, False)
        try:
            return is_handed_over(self.fs, index_directory, index)
        finally:
            index.close()

    def _replay(self) -> None:
        store = self.open_store()
        try:
            store.recover()
            if store.disk_full:
                raise NoWritableDirectoryError("a ledger disk has no space for what the journals hold: make room first")
        finally:
            store.close()

    def _export(self, index_directory: str) -> Exported:
        index = self.make_index(self.fs, index_directory, False)
        try:
            with self.progress(index_directory, sum(index.live_bytes().values())) as advance:
                return export_index(self.fs, index_directory, index, self.open_key_values, advance)
        finally:
            index.close()
