"""HTTP connections with bounded number, memory and CPU time, so that HTTP clients cannot slow a bookie down.

Requests are parsed by :mod:`twisted.web`.  The parser gets no more bytes of a connection while a complete request waits
in the queue of the server, while the request is answered, or while the client does not read the answer.  So a
connection keeps at most one request, one answer and two reads of its socket in memory.  The server begins at most one
answer per reactor iteration, and all answers together take at most a quarter of the reactor's time.

A client may half-close a connection without TLS: it ends its sending side, and still reads.  TCP shows a client that
has closed the whole connection in the same way, until the server writes.  So the received requests are answered, each
within :data:`REQUEST_TIME`, and then the connection is closed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from io import BytesIO
from typing import Any, Protocol

from twisted.internet.error import ConnectionClosed
from twisted.internet.interfaces import (
    IAddress,
    IDelayedCall,
    IHalfCloseableProtocol,
    IHandshakeListener,
    ILoggingContext,
)
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, parse_qs
from twisted.web.http import Request as HTTPRequest
from twisted.web.resource import IResource
from twisted.web.server import Request, Site
from zope.interface import implementer

from ..authorization.access import AccessControl
from ..instruments import Counter
from ..protocol.peer_lines import PeerLines, peer_name
from ..security.reasons import tls_reason
from .hosts import HostNames

MAX_CONNECTIONS = 64
MAX_BODY = 64 * 1024
"""Maximum number of bytes of the body of a request."""

CONSOLE = b"/console"
"""The path of the console, the only page to which pages of other web sites may link."""

REQUEST_TIME = 60.0
"""Seconds within which a request must arrive completely, or an answer must be read.  After this time, the connection is
closed.  A client that has ended its sending side must also be answered within this time.
"""

_HELD = 16 * 1024
_PIECE = 4 * 1024
"""Maximum number of bytes that are parsed at a time.  In the worst case, parsing takes 1 ms per KiB."""

_LINGER = 2.0
_GRACE = 15.0
_REST = 3
_LONGEST_REST = 1.0

_REASONS = {
    400: b"Bad Request", 403: b"Forbidden", 413: b"Content Too Large", 421: b"Misdirected Request",
    431: b"Request Header Fields Too Large",
}  # fmt: skip


_TEXTS = {
    400: b"This is no HTTP request that can be read\n",
    413: b"A body has %d bytes at most\n" % MAX_BODY,
    431: b"A line of the head is too long\n",
}
"""Maps an HTTP status to the body of the answer to a request that cannot be parsed or is too long."""


class PlainRequest(Request):
    """A request whose body is not parsed as a form, because a parsed form would use twelve times as much memory."""

    channel: Any
    content: Any

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:
        if self.content.tell() + len(data) > MAX_BODY:
            self.channel.refuse(413)
        else:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Process the complete request; refuse it if its ``Host`` is invalid, or a page of another site has sent it."""
        self.content.seek(0)
        self.method, self.uri, self.clientproto = command, path, version
        self.path, _, query = path.partition(b"?")
        self.args = parse_qs(query, 1)
        hosts = self.requestHeaders.getRawHeaders(b"Host", [])
        if len(hosts) > 1 or (not hosts and version == b"HTTP/1.1"):
            self._refuse(400, b"There should be one Host\n")
        elif hosts and not self.channel.site.hosts.allow(hosts[0]):
            self._refuse(421, b"This server has another name: httpServerAllowedHosts is the key for more names\n")
        elif reason := self.channel.site.hosts.foreign(self, CONSOLE):
            self._refuse(403, f"Forbidden: {reason}\n".encode(errors="replace"))
        else:
            self.process()

    def _refuse(self, status: int, text: bytes) -> None:
        self.setResponseCode(status, _REASONS[status])
        self.setHeader(b"Content-Type", b"text/plain; charset=utf-8")
        self.setHeader(b"Content-Length", b"%d" % len(text))
        HTTPRequest.write(self, text)
        self.finish()


