"""The reactor thread of a process: the driver and tasks that write have one, tasks that read have none."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar, cast

from twisted.internet.defer import Deferred, DeferredSemaphore, FirstError, gatherResults

from ..blocking.reactor_thread import ReactorThread

THREAD = ReactorThread()
"""The reactor thread of this process, started by the first connection to a cluster."""

_AT_ONCE = 128

K = TypeVar("K")
V = TypeVar("V")


async def results_of(keys: Iterable[K], work: Callable[[K], Awaitable[V]]) -> dict[K, V]:
    """Call a coroutine function once for each argument, a limited number of calls at a time; wait for all results.

    :param keys: the arguments.
    :param work: the coroutine function.
    :returns: the result for each argument.
    :raises Exception: the first error of ``work``.  The other calls are not cancelled.
    """
    wanted = list(keys)
    turn = DeferredSemaphore(_AT_ONCE)
    running = [turn.run(_started, work, key) for key in wanted]
    try:
        found = cast(list[V], await gatherResults(running, consumeErrors=True))
    except FirstError as first:
        raise cast(Exception, first.subFailure.value) from None
    return dict(zip(wanted, found, strict=True))


def _started(work: Callable[[K], Awaitable[V]], key: K) -> "Deferred[V]":
    async def run() -> V:
        return await work(key)

    return Deferred.fromCoroutine(run())
