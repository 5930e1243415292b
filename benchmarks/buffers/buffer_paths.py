"""Ways to bring messages from producers to one stream of bytes: claim logs, and what they are measured against.

Each way has ``offer`` for one message and ``drain``, which gives what is to be sent and ends the round.
Frames are V2 adds up to what sealing puts in later: a log leaves room for it, the other ways pack header word, key and
ledger id.  Nothing is sealed: which entry a frame becomes is known only when it is sent, with a log and without.
"""

import struct
from collections import deque
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.claims.claim_log import ClaimLog
from bookkeeper_twisted.client.claims.frames import FrameLayout
from bookkeeper_twisted.client.claims.memory_blocks import MemoryPool
from bookkeeper_twisted.client.claims.threads import system_threads
from bookkeeper_twisted.codec.operations import V2Op
from bookkeeper_twisted.codec.v2 import layout
from bookkeeper_twisted.codec.v2.layout import header_word

HEAD = struct.Struct(">iI20sq28x")
"""Length of what follows, header word, key, ledger id; room for the rest of the entry's header and the digest."""

OVERHEAD = HEAD.size
_DIGEST = 4
"""Bytes of a digest."""

BLOCK = 1 << 20
"""Three of these hold a round of the largest messages, so that no offer is refused."""

LEDGER = 1
KEY = bytes(20)
WORD = header_word(layout.VERSION, V2Op.ADD, 0)

Offer = Callable[[bytes], object]
Drain = Callable[[], list[bytes]]
Path = tuple[Offer, Drain]


def frame(payload: bytes) -> bytes:
    """A message, header and payload."""
    return HEAD.pack(len(payload) + OVERHEAD - 4, WORD, KEY, LEDGER) + payload


class _Joined:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def offer(self, payload: bytes) -> None:
        self.parts.append(HEAD.pack(len(payload) + OVERHEAD - 4, WORD, KEY, LEDGER) + payload)

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
        data = b"".join([frame(m.payload) for m in messages])
        for message in messages:
            message.done.callback(None)
        messages.clear()
        return [data]

    return offer, drain


def shared() -> Path:
    """A claim log, filled by one thread."""
    log = new_shared()
    return log.producer().offer, lambda: drain_log(log)


def new_shared(wake: Callable[[], None] = lambda: None) -> ClaimLog:
    """A claim log with blocks that exist."""
    return ClaimLog(LEDGER, FrameLayout(_DIGEST), MemoryPool(BLOCK, prepared=3), system_threads(None), wake)


def drain_log(log: ClaimLog) -> list[bytes]:
    """All that is committed, a block at once, acknowledged at once."""
    parts: list[bytes] = []
    log.disarm()
    start = log.taken
    while (frames := log.take(BLOCK)) is not None:
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
            write(frame(payload))
        while waiting:
            waiting.popleft().callback(None)

    return run