class AnswerPhase(Enum):
    """The phase of a connection: reading a request, waiting in the queue, answering, or sending the answer."""

    READING = auto()
    """The next request has not arrived completely."""
    WAITING = auto()
    """A complete request is in the queue of the server."""
    ANSWERING = auto()
    SENDING = auto()
    """The client must read the answer before its next request is parsed, or before the connection ends."""


class _InTurn(Protocol):
    """A connection that waits in the queue of the server with a request to answer, or with bytes to decrypt."""

    transport: Any

    def serve(self) -> None:
        """Process the request or the bytes for which the connection was queued."""


@implementer(IHandshakeListener, IHalfCloseableProtocol)
class BoundedChannel(HTTPChannel):
    """An HTTP connection that parses its next request only after it has sent the answer to the previous one.

    :ivar phase: whether the connection reads a request, waits, answers the request, or sends the answer.
    :ivar handshaken: whether the TLS handshake is complete; None for a connection without TLS.
    """

    site: "BoundedSite"
    transport: Any
    _log = Logger()

    def __init__(self) -> None:
        super().__init__()
        self.phase = AnswerPhase.READING
        self._stuck = self._lost = self._refused = self._ending = self._begun = self._half_closed = False
        self._held: list[bytes] = []
        self.handshaken: bool | None = None

    @property
    def evictable(self) -> bool:
        """Whether the server may close this connection to accept another one; False while a request is unanswered."""
        return self.phase in (AnswerPhase.READING, AnswerPhase.SENDING)

    def connectionMade(self) -> None:
        self.site.channels[self] = None
        super().connectionMade()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._lost = True
        self._held.clear()
        self.site.channels.pop(self, None)
        if self.handshaken is False:
            self.site.handshake_failed(peer_name(self.transport.getPeer()), reason)
        super().connectionLost(reason)

    def handshakeCompleted(self) -> None:
        self.handshaken = True

    def readConnectionLost(self) -> None:
        """Answer the requests that have arrived, then close the connection: the client sends nothing any more."""
        self._half_closed = True
        if self._refused:
            self.transport.loseConnection()
        else:
            self._limit_answer()
            self._rein_in()

    def writeConnectionLost(self) -> None:
        """Do nothing: :meth:`refuse` has ended the sending side."""

    # -- arriving bytes --

    def dataReceived(self, data: bytes) -> None:
        if self._refused or self._lost:
            return
        if self._held or self.phase is not AnswerPhase.READING:
            self._held.append(data)
        else:
            self._parse(data)
        self._rein_in()

    def _parse_held(self) -> None:
        held, self._held = b"".join(self._held), []
        self._parse(held)

    def _parse(self, data: bytes) -> None:
        """Parse the first bytes of ``data`` now; queue the connection to parse the rest later."""
        if len(data) > _PIECE:
            self._held.insert(0, data[_PIECE:])
            data = data[:_PIECE]
        if not self._begun and data:
            self._begun = True
            # Restart the timeout only at the first bytes of a request.  Otherwise, a client that sends slowly could
            # keep the connection open.
            self.resetTimeout()
        try:
            LineReceiver.dataReceived(self, data)
        except Exception:
            self._log.failure("a request could not be parsed")
            self.refuse(400)
        if self._held and self.phase is AnswerPhase.READING:
            self.site.enter(self)

    def _rein_in(self) -> None:
        """Stop reading while too many bytes wait to be parsed; close the connection if no more bytes can come."""
        if sum(map(len, self._held)) > _HELD:
            self.transport.pauseProducing()
        elif self._half_closed and not (self._held or self._ending) and self.phase is AnswerPhase.READING:
            self._close()

    def headerReceived(self, line: bytes) -> bool:
        try:
            return bool(super().headerReceived(line))
        except ValueError:  # Python refuses to parse a Content-Length of some thousand digits
            self.refuse(400)
            return False

    def allHeadersReceived(self) -> None:
        if self.length is not None and self.length > MAX_BODY:
            self.refuse(413)
        else:
            super().allHeadersReceived()

    def lineLengthExceeded(self, line: bytes) -> None:
        self.refuse(431)

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(400)

    def allContentReceived(self) -> None:
        """Queue the complete request at the server, and pause the parser until the answer is sent."""
        if not self._refused:
            self.phase = AnswerPhase.WAITING
            self.paused, self._begun = True, False
            self.site.enter(self)

    def refuse(self, status: int) -> None:
        """Answer a request that cannot be parsed with an error, and close the connection after two seconds.

        Bytes that arrive in the meantime are dropped.  If the socket were closed while it has unread bytes, the kernel
        would reset the connection, and the client would not receive the answer.

        :param status: HTTP status of the answer.
        """
        if self._refused:
            return
        self._refused = self.paused = True
        self._held.clear()
        self.transport.resumeProducing()
        text = _TEXTS[status]
        head = b"HTTP/1.1 %d %b\r\nConnection: close\r\n" % (status, _REASONS[status])
        head += b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(text)
        self.transport.write(head + text)
        self._ending = True
        self.setTimeout(_LINGER)
        # Without TLS, half-close the connection.  With TLS, close it: after a half-close of TCP, the TLS layer could
        # not receive any more.
        half_close = None if self.handshaken else getattr(self.transport, "loseWriteConnection", None)
        (half_close or self.loseConnection)()

    # -- answers --

    def serve(self) -> None:
        """Begin to answer the request of this connection; if it is not complete yet, parse more of the received bytes.
        """
        if self._lost or self._refused:
            return
        if self.phase is AnswerPhase.READING:
            self._parse_held()
            if not (self._stuck or self._refused):
                self.transport.resumeProducing()
            self._rein_in()
        else:
            self.phase = AnswerPhase.ANSWERING
            super().allContentReceived()
            if self._half_closed:
                self._limit_answer()

    def _limit_answer(self) -> None:
        """Limit the time of an answer to a client that sends nothing any more, because the client may be gone.

        A stream has no end of its own, so it ends at once.
        """
        if self.phase is AnswerPhase.ANSWERING:
            if self.requests[0].producer is not None:
                self._close()
            else:
                self.setTimeout(REQUEST_TIME)

    def requestDone(self, request: HTTPRequest) -> None:
        held, self._held = self._held, []
        # requestDone() of the superclass passes its unparsed bytes to dataReceived(), which stores them in self._held.
        # The bytes in ``held`` arrived later, so they are appended.
        super().requestDone(request)
        self._held += held
        self.phase = AnswerPhase.SENDING
        self.site.served(self)
        if not self.persistent:
            self._ending = True
            self.setTimeout(_GRACE)  # the client must read its last answer within this time
        elif not self._stuck:
            self._go_on()

    def _go_on(self) -> None:
        """Begin to read the next request: parse its bytes that have already arrived."""
        self.phase, self.paused = AnswerPhase.READING, False
        held, self._held = self._held, []
        self._parse(b"")  # the parser may already have all bytes of the next request
        if not self._refused:
            self._held = held
        if self._held and self.phase is AnswerPhase.READING:
            self._parse_held()
        self._rein_in()

    def pauseProducing(self) -> None:
        self._stuck = True
        super().pauseProducing()

    def resumeProducing(self) -> None:
        self._stuck = False
        super().resumeProducing()
        if self.phase is AnswerPhase.SENDING and not self._ending:
            self._go_on()
        self._rein_in()

    # -- the end --

    def timeoutConnection(self) -> None:
        """Close the connection because its client was too slow; after a second timeout, abort it."""
        if self._ending or self._stuck:
            self.transport.abortConnection()
        else:
            self._close()

    def _close(self) -> None:
        """Close the connection when what was written is sent, or after :data:`_GRACE`."""
        self._ending = True
        self.setTimeout(_GRACE)
        self.loseConnection()

    def end(self) -> None:
        """Close the connection because the server stops; if a request is being answered, close it after the answer."""
        if self.phase is AnswerPhase.ANSWERING:
            self.persistent = 0
        else:
            self.transport.abortConnection()


