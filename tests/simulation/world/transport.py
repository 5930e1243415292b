"""One end of a simulated connection, and the pipe that leads from it to the other end.

A write is cut at random points; each piece arrives after a delay, never before the piece in front of it.
Bytes are not changed, lost or doubled.  ``loseConnection`` flushes, ``abortConnection`` drops.
"""

from collections import deque
from typing import Any, cast

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IConsumer, IProtocol, IPushProducer, ITCPTransport
from twisted.python.failure import Failure
from zope.interface import implementer

from .clock import Life
from .links import Link, Links

_LOW = 1024
_CUT_CHANCE = 0.25


class Pipe:
    """Bytes on their way in one direction.

    :ivar size: bytes that have not arrived.
    """

    __slots__ = ("size", "_links", "_link", "_source", "_target", "_queue", "_last", "_waiting")

    def __init__(self, links: Links, link: Link, source: "SimTransport", target: "SimTransport") -> None:
        self.size = 0
        self._links = links
        self._link = link
        self._source = source
        self._target = target
        self._queue: deque[tuple[float, bytes | Exception]] = deque()
        self._last = 0.0
        self._waiting = False

    def send(self, data: bytes) -> None:
        """Bytes go off."""
        chance = self._links.chance
        self.size += len(data)
        while len(data) > 1 and chance.random() < _CUT_CHANCE:
            at = chance.randrange(1, len(data))
            self._put(data[:at])
            data = data[at:]
        self._put(data)

    def end(self, reason: Exception) -> None:
        """Behind all that was sent, the other end learns that this one is gone."""
        self._put(reason)

    def clear(self) -> None:
        """What has not arrived is lost."""
        self._queue.clear()
        self.size = 0

    def _put(self, item: bytes | Exception) -> None:
        self._last = max(self._last, self._links.sim.seconds() + self._links.delay(self._link))
        self._queue.append((self._last, item))
        self.go_on()

    def go_on(self) -> None:
        """Has the next piece arrive when its time has come."""
        if self._queue and not self._waiting and self._target.reading:
            self._waiting = True
            sim = self._links.sim
            sim.call_at(self._target.life, max(self._queue[0][0], sim.seconds()), self._arrive)

    def _heard(self) -> None:
        self._waiting = False
        self.go_on()

    def _arrive(self) -> None:
        if self._link.silent:
            self._link.when_heard(self._heard)
            return
        self._waiting = False
        if not self._queue or not self._target.reading:
            return
        _, item = self._queue.popleft()
        if isinstance(item, bytes):
            self.size -= len(item)
            self._target.arrived(item)
            self._source.has_room()
        else:
            self._target.ended(item)
        self.go_on()


@implementer(ITCPTransport, IConsumer, IPushProducer)
class SimTransport:
    """What a protocol sees of its connection.

    :ivar life: the life of the node that holds this end.
    :ivar reading: whether arriving bytes are taken.
    """

    disconnecting = False
    bufferSize = 64 * 1024

    def __init__(self, links: Links, life: Life, host: str, peer: str) -> None:
        self.life = life
        self.host = host
        self.peer = peer
        self.connected = True
        self.reading = True
        self.protocol: IProtocol | None = None
        self.pipe: Pipe
        self.opposite: SimTransport
        self._links = links
        self._producer: Any = None
        self._producer_paused = False

    def join(self, opposite: "SimTransport") -> None:
        """Makes the way to the other end."""
        self.opposite = opposite
        self.pipe = Pipe(self._links, self._links.between(self.host, opposite.host), self, opposite)

    # -- the network's side --

    def arrived(self, data: bytes) -> None:
        """Bytes for the protocol."""
        if self.connected:
            self._links.sim.note(data)
            cast(IProtocol, self.protocol).dataReceived(data)

    def ended(self, reason: Exception) -> None:
        """The connection is gone."""
        if not self.connected:
            return
        self.connected = self.reading = False
        self.pipe.clear()
        self._tell_lost(reason)

    def _tell_lost(self, reason: Exception) -> None:
        self._producer = None
        if self.protocol is not None:  # else it is not accepted yet
            self.protocol.connectionLost(Failure(reason))

    def has_room(self) -> None:
        """Bytes have left: the producer may go on."""
        if self._producer_paused and self.pipe.size <= _LOW:
            self._producer_paused = False
            self._soon(self._resume_producer)

    def _resume_producer(self) -> None:
        if self._producer is not None and self.connected:
            self._producer.resumeProducing()

    def crashed(self, abruptly: bool) -> None:
        """The process that held this end is gone.

        :param abruptly: with its whole machine: the other end gets no packet.
        """
        if self.connected:
            self.connected = self.reading = False
            if abruptly:
                self.pipe.clear()
            else:
                self.pipe.end(ConnectionLost())

    def reset(self) -> None:
        """The other end's machine knows nothing of this connection (any more)."""
        self._soon(self.ended, ConnectionLost())

    def _soon(self, function: Any, *args: Any) -> None:
        sim = self._links.sim
        sim.call_at(self.life, sim.seconds() + self._links.delay(self.pipe._link), function, *args)

    # -- the protocol's side --

    def write(self, data: bytes) -> None:
        if not self.connected or not data or not self.life.alive:
            return
        self.pipe.send(data)
        if self._producer is not None and not self._producer_paused and self.pipe.size > self.bufferSize:
            self._producer_paused = True
            self._producer.pauseProducing()

    def writeSequence(self, data: Any) -> None:
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        if self.connected and not self.disconnecting and self.life.alive:
            self.disconnecting = True
            self.reading = False
            self.pipe.end(ConnectionDone())
            self._links.sim.call_at(self.life, self._links.sim.seconds(), self._closed, ConnectionDone())

    def abortConnection(self) -> None:
        if self.connected and self.life.alive:
            self.disconnecting = True
            self.reading = False
            if self._links.chance.random() < 0.5:
                self.pipe.clear()
            self.pipe.end(ConnectionLost())
            self._links.sim.call_at(self.life, self._links.sim.seconds(), self._closed, ConnectionAborted())

    def _closed(self, reason: Exception) -> None:
        """This side is through; what it has sent goes on its way."""
        if self.connected:
            self.connected = False
            self._tell_lost(reason)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        self._producer = producer

    def unregisterProducer(self) -> None:
        self._producer = None

    def pauseProducing(self) -> None:
        self.reading = False

    def resumeProducing(self) -> None:
        if self.connected and not self.disconnecting:
            self.reading = True
            self.opposite.pipe.go_on()

    def stopProducing(self) -> None:
        self.loseConnection()

    def loseWriteConnection(self) -> None:
        """Half-closing is not simulated: the whole connection is closed."""
        self.loseConnection()

    # -- what every TCP transport has --

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", self.host, 0)

    def getPeer(self) -> IPv4Address:
        return IPv4Address("TCP", self.peer, 0)

    def getTcpNoDelay(self) -> bool:
        return True

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Nothing is delayed for company."""

    def getTcpKeepAlive(self) -> bool:
        return False

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Hours do not pass here."""
