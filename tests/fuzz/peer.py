"""A connection that sends what was drawn, in pieces, and ends in one of several ways."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import BatchRead, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import BookKeeperError

from .frames import Frames
from .model import LEDGERS, Model

_LAST = 424_242
"""An unknown ledger: the answer to a read of it says that everything before it was looked at."""

_V3_REPLY = 0x0A, 0x08
"""The first and the third byte of a reply in V3; V2 has a version and flags there, which a reply does not have."""

_SILENT = 30.0
"""Seconds without a byte of a bookie that still owes answers: what comes slowly is an answer, too."""


class FuzzPeer(Protocol):
    """One connection; its replies may be of both protocols.

    :param model: hears the replies.
    """

    transport: Any
    expects_more = False  # an end of its connection in clear is no broken TLS for it

    def __init__(self, model: Model) -> None:
        self.model = model
        self.closed = False
        self._data = b""
        self._gone: Deferred[None] = Deferred()
        self._answered: Deferred[None] = Deferred()
        self._silence: IDelayedCall | None = None

    @classmethod
    async def connect(cls, reactor: Any, port: int, model: Model) -> "FuzzPeer":
        """A connection to a bookie on this machine."""
        peer = cls(model)
        await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), peer)
        peer.transport.setTcpNoDelay(True)
        return peer

    async def send(self, reactor: Any, data: bytes, random: Random) -> None:
        """Sends bytes in pieces, each in a turn of its own."""
        cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.choice((0, 0, 1, 5))))
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if not self.closed:
                self.transport.write(data[begin:end])
                await deferLater(reactor, 0)

    def answered(self, reactor: Any) -> "Deferred[None]":
        """Fires when what was sent before is answered, or the bookie has closed the connection; fails if it is silent.
        """
        if not self.closed:
            self.transport.write(requests_out.encode_reads(_LAST, [0]))
            self._silence = reactor.callLater(_SILENT, self._answered.cancel)
        return self._answered

    def leave(self) -> "Deferred[None]":
        """Resets the connection."""
        if self.closed:
            return succeed(None)
        self.transport.abortConnection()
        return self._gone

    # -- called by the transport --

    def dataReceived(self, data: bytes) -> None:
        self._data += data
        if self._silence is not None and self._silence.active():
            self._silence.reset(_SILENT)
        while len(self._data) >= 4 and len(self._data) >= (end := 4 + int.from_bytes(self._data[:4], "big")):
            frame, self._data = self._data[:end], self._data[end:]
            decoder = ClientDecoder(V3 if (frame[4], frame[6]) == _V3_REPLY else V2)
            try:
                items = decoder.receive(frame)
            except (ValueError, BookKeeperError) as error:
                self.model.wrong("a reply that cannot be read", f"{error!r}: {frame[:200].hex()}")
                continue
            if decoder.error is not None:
                self.model.wrong("a reply that cannot be read", f"{decoder.error}: {frame[:200].hex()}")
            self.model.heard(items)
            if any(isinstance(item, ReadReply) and item.ledger_id == _LAST for item in items):
                self._answer()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.closed = True
        self._gone.callback(None)
        self._answer()

    def _answer(self) -> None:
        if self._silence is not None and self._silence.active():
            self._silence.cancel()
        self._silence = None
        if not self._answered.called:
            self._answered.callback(None)


async def _turns(reactor: Any) -> None:
    """Leaves the bookie some time to fill what lies between it and a peer that does not read."""
    for _ in range(20):
        await deferLater(reactor, 0)


async def operate(
    reactor: Any, port: int, model: Model, seed: str, lingering: list[FuzzPeer],
    connect: Callable[[Any, int, Model], Awaitable[FuzzPeer]] = FuzzPeer.connect,
) -> None:  # fmt: skip
    """One connection from its first byte to its end.

    :param seed: of all that is drawn.
    :param lingering: gets a connection that stays, with half a frame or nothing sent.
    :param connect: makes the connection.
    """
    random = Random(seed)
    data, is_broken = Frames(random).stream()
    peer = await connect(reactor, port, model)
    end = random.choice(("answers", "answers", "answers", "late", "half", "half", "reset", "unread", "linger"))
    if end in ("late", "unread"):
        peer.transport.pauseProducing()
        batch = requests_out.encode_batch_read(BatchRead(V2, 2, 0, random.choice(LEDGERS), 0, 9, 1000, 1 << 30))
        data += batch * random.choice((50, 50, 50, 2000))  # many are more than the sockets hold
    if end in ("answers", "late"):
        await peer.send(reactor, data, random)
        if end == "late":
            await _turns(reactor)
            peer.transport.resumeProducing()
        if not is_broken:  # else what follows may count as the rest of a frame
            try:
                await peer.answered(reactor)
            except CancelledError:
                model.wrong("no answer", f"seed {seed}: {data[:400].hex()}")
    elif end == "reset":
        peer.transport.write(data)
    elif end == "unread":
        await peer.send(reactor, data, random)
        await _turns(reactor)
    else:
        await peer.send(reactor, data[: random.randrange(len(data))], random)
        if end == "linger":
            lingering.append(peer)
            return
        if random.random() < 0.5 and not peer.closed:
            peer.transport.loseConnection()
            await peer._gone
    await peer.leave()
