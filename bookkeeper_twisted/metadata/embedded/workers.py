"""The two kinds of workers that call an embedded store: on the calling thread, or on a thread of their own."""

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, execute, fail
from twisted.internet.threads import deferToThreadPool
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

    def call(self, work: Callable[..., T], *args: object) -> "Deferred[T]":
        if self._stopped:  # a stopped thread pool would raise another error, or never return a result
            return fail(MetadataError("the store is closed"))
        if not self._pool.started:
            self._pool.start()
            # Stop the thread at shutdown: otherwise it would keep a program running that has not closed its driver.
            self._at_shutdown = self._reactor.addSystemEventTrigger("during", "shutdown", self._shut_down)
        # if the caller cancels this Deferred, the Deferred ignores the result
        wanted: Deferred[T] = Deferred()

        def in_its_turn() -> Any:
            return None if wanted.called else work(*args)

        deferToThreadPool(self._reactor, self._pool, in_its_turn).addBoth(wanted.callback)
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
