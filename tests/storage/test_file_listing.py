"""The files in which a bookie keeps entries."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.file_listing import FileKind, files_of

from ..simulated_disk.sim_disk import SimDisk


class FilesTests(SynchronousTestCase):
    """Two directories, one with what Apache's bookie has below it."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        for directory in ("/a/current/ledgers/0", "/b/current"):
            self.disk.make_directories(directory)
        for path in (
            "/a/current/10.log", "/a/current/9.log", "/a/current/f.log", "/a/current/ff.txn", "/a/current/VERSION",
            "/a/current/a.log.compacting", "/a/current/index.sqlite", "/a/current/index.sqlite.replaced",
            "/a/current/ledgers/0/1.idx", "/b/current/1.log", "/b/outside.log",
        ):  # fmt: skip
            if path != "/b/outside.log":
                self.disk.open(path, create=True)

    def test_kinds(self) -> None:
        """Each kind has its files, in the order of the directories and of the numbers in their names."""
        logs = ["/a/current/9.log", "/a/current/f.log", "/a/current/10.log", "/b/current/1.log"]
        self.assertEqual(files_of(FileKind.ENTRY_LOG, self.disk, ["/a", "/b"]), logs)
        self.assertEqual(files_of(FileKind.JOURNAL, self.disk, ["/a", "/b"]), ["/a/current/ff.txn"])
        indexes = ["/a/current/index.sqlite", "/a/current/ledgers/0/1.idx"]
        self.assertEqual(files_of(FileKind.INDEX, self.disk, ["/a", "/b"]), indexes)

    def test_same_directory(self) -> None:
        """A directory that is named twice is listed once."""
        self.assertEqual(files_of(FileKind.JOURNAL, self.disk, ["/a", "/a"]), ["/a/current/ff.txn"])
