"""Durable writes that are begun without a thread, on this machine's disk and by a kernel that refuses."""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from select import select
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted.crc32c import Buffer
from bookkeeper_twisted.storage.files import durable_writer
from bookkeeper_twisted.storage.files.durable_writer import MOST_BYTES, DurableWriter
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.files.kernel_context import KernelContext
from bookkeeper_twisted.storage.interfaces import IFile, JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.journal.journal import Journal

from ...simulated_disk.sim_disk import SimDisk
from .scripted_kernel import ScriptedKernel

_PAGE = 4096
_DSYNC = 2
_TOO_MANY = 3 * 1024 * 1024


class _WriterTestCase(SynchronousTestCase):
    def writer(self) -> DurableWriter:
        """A writer, closed at the end of the test."""
        try:
            writer = DurableWriter()
        except OSError as error:
            raise SkipTest(f"no asynchronous I/O: {error}") from None
        self.addCleanup(writer.close)
        return writer

    def file(self, n_bytes: int = 16 * _PAGE) -> IFile:
        """A direct file whose blocks exist."""
        file = RealFileSystem().open(os.path.abspath(self.mktemp()), create=True, direct=True)
        self.addCleanup(file.close)
        if file.direct_descriptor is None:
            raise SkipTest("no direct I/O here")
        file.pwrite(bytes(n_bytes), 0)
        file.sync(metadata=True)
        return file


class RealWrites(_WriterTestCase):
    """On this machine's disk."""

    def _write(self, writer: DurableWriter, file: IFile, parts: Sequence[Buffer], offset: int) -> bool:
        """Makes a write as its user does: by an ordinary call if the kernel does not make it, which is returned."""
        made = writer.begin(file, parts, offset)
        if made:
            select([writer], [], [])
            made = bool(writer.end())
        if not made:
            file.pwritev(parts, offset, True)
        return made

    def test_too_many(self) -> None:
        """A context for more writes than this machine allows is refused, and the error names the limit."""
        self.writer()
        if int(Path("/proc/sys/fs/aio-max-nr").read_text()) >= _TOO_MANY:
            raise SkipTest("this machine allows millions of writes at a time")
        self.assertRaisesRegex(OSError, "fs.aio-max-nr", KernelContext, _TOO_MANY)

    def test_journal(self) -> None:
        """Small groups of a journal need no thread, however far its newest file grows."""
        writer = self.writer()
        self.file()  # skips the test where there is no direct I/O
        directory = os.path.abspath(self.mktemp())
        os.makedirs(directory)
        settings = JournalSettings(preallocate=64 << 10)
        journal = Journal.open(RealFileSystem(), directory, settings, 1000)
        self.addCleanup(journal.close)
        list(journal.replay(JournalPosition()))
        made, refused = 0, 0
        for number in range(300):
            records = [struct.pack(">iqq", 1016, 7, number) + bytes(1000)]
            write = journal.begin_group(records)
            if write is None:
                journal.write_group(records)
            elif self._write(writer, *write):
                made += 1
                journal.end_group()
            else:
                refused += 1
                journal.end_group()
        if writer.refusal is not None:
            raise SkipTest(f"no such writes here: {writer.refusal}")
        # a busy disk may refuse one now and then; blocks that were only allocated are refused each time
        self.assertGreater(made, 250)
        self.assertLess(refused, 25)

    def test_writes(self) -> None:
        """Bytes of several buffers are where they belong, write after write in the same memory."""
        writer, file = self.writer(), self.file()
        expected = bytearray(16 * _PAGE)
        for number in range(40):
            data = bytes([number + 1]) * (512 * (number % 9 + 1))
            at = number % 7 * 512
            self._write(writer, file, [data[:100], b"", data[100:]], at)
            expected[at : at + len(data)] = data
        self.assertEqual(file.pread(len(expected), 0), bytes(expected))

    def test_not_ended(self) -> None:
        """Without a write there is no end."""
        self.assertIsNone(self.writer().end())

    def test_left_to_others(self) -> None:
        """What is larger than the memory, and what a file that is not direct gets, is not begun."""
        writer, file = self.writer(), self.file()
        self.assertFalse(writer.begin(file, [bytes(MOST_BYTES), bytes(512)], 0))
        self.assertFalse(writer.begin(SimDisk().open("/a", create=True), [bytes(512)], 0))
        self.assertIsNone(writer.refusal)

    def test_closed_file(self) -> None:
        """A file that was closed gets nothing, least of all a file with its descriptor."""
        writer, file = self.writer(), self.file()
        file.close()
        self.assertFalse(writer.begin(file, [bytes(512)], 0))


