"""Runs blocking work, such as reads and writes of files, in threads: the executor of a bookie outside tests.

Each kind of work, for example the writes of one journal, has a queue and a thread with a name; ``"read"`` names a pool
of threads.  A small durable write needs no thread if the kernel has asynchronous I/O and the reactor can poll file
descriptors.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorFDSet, IReactorFromThreads, IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..crc32c import Buffer
from ..errors import StorageFailedError
from ..storage.files.durable_writer import DurableWriter
from ..storage.interfaces import IFile
from .interfaces import IStorageExecutor

T = TypeVar("T")


class Work:
    """A blocking function call that was submitted to run in a thread, and the callback for its outcome.

    :ivar done: called once on the reactor thread, with the value that the function has returned, or with a Failure.
    :ivar cancelled: whether the outcome is dropped; then the function does not run, unless it has begun already.
    """

    __slots__ = ("function", "args", "done", "cancelled")
    _log = Logger()

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], done: Callable[[Any], object]) -> None:
        self.function = function
        self.args = args
        self.done = done
        self.cancelled = False

    @classmethod
    def with_result(cls, function: Callable[..., Any], args: tuple[Any, ...]) -> "tuple[Work, Deferred[Any]]":
        """Return the work of calling ``function(*args)``, and a Deferred for its result.

        If the Deferred is cancelled before the work has begun, the work does not run.
        """
        result: Deferred[Any] = Deferred(lambda _: work._cancel())
        work = cls(function, args, result.callback)
        return work, result

    def _cancel(self) -> None:
        self.cancelled = True

    def run(self) -> Any:
        """Run the function on the present thread; return its result or a Failure."""
        try:
            return self.function(*self.args)
        except BaseException:
            return Failure()

    def deliver(self, outcome: Any) -> None:
        """Call the callback on the reactor thread, unless the work was cancelled.

        :param outcome: a value, or a Failure.
        """
        if self.cancelled:
            return
        try:
            self.done(outcome)
        except Exception:
            self._log.failure("the callback of submitted work failed")


class Unfinished:
    """The submitted work that has not ended, and the Deferreds that wait for its end.  Used on the reactor thread only.
    """

    def __init__(self) -> None:
        self._works: set[Work] = set()
        self._waiting: list[Deferred[None]] = []

    def add(self, work: Work) -> None:
        """Record that ``work`` was submitted and has not ended."""
        self._works.add(work)

    def ended(self, work: Work, outcome: Any = None) -> None:
        """Deliver the ``outcome`` of ``work``; if no other work is left, fire the waiting Deferreds."""
        self._works.discard(work)
        work.deliver(outcome)  # do this before testing whether work is left: the callbacks may submit more work
        while not self._works and self._waiting:
            waiter = self._waiting.pop(0)
            if not waiter.called:
                waiter.callback(None)

    def join(self) -> "Deferred[None]":
        """Wait until no submitted work is left, including work that is submitted during the wait."""
        if not self._works:
            return succeed(None)
        result: Deferred[None] = Deferred()
        self._waiting.append(result)
        return result


def refused() -> "Deferred[Any]":
    """Return a failed Deferred, as the result of work that is submitted to a stopped executor."""
    return fail(StorageFailedError("the bookie is stopping"))


class _WorkerThreads:
    """The queue of one kind of blocking work, such as the writes of one journal, and the threads that do this work."""

    def __init__(
        self, name: str, n_threads: int, reactor: IReactorFromThreads, unfinished: Unfinished, ended: Callable[[], None]
    ) -> None:
        self.queue: SimpleQueue[Work | None] = SimpleQueue()
        self._reactor = reactor
        self._unfinished = unfinished
        self._ended = ended
        self.threads = [threading.Thread(target=self._serve, name=f"{name}-{n}", daemon=True) for n in range(n_threads)]
        for thread in self.threads:
            thread.start()

    def _serve(self) -> None:
        while (work := self.queue.get()) is not None:
            self._reactor.callFromThread(self._unfinished.ended, work, None if work.cancelled else work.run())
        self._reactor.callFromThread(self._ended)

    def close(self) -> None:
        for _ in self.threads:
            self.queue.put(None)


@implementer(IReadDescriptor)
class _Writes:
    """The small durable writes that the reactor thread passes to the kernel (asynchronous I/O), one at a time.

    Without asynchronous I/O, a journal thread would have to make these writes, which takes longer.

    :param thread: name of the journal thread.
    :param ended: called on the reactor thread with a write and its outcome.
    :param leave: called with a write that the kernel accepted but did not make; the journal thread must make it.
    """

    _log = Logger()

    def __init__(
        self, thread: str, reactor: Any, ended: Callable[[Work, Any], None], leave: Callable[[Work], None]
    ) -> None:
        self._thread = thread
        self._reactor = reactor
        self._ended = ended
        self._leave = leave
        self._writer: DurableWriter | None = None
        self._writing: Work | None = None
        if not IReactorFDSet.providedBy(reactor):
            return
        try:
            self._writer = DurableWriter()
        except OSError as error:
            self._refused(error)
        else:
            reactor.addReader(self)

    def begin(self, work: Work, file: IFile, parts: Sequence[Buffer], offset: int) -> bool:
        """Pass a write to the kernel.

        :param work: the same write as a blocking call; the journal thread runs it if the kernel accepts the write but
            does not make it.
        :param file: the file to write to.
        :param parts: the bytes to write, in several buffers.
        :param offset: offset in the file.
        :returns: False if the kernel did not accept the write, or an earlier write has not ended.
        """
        writer = self._writer
        if writer is None or self._writing is not None:
            return False
        if writer.begin(file, parts, offset):
            self._writing = work
            return True
        if writer.refusal is not None:
            self._refused(writer.refusal)
        return False

    def _refused(self, error: OSError) -> None:
        self.close()
        self._log.info(
            "{thread}: the system begins no durable writes without a thread ({error}): threads make them, "
            "which takes some microseconds more", thread=self._thread, error=error,
        )  # fmt: skip

    def fileno(self) -> int:
        return self._writer.fileno() if self._writer is not None else -1

    def logPrefix(self) -> str:
        return self._thread

    def doRead(self) -> None:
        work, writer = self._writing, self._writer
        if work is None or writer is None:
            return
        try:
            is_made = writer.end()
        except OSError:
            self._writing = None
            self._ended(work, Failure())
            return
        if is_made is None:
            return
        self._writing = None
        if writer.refusal is not None:
            self._refused(writer.refusal)
        if is_made:
            self._ended(work, None)
        else:
            self._leave(work)

    def connectionLost(self, reason: Failure) -> None:
        """Do nothing: the reactor calls this method when it stops, but the kernel completes the write in progress."""

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._reactor.removeReader(self)
            writer.close()


@implementer(IStorageExecutor)
class ThreadExecutor:
    """An executor with one thread for each name; only ``"read"`` names a pool of threads.

    A thread is created when work is submitted to it for the first time.

    :param read_threads: number of threads of the pool ``"read"``.
    """

    def __init__(self, reactor: IReactorFromThreads, read_threads: int = 2) -> None:
        self._reactor = reactor
        self._read_threads = read_threads
        self._threads: dict[str, _WorkerThreads] = {}
        self._writes: dict[str, _Writes] = {}
        self._unfinished = Unfinished()
        self._running = 0
        self._stopped: Deferred[None] | None = None

    def submit(self, thread: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        if self._stopped is not None:
            return refused()
        item, result = Work.with_result(work, args)
        self._unfinished.add(item)
        self._queue(thread, item)
        return result

    def _queue(self, thread: str, item: Work) -> None:
        found = self._threads.get(thread)
        if found is None:
            found = self._threads[thread] = self._open(thread)
        found.queue.put(item)

    def write(
        self, thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Callable[[Failure | None], object]
    ) -> bool:
        if self._stopped is not None:
            return False
        found = self._writes.get(thread)
        if found is None:
            leave = partial(self._queue, thread)
            found = self._writes[thread] = _Writes(thread, self._reactor, self._unfinished.ended, leave)
        item = Work(file.pwritev, (parts, offset, True), done)
        if not found.begin(item, file, parts, offset):
            return False
        self._unfinished.add(item)
        return True

    def _open(self, thread: str) -> _WorkerThreads:
        n_threads = self._read_threads if thread == "read" else 1
        self._running += n_threads
        return _WorkerThreads(thread, n_threads, self._reactor, self._unfinished, self._thread_ended)

    def notify(self, function: Callable[..., None], *args: Any) -> None:
        self._reactor.callFromThread(function, *args)

    def join(self) -> "Deferred[None]":
        return self._unfinished.join()

    def stop(self) -> "Deferred[None]":
        if self._stopped is None:
            self._stopped = Deferred()
            # Wait before closing the threads: if the kernel does not make a write that it has accepted, the write is
            # submitted to a thread.
            self._unfinished.join().addCallback(lambda _: self._close())
        waiter: Deferred[None] = Deferred()
        if self._stopped.called:
            return succeed(None)
        self._stopped.chainDeferred(waiter)
        return waiter

    def _close(self) -> None:
        for writes in self._writes.values():
            writes.close()
        for threads in self._threads.values():
            threads.close()
        if not self._running and self._stopped is not None:
            self._stopped.callback(None)

    def _thread_ended(self) -> None:
        self._running -= 1
        if not self._running:
            for threads in self._threads.values():
                for thread in threads.threads:
                    # join() does not block long: scheduling this call of _thread_ended was the last step of the thread.
                    thread.join()
            assert self._stopped is not None
            self._stopped.callback(None)
