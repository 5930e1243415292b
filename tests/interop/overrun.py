"""Work that takes too long ends with an error that says where it was, and how things were then."""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

T = TypeVar("T")

Work = Coroutine["Deferred[Any]", Any, T]


class OverrunError(AssertionError):
    """The work did not end in time."""


def stack_of(work: Work[Any]) -> list[str]:
    """The places where a suspended coroutine, and those it awaits, are; the outermost first."""
    places = []
    awaited: Any = work
    while getattr(awaited, "cr_frame", None) is not None:
        code = awaited.cr_code
        places.append(f"{Path(code.co_filename).name}:{awaited.cr_frame.f_lineno} {code.co_name}")
        awaited = awaited.cr_await
    return places


async def within(clock: IReactorTime, seconds: float, work: Work[T], report: Callable[[], Awaitable[str]]) -> T:
    """Do some work, which is cancelled if it takes too long.

    :param report: says how things are then.
    :raises OverrunError: it took too long; names the places where it was, and what was reported.
    """
    places: list[str] = []
    running = Deferred.fromCoroutine(work)

    def overrun() -> None:
        places.extend(stack_of(work))
        running.cancel()

    timer = clock.callLater(seconds, overrun)
    try:
        return await running
    except CancelledError:
        if not places:
            raise
        raise OverrunError("\n".join([f"did not end within {seconds:g} s at", *places, await report()])) from None
    finally:
        if timer.active():
            timer.cancel()