@implementer(ILoggingContext)
class BoundedSite(Site):
    """An HTTP server with a bounded number of connections, which processes one request at a time.

    It logs neither connections nor requests, because Prometheus requests the metrics every few seconds.

    :param hosts: the values of the header ``Host`` that the server accepts.
    :param closing: functions to call when the server stops.
    :param opening: functions to call when the server begins to listen.
    :param access: returns the authorizer, or None if all requests are permitted.
    :param opened: called when the server has begun to listen; :meth:`opened` describes its argument and result.
    :ivar channels: open connections; the connection that was answered last is at the end.
    :ivar failed_handshakes: number of connections whose TLS handshake failed.
    """

    noisy = False
    protocol = BoundedChannel  # type: ignore[assignment]
    _log = Logger()

    def __init__(
        self, resource: IResource, reactor: Any, hosts: HostNames, closing: Sequence[Callable[[], object]] = (),
        access: Callable[[], AccessControl | None] = lambda: None,
        opened: Callable[[bool], str] = lambda local: "", opening: Sequence[Callable[[], object]] = (),
    ) -> None:  # fmt: skip
        super().__init__(resource, PlainRequest, timeout=REQUEST_TIME, reactor=reactor)
        self.hosts = hosts
        self.access = access
        self.channels: dict[BoundedChannel, None] = {}
        self.failed_handshakes = Counter()
        self._opened = opened
        self._lines = PeerLines(reactor.seconds)
        self._closing = closing
        self._opening = opening
        self._waiting: deque[_InTurn] = deque()
        self._turn: IDelayedCall | None = None
        self._rested = 0.0

    def logPrefix(self) -> str:
        return "the HTTP server"

    def log(self, request: HTTPRequest) -> None:
        """Log nothing about a ``request``."""

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Accept a connection.

        If there are too many connections, close the connection that has been idle for longest; if none is idle, refuse
        the new connection.
        """
        if len(self.channels) >= MAX_CONNECTIONS:
            idle = next((channel for channel in self.channels if channel.evictable), None)
            if idle is None:
                return None
            del self.channels[idle]
            idle.transport.abortConnection()
        return super().buildProtocol(addr)

    def startFactory(self) -> None:
        super().startFactory()
        for begin in self._opening:
            begin()

    def stopFactory(self) -> None:
        super().stopFactory()
        self._waiting.clear()
        if self._turn is not None and self._turn.active():
            self._turn.cancel()
        for channel in list(self.channels):
            channel.end()
        for close in self._closing:
            close()

    def opened(self, local: bool) -> str:
        """Decide whether requests need credentials; call this when the server has begun to listen.

        :param local: whether only processes of this machine can reach the server.
        :returns: who may use the server, as text for the end of the log line "the HTTP server listens on ...".
        """
        return self._opened(local)

    def handshake_failed(self, peer: str, reason: Failure) -> None:
        """Count and log a handshake that failed; a connection that was merely closed is not counted.

        :param peer: host and port.
        :param reason: why the connection has ended.
        """
        if not reason.check(ConnectionClosed):
            self.failed_handshakes.value += 1
            text = "the TLS handshake of the HTTP server with {peer} failed: {error}"
            self._lines.log(self._log.info, text, peer, error=tls_reason(reason.value))

    # -- turns --

    def enter(self, channel: _InTurn) -> None:
        """Queue a connection, ``channel``, that has a request to answer or bytes to parse."""
        self._waiting.append(channel)
        self._schedule()

    def served(self, channel: BoundedChannel) -> None:
        """Move the connection ``channel`` to the end of :attr:`channels`, because it was just answered.

        If there are too many connections, the server closes the first idle connection of :attr:`channels`.
        """
        if channel in self.channels:
            self.channels[channel] = self.channels.pop(channel)

    def _schedule(self) -> None:
        if self._turn is None and self._waiting:
            rest = self._rested - self.reactor.seconds()
            self._turn = self.reactor.callLater(max(0.0, min(rest, _LONGEST_REST)), self._serve_one)

    def _serve_one(self) -> None:
        """Process the first connection of the queue.

        The next connection is processed after a pause of three times the duration of this call, so that three quarters
        of the time remain for adds and reads.
        """
        channel, began = self._waiting.popleft(), self.reactor.seconds()
        try:
            channel.serve()
        except Exception:
            self._log.failure("a request of the HTTP server failed")
            channel.transport.abortConnection()
        now = self.reactor.seconds()
        self._rested, self._turn = now + _REST * (now - began), None
        self._schedule()
