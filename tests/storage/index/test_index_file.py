"""The file of an index: the check of its structure, and its log without it."""

import os
import shutil
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError, StorageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import index_file, run_index
from bookkeeper_twisted.storage.index.run_index import FILE_NAME, SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch

from ..entries import row


class StructureCheckTests(SynchronousTestCase):
    """A check that another thread interrupts."""

    def setUp(self) -> None:
        self.fs, self.directory = RealFileSystem(), self.mktemp()
        self.fs.make_directories(self.directory)
        index = SqliteRunIndex.open(self.fs, self.directory)
        index.commit(IndexBatch(runs=[row(1, first, first) for first in range(500)], complete=True))
        index.close()

    def test_interrupted(self) -> None:
        """A check that is interrupted, before it begins or while it compares rows, ends and proves nothing."""
        self.patch(run_index, "CHECKED_WHOLE", 0)
        self.patch(index_file, "_INSTRUCTIONS", 1)
        check_structure = index_file.check_structure
        for large in (True, False):
            index = SqliteRunIndex.open(self.fs, self.directory, check_later=large)

            def interrupt_and_check(*args: Any, index: SqliteRunIndex = index) -> None:
                index.interrupt()
                check_structure(*args)

            self.patch(index_file, "check_structure", interrupt_and_check)
            self.assertIn("interrupted", str(self.assertRaises(StorageError, index.check)))
            self.patch(index_file, "check_structure", self.fail)
            self.assertIn("interrupted", str(self.assertRaises(StorageError, index.check)))
            self.patch(index_file, "check_structure", check_structure)
            self.assertEqual(index.checked, not large)
            index.close()


    def test_error(self) -> None:
        """The error of a damaged index is one line, and says how to start; so it is of a file that is none."""
        help_ = "; start once with rebuildIndex=true to make the index from the entry logs"
        path = os.path.join(self.directory, FILE_NAME)
        for page in (3, 1):
            with open(path, "r+b") as file:
                file.seek((page - 1) * 4096)
                file.write(bytes(range(256)) * 16)
            error = str(self.assertRaises(DamageError, SqliteRunIndex.open, self.fs, self.directory))
            self.assertTrue(error.startswith(f"{path} is damaged: "), error)
            self.assertTrue(error.endswith(help_), error)
            self.assertTrue(error.isprintable(), error)
            self.assertNotIn("***", error)


class LostFileTests(SynchronousTestCase):
    """The write-ahead log of an index without the index."""

    def test_lost_file(self) -> None:
        """Where the file is gone or empty, its log stays, and no index is made: put back, the file has all commits."""
        fs, directory = RealFileSystem(), self.mktemp()
        fs.make_directories(directory)
        path = os.path.join(directory, FILE_NAME)
        index = SqliteRunIndex.open(fs, directory)
        index.commit(IndexBatch(runs=[row(1, 0, 9)], complete=True))
        shutil.copy(f"{path}-wal", f"{path}-killed")
        index.close()
        os.rename(f"{path}-killed", f"{path}-wal")
        size = os.path.getsize(f"{path}-wal")
        os.rename(path, f"{path}-away")
        for _ in range(2):
            error = self.assertRaises(StorageError, SqliteRunIndex.open, fs, directory)
            self.assertRegex(str(error), f"{path} is missing or empty, but {path}-wal .*rebuildIndex=true")
            with open(path, "wb"):
                pass
        self.assertEqual(os.path.getsize(f"{path}-wal"), size)
        os.replace(f"{path}-away", path)
        index = SqliteRunIndex.open(fs, directory)
        self.addCleanup(index.close)
        self.assertEqual((index.complete, index.commits), (True, 1))
        fresh = SqliteRunIndex.open(fs, directory, fresh=True)
        self.addCleanup(fresh.close)
        self.assertFalse(fresh.complete)
