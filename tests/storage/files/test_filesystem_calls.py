"""The system calls behind the promises of real files: what is durable was synced, what was cut short goes on."""

import errno
import fcntl
import os
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.files import filesystem
from bookkeeper_twisted.storage.files.filesystem import (
    BUFFER_SIZE,
    DirectFile,
    RealFile,
    RealFileSystem,
    _BufferPool,
)
from bookkeeper_twisted.storage.files.proc_files import takes_reserved_blocks

from ..system_calls import SystemCalls

_REFUSALS = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM)


class FailureTests(SynchronousTestCase):
    """An error of a call with a descriptor."""

    def test_name(self) -> None:
        """It says of which file it is, ordinary or direct, or of which directory."""
        base = os.path.abspath(self.mktemp())
        os.makedirs(base)
        fs, path = RealFileSystem(), os.path.join(base, "file")
        fs.open(path, create=True).close()
        files = [fs.open(path), DirectFile(path, os.open(path, os.O_RDWR), _BufferPool())]

        def fail(*args: object) -> None:
            raise OSError(errno.EIO, "no")

        calls = {
            "pread": lambda file: file.pread(1, 0), "pwrite": lambda file: file.pwrite(b"x", 0),
            "pwritev": lambda file: file.pwritev([b"x"], 0, True), "fsync": lambda file: file.sync(metadata=True),
            "fdatasync": lambda file: file.sync(), "ftruncate": lambda file: file.truncate(1),
            "posix_fallocate": lambda file: file.allocate(1), "fstat": lambda file: file.size(),
        }  # fmt: skip
        for name in (*calls, "preadv"):
            self.patch(os, name, fail)
        files[0].path = path = os.path.join(base, "renamed")
        files[1].path = path
        for file in files:
            for name, call in calls.items():
                self.assertEqual(self.assertRaises(OSError, call, file).filename, path, name)
        self.assertEqual(self.assertRaises(OSError, fs.sync_directory, base).filename, base)
        self.patch(fcntl, "flock", fail)
        self.assertEqual(self.assertRaises(OSError, fs.lock, path).filename, path)
        close = os.close

        def fail_to_close(fd: int) -> None:
            close(fd)
            fail()

        self.patch(os, "close", fail_to_close)
        for file in files:
            self.assertEqual(self.assertRaises(OSError, file.close).filename, path)


