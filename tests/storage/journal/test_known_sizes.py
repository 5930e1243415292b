"""The sizes on record of the newest journal files."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.journal.known_sizes import SIZES_NAME, KnownSize, KnownSizes

from .journals import DIRECTORY, content, new_disk


class KnownSizesTests(SynchronousTestCase):
    """See the module."""

    def setUp(self) -> None:
        self.disk = new_disk()
        self.sizes = KnownSizes(self.disk, DIRECTORY)

    def known(self) -> list[tuple[int, int]]:
        """Newest and previous file, as a process finds them after a power cut."""
        sizes = KnownSizes(self.disk.crash(()), DIRECTORY)
        return [(each.file_id, each.size) for each in (sizes.newest, sizes.previous)]

    def test_nothing_known(self) -> None:
        """To look creates no file."""
        self.assertEqual((self.sizes.newest, self.sizes.of(1), self.disk.list(DIRECTORY)), (KnownSize(), 0, []))
        self.sizes.close()

    def test_record(self) -> None:
        """What was recorded is durable, of two files; another size of the newest replaces its first."""
        self.sizes.open()
        self.assertEqual(self.known(), [(0, 0), (0, 0)])
        self.sizes.record(1000, 4096)
        self.assertEqual(self.known(), [(1000, 4096), (0, 0)])
        self.sizes.record(1001, 8192)
        self.sizes.record(1001, 16384)
        self.assertEqual(self.known(), [(1001, 16384), (1000, 4096)])
        self.assertEqual([self.sizes.of(i) for i in (999, 1000, 1001, 1002)], [0, 4096, 16384, 0])
        self.assertEqual(len(content(self.disk, SIZES_NAME)), 512)

    def test_forget(self) -> None:
        """Of a file that goes no size is kept; of another none goes."""
        self.sizes.open()
        self.sizes.record(1000, 4096)
        self.sizes.record(1001, 8192)
        self.sizes.close()
        again = KnownSizes(self.disk, DIRECTORY)
        again.forget(1002)
        self.assertEqual(self.known(), [(1001, 8192), (1000, 4096)])
        again.forget(1001)
        self.assertEqual(self.known(), [(1000, 4096), (0, 0)])

    def test_no_descriptors(self) -> None:
        """An opening that got no descriptor is made up for later, with the sync of the directory."""
        for name in ("create", "sync_directory"):
            self.disk.fail(errno.EMFILE, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
            self.assertRaises(OSError, self.sizes.open)
        self.sizes.open()
        self.sizes.record(1000, 4096)
        self.assertEqual(self.known(), [(1000, 4096), (0, 0)])
        before = len(self.disk.operations)
        self.sizes.open()
        self.assertEqual(len(self.disk.operations), before)

    def test_unreadable(self) -> None:
        """A file that cannot be read is an error (S5)."""
        self.sizes.open()
        self.sizes.record(1000, 4096)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread")
        self.assertRaises(OSError, KnownSizes, self.disk, DIRECTORY)
