"""The two kinds of workers that call an embedded store: on the calling thread, or on a thread of their own."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, execute, fail
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool
from zope.interface import implementer

from ...errors import MetadataError
from .interfaces import IWorker

T = TypeVar("T")


@implementer(IWorker)
class InlineWorker:
    """A worker that runs every call immediately on the calling thread, for stores that never block."""

    def call(self, work: Callable[..., T], *args: object) -> "Deferred[T]":
        return execute(work, *args)

    read = call

    def serve_reads(self) -> None:
        """Do nothing: every read was run when it was submitted."""

    def stop(self) -> None:
        """Do nothing: there is no thread to end."""


@implementer(IWorker)
class ThreadWorker:
    """A worker that runs calls in order on one thread, which the first call starts.

    A call whose Deferred is cancelled before the call begins is never made.
    """

    def __init__(self, reactor: Any, name: str) -> None:
        """:param reactor: delivers results (IReactorFromThreads), and stops the worker at shutdown (IReactorCore)."""
        self._reactor = reactor
        self._pool = ThreadPool(minthreads=0, maxthreads=1, name=name)
        self._at_shutdown: object = None
        self._stopped = False
        self._reads: dict[Deferred[Any], Callable[[], None]] = {}  # the reads that have not begun, in order
        self._change: Deferred[Any] | None = None  # what the thread is doing, unless that is a read

    def call(self, work: Callable[..., T], *args: object) -> "Deferred[T]":
        wanted: Deferred[T] = Deferred()

        def in_its_turn() -> None:
            self._change = wanted
            self._run(wanted, work, args)
            self._change = None

        return self._submit(wanted, in_its_turn)

    def read(self, work: Callable[..., T], *args: object) -> "Deferred[T]":
        wanted: Deferred[T] = Deferred()
        self._reads[wanted] = lambda: self._run(wanted, work, args)
        return self._submit(wanted, lambda: self._reads.pop(wanted, _nothing)())

    def serve_reads(self) -> None:
        change, self._change = self._change, None
        if change is None:  # a read waits, maybe one that is being served here: reads served by reads have no end
            return
        # First list the reads, then look whether the change was cancelled: a read that was submitted after the
        # cancellation may rely on the end of the change.
        reads = list(self._reads)
        if change.called:
            raise CancelledError
        for wanted in reads:
            self._reads.pop(wanted)()
        self._change = change

    def _run(self, wanted: "Deferred[T]", work: Callable[..., T], args: tuple[object, ...]) -> None:
        """Run a call on the thread, unless it was cancelled; deliver its result on the reactor thread."""
        if wanted.called:
            return
        try:
            result: T | Failure = work(*args)
        except BaseException:
            result = Failure()
        # if the caller has cancelled this Deferred, the Deferred ignores the result
        self._reactor.callFromThread(wanted.callback, result)

    def _submit(self, wanted: "Deferred[T]", run: Callable[[], None]) -> "Deferred[T]":
        if self._stopped:  # a stopped thread pool would raise another error, or never return a result
            return fail(MetadataError("the store is closed"))
        if not self._pool.started:
            self._pool.start()
            # Stop the thread at shutdown: otherwise it would keep a program running that has not closed its driver.
            self._at_shutdown = self._reactor.addSystemEventTrigger("during", "shutdown", self._shut_down)
        self._pool.callInThread(run)
        return wanted

    def _shut_down(self) -> None:
        self._at_shutdown = None
        self._stopped = True
        self._pool.stop()

    def stop(self) -> None:
        self._stopped = True
        trigger, self._at_shutdown = self._at_shutdown, None
        if trigger is not None:
            self._reactor.removeSystemEventTrigger(trigger)
            self._pool.stop()


def _nothing() -> None:
    """Do nothing, in the turn of a read that was served earlier."""
