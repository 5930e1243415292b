"""From frames to the transport, while it has room: batches at once, other requests in blocks at the end of the turn."""

from collections.abc import Callable
from typing import Any, cast

from twisted.internet.interfaces import IConsumer, IPushProducer, IReactorTime, ITransport
from zope.interface import implementer

from .traffic import Traffic
from .write_queue import WriteQueue


@implementer(IPushProducer)
class BlockWriter:
    """Writes what the flows of one connection queue.

    :ivar writable: whether the transport takes more; what is queued meanwhile is written later.
    :ivar gathering: whether replies are taken: what their callbacks send is written in blocks behind the last one.
    """

    def __init__(self, clock: IReactorTime, traffic: Traffic, wrote: Callable[[int, int], None]) -> None:
        """:param wrote: called with the number of requests and bytes of each write."""
        self.writable = True
        self.gathering = False
        self._clock = clock
        self._traffic = traffic
        self._wrote = wrote
        self._transport: Any = None
        self._queue = WriteQueue()
        self._flush_call: Any = None

    def start(self, transport: ITransport) -> None:
        """Write to ``transport`` from now on; where it can pause its producers, this object becomes one."""
        self._transport = transport
        if IConsumer.providedBy(transport):
            cast(IConsumer, transport).registerProducer(self, True)

    def stop(self) -> None:
        """Drops what is queued and writes no more."""
        self._queue.clear()
        if self._flush_call is not None:
            self._flush_call.cancel()
            self._flush_call = None
        transport, self._transport = self._transport, None
        if IConsumer.providedBy(transport):
            transport.unregisterProducer()

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Queue frames until the next turn of the reactor, or until the transport has room.

        :param flow_id: the queue they join; queues take turns (:class:`~.write_queue.WriteQueue`).
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        self._queue.put(flow_id, frames, events)
        if self._flush_call is None:
            self._flush_call = self._clock.callLater(0, self._flush)

    def send(self, flow_id: int, frames: bytes, events: int) -> None:
        """Write frames at once, behind what is queued.

        They are queued, too, while the transport has no room, or replies are taken.

        :param flow_id: as of :meth:`put`.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        if self.gathering:
            self._queue.put(flow_id, frames, events)
            return
        if self._queue or not self.writable or self._transport is None:
            self.put(flow_id, frames, events)
            self._write()
            return
        size = len(frames)
        self._traffic.wrote(size)
        self._wrote(events, size)
        self._transport.write(frames)

    def gathered(self) -> None:
        """Writes what was sent while replies were taken."""
        self.gathering = False
        if self._queue:
            self._write()

    @property
    def queued(self) -> int:
        """Bytes that wait to be written."""
        return self._queue.size

    def _flush(self) -> None:
        self._flush_call = None
        self._write()

    def _write(self) -> None:
        while self._queue and self.writable and self._transport is not None:
            block, events = self._queue.block()
            self._traffic.wrote(len(block))
            self._wrote(events, len(block))
            self._transport.write(block)

    def pauseProducing(self) -> None:
        self.writable = False

    def resumeProducing(self) -> None:
        self.writable = True
        self._write()

    def stopProducing(self) -> None:
        self.writable = False
