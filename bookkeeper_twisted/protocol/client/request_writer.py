"""Writes the requests of one connection: adds immediately, other requests in blocks at the end of the reactor turn.

Each flow (ledger handle) has a queue of frames.  Adds are queued, too, if the transport is full or other frames wait
already.  The bytes of one write are called a *block*.  The frames of a flow are consecutive in a block, so that the
bookie receives many consecutive entries of one ledger.  While several flows wait, each adds a limited number of frames
to a block.  A block consists of whole frames.  Requests of one flow are sent in order; requests of different flows may
overtake each other.
"""

from typing import Any, cast

import attrs
from twisted.internet.interfaces import IConsumer, IPushProducer, IReactorTime, ITransport
from zope.interface import implementer

from ...instruments import Histogram

MAX_BLOCK = 256 << 10
"""When a block (the bytes of one write) has this many bytes, no more frames are added to it."""

MAX_TURN_EVENTS = 500
"""Maximum number of requests that one flow (ledger handle) adds to a block (one write) before the next flow adds its
own.
"""

MAX_TURN_BYTES = 64 << 10
"""Maximum number of bytes that one flow (ledger handle) adds to a block (one write) before the next flow adds its
own.
"""


class WriteQueue:
    """The frames that wait to be written on one connection, in a queue for each flow (ledger handle).

    :ivar size: total size in bytes of all waiting frames.
    """

    __slots__ = ("size", "_put", "_queues")

    def __init__(self) -> None:
        self.size = 0
        # Frames that are not in a queue yet, in a flat list of triples: flow id, frames, number of requests, next flow
        # id, ...
        self._put: list[Any] = []
        # the queue of each flow (ledger handle), as a flat list: frames, number of requests in them, next frames, ...
        self._queues: dict[int, list[Any]] = {}

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Add the frames of one or more requests to the queue of a flow (ledger handle).

        :param flow_id: the id of the flow.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        self._put += (flow_id, frames, events)
        self.size += len(frames)

    def block(self) -> tuple[bytes, int]:
        """Remove the frames for the next write from the queues; return them, and the number of their requests."""
        put, self._put = self._put, []
        flow_ids, all_frames, all_events = put[::3], put[1::3], put[2::3]
        if not self._queues and len(set(flow_ids)) == len(flow_ids):
            block, events = b"".join(all_frames), sum(all_events)
            # All frames together are within the limit of a single flow (ledger handle): write them without queues.
            if len(block) <= MAX_TURN_BYTES and events <= MAX_TURN_EVENTS:
                self.size = 0
                return block, events
        for flow_id, frames, events in zip(flow_ids, all_frames, all_events, strict=True):
            self._queues.setdefault(flow_id, []).extend((frames, events))
        items: list[Any] = []
        size = 0
        while self._queues and size < MAX_BLOCK:
            size += self._round(items, MAX_BLOCK - size)
        self.size -= size
        return b"".join(items[::2]), sum(items[1::2])

    def _round(self, items: list[Any], room: int) -> int:
        """Move a limited number of frames from the queue of each flow (ledger handle) to ``items``.

        Stop as soon as the moved frames have at least ``room`` bytes.

        :returns: the number of moved bytes.
        """
        size, ends = 0, list[tuple[int, int]]()
        for flow_id, queue in self._queues.items():
            end, turn_bytes = (2, len(queue[0])) if len(queue) == 2 else _turn(queue)
            items += queue[:end]
            size += turn_bytes
            ends.append((flow_id, end))
            if size >= room:
                break
        for flow_id, end in ends:
            queue = self._queues.pop(flow_id)
            if end < len(queue):
                del queue[:end]
                self._queues[flow_id] = queue  # reinsert at the end: the other flows (ledger handles) are served first
        return size

    def clear(self) -> None:
        """Drop all waiting frames."""
        self.size, self._put, self._queues = 0, [], {}


def _turn(queue: list[Any]) -> tuple[int, int]:
    """Return the part of a flow's queue to add to the next block (one write): its number of list items, and of bytes.

    :param queue: a flat list of pairs: the frames that one call of :meth:`WriteQueue.put` added, and the number of
        their requests.  At least the first pair is added to the block, even if it exceeds the limits of a flow.
    """
    size = events = 0
    for at in range(0, len(queue), 2):
        length = len(queue[at])
        events += queue[at + 1]
        if at and (size + length > MAX_TURN_BYTES or events > MAX_TURN_EVENTS):
            return at, size
        size += length
    return len(queue), size


@attrs.frozen
class WriteHistograms:
    """Histograms of the sizes of writes.

    :ivar requests: number of requests in each write.
    :ivar sizes: size in bytes of each write.
    """

    requests: Histogram = attrs.field(factory=lambda: Histogram(()))
    sizes: Histogram = attrs.field(factory=lambda: Histogram(()))


@implementer(IPushProducer)
class RequestWriter:
    """The writer of one connection: it writes the frames of requests that the flows (ledger handles) send.

    :ivar queue: the waiting frames.  After frames were added to it directly, and not by :meth:`put`, :meth:`write` must
        be called.
    :ivar writable: whether the transport accepts bytes; frames stay queued while it is full.
    :ivar written: bytes written so far.
    """

    def __init__(self, clock: IReactorTime, histograms: WriteHistograms) -> None:
        """:param histograms: histograms of the sizes of writes, to which each write adds a value."""
        self.queue = WriteQueue()
        self.writable = True
        self.written = 0
        self._clock = clock
        self._requests = histograms.requests
        self._sizes = histograms.sizes
        self._transport: Any = None
        self._flush_call: Any = None

    def start(self, transport: ITransport) -> None:
        """Begin to write to ``transport``, as its producer if the transport can pause producers."""
        self._transport = transport
        if IConsumer.providedBy(transport):
            cast(IConsumer, transport).registerProducer(self, True)

    def stop(self) -> None:
        """Drop the queued frames and write no more."""
        self.queue.clear()
        if self._flush_call is not None:
            self._flush_call.cancel()
            self._flush_call = None
        transport, self._transport = self._transport, None
        if IConsumer.providedBy(transport):
            transport.unregisterProducer()

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Queue frames; they are written in the next turn of the reactor, or when the transport is no longer full.

        :param flow_id: id of the queue to which the frames are added; each queue adds a limited part to each write.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        self.queue.put(flow_id, frames, events)
        if self._flush_call is None:
            self._flush_call = self._clock.callLater(0, self._flush)

    def send(self, flow_id: int, frames: bytes, events: int) -> None:
        """Write the queued frames and then these ``frames``, immediately; queue them if the transport is full.

        :param flow_id: the id of the flow (ledger handle) that sends the requests.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        if self.queue.size or not self.writable or self._transport is None:
            self.put(flow_id, frames, events)
            self.write()
        else:
            self._pass(frames, events)

    def write(self) -> None:
        """Write the queued frames, until the queues are empty or the transport is full."""
        while self.queue.size and self.writable and self._transport is not None:
            self._pass(*self.queue.block())

    def _pass(self, block: bytes, events: int) -> None:
        size = len(block)
        self.written += size
        self._requests.record(events)
        self._sizes.record(size)
        self._transport.write(block)

    def _flush(self) -> None:
        self._flush_call = None
        self.write()

    def pauseProducing(self) -> None:
        self.writable = False

    def resumeProducing(self) -> None:
        self.writable = True
        self.write()

    def stopProducing(self) -> None:
        self.writable = False
