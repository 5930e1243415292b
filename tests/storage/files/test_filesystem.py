"""Real files: the contract, and what the contract cannot see."""

import errno
import os
from collections.abc import Sequence
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.files import filesystem, page_cache
from bookkeeper_twisted.storage.files.filesystem import RealFile, RealFileSystem
from bookkeeper_twisted.storage.files.proc_files import mounted_device
from bookkeeper_twisted.storage.index.index_file import connect
from bookkeeper_twisted.storage.interfaces import IFileSystem
from bookkeeper_twisted.testing.contracts.filesystem_contract import make_filesystem_tests

from ...pipes import refuse_to_wait


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


class NotAFileTests(SynchronousTestCase):
    """Something else in the place of a file."""

    def test_no_file(self) -> None:
        """A pipe, or a directory where one can be opened, is an error that names it; nobody waits for a writer."""
        pipe, directory = self.mktemp(), self.mktemp()
        os.mkfifo(pipe)
        os.mkdir(directory)
        refuse_to_wait(self)
        for path, read_only in ((pipe, False), (pipe, True), (directory, True)):
            error = self.assertRaises(OSError, RealFileSystem(read_only).open, path)
            self.assertEqual((error.errno, str(error)), (errno.EINVAL, f"[Errno 22] Not a regular file: {path!r}"))

    def test_descriptors(self) -> None:
        """A pipe that is refused is closed."""
        pipe = self.mktemp()
        os.mkfifo(pipe)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            self.assertRaises(OSError, RealFileSystem().open, pipe)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class ReadOnlyTests(SynchronousTestCase):
    """Disks that the kernel has made read-only."""

    def setUp(self) -> None:
        self.path = os.path.abspath(self.mktemp())
        with open(self.path, "wb") as file:
            file.write(b"entries".ljust(4096))
        real_open = os.open
        self.opens = [real_open, real_open]

        def opened(path: str, flags: int, *more: int) -> int:
            if flags & (os.O_RDWR | os.O_CREAT):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
            return real_open(path, flags, *more)

        self.patch(os, "open", opened)

    def test_read(self) -> None:
        """What such a disk has is read, through the page cache or past it."""
        for direct in (False, True):
            file = RealFileSystem().open(self.path, direct=direct)
            self.addCleanup(file.close)
            self.assertEqual(file.pread(7, 0), b"entries")

    def test_takes_writes(self) -> None:
        """A file that cannot be opened for writing tells that its disk is read-only; another error is raised."""
        self.assertFalse(RealFileSystem().takes_writes(self.path))
        self.patch(os, "open", lambda *arguments: self.opens.pop()(*arguments))
        self.assertTrue(RealFileSystem().takes_writes(self.path))
        self.assertRaises(FileNotFoundError, RealFileSystem().takes_writes, self.path + "1")

    def test_writes(self) -> None:
        """A write says why it is refused, and of which file; a new file is refused as before."""
        for direct in (False, True):
            file = RealFileSystem().open(self.path, direct=direct)
            self.addCleanup(file.close)
            for write, *arguments in ((file.pwrite, bytes(512), 0), (file.truncate, 0), (file.allocate, 8192)):
                error = self.assertRaises(OSError, write, *arguments)
                self.assertEqual(str(error), f"[Errno 30] Read-only file system: {self.path!r}")
        error = self.assertRaises(OSError, RealFileSystem().open, self.path + "1", create=True)
        self.assertEqual(error.errno, errno.EROFS)


class InodeTests(SynchronousTestCase):
    """Disks that can have no more files."""

    def refusal(self, files: int, available: int) -> str:
        """The error of a new file where the disk has so many inodes, and so many are available."""
        usage = os.statvfs("/")
        seen = os.statvfs_result((*usage[:5], files, available, available, *usage[8:]))
        self.patch(os, "statvfs", lambda path: seen)
        refused = OSError(errno.ENOSPC, "No space left on device", "new")
        with patch.object(os, "open", side_effect=refused):
            return str(self.assertRaises(OSError, RealFileSystem().open, "new", create=True))

    def test_named(self) -> None:
        """Without inodes the error names them, and is still that of a full disk; btrfs counts none."""
        self.assertEqual(self.refusal(64, 0), "[Errno 28] no inodes are left: 'new'")
        for files, available in ((64, 1), (0, 0)):
            self.assertEqual(self.refusal(files, available), "[Errno 28] No space left on device: 'new'")


