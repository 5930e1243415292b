"""Commits whose sync fails, beneath SQLite, and what the next process finds of them."""

import os
import shutil
import sqlite3

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch

from ...sqlite_syncs import recorded_syncs
from ..entries import row
from .test_run_index import InADirectory


class FailedCommitTests(InADirectory):
    """The frames of such a commit lie whole in the write-ahead log."""

    def _moved(self, failures: int) -> SqliteRunIndex:
        """An index whose rows are to move to log 9, by a commit whose sync fails, as do the next ones."""
        left = [0]

        def fails(name: str) -> bool:
            left[0] -= 1
            return left[0] >= 0 and name.endswith("-wal")

        with recorded_syncs(fails):
            index = self.new()
            reader = sqlite3.connect(self.path, isolation_level=None)  # keeps the log from being begun anew
            self.addCleanup(reader.close)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM runs").fetchall()
            index.commit(IndexBatch(runs=[row(1, 0, 9)]))
            left[0] = failures
            batch = IndexBatch(moved=[row(1, 0, 9, 9)], moved_from=frozenset([0]))
            self.assertRaises(StorageError, index.commit, batch)
        self.assertEqual([*index.rows(1)], [row(1, 0, 9)])
        return index

    def _restarted(self) -> SqliteRunIndex:
        """The index as the next process finds it after this one was killed."""
        copied = self.mktemp()
        os.makedirs(copied)
        for suffix in ("", "-wal"):
            shutil.copy(self.path + suffix, copied)
        self.directory = copied
        return self.open()

    def test_failed_sync(self) -> None:
        """A commit whose sync failed is none for the next process either (S8)."""
        self._moved(1).check()
        self.assertEqual([*self._restarted().rows(1)], [row(1, 0, 9)])

    def test_failed_syncs(self) -> None:
        """If that cannot be had, the index says that it is not known, until a commit succeeds (S8)."""
        index = self._moved(2)
        self.assertIn("whether a restart finds it", str(self.assertRaises(StorageError, index.check)))
        index.commit(IndexBatch(runs=[row(2, 0, 9)]))
        index.check()
