"""A bookie's end of a connection: decodes received bytes to requests, and writes queued replies by one call."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IDelayedCall, IOpenSSLServerConnectionCreator, IPushProducer, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...security.principals import NOBODY, principal_of
from ...security.reasons import BrokenTlsError, tls_reason
from ...security.record_format import HANDSHAKE
from ..authentication import MAX_TOKEN
from ..connection_state import ConnectionState, following
from ..interfaces import IGatheringTransport, IRequestSession, IServerConnection
from ..turns import FEW
from .greeting import Greeting
from .limits import FEW_PEERS, FULL_CHUNK, QUICK, SECONDS_STALLED, SECONDS_TO_CLOSE, SLOW
from .round_trips import round_trip_of
from .shared_limits import SharedLimits, is_untrusted

if TYPE_CHECKING:
    from ..tls_layer import TlsLayer

_ASKING = (ConnectionState.CONNECTING, ConnectionState.READY)
_ENDING = (ConnectionState.CLOSING, ConnectionState.CLOSED)


LONGEST_TOKEN_FRAME = 2 * MAX_TOKEN
"""Bytes of the longest frame of a peer that is not authenticated: a token and the fields around it."""

UNTRUSTED_CHUNK = 16 * 1024
"""Maximum number of bytes that are received at a time from an untrusted peer."""

UNTRUSTED_PIECE = 8 * 1024
"""Maximum number of bytes that are decoded at a time from an untrusted peer.

