"""Real files: the contract, and what the contract cannot see."""

import errno
import os

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage import filesystem
from bookkeeper_twisted.storage.filesystem import RealFile, RealFileSystem
from bookkeeper_twisted.storage.interfaces import IFileSystem
from bookkeeper_twisted.testing.contracts.filesystem_contract import make_filesystem_tests


def _make(case: SynchronousTestCase) -> tuple[IFileSystem, str]:
    base = os.path.abspath(case.mktemp())
    os.makedirs(base)
    return RealFileSystem(), base


class RealFileSystemTests(make_filesystem_tests(_make)):  # type: ignore[misc]
    """The contract on the disk of this machine."""


class RelativePathTests(SynchronousTestCase):
    """Paths below the working directory, as in the file that Pulsar ships."""

    def test_read_only(self) -> None:
        """A file system for reading only gives files that cannot be written."""
        path = self.mktemp()
        RealFileSystem().open(path, create=True).pwrite(b"abc", 0)
        file = RealFileSystem(read_only=True).open(path)
        self.addCleanup(file.close)
        self.assertEqual(file.pread(3, 0), b"abc")
        self.assertRaises(OSError, file.pwrite, b"x", 0)

    def test_directories(self) -> None:
        """They are made, parents and all, below the working directory."""
        path = os.path.relpath(os.path.join(self.mktemp(), "ledgers", "current"))
        RealFileSystem().make_directories(path)
        self.assertTrue(os.path.isdir(path))
        self.assertEqual(RealFileSystem().list(path), [])


class ShortTransferTests(SynchronousTestCase):
    """The kernel may do less than it was asked for."""

    def _pipe_ends(self) -> tuple[int, int]:
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        return reading, writing

    def test_sparse_read(self) -> None:
        """A read over a large hole is complete."""
        path = self.mktemp()
        file = RealFileSystem().open(path, create=True)
        self.addCleanup(file.close)
        file.truncate(5_000_000)
        self.assertEqual(file.pread(6_000_000, 10), bytes(4_999_990))

    def test_failed_write_raises(self) -> None:
        """A write to what cannot be written raises and is not retried (S10)."""
        _, writing = self._pipe_ends()
        file = RealFile("a pipe, which has no offsets", writing)
        self.addCleanup(file.close)
        self.assertRaises(OSError, file.pwrite, b"x", 0)

    def test_write_of_many_megabytes(self) -> None:
        """A long write arrives whole."""
        file = RealFileSystem().open(self.mktemp(), create=True)
        self.addCleanup(file.close)
        data = bytes(range(256)) * 40_000
        file.pwrite(data, 7)
        self.assertEqual(file.pread(len(data) + 10, 7), data)

    def test_write_back_exists_here(self) -> None:
        """On Linux the write-back hint reaches the kernel."""
        self.assertEqual(filesystem._sync_file_range is not None, os.uname().sysname == "Linux")


class ResidentTests(SynchronousTestCase):
    """The page cache of the kernel."""

    def test_just_written(self) -> None:
        """What was just written is in memory, where the kernel can tell."""
        file = RealFileSystem().open(self.mktemp(), create=True)
        self.addCleanup(file.close)
        data = bytes(range(256)) * 40
        file.pwrite(data, 0)
        try:
            self.assertEqual(file.pread_resident(5000, 100), data[100:5100])
        except OSError as e:
            self.assertEqual(e.errno, errno.EOPNOTSUPP)


class LockTests(SynchronousTestCase):
    """Locks of the kernel."""

    def test_lock_ends_with_its_holder(self) -> None:
        """A process that ends in any way holds no lock any more (S6)."""
        path = os.path.abspath(self.mktemp())
        child = os.fork()
        if child == 0:
            RealFileSystem().lock(path)
            os._exit(0)
        os.waitpid(child, 0)
        RealFileSystem().lock(path).release()
