"""The thread operations that a claim log needs, as an object that tests can replace."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import attrs


class Signal(Protocol):
    """An event that one thread waits for, once."""

    def set(self) -> None:
        """Wake the waiting thread."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the event is set, ``timeout`` seconds at most; return whether it was set."""


@attrs.frozen
class Threads:
    """The operations on threads that a claim log needs.

    :ivar on_reactor: tests whether the calling thread is the reactor's thread, which must never wait.
    :ivar is_alive: makes a test for the calling thread: a function by which other threads see whether it still runs.
    :ivar call: lets the reactor's thread call a function as soon as possible; any thread may use it.
    :ivar local: makes an object whose attributes have separate values for each thread.
    """

    on_reactor: Callable[[], bool]
    is_alive: Callable[[], Callable[[], bool]]
    lock: Callable[[], AbstractContextManager[object]]
    signal: Callable[[], Signal]
    call: Callable[[Callable[[], None]], None]
    local: Callable[[], Any]


def system_threads(reactor: Any) -> Threads:
    """Return the thread operations of the operating system; call this on the thread of the ``reactor``."""
    reactor_thread = threading.get_ident()
    return Threads(
        on_reactor=lambda: threading.get_ident() == reactor_thread,
        is_alive=lambda: threading.current_thread().is_alive,
        lock=threading.Lock,
        signal=threading.Event,
        call=lambda what: reactor.callFromThread(what),
        local=threading.local,
    )
