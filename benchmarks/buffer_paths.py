"""Ways to bring messages from producers to one stream of bytes: claim logs, and what they are measured against.

Each way has ``offer`` for one message and ``drain``, which gives what is to be sent and ends the round.
Frames are V2 adds; nothing is sealed, so that ways with and without a log do the same.
"""

import struct
from collections import deque
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.claim_log import ClaimLog
from bookkeeper_twisted.client.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.frame_shape import V2Shape
from bookkeeper_twisted.client.log_terms import TermPool
from bookkeeper_twisted.client.shared_log import SharedLog, WhenFull
from bookkeeper_twisted.client.threads import system_threads

HEAD = struct.Struct(">i60s")
TAIL = bytes(60)
TERM = 256 << 10
SLICE = 256 << 10

Offer = Callable[[bytes], object]
Drain = Callable[[], list[bytes]]
Path = tuple[Offer, Drain]


def shape() -> V2Shape:
    """Adds of a ledger with CRC32C."""
    return V2Shape(1, 4, bytes(20))


class _Joined:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def offer(self, payload: bytes) -> None:
        self.parts.append(HEAD.pack(len(payload) + 60, TAIL) + payload)

    def drain(self) -> list[bytes]:
        data = b"".join(self.parts)
        self.parts.clear()
        return [data]


def joined() -> Path:
    """Pack the header, put the payload behind it, keep it in a list, join: the measure of all."""
    queue = _Joined()
    return queue.offer, queue.drain


class _Message:
    __slots__ = ("payload", "done")

    def __init__(self, payload: bytes, done: "Deferred[None]") -> None:
        self.payload = payload
        self.done = done


def objects_and_deferreds() -> Path:
    """An object and a Deferred for each message, fired when it is sent."""
    messages: list[_Message] = []

    def offer(payload: bytes) -> None:
        done: Deferred[None] = Deferred()
        done.addCallback(lambda _: None)
        messages.append(_Message(payload, done))

    def drain() -> list[bytes]:
        data = b"".join([HEAD.pack(len(m.payload) + 60, TAIL) + m.payload for m in messages])
        for message in messages:
            message.done.callback(None)
        messages.clear()
        return [data]

    return offer, drain


def exclusive() -> Path:
    """An exclusive log."""
    log = ExclusiveLog(shape(), TermPool(TERM, prepared=3))
    return log.offer, lambda: drain_log(log)


def shared() -> Path:
    """A shared log, filled by one thread."""
    log = new_shared(WhenFull.CODE)
    return log.producer().offer, lambda: drain_log(log)


def new_shared(when_full: WhenFull, wake: Callable[[], None] = lambda: None) -> SharedLog:
    """A shared log with terms that exist."""
    return SharedLog(shape(), TermPool(TERM, prepared=3), system_threads(), wake, when_full)


def drain_log(log: ClaimLog) -> list[bytes]:
    """All that is committed, in slices, acknowledged at once."""
    parts: list[bytes] = []
    if isinstance(log, SharedLog):
        log.disarm()
    start = log.taken
    while (frames := log.take(SLICE)) is not None:
        parts.append(bytes(frames.view()))
        start = frames.end
    log.acknowledge(start)
    return parts


def writing(offer: Offer, drain: Drain, write: Callable[[bytes], None]) -> Callable[[Sequence[bytes]], None]:
    """A round that hands what was drained to a transport, a write for each slice."""

    def run(payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            offer(payload)
        for data in drain():
            write(data)

    return run


def write_each(write: Callable[[bytes], None], deferred: bool) -> Callable[[Sequence[bytes]], None]:
    """A round with a write for each message, and perhaps a Deferred."""

    def run(payloads: Sequence[bytes]) -> None:
        waiting: deque[Deferred[None]] = deque()
        for payload in payloads:
            if deferred:
                done: Deferred[None] = Deferred()
                done.addCallback(lambda _: None)
                waiting.append(done)
            write(HEAD.pack(len(payload) + 60, TAIL) + payload)
        while waiting:
            waiting.popleft().callback(None)

    return run
