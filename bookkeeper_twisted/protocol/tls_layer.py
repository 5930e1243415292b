"""TLS between a protocol and its transport, begun on a connection that is open already.

Twisted's own layer makes the handshake, closes connections and treats errors.  In between, it would handle what it
receives and sends record by record.  A record has 16 KiB at most, while a chunk that is received has 256 KiB, and so
may a batch of replies.  So after the handshake, bytes go past Twisted's layer
(:mod:`bookkeeper_twisted.security.records`): the protocol receives the plain text of a chunk by one call, and what it
writes by one call leaves by one call of the transport, which sends within it (:mod:`.direct_transport`).

A peer can make OpenSSL write by itself: each KeyUpdate of TLS 1.3 that asks for an answer gets one, which no protocol
above has written or can hold back.  So a layer stops reading while many such answers wait in a full transport.  Other
bytes that wait do not stop the reading: two ends that both write before they read would wait for each other for ever.

If TLS fails after the handshake, or the peer's bytes end without TLS's own end (close_notify) although the protocol
above expects more of them, the reason that this protocol gets is a
:class:`~bookkeeper_twisted.security.reasons.BrokenTlsError`.

Everything of Twisted that is used is public.  The module needs the packages of the extra ``tls``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from twisted.internet.interfaces import (
    IConsumer,
    IDelayedCall,
    IHandshakeListener,
    IProtocol,
    IProtocolFactory,
    IPushProducer,
    IReactorTime,
)
from twisted.internet.protocol import connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ..security.reasons import BrokenTlsError, tls_reason
from ..security.records import RecordConnection, TlsError
from .interfaces import IGatheringTransport

MAX_IDLE_ANSWERS = 4 * 1024
"""Maximum number of bytes that OpenSSL may write by itself while a peer sends no data; then the connection is dropped.

These are the answers to some hundred KeyUpdates.  Each KeyUpdate costs some 10 us, and an honest peer sends at most one
in many megabytes of data.
"""

MAX_ANSWERS = 4 * 1024
"""Bytes of OpenSSL's own answers in a full transport above which nothing more is read; an honest peer causes few."""

SECONDS_TO_CLOSE = 5.0
"""Seconds in which a peer must read the last bytes and answer the end of TLS; then its connection is dropped."""


@implementer(IPushProducer)
class _Beneath:
    """The transport of a TLS layer: it passes the layer's writes on to the transport of the connection.

    After :meth:`wait`, the bytes of all writes are gathered until :meth:`go_on` passes them on by one write.  This
    object is the producer of the connection's transport, which pauses it when it is full.

    :ivar is_closing: whether the layer has asked the transport to close, or has lost it.
    :ivar is_held: whether the protocol above wants to receive nothing now.
    """

    def __init__(self, transport: Any, answers_wait: Callable[[int], None] | None) -> None:
        """:param answers_wait: called with the number of bytes that OpenSSL itself has written to a full transport."""
        self.is_closing = False
        self._transport = transport
        self._gathers = IGatheringTransport.providedBy(transport)
        self._answers_wait = answers_wait
        self._waiting: list[bytes] | None = None
        self._producer: Any = None
        self._is_full = False
        self.is_held = False
        self._is_put_off = False
        self._answers = 0  # bytes that OpenSSL has written by itself since the transport became full

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    # -- for the layer --

    def start(self) -> None:
        self._transport.registerProducer(self, True)

    def wait(self) -> None:
        if self._waiting is None:
            self._waiting = []

    def go_on(self) -> int:
        """Write the bytes that have waited; return their number."""
        waiting, self._waiting = self._waiting, None
        if not waiting:
            return 0
        data = waiting[0] if len(waiting) == 1 else b"".join(waiting)
        self._transport.write(data)
        return len(data)

    def write(self, data: bytes) -> None:
        if self._waiting is None:
            self._transport.write(data)
        else:
            self._waiting.append(data)

    def write_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Write encrypted bytes by one call of the transport."""
        if self._gathers:
            self._transport.writeSequence(pieces)
        else:
            self._transport.write(b"".join(pieces))

    def count_answers(self, n_bytes: int) -> None:
        """Count bytes that OpenSSL has written by itself and that were passed to the transport."""
        if not self._is_full or not n_bytes or self.is_closing:
            return
        self._answers += n_bytes
        self._read_or_wait()
        if self._answers_wait is not None:
            self._answers_wait(n_bytes)

    def hold(self, is_held: bool) -> None:
        """Stop or resume reading for the protocol above; do not resume before the peer has read OpenSSL's answers."""
        self.is_held = is_held
        self._read_or_wait()

    def put_off(self, is_put_off: bool) -> None:
        """Stop or resume reading for the layer, which may process its received bytes only in a later reactor turn."""
        self._is_put_off = is_put_off
        self._read_or_wait()

    def _read_or_wait(self) -> None:
        if self.is_closing:
            return
        if self.is_held or self._is_put_off or self._answers > MAX_ANSWERS:
            self._transport.pauseProducing()
        else:
            self._transport.resumeProducing()

    def loseConnection(self) -> None:
        self.go_on()
        if not self.is_closing:
            self.is_closing = True
            # When its buffer is empty, the transport would resume a paused producer instead of closing.
            self._transport.unregisterProducer()
            self._transport.loseConnection()

    def abortConnection(self) -> None:
        self.is_closing = True
        self._transport.abortConnection()

    def end(self) -> None:
        """Drop the references of a lost connection."""
        self.is_closing = True
        self._producer = self._answers_wait = None

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        if self._producer is not None:
            raise RuntimeError("there is a producer already")
        self._producer = producer
        if self._is_full:
            producer.pauseProducing()

    def unregisterProducer(self) -> None:
        self._producer = None

    # -- for the transport --

    def pauseProducing(self) -> None:
        self._is_full = True
        if self._producer is not None:
            self._producer.pauseProducing()

    def resumeProducing(self) -> None:
        self._is_full = False
        answers, self._answers = self._answers, 0
        if answers > MAX_ANSWERS:
            self._read_or_wait()
        if self._producer is not None:
            self._producer.resumeProducing()

    def stopProducing(self) -> None:
        if self._producer is not None:
            self._producer.stopProducing()


