"""The executor of a bookie outside tests."""

import errno
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from select import select
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.logger import capturedLogs
from twisted.trial.unittest import SkipTest
from zope.interface import implementer
from zope.interface.verify import verifyObject

from bookkeeper_twisted.bookie.executor import ThreadExecutor
from bookkeeper_twisted.storage.files import durable_writer
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.files.kernel_context import KernelContext
from bookkeeper_twisted.storage.interfaces import IFile
from bookkeeper_twisted.testing.contracts import executor_contract

from ..bounds import until
from ..storage.files.scripted_kernel import ScriptedKernel


class QueueReactor:
    """The part of a reactor that threads call, run by the test."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[..., object], tuple[object, ...]]] = SimpleQueue()

    def callFromThread(self, function: Callable[..., object], *args: object) -> None:
        self._calls.put((function, args))

    def run_until(self, waited: "Deferred[Any]") -> None:
        """Runs what threads hand over until a Deferred has fired."""
        for _ in until(lambda: waited.called):
            function, args = self._calls.get(timeout=10)
            function(*args)


class ThreadExecutorTests(executor_contract.ExecutorContract):
    """The contract on threads."""

    def make(self) -> ThreadExecutor:
        self.reactor = QueueReactor()
        return ThreadExecutor(self.reactor, read_threads=2)  # type: ignore[arg-type]

    def settle(self, executor: Any) -> None:
        stopped = executor.stop
        threads = [executor.submit(thread, int) for thread in ("flush", "journal-0")]
        ended = gatherResults(threads, consumeErrors=True).addErrback(lambda _: stopped())
        self.reactor.run_until(ended)
        for _ in range(10):
            if isinstance(ended.result, Deferred):
                self.reactor.run_until(ended.result)
        self.assertNotIsInstance(ended.result, Deferred)

    def tearDown(self) -> None:
        self.reactor.run_until(self.executor.stop())

    def test_threads_run_beside_each_other(self) -> None:
        """Work that waits in one thread does not keep another thread, or a second reader, from running."""
        released = threading.Event()

        def wait() -> str:
            return "waited" if released.wait(10) else "left alone"

        waiting = [self.executor.submit(thread, wait) for thread in ("flush", "read")]
        self.reactor.run_until(gatherResults([self.executor.submit(thread, int) for thread in ("journal-0", "read")]))
        self.assertFalse(any(d.called for d in waiting))
        released.set()
        both = gatherResults(waiting)
        self.reactor.run_until(both)
        self.assertEqual(self.successResultOf(both), ["waited", "waited"])

    def test_join_waits_for_cancelled_work(self) -> None:
        """Work that was cancelled after it had begun is waited for: it may still use what it was given."""
        begun, released = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            released.wait(10)

        waiting = self.executor.submit("read", wait)
        self.assertTrue(begun.wait(10))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        joined = self.executor.join()
        self.reactor.run_until(self.executor.submit("flush", int))
        self.assertNoResult(joined)
        released.set()
        self.reactor.run_until(joined)
        self.successResultOf(joined)

    def test_threads_are_made_on_first_use(self) -> None:
        """An executor that was never used has nothing to stop."""
        self.successResultOf(ThreadExecutor(self.reactor).stop())  # type: ignore[arg-type]


@implementer(IReactorFDSet)
class PollingReactor(QueueReactor):
    """One that also polls descriptors, as the test runs it."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: list[Any] = []

    def addReader(self, reader: Any) -> None:
        verifyObject(IReadDescriptor, reader)
        self.readers.append(reader)

    def removeReader(self, reader: Any) -> None:
        self.readers.remove(reader)

    def addWriter(self, writer: object) -> None:
        raise NotImplementedError

    removeWriter = addWriter

    def removeAll(self) -> list[Any]:
        raise NotImplementedError

    getReaders = getWriters = removeAll

    def run_until(self, waited: "Deferred[Any]") -> None:
        """Runs what threads hand over, and what readable descriptors want, until a Deferred has fired."""
        for _ in until(lambda: waited.called, 10_000):
            for reader in select(self.readers, (), (), 0.001)[0]:
                reader.doRead()
            try:
                function, args = self._calls.get_nowait()
            except Empty:
                continue
            function(*args)