class PrivacyTests(SynchronousTestCase):
    """Who can read what is made."""

    def test_owner_alone(self) -> None:
        """Files and directories are their owner's alone, files of SQLite and the folders above included."""
        base = os.path.abspath(self.mktemp())
        os.makedirs(base)
        self.addCleanup(os.umask, os.umask(0))
        fs, path = RealFileSystem(), os.path.join(base, "ledgers", "current")
        fs.make_directories(path)
        fs.open(os.path.join(path, "0.log"), create=True).close()
        fs.lock(os.path.join(base, "lock")).release()
        index = connect(os.path.join(path, "index"))
        self.addCleanup(index.close)
        index.execute("PRAGMA journal_mode = WAL")
        index.execute("CREATE TABLE ledgers(master_key)")
        modes = {
            os.path.relpath(os.path.join(folder, name), base): os.stat(os.path.join(folder, name)).st_mode & 0o777
            for folder, folders, files in os.walk(base) for name in [*folders, *files]
        }  # fmt: skip
        self.assertEqual(modes, {
            "ledgers": 0o700, "ledgers/current": 0o700, "lock": 0o600, "ledgers/current/0.log": 0o600,
            "ledgers/current/index": 0o600, "ledgers/current/index-wal": 0o600, "ledgers/current/index-shm": 0o600,
        })  # fmt: skip

    def test_existing(self) -> None:
        """What is there keeps its mode: an administrator may have opened it for a backup."""
        base = os.path.abspath(self.mktemp())
        os.makedirs(base)
        os.chmod(base, 0o750)
        path = os.path.join(base, "index")
        os.close(os.open(path, os.O_CREAT))
        os.chmod(path, 0o640)
        RealFileSystem().make_directories(base)
        connect(path).close()
        self.assertEqual([os.stat(each).st_mode & 0o777 for each in (base, path)], [0o750, 0o640])


class DiskTests(SynchronousTestCase):
    """The disk that a directory lies on."""

    def test_subvolumes(self) -> None:
        """Mounts of two subvolumes of one Btrfs are one disk, and another file system is another."""
        mounts = (
            b"27 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
            b"45 27 0:39 /one /bk/ledgers\xff rw,relatime - btrfs /dev/loop0 rw,subvolid=256,subvol=/one\n"
            b"145 27 0:39 /two /bk/more rw,relatime - btrfs /dev/loop0 rw,subvolid=257,subvol=/two\n"
        )
        opened = b"pos:\t0\nflags:\t0100000\nmnt_id:\t%d\nino:\t256\n"
        devices = [mounted_device(opened % mount, mounts) for mount in (27, 45, 145)]
        self.assertEqual(devices, [os.makedev(254, 0), os.makedev(0, 39), os.makedev(0, 39)])

    def test_unknown_mount(self) -> None:
        """Without ``/proc``, or where it does not show the mount, there is no answer."""
        for opened, mounts in ((b"", b""), (b"mnt_id:\t5\n", b"45 27 0:39 / /a rw - btrfs /dev/loop0 rw\n")):
            self.assertIsNone(mounted_device(opened, mounts))

    def test_another_disk(self) -> None:
        """A file system mounted elsewhere has another number; a directory that is gone has none."""
        fs, here = RealFileSystem(), os.path.abspath(".")
        if os.path.isdir("/proc/self"):
            self.assertNotEqual(fs.disk("/proc"), fs.disk(here))
        self.assertRaises(FileNotFoundError, fs.disk, os.path.join(here, "gone"))


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

    def test_zeros(self) -> None:
        """Zeros overwrite what was there, no byte more, whatever their number, past the page cache and through it."""
        for direct in (False, True):
            file = RealFileSystem().open(os.path.abspath(self.mktemp()), create=True, direct=direct)
            self.addCleanup(file.close)
            size = 2 * filesystem.BUFFER_SIZE + 3 * 512
            file.pwrite(b"x" * (size + 1024), 0)
            file.write_zeros(size, 512)
            self.assertEqual(file.pread(size + 1024, 0), b"x" * 512 + bytes(size) + b"x" * 512)

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

    def test_empty_range(self) -> None:
        """A range without bytes, as a damaged index may have one, is read by the first call, too."""
        file = RealFileSystem().open(self.mktemp(), create=True)
        self.addCleanup(file.close)
        self.patch(page_cache, "_spare", [])
        try:
            self.assertEqual(file.pread_resident(0, 0), b"")
        except OSError as e:
            self.assertEqual(e.errno, errno.EOPNOTSUPP)

    def test_two_threads(self) -> None:
        """A read that another thread makes meanwhile does not change the bytes of the first one."""
        path, real = os.path.abspath(self.mktemp()), os.preadv
        file = RealFileSystem().open(path, create=True)
        self.addCleanup(file.close)
        file.pwrite(b"1" * 100 + b"2" * 100, 0)
        others: list[bytes | None] = []

        def preadv(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
            n_bytes = real(fd, buffers, offset, flags)
            if not others:
                others.append(None)
                others[0] = file.pread_resident(100, 100)
            return n_bytes

        for _ in range(2):
            del others[:]
            self.patch(os, "preadv", preadv)
            self.assertEqual((file.pread_resident(100, 0), others), (b"1" * 100, [b"2" * 100]))
            self.patch(os, "preadv", real)

    def test_near_ranges(self) -> None:
        """Ranges with small gaps between them are read by one call, ranges with large gaps by several."""
        reads: list[int] = []

        def preadv(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
            reads.append(offset)
            buffers[0][:] = bytes(len(buffers[0]))
            return len(buffers[0])

        self.patch(os, "preadv", preadv)
        file = RealFileSystem().open(self.mktemp(), create=True)
        self.addCleanup(file.close)
        gap = page_cache._GAP
        file.pread_resident_each([10, 10, 10, 10, 10], [0, 10, 30, 40 + gap, 51 + 2 * gap])
        self.assertEqual(reads, [0, 51 + 2 * gap])
        del reads[:]
        file.pread_resident_each([10, 10, 10], [100, 50, 55])
        self.assertEqual(reads, [100, 50, 55])


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
