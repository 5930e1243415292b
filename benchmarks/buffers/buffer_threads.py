"""Four foreign threads and one reactor: claim log, deque, a call from a thread for each message."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.epollreactor import EPollReactor

from bookkeeper_twisted.client.claims.producer import WhenFull

from . import buffer_paths as paths

THREADS = 4
_EACH = 10_000
_PAYLOAD = bytes(25)

Start = Callable[[Any, list[int]], Callable[[], Callable[[bytes], object]]]
"""From a reactor and the count of bytes that arrived to what makes a thread's ``offer``."""


def _log(reactor: Any, arrived: list[int]) -> Callable[[], Callable[[bytes], object]]:
    def look() -> None:
        arrived[0] += sum(map(len, paths.drain_log(log)))

    log = paths.new_shared(lambda: reactor.callFromThread(look))
    return lambda: log.producer(WhenFull.BLOCK).offer


def _deque(reactor: Any, arrived: list[int]) -> Callable[[], Callable[[bytes], object]]:
    messages: deque[bytes] = deque()
    armed = [False]

    def look() -> None:
        armed[0] = False
        arrived[0] += len(b"".join([messages.popleft() for _ in range(len(messages))]))

    def offer(payload: bytes) -> None:
        messages.append(paths.frame(payload))
        if not armed[0]:
            armed[0] = True
            reactor.callFromThread(look)

    return lambda: offer


def _call_each(reactor: Any, arrived: list[int]) -> Callable[[], Callable[[bytes], object]]:
    def write(data: bytes) -> None:
        arrived[0] += len(data)

    def offer(payload: bytes) -> None:
        reactor.callFromThread(write, paths.frame(payload))

    return lambda: offer


def _measure(start: Start) -> float:
    """CPU seconds until all messages of all threads have arrived."""
    reactor, arrived = EPollReactor(), [0]
    new_offer = start(reactor, arrived)

    def produce() -> None:
        offer = new_offer()
        for _ in range(_EACH):
            offer(_PAYLOAD)

    workers = [threading.Thread(target=produce) for _ in range(THREADS)]
    begin = time.process_time()
    for worker in workers:
        worker.start()
    while arrived[0] < THREADS * _EACH * (paths.OVERHEAD + len(_PAYLOAD)):
        reactor.iterate(0.1)
    taken = time.process_time() - begin
    for worker in workers:
        worker.join()
    return taken


def thread_rows(rounds: int) -> Iterator[tuple[str, float, float, bool]]:
    """Name, bar, figure, whether the bar is a lower bound."""
    ways: tuple[Start, ...] = (_log, _deque, _call_each)
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, times in zip(ways, taken, strict=True):
            times.append(_measure(way))
    log, queue, calls = map(min, taken)
    yield f"{THREADS} threads: a call from a thread for each / shared log", 15, calls / log, True
    yield f"{THREADS} threads: shared log / deque and join", 0.9, log / queue, False