These bytes contain at most some hundred requests.  All of them are refused, which takes a few milliseconds, before the
time limit is tested.
"""


@implementer(IServerConnection, IPushProducer)
class ServerConnection(Protocol):
    """A bookie's connection to one peer.

    It is registered as the producer of its transport.  So the transport pauses the making of replies while its own
    buffer is full.

    :ivar is_untrusted: whether the peer has sent no request yet, or has not completed TLS or authentication.
    :ivar heard_at: time in seconds at which bytes were last received.
    :ivar has_asked: whether the peer has ever sent a complete frame.
    :ivar expecting_since: the time in seconds at which the peer began a frame or its authentication, which it must
        complete within a time limit.  None while no frame is incomplete: there is no time limit for the next frame,
        because clients may open connections long before their first request.
    """

    _log = Logger()

    def __init__(self, factory: "SharedLimits[ServerConnection]", peer: str, host: str) -> None:
        self.peer = peer
        self.host = host
        self.state = ConnectionState.CONNECTING
        self.is_untrusted = True
        self.closed = False
        self.principal = NOBODY
        self.is_encrypted = False
        self.turns = factory.turns
        self._factory = factory
        self._decoder = factory.new_decoder()
        self._session: IRequestSession | None = None
        self._replies: list[bytes | memoryview] = []
        self._reply_count = 0
        self._unsent = 0
        self._unread = 0
        self._socket: Any = None  # the TCP transport, even if a TLS layer lies above it
        self._gathers = False
        self._paused = False
        self._reading_paused = False
        self._closing: IDelayedCall | None = None
        self._hello: Callable[[], None] | None = None  # called if the peer's first byte begins a TLS handshake
        self._encrypted: Callable[[], None] | None = None  # called when the handshake is complete
        self._put_off = b""
        self._is_small = True  # whether the bytes that were received last had few requests
        self._waits = False
        # number of bytes that the peer has confirmed, and the time at which this number was first seen
        self._last_read = 0, 0.0
        self.heard_at = factory.clock.seconds()
        self.has_asked = False
        self.expecting_since: float | None = self.heard_at

    # -- the transport's side --

    def connectionMade(self) -> None:
        if not self._factory.peers.admit(self):
            self.abort()
            return
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(self._factory.tcp_no_delay)
            self._socket = self.transport
            self._socket.bufferSize = min(self._factory.limits.chunk, UNTRUSTED_CHUNK)
        self._gathers = IGatheringTransport.providedBy(self.transport)
        self.transport.registerProducer(self, True)  # type: ignore[union-attr]
        self._session = self._factory.open_session(self)

    def dataReceived(self, data: bytes) -> None:
        if self._session is None or self.state in _ENDING:
            return
        self.heard_at = self._factory.clock.seconds()
        untrusted = self.is_untrusted
        if self._waits or self.turns.is_spent_for(untrusted):
            self._put_off += data
            self._wait()
            return
        counts = self.turns.begin(untrusted)
        try:
            self._receive(data)
        finally:
            if counts:
                self.fit_chunk(len(data), self.turns.end())

    def fit_chunk(self, n_bytes: int, seconds: float) -> None:
        """Change how many bytes are received at a time, according to the time that the requests in a chunk took.

        Entries of 10 KiB take far less time for each byte than entries of 100 bytes.  A larger chunk of them makes
        larger groups in the journal, while other connections wait no longer.

        :param n_bytes: size in bytes of the received chunk; nothing changes up to :data:`.limits.FULL_CHUNK`.
        :param seconds: seconds for which the requests in the chunk were processed.
        """
        socket, limits = self._socket, self._factory.limits
        if n_bytes <= FULL_CHUNK or socket is None:
            return
        most = limits.max_chunk if len(self._factory.peers) <= FEW_PEERS else limits.chunk
        if seconds > SLOW or socket.bufferSize > most:
            socket.bufferSize = max(socket.bufferSize // 2, limits.chunk)
        elif seconds < QUICK and 2 * n_bytes > socket.bufferSize:
            socket.bufferSize = min(2 * socket.bufferSize, most)

    def _receive(self, data: bytes) -> None:
        hello, self._hello = self._hello, None
        if hello is not None and data[:1] == HANDSHAKE:
            hello()
            self.transport.protocol.dataReceived(data)  # type: ignore[union-attr]  # the protocol until TLS begins
            return
        if self.is_untrusted and len(data) > UNTRUSTED_PIECE:
            data, self._put_off = data[:UNTRUSTED_PIECE], data[UNTRUSTED_PIECE:]
            self._wait()
        self._is_small = self._decoder.has_few(data, FEW)
        was_incomplete = self._decoder.incomplete
        items = self._decoder.receive(data)
        if self.state in _ASKING and (items or self.expecting_since is None):
            self._expect_rest()
        if items:
            self.has_asked = True
            self._session.received(items)  # type: ignore[union-attr]
            self._factory.outbox.flush()
        if self._decoder.error is not None:
            self._break(self._decoder.error)
        elif self._decoder.incomplete and self._decoder.ready:
            self.set_reading_paused(self._reading_paused)
        if was_incomplete or self._decoder.incomplete:
            self._factory.incomplete.record(self, self._decoder.incomplete, bool(items))

    def _expect_rest(self) -> None:
        """Start the time limit for the rest of an incomplete frame; remove the limit if no frame has begun."""
        self.expecting_since = self.heard_at if self._decoder.incomplete else None

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.state is ConnectionState.ENCRYPTING:
            self._not_encrypted(reason)
        elif reason.check(BrokenTlsError):
            self._no_longer_encrypted(str(reason.value))
        admitted = self._session is not None
        self._close()
        self._replies = []
        self._all_accepted()
        self._factory.incomplete.record(self, 0)
        self._factory.handshakes.ended(self)
        self._put_off = b""
        self._hello = self._socket = None
        self._encrypted = None  # avoid a reference cycle: the callback refers to this connection
        self.turns.withdraw(self)
        closing, self._closing = self._closing, None  # avoid a reference cycle: a timer refers to this connection
        if closing is not None and closing.active():
            closing.cancel()
        if admitted:
            self._session.lost()  # type: ignore[union-attr]
            self._session = None
            self._factory.peers.left(self)
            # The end of this session may have allowed waiting requests of other connections to be processed: write
            # their replies now.
            self._factory.outbox.flush()

    def pauseProducing(self) -> None:
        self._paused = True
        self._last_read = self._bytes_confirmed, self._factory.clock.seconds()

    def resumeProducing(self) -> None:
        self._paused = False
        self._all_accepted()
        self._go_on()
        self._factory.outbox.flush()

    def _all_accepted(self) -> None:
        """Record that the kernel has accepted all replies: none waits in the transport."""
        if self._unread:
            self._factory.count_pending(-self._unread)
            self._unread = 0
            self._factory.unread.record(self, 0)

    def _count_unread(self, n_bytes: int) -> None:
        """Count reply bytes that wait in a full transport until the peer reads.

        If these bytes of all connections exceed their limit, one connection is dropped.
        """
        if not self.closed:
            self._unread += n_bytes
            self._factory.count_pending(n_bytes)
            self._factory.unread.record(self, self._unread)

    def _go_on(self) -> None:
        if self._session is not None and self.state not in _ENDING:
            self._session.writable()

    def stopProducing(self) -> None:
        self._paused = True

    def _break(self, error: Exception) -> None:
        """End the connection of a peer that breaks the protocol, after the replies to its earlier requests."""
        self._factory.metrics.broken.value += 1
        lines = self._factory.peer_lines
        lines.log(self._log.info, "closing the connection of {peer}: {error}", self.peer, error=error)
        self.end()

    def end(self) -> None:
        """Close the connection when the queued replies are sent, or after a time limit if the peer does not read."""
        if self.state in _ENDING:
            return
        self.flush()
        self.set_reading_paused(True)
        self.transport.unregisterProducer()  # type: ignore[union-attr]
        self.transport.loseConnection()  # type: ignore[union-attr]
        if not self.closed:
            self.enter(ConnectionState.CLOSING)
            self._closing = self._factory.clock.callLater(SECONDS_TO_CLOSE, self.abort)

    def abort(self) -> None:
        """Drop the connection and its queued replies."""
        self._close()
        self.transport.abortConnection()  # type: ignore[union-attr]

    def enter(self, state: ConnectionState) -> None:
        self.state = following(self.state, state)
        self.is_untrusted = is_untrusted(self)
        if state is ConnectionState.AUTHENTICATING:
            self._decoder.limit(min(LONGEST_TOKEN_FRAME, self._factory.limits.max_frame_size))
        elif state is ConnectionState.READY:
            self._factory.handshakes.ended(self)
            self._decoder.limit(self._factory.limits.max_frame_size)
            self._expect_rest()
            if self._socket is not None:
                self._socket.bufferSize = self._factory.limits.chunk
            if not self._factory.peers.identified(self):
                self.end()

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            self.enter(ConnectionState.CLOSED)

    def is_late(self, latest: float) -> bool:
        """Test whether the peer began a frame or its authentication before ``latest`` and has not completed it.

        While the bookie does not read from the peer, or the connection is being closed, the result is False.
        """
        if self._reading_paused or (self._waits and not self.is_untrusted) or self.state in _ENDING:
            return False
        return self.expecting_since is not None and self.expecting_since <= latest

    @property
    def is_waiting(self) -> bool:
        """Test whether the peer has sent at least one complete frame, and no part of a further frame."""
        return self.has_asked and self.expecting_since is None

    @property
    def _bytes_confirmed(self) -> int:
        """Return the number of bytes that the peer has confirmed; always 0 if the transport does not count them.

        With such a transport, the only sign that a peer reads replies is that a full transport becomes empty.
        """
        return self.transport.bytes_accepted - self.transport.unread if self._gathers else 0  # type: ignore[union-attr]

    @property
    def stalled_for(self) -> float:
        """Return the seconds for which the peer has not read waiting replies, or 0 if no replies wait."""
        now, confirmed = self._factory.clock.seconds(), self._bytes_confirmed
        waits = self._paused or (self._is_busy and self._gathers and self.transport.unread > 0)  # type: ignore[union-attr]
        if confirmed != self._last_read[0] or not waits or self.closed:
            self._last_read = confirmed, now
        return now - self._last_read[1]

    @property
    def round_trip(self) -> float | None:
        return round_trip_of(self._socket)

    @property
    def _is_busy(self) -> bool:
        return self._waits or (self._session is not None and self._session.busy)

    @property
    def idle_for(self) -> float | None:
        """Return the seconds since the peer sent bytes or read replies, or None if the connection is not idle.

        A connection that is in use or being closed is not idle.
        """
        if self.state in _ENDING:
            return None
        if self._paused or self._is_busy:
            stalled = self.stalled_for
            return stalled if stalled >= SECONDS_STALLED else None
        return self._factory.clock.seconds() - self.heard_at

    # -- encryption --

    def permit_clear(self) -> None:
        self.expecting_since = None
        self._decoder.limit(self._factory.limits.max_frame_size)

    def expect_hello(self, begin: Callable[[], None]) -> None:
        self._hello = begin
        self._decoder.limit(min(LONGEST_TOKEN_FRAME, self._factory.limits.max_frame_size))

    def encrypt(
        self, creator: IOpenSSLServerConnectionCreator, encrypted: Callable[[], None],
        take: Callable[[object], bool] | None = None,
    ) -> None:  # fmt: skip
        self.flush()
        self.enter(ConnectionState.ENCRYPTING)
        self.expecting_since = self._factory.clock.seconds()
        rest, self._decoder = self._decoder.rest, self._factory.new_decoder()
        self._factory.incomplete.record(self, 0)
        self._put_off = b""
        self._encrypted = encrypted
        greeting = Greeting(self, self._factory.new_decoder(), take, partial(self._begin_tls, creator))
        self.transport.protocol = greeting  # type: ignore[union-attr]
        if take is not None:
            greeting.dataReceived(rest)

    def _begin_tls(self, creator: IOpenSSLServerConnectionCreator) -> "TlsLayer":
        from ..tls_layer import begin_tls  # imported here: its packages are installed only for TLS
        from .tls import ServerTlsLayer

        self._gathers = True
        self.transport.unregisterProducer()  # type: ignore[union-attr]
        layer = begin_tls(self, creator, False, self._factory.clock, self._count_unread, ServerTlsLayer)
        layer.registerProducer(self, True)
        self._factory.handshakes.begun(self)
        return layer

    def handshakeCompleted(self) -> None:
        """Continue after the TLS handshake; the TLS layer calls this method."""
        self.is_encrypted = True
        certificate = self.transport.getHandle().get_peer_certificate(as_cryptography=True)  # type: ignore[union-attr]
        if certificate is not None:
            self.principal = principal_of(certificate)
        self._encrypted()  # type: ignore[misc]  # it was given before the handshake began

    def _not_encrypted(self, reason: Failure) -> None:
        self._factory.metrics.failed_handshakes.value += 1
        lines, error = self._factory.peer_lines, tls_reason(reason.value)
        lines.log(self._log.info, "the TLS handshake with {peer} failed: {error}", self.peer, error=error)

    def _no_longer_encrypted(self, error: str) -> None:
        self._factory.metrics.broken_tls.value += 1
        lines = self._factory.peer_lines
        lines.log(self._log.info, "the TLS connection of {peer} broke: {error}", self.peer, cause=error, error=error)

    @property
    def expects_more(self) -> bool:
        """Whether the peer has sent only a part of a frame.

        While received bytes wait to be decoded, it is False, because they may contain the rest.
        """
        return self._decoder.incomplete > 0 and not self._put_off

    # -- the session's side --

    @property
    def has_room(self) -> bool:
        return not self._paused and self._unsent < self._factory.unsent_limit and self.state not in _ENDING

    @property
    def is_scarce(self) -> bool:
        return self._factory.is_scarce

    @property
    def reply_limit(self) -> int:
        return self._factory.reply_limit

    def expect(self, n_bytes: int) -> None:
        self._factory.count_pending(n_bytes)

    def set_reading_paused(self, paused: bool) -> None:
        """Stop or resume reading requests from the peer; while reading is stopped, its frames have no time limit.

        See :meth:`.IServerConnection.set_reading_paused` for parameters and errors.
        """
        if self._reading_paused and not paused and self.expecting_since is not None:
            self.expecting_since = self._factory.clock.seconds()  # restart the time limit: reading begins again now
        self._reading_paused = paused
        if self.state in _ENDING:
            return
        if not (paused or self._factory.stopping) and (self._put_off or self._decoder.ready):
            self._wait(is_stopped=True)
        if paused or self._waits or self._factory.stopping:
            self.transport.pauseProducing()  # type: ignore[union-attr]
        else:
            self.transport.resumeProducing()  # type: ignore[union-attr]

    def read_on(self) -> None:
        """Resume reading from the transport.

        Do not resume if :meth:`set_reading_paused` has stopped the reading, or if this connection waits for a later
        reactor turn because the time for requests is used up.
        """
        self.set_reading_paused(self._reading_paused)

    def turn_is_over(self) -> bool:
        if not self._waits and not self.turns.is_over():
            return False
        self._wait(is_stopped=True)
        return True

    def _wait(self, is_stopped: bool = False) -> None:
        """Process requests in a later turn of the reactor, and do not read from the peer until then.

        :param is_stopped: whether the connection has begun to process the received bytes, and had to stop.
        """
        if not self._waits and self.state not in _ENDING:
            self._waits = True
            if self.is_untrusted:
                self.turns.wait_untrusted(self, begins=self.state is ConnectionState.CONNECTING)
            else:
                is_small = self._is_small if is_stopped else self._decoder.has_few(self._put_off, FEW)
                self.turns.wait(self, is_small, is_stopped)
            self.transport.pauseProducing()  # type: ignore[union-attr]

    def take_turn(self) -> None:
        """Continue the requests that have begun, then process the bytes that were received but not decoded."""
        self._waits = False
        self._go_on()
        is_open = self._session is not None and self.state not in _ENDING
        if is_open and not (self._reading_paused or self._waits) and (self._put_off or self._decoder.ready):
            data, self._put_off = self._put_off, b""
            self._receive(data)
        self.read_on()

    def reply(self, data: bytes, count: int = 1) -> None:
        if self.closed:
            return
        if not self._replies:
            self._factory.outbox.enrol(self)
        self._replies.append(data)
        self._reply_count += count
        self._unsent += len(data)

    def reply_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        if self.closed:
            return
        if not self._replies:
            self._factory.outbox.enrol(self)
        self._replies.extend(pieces)
        self._reply_count += 1
        self._unsent += sum(map(len, pieces))
        if self._unsent >= self._factory.unsent_limit:
            self.flush()  # write now, so that large replies do not stay in memory while more requests are processed

    def flush(self) -> None:
        """Write all queued replies by one call of the transport."""
        replies, self._replies = self._replies, []
        count, self._reply_count = self._reply_count, 0
        size, self._unsent = self._unsent, 0
        if self.closed or not replies:
            return
        self._factory.metrics.replies_per_write.record(count)
        if self._gathers:
            self.transport.writeSequence(replies)  # type: ignore[union-attr, arg-type]
        else:
            self.transport.write(b"".join(replies))  # type: ignore[union-attr]
        if self._paused:
            self._count_unread(size)
        elif self._reading_paused:
            self._go_on()  # the transport has accepted all replies: continue the requests that waited for this
