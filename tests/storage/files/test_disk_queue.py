"""Reads and writes that are begun now and waited for later, on real files and on simulated ones."""

import ctypes
import errno
import gc
import os
from collections.abc import Sequence
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.files import disk_queue, kernel_context
from bookkeeper_twisted.storage.files.disk_queue import BUSY_BYTES, MOST_WRITES, DiskQueue, FileRange
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.files.kernel_context import DEPTH, Transfer
from bookkeeper_twisted.storage.interfaces import IFile

from ...simulated_disk.sim_disk import SimDisk

_PAGE = 4096
_MIB = 1 << 20


class LateKernel:
    """A kernel that does nothing before it is waited for, one transfer at a time.

    :cvar result: of every transfer, in the place of doing it; None: it is done.
    """

    result: int | None = None

    def __init__(self) -> None:
        self.begun: list[Transfer] = []

    def begin(self, transfers: Sequence[Transfer]) -> int:
        """Takes a few."""
        self.begun += transfers[:3]
        return len(transfers[:3])

    def ended(self) -> list[tuple[int, int]]:
        """Does the first one."""
        number, operation, descriptor, address, size, offset = self.begun.pop(0)
        if self.result is not None:
            return [(number, self.result)]
        memory = (ctypes.c_char * size).from_address(address)
        done = os.pwritev(descriptor, [memory], offset) if operation else os.preadv(descriptor, [memory], offset)
        return [(number, done)]

    def close(self) -> None:
        """Nothing is done any more."""


