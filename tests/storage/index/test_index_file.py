"""The check of the structure of an index."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import index_file, run_index
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
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
