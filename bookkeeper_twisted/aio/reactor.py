"""A Twisted reactor that an asyncio loop runs, and the wait for a Deferred in a coroutine of asyncio.

Theory of operation.  The clients of one loop share one reactor, made with the first of them.  It registers its
sockets and timers with the loop and has no thread, no waker and no signal handlers of its own.  It ends with the last
client, or with the loop: ``asyncio.run`` closes the asynchronous generators of its loop, and one of them ends the
reactor.  ``python -m benchmarks doors`` measures it beside a reactor in a thread of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.python.failure import Failure

from ..python_logging import forward_to_logging

T = TypeVar("T")


class LoopReactor(AsyncioSelectorReactor):
    """A reactor whose end does not end the loop that runs it.

    :ivar users: clients that are open.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.users = 0
        self._loop = loop
        self._has_ended = False
        self._life = self._live()

    async def begin(self) -> None:
        """Start it; to be awaited in the loop."""
        self.startRunning(installSignalHandlers=False)
        await anext(self._life)

    async def end(self) -> None:
        """Stop the threads of the reactor and close its sockets."""
        await self._life.aclose()

    async def _live(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._has_ended = True
            self.fireSystemEvent("shutdown")

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kw: object) -> DelayedCall:
        """Call later; after the end of this reactor the loop does it.

        A writer that is used after its client was closed fails in a later turn, as behind the other doors.
        """
        if not self._has_ended:
            return cast(DelayedCall, super().callLater(delay, callable, *args, **kw))
        call = DelayedCall(self.seconds() + delay, callable, args, kw, lambda _: handle.cancel(), lambda _: None)

        def run() -> None:
            call.called = 1
            callable(*args, **kw)

        handle = self._loop.call_later(delay, run)
        return call

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:  # type: ignore[override]  # its bases differ
        """Call in this reactor; not after its end."""
        if not self._has_ended:
            super().callFromThread(callable, *args, **kwargs)

    def installWaker(self) -> None:
        """Do nothing: calls from threads wake the loop."""

    def runUntilCurrent(self) -> None:
        """Run what is due; nothing after the end of this reactor, though the loop may go on."""
        if self.running:
            super().runUntilCurrent()

    def crash(self) -> None:
        """End this reactor, and leave the loop running."""
        PosixReactorBase.crash(self)


_reactors: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopReactor] = WeakKeyDictionary()


async def acquire_reactor() -> LoopReactor:
    """Return the reactor of the running loop for one more user, which is to call :func:`release_reactor`."""
    forward_to_logging()
    loop = asyncio.get_running_loop()
    reactor = _reactors.get(loop)
    if reactor is None:
        reactor = _reactors[loop] = LoopReactor(loop)
        await reactor.begin()
    reactor.users += 1
    return reactor


async def release_reactor(reactor: LoopReactor) -> None:
    """Count one user of the ``reactor`` less, and end it after the last.

    To be awaited in the loop that runs it.
    """
    reactor.users -= 1
    if not reactor.users:
        _reactors.pop(asyncio.get_running_loop(), None)
        await reactor.end()


async def result_of(work: Awaitable[T]) -> T:
    """Wait in a coroutine of asyncio for a Deferred or a coroutine of Twisted.

    :param work: cancelling this wait cancels it.
    :raises Exception: the error that ``work`` ends with.
    """
    deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(_as_coroutine(work))
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def succeeded(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def failed(failure: Failure) -> None:
        if not future.done():
            future.set_exception(cast(BaseException, failure.value))

    deferred.addCallbacks(succeeded, failed)
    try:
        return await future
    except asyncio.CancelledError:
        deferred.cancel()
        raise


async def _as_coroutine(work: Awaitable[Any]) -> Any:
    return await work