class SyncTests(SynchronousTestCase):
    """What is durable has been given to the kernel's sync calls, by descriptors of the right files."""

    def setUp(self) -> None:
        self.base = os.path.abspath(self.mktemp())
        os.makedirs(self.base)
        self.path = os.path.join(self.base, "file")
        self.fs = RealFileSystem()
        self.calls = SystemCalls(self)

    def test_directory(self) -> None:
        """A directory is synced by a descriptor of its own, which is closed again."""
        self.fs.sync_directory(self.base)
        self.assertEqual(self.calls.made, [("fsync", self.base), ("close", self.base)])

    def test_failed_sync_of_a_directory(self) -> None:
        """The failure of a directory's sync is raised, and its descriptor closed (S10)."""

        def fail(fd: int) -> None:
            raise OSError(errno.EIO, "no")

        self.calls.before["fsync"] = fail
        self.assertRaises(OSError, self.fs.sync_directory, self.base)
        self.assertEqual(self.calls.made, [("close", self.base)])

    def test_new_directories(self) -> None:
        """Each new directory's name is durable in its parent before the next one is made in it."""
        self.fs.make_directories(os.path.join(self.base, "a", "b"))
        self.assertEqual(self.calls.named("fsync"), [("fsync", self.base), ("fsync", os.path.join(self.base, "a"))])

    def test_file(self) -> None:
        """The data of a file are synced by one call, with its metadata by the stronger one."""
        file = self.fs.open(self.path, create=True)
        self.addCleanup(file.close)
        file.sync()
        file.sync(metadata=True)
        self.assertEqual(self.calls.made, [("fdatasync", self.path), ("fsync", self.path)])

    def test_durable_write(self) -> None:
        """A durable write is followed by a sync; another write is not."""
        file = self.fs.open(self.path, create=True)
        self.addCleanup(file.close)
        for parts in ([b"one"], [b"one", b"two"]):
            self.calls.made.clear()
            file.pwritev(parts, 0)
            self.assertEqual([call[0] for call in self.calls.made], ["pwrite"])
            file.pwritev(parts, 0, durable=True)
            self.assertEqual([call[0] for call in self.calls.made], ["pwrite", "pwrite", "fdatasync"])

    def test_failed_sync_of_a_write(self) -> None:
        """A durable write whose sync fails raises (S10)."""

        def fail(fd: int) -> None:
            raise OSError(errno.EIO, "no")

        self.calls.before["fdatasync"] = fail
        for file in (self.fs.open(self.path, create=True), self._direct()):
            self.addCleanup(file.close)
            self.assertRaises(OSError, file.pwritev, [b"x" * BUFFER_SIZE, b"x"], 0, durable=True)

    def _direct(self) -> DirectFile:
        """A file that is read and written like a direct one, on any file system."""
        return DirectFile(self.path, os.open(self.path, os.O_RDWR), _BufferPool())

    def _new_direct(self, create: bool = True) -> DirectFile:
        if create and os.path.exists(self.path):
            os.unlink(self.path)
        if create:
            self.fs.open(self.path, create=True).close()
        file = self._direct()
        self.addCleanup(file.close)
        self.calls.made.clear()
        return file

    def test_durable_direct_write(self) -> None:
        """A direct write that fits a buffer carries the flag that makes it durable, or is followed by a sync."""
        file = self._new_direct()
        flag = getattr(os, "RWF_DSYNC", 0)
        file.pwritev([b"a" * 512, b"b" * 512], 0, durable=True)
        rest = [] if flag else [("fdatasync", self.path)]
        self.assertEqual(self.calls.made, [("pwritev", self.path, 1024, 0, flag), *rest])
        file.pwritev([b"a" * 512], 0)
        self.assertEqual(self.calls.named("pwritev")[-1], ("pwritev", self.path, 512, 0, 0))

    def test_long_durable_direct_write(self) -> None:
        """A direct write of several buffers is synced once, after the last of them."""
        file = self._new_direct()
        file.pwritev([b"a" * (2 * BUFFER_SIZE), b"b" * 512], 0, durable=True)
        self.assertEqual([call[0] for call in self.calls.made], ["pwritev"] * 3 + ["fdatasync"])
        self.assertEqual({call[4] for call in self.calls.named("pwritev")}, {0})

    def _refuse(self, number: int, code: int) -> None:
        """The write of this number and those after it fail while they carry a flag or the file is direct."""
        made = 0

        def refuse(fd: int, parts: object, offset: int, flags: int) -> None:
            nonlocal made
            made += 1
            if made == number:
                raise OSError(code, "no")

        self.calls.before["pwritev"] = refuse

    def test_refused_direct_write(self) -> None:
        """Where the disk refuses direct writes they go through the cache from then on, durable by a sync each."""
        for code in _REFUSALS:
            with self.subTest(code):
                file = self._new_direct()
                self._refuse(1, code)
                file.pwritev([b"a" * 512], 0, durable=True)
                written = [("pwrite", self.path, 512, 0), ("fdatasync", self.path)]
                self.assertEqual(self.calls.made, written)
                file.pwritev([b"b" * 512], 0, durable=True)
                self.assertEqual(self.calls.made, written * 2)
                self.assertEqual(file.pread(1000, 0), b"b" * 512)

    def test_direct_no_more(self) -> None:
        """After a refusal the descriptor is an ordinary one, which takes writes of any size."""
        kept: list[int] = []
        set_flags = fcntl.fcntl

        def control(fd: int, command: int, flags: int = 0) -> int:
            if command == fcntl.F_SETFL:
                kept.append(flags)
                return 0
            return set_flags(fd, command) | os.O_DIRECT

        file = self._new_direct()
        self._refuse(1, errno.EINVAL)
        self.patch(fcntl, "fcntl", control)
        file.pwritev([b"a" * 512], 0)
        self.assertEqual([flags & (os.O_DIRECT | os.O_RDWR) for flags in kept], [os.O_RDWR])

    def _written(self, size: int) -> None:
        with open(self.path, "wb") as file:
            file.write(bytes(range(256)) * (size // 256))

    def test_direct_read(self) -> None:
        """A direct read takes the blocks that it touches, by calls of a buffer each, and no others."""
        self._written(3 * BUFFER_SIZE)
        file = self._new_direct(create=False)
        self.assertEqual(file.pread(10, 8190), bytes(range(254, 256)) + bytes(range(8)))
        self.assertEqual(self.calls.made, [("preadv", self.path, 8192, 4096)])
        self.calls.made.clear()
        self.assertEqual(len(file.pread(BUFFER_SIZE, 1)), BUFFER_SIZE)
        expected = [("preadv", self.path, BUFFER_SIZE, 0), ("preadv", self.path, 4096, BUFFER_SIZE)]
        self.assertEqual(self.calls.made, expected)

    def test_refused_direct_read(self) -> None:
        """Where the disk refuses direct reads they go through the cache from then on; other failures are raised."""
        self._written(2 * BUFFER_SIZE)
        for code in (*_REFUSALS, errno.EIO):
            file = self._new_direct(create=False)

            def refuse(fd: int, parts: object, offset: int, code: int = code) -> None:
                if offset:
                    raise OSError(code, "no")

            self.calls.before["preadv"] = refuse
            if code == errno.EIO:
                self.assertRaises(OSError, file.pread, BUFFER_SIZE, 5)
                continue
            self.assertEqual(file.pread(BUFFER_SIZE, 5)[-5:], bytes(range(5)))
            self.assertEqual([call[0] for call in self.calls.made], ["preadv", "pread"])

    def test_refusals_are_told_once(self) -> None:
        """The first refusal of direct calls is told with its file and its reason, and no other one."""
        self._written(BUFFER_SIZE)
        told: list[OSError] = []
        self.fs = RealFileSystem(direct_refused=told.append)
        self.patch(filesystem, "_set_direct", lambda fd: True)

        def refuse(fd: int, *_: object) -> None:
            raise OSError(errno.ENOSYS, "no such call")

        self.calls.before["preadv"] = self.calls.before["pwritev"] = refuse
        for _ in range(2):
            file = self.fs.open(self.path, direct=True)
            self.addCleanup(file.close)
            self.assertEqual(file.pread(4, 256), bytes(range(4)))
            file.pwrite(b"x", 0)
        self.assertEqual([(each.errno, each.filename) for each in told], [(errno.ENOSYS, self.path)])

    def test_refused_hint(self) -> None:
        """Whatever the answer to the hint that something will be read is, it is read."""
        self._written(512)
        file = self.fs.open(self.path)
        self.addCleanup(file.close)
        hinted: list[int] = []
        for code in (*_REFUSALS, errno.EIO):

            def refuse(fd: int, *_: object, code: int = code) -> None:
                hinted.append(code)
                raise OSError(code, "no")

            self.patch(os, "posix_fadvise", refuse)
            file.will_read(0, 512)
        self.assertEqual(hinted, [*_REFUSALS, errno.EIO])

    def test_usage(self) -> None:
        """What a disk has, and what an ordinary user may still take of it."""
        self.patch(os, "statvfs", lambda path: os.statvfs_result((1, 4096, 100, 30, 20, 0, 0, 0, 0, 255)))
        self.assertEqual(self.fs.usage(self.base), (409600, 81920))
        self.assertIn(self.fs.allocatable(self.base), (81920, 28 * 4096))

    def test_reserved_blocks(self) -> None:
        """Those of a file system are for root, and for processes with a certain capability."""
        status = b"Uid:\t0\t0\t0\t1000\nCapPrm:\t%016x\nCapEff:\t%016x\nCapBnd:\t%016x\n"
        resource = 1 << 24
        self.assertTrue(takes_reserved_blocks(b"Uid:\t1000\t1000\t1000\t0\nCapEff:\t0000000000000000\n"))
        self.assertTrue(takes_reserved_blocks(status % (0, resource, 0)))
        self.assertFalse(takes_reserved_blocks(status % (resource, ~resource & (1 << 40) - 1, resource)))
        self.assertFalse(takes_reserved_blocks(b""))

    def test_refused_in_the_middle(self) -> None:
        """A long write whose later piece is refused is written whole and synced."""
        file = self._new_direct()
        self._refuse(2, errno.EINVAL)
        data = [b"a" * BUFFER_SIZE, b"b" * 700]
        file.pwritev(data, 0, durable=True)
        self.assertEqual(self.calls.made[-1], ("fdatasync", self.path))
        self.assertEqual(file.pread(2 * BUFFER_SIZE, 0), b"".join(data))

    def test_other_failures(self) -> None:
        """A full or broken disk is no reason to write through the cache (S10)."""
        for code in (errno.ENOSPC, errno.EIO):
            with self.subTest(code):
                file = self._new_direct()
                self._refuse(1, code)
                error = self.assertRaises(OSError, file.pwritev, [b"a" * 512], 0, durable=True)
                self.assertEqual((error.errno, self.calls.made), (code, []))

    def test_write_through_the_cache_that_fails(self) -> None:
        """A write that is refused through the cache, too, raises."""

        def refuse(*_: object) -> None:
            raise OSError(errno.EINVAL, "no")

        file = self._new_direct()
        self.calls.before["pwritev"] = self.calls.before["pwrite"] = refuse
        self.assertRaises(OSError, file.pwritev, [b"a" * 512], 0)

    def test_writeback(self) -> None:
        """The write-back hint is for files in the cache; what was written past it needs none."""
        hinted: list[int] = []
        self.patch(filesystem, "_sync_file_range", lambda fd, *_: hinted.append(fd))
        file = self._new_direct()
        file.start_writeback(0, 512)
        self.assertEqual(hinted, [])
        self._refuse(1, errno.EINVAL)
        file.pwritev([b"a" * 512], 0)
        file.start_writeback(0, 512)
        self.assertEqual(len(hinted), 1)


class PartialTransferTests(SynchronousTestCase):
    """The kernel transfers less than asked; the rest follows."""

    def setUp(self) -> None:
        self.path = os.path.abspath(self.mktemp())
        self.calls = SystemCalls(self)

    def _files(self) -> list[RealFile]:
        """Fresh files of both kinds."""
        files: list[RealFile] = []
        kinds: list[Callable[[str, int], RealFile]]
        kinds = [RealFile, lambda path, fd: DirectFile(path, fd, _BufferPool())]
        for number, kind in enumerate(kinds):
            path = f"{self.path}{number}"
            files.append(kind(path, os.open(path, os.O_RDWR | os.O_CREAT)))
            self.addCleanup(files[-1].close)
        return files

    def test_short_writes(self) -> None:
        """A write that takes a hundred bytes at a time arrives whole, at its place."""
        self.calls.before["pwrite"] = lambda fd, data, offset: (fd, bytes(data[:100]), offset)
        self.calls.before["pwritev"] = lambda fd, parts, offset, flags: (fd, (parts[0][:100],), offset, flags)
        data = bytes(range(250)) * 4
        for file in self._files():
            file.pwritev([data[:300], data[300:]], 7, durable=True)
            self.assertEqual(file.pread(2000, 0), bytes(7) + data)
            self.assertEqual(sum(int(str(call[2])) for call in self.calls.named("pwrite", "pwritev")), 1000)
            self.calls.made.clear()

    def test_failure_after_a_short_write(self) -> None:
        """The rest of a write fails: so does the write (S10)."""

        def once(fd: int, data: bytes, offset: int) -> tuple[object, ...]:
            if offset:
                raise OSError(errno.ENOSPC, "full")
            return fd, data[:100], offset

        self.calls.before["pwrite"] = once
        self.calls.before["pwritev"] = lambda fd, parts, offset, flags: (
            fd, (once(fd, parts[0], offset)[1],), offset, flags,
        )  # fmt: skip
        for file in self._files():
            self.assertRaises(OSError, file.pwritev, [b"x" * 512], 0)

    def test_short_reads(self) -> None:
        """A read that gives a hundred bytes at a time is complete; the end of the file ends it."""
        file = self._files()[0]
        data = bytes(range(250)) * 4
        file.pwrite(data, 0)
        self.calls.before["pread"] = lambda fd, size, offset: (fd, min(size, 100), offset)
        self.assertEqual(file.pread(700, 50), data[50:750])
        self.assertEqual(file.pread(5000, 50), data[50:])

    @settings(max_examples=60)
    @given(st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=80), min_size=1, max_size=4))
    def test_buffer_is_reused(self, writes: list[list[int]]) -> None:
        """Writes of any number of parts, one after the other by the same buffer, hold what was given and no more."""
        self.patch(filesystem, "BUFFER_SIZE", 4096)
        buffers = _BufferPool()
        file = DirectFile(self.path, os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), buffers)
        expected = b""
        try:
            for number, sizes in enumerate(writes):
                parts = [bytes([33 + (number * 7 + i) % 90]) * size for i, size in enumerate(sizes)]
                file.pwritev(parts, len(expected))
                expected += b"".join(parts)
            self.assertEqual(file.pread(len(expected) + 10, 0), expected)
        finally:
            file.close()
        self.assertEqual(len(buffers._free), 1)

    def test_buffer_after_a_failure(self) -> None:
        """A write that fails releases its buffer."""

        def refuse(*_: object) -> None:
            raise OSError(errno.EIO, "no")

        buffers = _BufferPool()
        file = DirectFile(self.path, os.open(self.path, os.O_RDWR | os.O_CREAT), buffers)
        self.addCleanup(file.close)
        self.calls.before["pwritev"] = refuse
        self.assertRaises(OSError, file.pwritev, [b"x"], 0)
        self.assertEqual(len(buffers._free), 1)
