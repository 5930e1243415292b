"""Simulated disks that can be full."""

import errno
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from .small_disk import COMMIT_BYTES, SmallDisk


class SmallDiskTests(SynchronousTestCase):
    """A disk of 10 sectors beside one that is never full."""

    def setUp(self) -> None:
        self.disk = SmallDisk({"/a": 5120})
        self.disk.make_directories("/a")
        self.disk.make_directories("/b")

    def refused(self, call: Callable[..., object], *args: object) -> None:
        self.assertEqual(self.assertRaises(OSError, call, *args).errno, errno.ENOSPC)

    def test_writes(self) -> None:
        """A write takes the sectors that it is the first to write; a gap takes none, a removal gives all back."""
        file = self.disk.open("/a/file", create=True)
        file.pwrite(bytes(100), 0)
        file.pwrite(bytes(1000), 100)
        file.truncate(1 << 20)
        self.assertEqual(self.disk.usage("/a"), (5120, 5120 - 3 * 512))
        self.refused(file.pwrite, bytes(8 * 512), 1536)
        self.assertEqual((self.disk.free("/a"), file.pread(512, 1536)), (7 * 512, bytes(512)))
        file.pwrite(bytes(7 * 512), 1536)
        file.pwrite(bytes(512), 512)
        self.refused(file.pwrite, b"x", 1 << 19)
        file.truncate(512)
        self.assertEqual(self.disk.free("/a"), 9 * 512)
        self.disk.unlink("/a/file")
        self.assertEqual(self.disk.free("/a"), 5120)
        self.disk.open("/b/file", create=True).pwrite(bytes(1 << 20), 0)

    def test_allocation(self) -> None:
        """What is allocated takes all of its bytes, and a write into it none; so after a power cut."""
        file = self.disk.open("/a/file", create=True)
        self.refused(file.allocate, 5121)
        file.allocate(5120)
        file.pwrite(bytes(5120), 0)
        file.sync(metadata=True)
        self.disk.sync_directory("/a")
        after = self.disk.crash(())
        assert isinstance(after, SmallDisk)
        self.assertEqual((self.disk.free("/a"), after.free("/a")), (0, 0))

    def test_others(self) -> None:
        """Other files take what is free, and a commit needs a little."""
        self.disk.fill("/a", COMMIT_BYTES)
        self.disk.commit("/a/index", (), b"")
        self.disk.fill("/a", COMMIT_BYTES - 1)
        self.refused(self.disk.commit, "/a/index", (), b"")
        self.assertEqual(self.disk.usage("/a")[1], COMMIT_BYTES - 1)
        self.disk.reserved = 1000
        self.assertEqual(self.disk.usage("/a")[1], COMMIT_BYTES - 1001)
        self.assertEqual(self.disk.allocatable("/a"), COMMIT_BYTES - 1)
        self.assertNotEqual(self.disk.disk("/a"), self.disk.disk("/b"))
