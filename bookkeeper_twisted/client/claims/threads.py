"""The client's door to threads: what logs that many threads fill are given."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import attrs


class Signal(Protocol):
    """An event that one thread waits for, once."""

    def set(self) -> None:
        """Lets the thread go on."""

    def wait(self, timeout: float | None = None) -> bool:
        """Waits, ``timeout`` seconds at most; whether it was set."""


@attrs.frozen
class Threads:
    """The operations on threads that a claim log needs.

    :ivar on_reactor: whether the caller runs on the reactor's thread, which must never wait.
    :ivar is_alive: makes the question whether the thread that calls this is alive.
    :ivar call: has the reactor's thread call something soon; for any thread.
    :ivar local: an object with attributes of each thread's own.
    """

    on_reactor: Callable[[], bool]
    is_alive: Callable[[], Callable[[], bool]]
    lock: Callable[[], AbstractContextManager[object]]
    signal: Callable[[], Signal]
    call: Callable[[Callable[[], None]], None]
    local: Callable[[], Any]


def system_threads(reactor: Any) -> Threads:
    """Make threads of the operating system available; must be called on the thread of the ``reactor``."""
    reactor_thread = threading.get_ident()
    return Threads(
        on_reactor=lambda: threading.get_ident() == reactor_thread,
        is_alive=lambda: threading.current_thread().is_alive,
        lock=threading.Lock,
        signal=threading.Event,
        call=lambda what: reactor.callFromThread(what),
        local=threading.local,
    )