class ResultTests(SynchronousTestCase):
    """What the system call gives when it is asked for the result of a write that has ended."""

    def setUp(self) -> None:
        try:
            self.kernel = KernelContext(1)
        except OSError as error:
            raise SkipTest(f"no asynchronous I/O: {error}") from None
        self.addCleanup(self.kernel.close)
        self.addCleanup(setattr, self.kernel, "_system_call", self.kernel._system_call)

    def _result(self, *answers: tuple[int, int]) -> int:
        """The result of a write if io_getevents answers with these results and error numbers, one after the other."""
        left = list(answers)

        def scripted(number: Any, context: Any, least: Any, most: Any, events: Any, timeout: Any) -> int:
            result, error = left.pop(0)
            events.raw = struct.pack("=QQqq", 0, 0, 512, 0)
            ctypes.set_errno(error)
            return result

        self.kernel._system_call = scripted
        return self.kernel.ended_write()

    def test_known(self) -> None:
        """The number of bytes that were written."""
        self.assertEqual(self._result((1, 0)), 512)

    def test_unknown(self) -> None:
        """S10: a write whose end the kernel has signalled, and whose result it does not give, has failed."""
        for answer in ((-1, errno.EIO), (-1, errno.EPERM), (0, 0)):
            with self.assertRaises(OSError) as caught:
                self._result(answer)
            self.assertEqual(caught.exception.errno, answer[1] or errno.EIO)

    def test_interrupted(self) -> None:
        """A signal does not fail the write: its result is read again."""
        self.assertEqual(self._result((-1, errno.EINTR), (-1, errno.EINTR), (1, 0)), 512)


class ScriptedWrites(_WriterTestCase):
    """Whatever the kernel may answer."""

    def setUp(self) -> None:
        class Kernel(ScriptedKernel):
            """One for each test."""

        self.kernel = Kernel
        self.patch(durable_writer, "KernelContext", Kernel)
        self.opened = self.writer()

    def test_durable(self) -> None:
        """S1: the write is to be durable when it has ended, and ends when the kernel says so."""
        self.assertTrue(self.opened.begin(self.file(), [bytes(512)], 0))
        self.assertTrue(self.kernel.flags & _DSYNC)
        self.kernel.result = 512
        self.assertIs(self.opened.end(), True)

    def test_refused(self) -> None:
        """A kernel, or a profile of system calls, that begins no such write is not asked again."""
        for number in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM, errno.ENOMEM):
            self.opened.refusal = None
            self.kernel.refusal = number
            self.assertFalse(self.opened.begin(self.file(), [bytes(512)], 0))
            refusal: OSError | None = self.opened.refusal
            self.assertEqual(refusal and refusal.errno, number)
            self.kernel.refusal = 0
            self.assertFalse(self.opened.begin(self.file(), [bytes(512)], 0))

    def test_busy(self) -> None:
        """A kernel that would have to wait now is asked again the next time."""
        self.kernel.refusal = errno.EAGAIN
        self.assertFalse(self.opened.begin(self.file(), [bytes(512)], 0))
        self.kernel.refusal = 0
        self.assertTrue(self.opened.begin(self.file(), [bytes(512)], 0))
        self.kernel.result = -errno.EAGAIN
        self.assertIs(self.opened.end(), False)
        self.assertIsNone(self.opened.refusal)

    def test_refused_at_the_end(self) -> None:
        """A file system that cannot make such a write is not asked again."""
        for number in (errno.EINVAL, errno.EOPNOTSUPP):
            self.opened.refusal = None
            self.assertTrue(self.opened.begin(self.file(), [bytes(512)], 0))
            self.kernel.result = -number
            self.assertIs(self.opened.end(), False)
            refusal: OSError | None = self.opened.refusal
            self.assertEqual(refusal and refusal.errno, number)

    def test_short(self) -> None:
        """S1: of a write that has ended early, not all bytes are durable."""
        for result in (0, 256):
            self.assertTrue(self.opened.begin(self.file(), [bytes(512)], 0))
            self.kernel.result = result
            self.assertIs(self.opened.end(), False)

    def test_failed(self) -> None:
        """S10: a disk that fails, or is full, fails the write; the error names the file."""
        for number in (errno.EIO, errno.ENOSPC):
            file = self.file()
            self.assertTrue(self.opened.begin(file, [bytes(512)], 0))
            self.kernel.result = -number
            error = self.assertRaises(OSError, self.opened.end)
            self.assertEqual((error.errno, error.filename), (number, file.path))