class DiskQueueTests(SynchronousTestCase):
    """Direct files on this machine's disk."""

    def setUp(self) -> None:
        self.fs = RealFileSystem()
        self.queue = DiskQueue()
        self.addCleanup(self.queue.close)

    def file(self, n_bytes: int, tail: bytes = b"") -> tuple[IFile, bytes]:
        """A direct file with random bytes."""
        data = Random(n_bytes).randbytes(n_bytes) + tail
        path = os.path.abspath(self.mktemp())
        other = self.fs.open(path, create=True)
        other.pwrite(data, 0)
        other.sync()
        other.close()
        file = self.fs.open(path, direct=True)
        self.addCleanup(file.close)
        return file, data

    def test_batches(self) -> None:
        """Batches are taken in the order in which they were begun, their ranges in any order of the file."""
        file, data = self.file(64 * _PAGE)
        batches = [[(8, 4), (0, 1), (60, 4)], [(1, 7)], [], [(20, 30), (20, 30)]]
        for batch in batches:
            self.queue.begin([FileRange(file, first * _PAGE, count * _PAGE) for first, count in batch])
        for batch in batches:
            found = [bytes(each) for each in self.queue.take() if not isinstance(each, OSError)]
            self.assertEqual(found, [data[first * _PAGE : (first + count) * _PAGE] for first, count in batch])

    def test_more_than_the_kernel_takes(self) -> None:
        """More ranges than are read at once."""
        file, data = self.file((3 * DEPTH + 7) * _PAGE)
        numbers = Random(1).sample(range(3 * DEPTH + 7), 3 * DEPTH + 7)
        for half in (numbers[::2], numbers[1::2]):
            self.queue.begin([FileRange(file, number * _PAGE, _PAGE) for number in half])
        for half in (numbers[::2], numbers[1::2]):
            found = [bytes(each) for each in self.queue.take() if not isinstance(each, OSError)]
            self.assertEqual(found, [data[number * _PAGE : (number + 1) * _PAGE] for number in half])

    def test_end_of_file(self) -> None:
        """Fewer bytes are found where the file ends."""
        file, data = self.file(3 * _PAGE, b"tail")
        self.queue.begin([FileRange(file, 2 * _PAGE, 2 * _PAGE), FileRange(file, 8 * _PAGE, _PAGE)])
        found = [bytes(each) for each in self.queue.take() if not isinstance(each, OSError)]
        self.assertEqual(found, [data[2 * _PAGE :], b""])

    def test_writes(self) -> None:
        """Everything is in the file once the writes are settled, more than are begun at once, of many sizes."""
        file, _ = self.file(_PAGE)
        random, expected, at = Random(2), bytearray(), 0
        file.truncate(32 * _MIB)
        for number in range(4 * MOST_WRITES):
            piece = random.randbytes((number * 37 % 300 + 1) * _PAGE)
            self.queue.write(file, [piece[:100], b"", piece[100:]], at)
            expected += piece
            at += len(piece)
        self.queue.wait_for_writes()
        self.assertEqual(file.pread(at, 0), bytes(expected))

    def test_reads_beside_writes(self) -> None:
        """What is read and what is written does not touch."""
        source, data = self.file(16 * _MIB)
        target, _ = self.file(0)
        target.truncate(len(data))
        ranges = [FileRange(source, at, _MIB) for at in range(0, len(data), _MIB)]
        self.queue.begin(ranges[:4])
        for begin in range(0, len(ranges), 4):
            self.queue.begin(ranges[begin + 4 : begin + 8])
            pieces = [bytes(each) for each in self.queue.take() if not isinstance(each, OSError)]
            for each, piece in zip(ranges[begin : begin + 4], pieces, strict=True):
                self.queue.write(target, [piece], each.offset)
        self.queue.take()
        self.queue.wait_for_writes()
        self.assertEqual(target.pread(len(data), 0), data)

    def test_refused_write(self) -> None:
        """A write that fails is an error when the writes are settled."""
        file, _ = self.file(_PAGE)
        reading = RealFileSystem(read_only=True).open(file.path, direct=True)
        self.addCleanup(reading.close)

        def write() -> None:
            self.queue.write(reading, [bytes(_PAGE)], 0)
            self.queue.wait_for_writes()

        self.assertEqual(self.assertRaises(OSError, write).errno, errno.EBADF)

    def test_late(self) -> None:
        """Reads and writes are waited for."""
        self.patch(disk_queue, "KernelContext", LateKernel)
        self.test_more_than_the_kernel_takes()
        self.test_writes()
        self.test_reads_beside_writes()
        self.test_rest()

    def test_refused(self) -> None:
        """What the kernel fails at, or does in part, is done by ordinary calls."""
        self.patch(disk_queue, "KernelContext", LateKernel)
        for result in (-errno.EINVAL, 512):
            self.patch(LateKernel, "result", result)
            self.test_batches()
            self.test_writes()

    def test_without_the_kernel(self) -> None:
        """Where the system has no such calls, ordinary ones do the same."""
        self.patch(kernel_context, "_NUMBERS", {})
        self.test_batches()
        self.test_reads_beside_writes()

    def test_busy(self) -> None:
        """While the disk is wanted for something else the kernel has few bytes at once, or one transfer; then all."""
        self.patch(disk_queue, "KernelContext", LateKernel)
        busy = [True]
        queue = DiskQueue(lambda: busy[0])
        file, data = self.file(_MIB)
        sizes = (BUSY_BYTES // 2, BUSY_BYTES // 4, BUSY_BYTES // 2, BUSY_BYTES * 2, _PAGE)
        queue.begin([FileRange(file, 0, size) for size in sizes])
        kernel = queue._kernel
        assert isinstance(kernel, LateKernel)
        seen = []
        while kernel.begun:
            seen.append([size for *_, size, _ in kernel.begun])
            queue._wait()
        self.assertEqual(seen, [[*sizes[:2]], [*sizes[1:2], sizes[2]], [sizes[2]], [sizes[3]], [sizes[4]]])
        self.assertEqual([bytes(each) for each in queue.take() if not isinstance(each, OSError)],
                         [data[:size] for size in sizes])  # fmt: skip
        queue.begin([FileRange(file, 0, BUSY_BYTES)] * 3)
        busy[0] = False
        queue._wait()
        self.assertEqual(len(kernel.begun), 2)
        queue.close()

    def test_rest(self) -> None:
        """A queue that has rested knows nothing of what was begun before, and goes on."""
        file, data = self.file(64 * _PAGE)
        self.queue.begin([FileRange(file, 0, 64 * _PAGE)])
        self.queue.write(file, [data[_PAGE : 2 * _PAGE]], 0)
        self.queue.reset()
        self.assertEqual(file.pread(_PAGE, 0), data[_PAGE : 2 * _PAGE])
        self.queue.begin([FileRange(file, 5 * _PAGE, _PAGE)])
        (found,) = self.queue.take()
        assert not isinstance(found, OSError)
        self.assertEqual(bytes(found), data[5 * _PAGE : 6 * _PAGE])

    def test_rest_keeps_memory(self) -> None:
        """Memory that was written to costs less than new memory: what comes after a rest uses it again."""
        file, _ = self.file(64 * _PAGE)
        ranges = [FileRange(file, 0, 64 * _PAGE)]
        self.queue.begin(ranges)
        self.queue.begin(ranges)
        self.queue.take()
        before = [batch.buffer for batch in (*self.queue._batches, self.queue._taken) if batch is not None]
        self.queue.reset()
        self.queue.begin(ranges)
        self.queue.begin(ranges)
        after = [batch.buffer for batch in self.queue._batches]
        self.assertEqual({*map(id, after)}, {*map(id, before)})
        self.queue.reset()
        self.queue.close()
        self.assertEqual(self.queue._buffers, [])

    def test_closed(self) -> None:
        """A queue may be closed with everything begun."""
        file, data = self.file(64 * _PAGE)
        self.queue.begin([FileRange(file, 0, 64 * _PAGE)])
        self.queue.write(file, [data[:_PAGE]], 0)
        self.queue.close()
        self.queue.close()

    def test_file_closed_meanwhile(self) -> None:
        """What waits for the kernel when its file is closed never reaches the file that has the descriptor then."""
        queue = DiskQueue(lambda: True)
        self.addCleanup(queue.close)
        for _ in range(2):
            file, data = self.file(4 * BUSY_BYTES)
            queue.begin([FileRange(file, at * BUSY_BYTES, BUSY_BYTES) for at in range(3)])
            descriptor = file.direct_descriptor
            file.close()
            other, _ = self.file(4 * BUSY_BYTES + _PAGE)
            self.assertEqual(other.direct_descriptor, descriptor)
            first, *waiting = queue.take()
            assert not isinstance(first, OSError)
            self.assertEqual(bytes(first), data[:BUSY_BYTES])
            self.assertEqual([each.errno for each in waiting if isinstance(each, OSError)], [errno.EBADF] * 2)
            for at in range(3):
                queue.write(other, [bytes(BUSY_BYTES)], at * BUSY_BYTES)
            other.close()
            victim, data = self.file(4 * BUSY_BYTES)
            self.assertEqual(victim.direct_descriptor, descriptor)
            self.assertEqual(self.assertRaises(OSError, queue.wait_for_writes).errno, errno.EBADF)
            self.assertEqual(victim.pread(len(data), 0), data)
            victim.close()
            queue.reset()

    def test_dropped(self) -> None:
        """A queue that is dropped with everything begun gives the kernel's queue back, once."""
        ended: list[object] = []

        class Kernel(LateKernel):
            def close(self) -> None:
                ended.append(self)

        self.patch(disk_queue, "KernelContext", Kernel)
        file, data = self.file(64 * _PAGE)
        for end in (lambda queue: None, lambda queue: queue.close()):
            queue = DiskQueue()
            queue.begin([FileRange(file, 0, _PAGE)] * 9)
            queue.write(file, [data[:_PAGE]], 0)
            end(queue)
            del queue
            gc.collect()
            self.assertEqual(len(ended), 1)
            ended.clear()


class SimulatedTests(SynchronousTestCase):
    """Files that are not direct are read when they are wanted, and written at once."""

    def test_failing_place(self) -> None:
        """A range that cannot be read is an error; the others of its batch are read."""
        disk = SimDisk()
        file = disk.open("/a", create=True)
        queue = DiskQueue()
        queue.write(file, [b"a" * _PAGE, b"b" * _PAGE], 0)
        queue.wait_for_writes()
        disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.detail == 0)
        queue.begin([FileRange(file, 0, _PAGE), FileRange(file, _PAGE, _PAGE)])
        failed, found = queue.take()
        assert isinstance(failed, OSError) and not isinstance(found, OSError)
        self.assertEqual((failed.errno, bytes(found)), (errno.EIO, b"b" * _PAGE))
        queue.close()