class PollingExecutorTests(ThreadExecutorTests):
    """The contract on a reactor that polls descriptors: small durable writes need no thread there."""

    def make(self) -> ThreadExecutor:
        self.reactor = self.polling = PollingReactor()
        return ThreadExecutor(self.reactor, read_threads=2)  # type: ignore[arg-type]

    def kernel(self, refusal: int = 0, result: int | None = None) -> None:
        """Takes the place of the kernel for writes from now on."""
        for writes in self.executor._writes.values():
            writes.close()
        self.executor._writes.clear()
        kernel = type("Kernel", (ScriptedKernel,), {"refusal": refusal, "result": result})
        self.patch(durable_writer, "KernelContext", kernel)

    def file(self) -> IFile:
        """A direct file whose blocks exist."""
        try:
            KernelContext(1).close()
        except OSError as error:
            raise SkipTest(f"no asynchronous I/O: {error}") from None
        file = RealFileSystem().open(os.path.abspath(self.mktemp()), create=True, direct=True)
        self.addCleanup(file.close)
        if file.direct_descriptor is None:
            raise SkipTest("no direct I/O here")
        file.pwrite(bytes(4096), 0)
        file.sync()
        return file

    def write(self, file: IFile, content: bytes = b"a") -> Any:
        """The outcome of a write of one sector, which the thread makes if the executor does not begin it."""
        parts = [content * 512]
        written: Deferred[Any] = Deferred()
        if not self.executor.write("journal-0", file, parts, 0, written.callback):
            written = self.executor.submit("journal-0", file.pwritev, parts, 0, True)
        written.addErrback(lambda failure: failure.value)
        self.reactor.run_until(written)
        return self.successResultOf(written)

    def test_no_thread(self) -> None:
        """A small durable write is made without a thread, and the next one too."""
        file = self.file()
        for content in (b"a", b"b"):
            self.assertIsNone(self.write(file, content))
            self.assertEqual(file.pread(512, 0), content * 512)
        self.assertEqual((self.executor._threads, len(self.polling.readers)), ({}, 1))
        self.reactor.run_until(self.executor.stop())
        self.assertEqual(self.polling.readers, [])

    def test_not_made(self) -> None:
        """The thread makes what the kernel made in part, or would have to wait for; the next write is begun again."""
        for result in (256, 0, -errno.EAGAIN):
            self.kernel(result=result)
            file = self.file()
            self.assertIsNone(self.write(file))
            self.assertEqual(file.pread(512, 0), b"a" * 512)
            self.assertEqual(len(self.polling.readers), 1)

    def test_refused(self) -> None:
        """What the system does not begin is not begun; one line says so, and it is not asked again."""
        for number in (errno.EPERM, errno.EINVAL):
            for answers in ({"refusal": number}, {"result": -number}):
                self.kernel(**answers)
                file = self.file()
                with capturedLogs() as events:
                    self.assertIsNone(self.write(file))
                    self.assertIsNone(self.write(file, b"b"))
                    self.assertFalse(self.executor.write("journal-0", file, [b"c" * 512], 0, self.fail))
                self.assertEqual(file.pread(512, 0), b"b" * 512)
                self.assertEqual(self.polling.readers, [])
                lines = [event for event in events if "without a thread" in str(event["log_format"])]
                self.assertEqual(len(lines), 1)

    def test_no_such_calls(self) -> None:
        """No write is begun where the system has no asynchronous I/O."""

        def refuse(depth: int) -> None:
            raise OSError(errno.ENOSYS, "asynchronous I/O")

        file = self.file()
        self.patch(durable_writer, "KernelContext", refuse)
        self.assertFalse(self.executor.write("journal-0", file, [b"a" * 512], 0, self.fail))
        self.reactor.run_until(self.executor.join())
        self.assertEqual(file.pread(512, 0), bytes(512))
        self.assertEqual(self.polling.readers, [])

    def test_failed(self) -> None:
        """S10: a write that the disk fails is not made again."""
        for number in (errno.EIO, errno.ENOSPC):
            self.kernel(result=-number)
            file = self.file()
            error = self.write(file)
            self.assertEqual((error.errno, error.filename), (number, file.path))
            self.assertEqual(file.pread(512, 0), bytes(512))

    def test_broken_callback(self) -> None:
        """An error of a callback is logged, and the next write is begun as before."""
        file, called = self.file(), list[Any]()

        def broken(outcome: Any) -> None:
            called.append(outcome)
            raise ValueError("a broken callback")

        self.assertTrue(self.executor.write("journal-0", file, [b"a" * 512], 0, broken))
        self.reactor.run_until(self.executor.join())
        self.assertEqual(called, [None])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertIsNone(self.write(file, b"b"))
        self.assertEqual((self.executor._threads, len(self.polling.readers)), ({}, 1))

    def test_stop_waits(self) -> None:
        """A stop waits for a write that has begun, even if it is left to the thread in the end."""
        self.kernel(result=0)
        file = self.file()
        written: Deferred[Any] = Deferred()
        self.assertTrue(self.executor.write("journal-0", file, [b"a" * 512], 0, written.callback))
        stopped = self.executor.stop()
        self.assertNoResult(stopped)
        self.reactor.run_until(stopped)
        self.assertIsNone(self.successResultOf(written))
        self.assertEqual(file.pread(512, 0), b"a" * 512)
