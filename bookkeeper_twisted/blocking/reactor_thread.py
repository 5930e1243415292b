"""A reactor in a daemon thread, and calls from other threads that wait for their results there.

A forked process inherits the reactor, but not its thread, so calls there would wait for ever: they are refused.  A
fresh reactor would not help: SQLite forbids that a forked process goes on with a database of its parent.
"""

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.epollreactor import EPollReactor
from twisted.python.failure import Failure

from ..arguments import check_seconds
from ..errors import IllegalOperationError
from ..python_logging import forward_to_logging

T = TypeVar("T")

_THREADLESS = (
    "this process was forked after its first call of the blocking client: nothing of the client works in it; let "
    "multiprocessing use the start method spawn or forkserver, or fork before the first call"
)

_starting = threading.RLock()
"""Held while a thread is started, and while this process is forked, so that no child inherits half a start."""
os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)


class _ThreadReactor(EPollReactor):
    """A reactor that refuses calls from other threads where it has no thread: in a forked process.

    :ivar thread: the thread that runs the reactor.
    """

    thread: threading.Thread

    def callFromThread(self, f: Callable[..., Any], *args: object, **kwargs: object) -> None:
        """Call in the thread of this reactor.

        :raises IllegalOperationError: the thread is in the process from which this one was forked.
        """
        if not self.thread.is_alive():
            raise IllegalOperationError(_THREADLESS)
        super().callFromThread(f, *args, **kwargs)


class ReactorThread:
    """A reactor in a daemon thread, started with its first use."""

    def __init__(self) -> None:
        self._reactor: Any = None
        self._thread: threading.Thread | None = None

    @property
    def reactor(self) -> Any:
        """The reactor, running."""
        with _starting:
            if self._reactor is None:
                forward_to_logging()
                reactor = self._reactor = _ThreadReactor()
                self._thread = threading.Thread(target=reactor.run, args=(False,), name="bookkeeper", daemon=True)
                reactor.thread = self._thread
                self._thread.start()
            return self._reactor

    def wait(self, work: Callable[[], Awaitable[T]], timeout: float | None = None) -> T:
        """Run ``work`` on the reactor's thread and wait for its result.

        Ctrl-C while this waits, and the end of the timeout, cancel the work.

        :param timeout: seconds; None waits for ever.
        :raises TimeoutError: there was no result in time.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the timeout is negative, or not a number.
        :raises bookkeeper_twisted.errors.IllegalOperationError: called on the reactor's thread, which would wait for
            itself; or this process was forked from one that had started the thread.
        """
        check_timeout(timeout)
        if threading.current_thread() is self._thread:
            raise IllegalOperationError("a blocking call on the thread of its reactor would never end")
        outcome, cancel = self.begin(work)
        try:
            return outcome.result(timeout)
        except BaseException as error:
            if not outcome.done():
                cancel()
                if isinstance(error, TimeoutError):
                    raise TimeoutError(f"no result within {timeout:g} s; the call is cancelled") from None
            elif isinstance(error, TimeoutError):
                return outcome.result()  # it came at the last moment, or this is its own error
            raise

    def begin(self, work: Callable[[], Awaitable[T]]) -> tuple["Future[T]", Callable[[], None]]:
        """Run ``work`` on the reactor's thread.

        :returns: its result to be, and what cancels it; both are for any thread.
        :raises IllegalOperationError: this process was forked from one that had started the thread.
        """
        reactor = self.reactor
        outcome: Future[T] = Future()
        running: list[Deferred[T]] = []

        async def run() -> T:
            return await work()

        def failed(failure: Failure) -> None:
            outcome.set_exception(failure.value)

        def start() -> None:
            running.append(Deferred.fromCoroutine(run()))
            running[0].addCallbacks(outcome.set_result, failed)

        # the caller's context goes along: in it is the span that a trace of this work is a part of
        reactor.callFromThread(copy_context().run, start)
        # a cancellation is queued after the start, so there is something to cancel
        return outcome, lambda: reactor.callFromThread(lambda: running[0].cancel())

    def __repr__(self) -> str:
        return f"<ReactorThread {'not started' if self._thread is None else 'running'}>"


def check_timeout(timeout: float | None) -> None:
    """Check the timeout of a call.

    :raises IncorrectParameterError: it is negative, or not a number.
    """
    check_seconds("timeout", timeout, "no limit")


SHARED_THREAD = ReactorThread()
"""The thread of all connections that are given no other."""
