"""Peers of a bookie with TLS and SASL: one that is let in, and those that are not and must get nothing."""

from collections.abc import Iterable
from random import Random
from typing import Any

from OpenSSL import SSL
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from bookkeeper_twisted.authentication.plugins import SaslPlugin
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.messages import AuthRequest
from bookkeeper_twisted.codec.runs import AddReplies, BatchReply, ReadReply
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.protocol.client.authentication import AuthenticatedConnection
from bookkeeper_twisted.protocol.client.encryption import EncryptingConnection
from bookkeeper_twisted.security.contexts import ClientTls, TlsSettings

from ..security.key_updates import KeyUpdates
from .model import Model
from .peer import FuzzPeer
from .secured_frames import START, SecuredFrames

_TIME = 30.0
_SOON = 0.2
"""Seconds in which something comes, if anything does."""

_MANY_UPDATES = 4000


class NobodysModel(Model):
    """What a peer may hear that has proven nothing."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    def wrong(self, kind: str, text: object) -> None:
        """Notes a problem of the run."""
        self._model.wrong(kind, text)

    def heard(self, items: Iterable[object]) -> None:
        """Replies, none of which may be an entry or an acknowledgement."""
        for item in items:
            self._model.replies += 1
            if isinstance(item, AddReplies | ReadReply | BatchReply) and item.status is Status.EOK:
                self.wrong("a peer that has proven nothing was served", repr(item)[:200])


class RawPeer(Protocol):
    """A connection whose bytes are those of the test."""

    transport: Any
    expects_more = False

    def __init__(self) -> None:
        self.closed = False
        self.received = b""
        self._more: Deferred[None] | None = None
        self._gone: Deferred[None] = Deferred()

    async def more(self, reactor: Any) -> bytes:
        """The next bytes; empty: the connection has ended, or nothing comes soon."""
        if not self.received and not self.closed:
            self._more = Deferred()
            timer = reactor.callLater(_SOON, self._wake)
            await self._more
            if timer.active():
                timer.cancel()
        data, self.received = self.received, b""
        return data

    def leave(self) -> "Deferred[None]":
        """Resets the connection."""
        if not self.closed:
            self.transport.abortConnection()
        return self._gone

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self._wake()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.closed = True
        self._gone.callback(None)
        self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, None
        if more is not None:
            more.callback(None)


class Keys:
    """What a peer needs to be let in."""

    def __init__(self, reactor: Any, settings: TlsSettings, sasl: AuthenticationConfig) -> None:
        self._reactor = reactor
        self._settings = settings
        self._tls = ClientTls(settings, reactor.seconds)
        self._sasl = SaslPlugin().for_client(sasl)

    def tls(self) -> ClientTls:
        """A client with a context of its own."""
        return ClientTls(self._settings, self._reactor.seconds)

    async def encrypted(self, port: int, protocol: Protocol, tls: ClientTls | None = None) -> None:
        """Connects a protocol within TLS; it has proven nothing."""
        await self._connect(port, lambda _: protocol, tls or self._tls)

    async def let_in(self, port: int, protocol: Protocol) -> None:
        """Connects a protocol within TLS, whose user has proven its password."""

        def authenticated(peer: Any) -> AuthenticatedConnection:
            exchange = self._sasl.client_exchange(peer)
            return AuthenticatedConnection(
                self._reactor, V2, "sasl", exchange, _TIME, 5 << 20, lambda: protocol, is_encrypted=True
            )

        made: Any = await self._connect(port, authenticated, self._tls)
        await made.ready

    async def _connect(self, port: int, make: Any, tls: ClientTls) -> Protocol:
        made = EncryptingConnection(self._reactor, Peer("b"), tls.connecting_to("127.0.0.1"), _TIME, make)
        await connectProtocol(TCP4ClientEndpoint(self._reactor, "127.0.0.1", port), made)
        return await made.ready


class UntrustedPeer:
    """One connection of a peer that is not let in, from its first byte to its end.

    :param seed: of all that is drawn.
    :ivar done: what it has done.
    """

    def __init__(self, reactor: Any, port: int, keys: Keys, model: Model, seed: str) -> None:
        self.done = ""
        self._reactor = reactor
        self._port = port
        self._keys = keys
        self._model = NobodysModel(model)
        self._random = Random(seed)
        self._frames = SecuredFrames(self._random)

    async def operate(self) -> None:
        """Does one thing of all that it can do."""
        way = self._random.choice((
            self._clear, self._behind, self._behind, self._behind, self._hello, self._hello, self._flight, self._tokens,
            self._tokens, self._tokens, self._updates, self._again,
        ))  # fmt: skip
        self.done = way.__name__[1:]
        await way()

    async def _clear(self) -> None:
        peer = await FuzzPeer.connect(self._reactor, self._port, self._model)
        await peer.send(self._reactor, self._frames.clear(), self._random)
        await self._wait()
        await peer.leave()

    async def _tokens(self) -> None:
        """Tokens within TLS."""
        peer = FuzzPeer(self._model)
        await self._keys.encrypted(self._port, peer)
        for _ in range(self._random.choice((1, 1, 3))):
            await peer.send(self._reactor, self._frames.tokens(), self._random)
            await self._wait()
        if self._random.random() < 0.5 and not peer.closed:
            peer.transport.loseConnection()
            await peer._gone
        await peer.leave()

    async def _raw(self) -> RawPeer:
        peer = RawPeer()
        await connectProtocol(TCP4ClientEndpoint(self._reactor, "127.0.0.1", self._port), peer)
        peer.transport.setTcpNoDelay(True)
        return peer

    async def _wait(self) -> None:
        await deferLater(self._reactor, self._random.choice((0, 0, 0.01)))

    async def _send(self, peer: RawPeer, data: bytes) -> None:
        """Send bytes in pieces, some of them one by one."""
        if self._random.random() < 0.15:
            data, pieces = data[300:], [data[at : at + 1] for at in range(min(300, len(data)))]
            for piece in pieces:
                if not peer.closed:
                    peer.transport.write(piece)
                    await deferLater(self._reactor, 0)
        if not peer.closed:
            peer.transport.write(data)
        await self._wait()

    async def _behind(self) -> None:
        """Bytes in clear behind StartTLS, together with it or later, then a good handshake."""
        peer, behind, end = await self._raw(), self._frames.behind(), self._end()
        if self._random.random() < 0.3:
            await self._send(peer, START + behind)
        else:
            await self._send(peer, START)
            await self._send(peer, behind)
        answer = await peer.more(self._reactor)
        if answer:  # what is behind the answer is in TLS, or the connection has ended
            peer.received = answer[17:]
            if await self._shake(peer, end):
                self._hear_nothing(end, behind)
                end.send(self._frames.tokens())
                await self._exchange(peer, end)
        await peer.leave()

    def _hear_nothing(self, end: SSL.Connection, behind: bytes) -> None:
        """Check that nothing is answered but an empty token."""
        try:
            answer = end.recv(100)
        except SSL.Error:
            return
        first = next(iter(ServerDecoder().receive(behind)), None)
        if answer and not (isinstance(first, AuthRequest) and not first.payload):
            self._model.wrong("an answer within TLS to bytes in clear", f"{behind[:100].hex()}: {answer.hex()}")

    def _end(self, version: int = SSL.TLS1_3_VERSION) -> SSL.Connection:
        context = SSL.Context(SSL.TLS_METHOD)  # which trusts every bookie
        context.set_max_proto_version(version)
        end = SSL.Connection(context, None)
        end.set_connect_state()
        return end

    @staticmethod
    def _written(end: SSL.Connection) -> bytes:
        try:
            return end.bio_read(1 << 20)
        except SSL.Error:
            return b""

    async def _exchange(self, peer: RawPeer, end: SSL.Connection) -> None:
        """Send what an end has written, and give it what comes."""
        if data := self._written(end):
            await self._send(peer, data)
        if data := await peer.more(self._reactor):
            end.bio_write(data)

    async def _shake(self, peer: RawPeer, end: SSL.Connection) -> bool:
        for _ in range(6):
            try:
                end.do_handshake()
            except SSL.WantReadError:
                await self._exchange(peer, end)
            except SSL.Error:
                return False
            else:
                await self._exchange(peer, end)
                self.done = f"{self.done}, within TLS"
                return not peer.closed
        return False

    async def _hello(self) -> None:
        """A first flight that is damaged."""
        peer, end = await self._raw(), self._end()
        try:
            end.do_handshake()
        except SSL.WantReadError:
            pass
        await self._send(peer, START)
        await self._send(peer, self._frames.damaged(self._written(end)))
        await peer.leave()

    async def _flight(self) -> None:
        """A second flight, or what follows it, that is damaged."""
        peer, end = await self._raw(), self._end()
        await self._send(peer, START)
        peer.received = (await peer.more(self._reactor))[17:]
        try:
            end.do_handshake()
        except SSL.WantReadError:
            await self._exchange(peer, end)
        try:
            end.do_handshake()
            end.send(self._frames.tokens())
        except SSL.Error:
            pass
        await self._send(peer, self._frames.damaged(self._written(end) or START))
        await peer.leave()

    async def _updates(self) -> None:
        """A flood of KeyUpdates, whose answers are not always read."""
        tls = self._keys.tls()
        updates = KeyUpdates(tls._context.get(), "CLIENT_TRAFFIC_SECRET_0")
        peer = FuzzPeer(self._model)
        await self._keys.encrypted(self._port, peer, tls)
        raw = peer.transport.transport
        if self._random.random() < 0.5:
            peer.transport.pauseProducing()
        records = updates.records(self._random.choice((1, 100, _MANY_UPDATES)))
        for at in range(0, len(records), 30_000):
            if not peer.closed:
                raw.write(records[at : at + 30_000])
                await self._wait()
        await peer.leave()

    async def _again(self) -> None:
        """Another handshake within TLS 1.2, where a bookie allows none."""
        peer, end = await self._raw(), self._end(SSL.TLS1_2_VERSION)
        await self._send(peer, START)
        peer.received = (await peer.more(self._reactor))[17:]
        if await self._shake(peer, end):
            for _ in range(3):
                try:
                    end.renegotiate()
                    end.do_handshake()
                except SSL.Error:
                    await self._exchange(peer, end)
                else:
                    self._model.wrong("a second handshake in one connection", "TLS 1.2")
        await peer.leave()