@implementer(IHandshakeListener)
class _Receiver:
    """The protocol above a layer, which receives the plain text of several records by one call."""

    def __init__(self, protocol: Any, reason_of: Callable[[Failure], Failure]) -> None:
        """:param reason_of: returns the reason that the protocol gets, instead of that of Twisted's layer."""
        self.protocol = protocol
        self._reason_of = reason_of
        self.is_open = False
        self._received: list[bytes] = []

    @property
    def has_received(self) -> bool:
        """Whether plain text waits to be passed on."""
        return bool(self._received)

    def makeConnection(self, transport: object) -> None:
        raise AssertionError("the protocol is connected already")

    def handshakeCompleted(self) -> None:
        self.is_open = True
        self.protocol.handshakeCompleted()

    def dataReceived(self, data: bytes) -> None:
        self._received.append(data)

    def pass_on(self) -> None:
        received, self._received = self._received, []
        if received:
            self.protocol.dataReceived(received[0] if len(received) == 1 else b"".join(received))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.pass_on()
        reason.cleanFailure()  # frames of its traceback refer to the layer
        reason = self._reason_of(reason)
        del self._reason_of  # it refers to the layer
        protocol, self.protocol = self.protocol, None
        protocol.connectionLost(reason)


@implementer(IGatheringTransport, IConsumer)
class TlsLayer(TLSMemoryBIOProtocol):
    """The TLS layer of one connection: the protocol of its transport, and the transport of its protocol.

    :ivar taken: number of written encrypted bytes that the kernel has accepted.
    :ivar unread: how many of them the peer has not confirmed yet; 0 if this is unknown.
    """

    def __init__(
        self, factory: TLSMemoryBIOFactory, protocol: IProtocol, transport: Any, clock: IReactorTime,
        answers_wait: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        self._above = _Receiver(protocol, self._reason_of)
        self._below = _Beneath(transport, answers_wait)
        self._clock = clock
        self._closing: IDelayedCall | None = None
        self._idle_answers = 0  # bytes that OpenSSL has written by itself since the last plain text was received
        self._records: RecordConnection | None = None  # set once all bytes of the handshake are processed
        super().__init__(factory, self._above, False)

    @property
    def taken(self) -> int:
        return getattr(self._below, "taken", 0)

    @property
    def unread(self) -> int:
        return getattr(self._below, "unread", 0)

    @property
    def protocol(self) -> Any:
        """The protocol that receives the plain text; it can be replaced by another protocol."""
        return self._above.protocol

    @protocol.setter
    def protocol(self, protocol: IProtocol) -> None:
        self._above.protocol = protocol

    def begin(self) -> None:
        """Begin the TLS handshake."""
        self._below.start()
        self.makeConnection(self._below)

    def dataReceived(self, data: bytes) -> None:
        if self._below.is_closing:
            return  # drop the bytes: OpenSSL would keep them in memory until the transport has closed
        was_open = self._above.is_open
        n_bytes = self._receive(data) if self._records is None else self._decrypt(self._records, data)
        self._below.count_answers(n_bytes)
        self._idle_answers = 0 if self._above.has_received or not was_open else self._idle_answers + n_bytes
        if self._idle_answers > MAX_IDLE_ANSWERS:
            self.abortConnection()
            return
        self._close_in_time()
        self._above.pass_on()

    def _receive(self, data: bytes) -> int:
        """Pass encrypted bytes to Twisted's layer; return the number of bytes that OpenSSL has written to the peer."""
        self._below.wait()
        try:
            super().dataReceived(data)
        finally:
            n_bytes = self._below.go_on()
        if self._above.is_open:
            handle = self.getHandle()
            self._records = handle if isinstance(handle, RecordConnection) else None
        return n_bytes

    def _decrypt(self, records: RecordConnection, data: bytes) -> int:
        """Decrypt bytes; return the number of bytes that OpenSSL has written to the peer."""
        if text := records.decrypt(data):
            self._above.dataReceived(text)
        answers = records.take()
        if answers:
            self._below.write_pieces([answers])
        return len(answers) + (self._receive(b"") if records.has_failed else 0)

    def write(self, data: bytes) -> None:
        """Encrypt ``data`` and send it by one write of the transport."""
        self.writeSequence([data])

    def writeSequence(self, data: Iterable[bytes | memoryview]) -> None:
        """Encrypt the byte strings in ``data`` and send them by one write of the transport."""
        records, pieces = self._records, list(data)
        if records is not None and not self.disconnecting and not self._below.is_closing:
            self._below.write_pieces(records.encrypt(pieces))
            if not records.has_failed:
                return
            pieces = [b"."]  # Twisted's layer meets the same error at this byte, and handles it
        self._below.wait()
        try:
            super().write(b"".join(pieces))
        finally:
            self._below.go_on()
        self._close_in_time()

    def pauseProducing(self) -> None:
        self._below.hold(True)

    def resumeProducing(self) -> None:
        self._below.hold(False)

    def loseConnection(self) -> None:
        super().loseConnection()
        self._below.hold(False)  # the peer's answer has to be read
        self._close_in_time()

    def _close_in_time(self) -> None:
        """Set the time limit of a connection that has begun to close."""
        is_ending = self.disconnecting or self._below.is_closing
        if is_ending and self.connected and self._closing is None:
            self._closing = self._clock.callLater(SECONDS_TO_CLOSE, self.abortConnection)

    def abortConnection(self) -> None:
        if self.connected:
            super().abortConnection()

    @property
    def expects_more(self) -> bool:
        """Whether the peer owes more bytes: the protocol above expects them."""
        return bool(self._above.protocol.expects_more)

    def _reason_of(self, reason: Failure) -> Failure:
        """Return a BrokenTlsError if TLS has broken after its handshake; else ``reason``, why the connection is lost.

        It has not broken if this side has closed the connection.
        """
        if not self._above.is_open or self.disconnecting:
            return reason
        if isinstance(reason.value, TlsError):
            return Failure(BrokenTlsError(f"TLS has failed: {tls_reason(reason.value)}"))
        if self.expects_more and not self.getHandle().is_ended:
            return Failure(BrokenTlsError("its bytes were cut off, without the end of TLS"))
        return reason

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        closing, self._closing = self._closing, None  # drop the timer: even one that has fired refers to the layer
        if closing is not None and closing.active():
            closing.cancel()
        self._below.end()
        self._records = None
        self.unregisterProducer()
        super().connectionLost(reason)


def begin_tls(
    protocol: Any, creator: Any, is_client: bool, clock: IReactorTime,
    answers_wait: Callable[[int], None] | None = None, layer_of: Callable[..., TlsLayer] = TlsLayer,
) -> TlsLayer:  # fmt: skip
    """Begin TLS on the connection of a ``protocol``, which receives nothing until the handshake is complete.

    After the handshake, ``handshakeCompleted`` of the protocol is called; if the handshake fails, ``connectionLost``.

    :param protocol: has an attribute ``expects_more``: whether it has part of a message, or waits for an answer.
    :param creator: makes the TLS connection (``IOpenSSLServerConnectionCreator``, or the client's).
    :param answers_wait: called with the number of bytes that OpenSSL has written by itself into a full transport.
    :param layer_of: the class of the layer.
    :returns: the layer, which is the transport of the protocol from now on.
    """
    transport = protocol.transport
    factory = TLSMemoryBIOFactory(creator, is_client, cast(IProtocolFactory, None), clock)
    layer = layer_of(factory, protocol, transport, clock, answers_wait)
    protocol.transport = layer
    transport.protocol = layer
    layer.begin()
    return layer
