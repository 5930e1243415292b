"""What is found in a directory that a bookie may be serving."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.inspection import Inconsistency, StoredDirectory
from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from .entries import run
from .test_rebuild import write_log


class _Moving(SimIndex):
    """An index whose rows move, or go, after a page of them was read."""

    moves: IndexBatch

    def page(self, *asked: object) -> list[IndexRow]:
        page = super().page(*asked)  # type: ignore[arg-type]
        self.commit(self.moves)
        return page


class IndexedTests(SynchronousTestCase):
    """Directories with an index."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.rows = write_log(self.disk, [run(1, 0, 3), run(2, 0, 3)])
        self.index: Any = _Moving.open(self.disk, "/")
        self.index.commit(IndexBatch(runs=self.rows, complete=True))
        self.copied = write_log(self.disk, [run(1, 0, 3)])

    def _checked(self) -> list[Inconsistency]:
        return list(StoredDirectory(self.disk, "/", self.index).inconsistencies())

    def test_moved(self) -> None:
        """Entries whose log goes while they are checked are looked up again, and checked where they are now."""
        self.index.moves = IndexBatch(moved=self.copied, moved_from=frozenset((0,)), deleted_ledgers=[2])
        self.disk.unlink("/0.log")
        self.assertEqual(self._checked(), [])
        self.disk.open("/1.log").pwrite(b"?", 1024 + 50)
        (found,) = self._checked()
        self.assertEqual((found.ledger_id, found.entry_id), (1, 0))

    def test_not_moved(self) -> None:
        """Entries that the index still looks for in a log that is gone are inconsistent."""
        self.index.moves = IndexBatch(moved=self.copied, moved_from=frozenset((0,)))
        self.disk.unlink("/0.log")
        self.assertEqual([(found.ledger_id, found.entry_id) for found in self._checked()], [(2, 0)])

    def test_incomplete(self) -> None:
        """An index that does not speak for every log is closed, and does not count."""
        index = SimIndex.open(self.disk, "/", True)
        index.commit(IndexBatch(runs=self.rows))
        directory = StoredDirectory.open(self.disk, "/", "/", lambda fs, path: index)
        self.assertIs(directory.index, None)
        self.assertEqual([row.log_id for row in directory.rows(1)], [1])


class ScannedTests(SynchronousTestCase):
    """Directories without an index."""

    def test_rows(self) -> None:
        """The newest copy of each entry counts; what is left of an older row keeps its place."""
        disk = SimDisk()
        (old,) = write_log(disk, [run(1, 0, 10)])
        newer = write_log(disk, [run(1, 3, 2), run(1, 20, 2), run(2, 0, 9)])
        write_log(disk, [run(1, 8, 3)])
        found = [(row.first, row.last, row.log_id, row.offset) for row in StoredDirectory(disk, "/", None).rows(1)]
        self.assertEqual(
            found,
            [
                (0, 2, 0, old.offset), (3, 4, 1, newer[0].offset), (5, 7, 0, old.offset + 5 * 56), (8, 10, 2, 1024),
                (20, 21, 1, newer[1].offset),
            ],
        )  # fmt: skip
