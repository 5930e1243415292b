"""A TLS layer between a protocol and its transport, which can begin on an open connection.

Twisted's own TLS layer makes the handshake, closes connections and handles errors.  After the handshake, it would also
encrypt and decrypt record by record.  But a record has at most 16 KiB, while a received chunk or a batch of replies may
have 256 KiB.  So after the handshake, this layer encrypts and decrypts without Twisted's layer
(:mod:`bookkeeper_twisted.security.records`).  The protocol receives the plain text of a chunk by one call.  The bytes
of one write by the protocol are encrypted and passed to the transport by one call (:mod:`.direct_transport`).

A peer can cause OpenSSL itself to write: OpenSSL answers each KeyUpdate of TLS 1.3 that asks for an answer, and the
protocol cannot prevent this.  So the layer stops reading while many such answers wait in a full transport.  Other
waiting bytes do not stop the reading: if both ends stopped for such bytes, each would wait for ever for the other end.

If TLS fails after the handshake, ``connectionLost`` of the protocol gets a
:class:`~bookkeeper_twisted.security.reasons.BrokenTlsError`.  The same applies if the peer closes the connection
without TLS's close_notify while the protocol expects more bytes.

The module uses only public names of Twisted.  It needs the packages of the extra ``tls``.
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
"""Maximum number of bytes of OpenSSL's answers to KeyUpdates between two pieces of application data from the peer.

It permits some hundred answers; above it, the connection is dropped.  Each KeyUpdate takes some 10 us, and an honest
peer sends at most one for many megabytes of data.
"""

MAX_ANSWERS = 4 * 1024
"""Maximum number of bytes of OpenSSL's answers to KeyUpdates that wait in a full transport.

Above it, the layer stops reading from the peer, so that the peer cannot cause more answers.
"""

SECONDS_TO_CLOSE = 5.0
"""Seconds after which a closing connection is dropped if the peer has not answered the close_notify."""


@implementer(IPushProducer)
class _LowerTransport:
    """The transport of a TLS layer: it passes the layer's writes on to the TCP transport.

    After the layer calls :meth:`buffer_writes`, writes are buffered; :meth:`flush` passes all of them on by one call.

    This object is registered as the producer of the TCP transport.  When the TCP transport is full, it pauses this
    object, which pauses the layer's own producer.

    :param answers_wait: called with the number of bytes when OpenSSL has answered the peer's KeyUpdates while the
        transport was full.
    :ivar is_closing: whether the connection is lost, or the layer has begun to close it.
    :ivar reading_paused: whether the protocol above the layer has stopped reading.
    """

    def __init__(self, transport: Any, answers_wait: Callable[[int], None] | None) -> None:
        self.is_closing = False
        self._transport = transport
        self._gathers = IGatheringTransport.providedBy(transport)
        self._answers_wait = answers_wait
        self._buffered: list[bytes] | None = None
        self._producer: Any = None
        self._is_full = False
        self.reading_paused = False
        self._is_put_off = False
        self._answers = 0  # bytes of OpenSSL's answers to KeyUpdates since the transport became full

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    # -- for the layer --

    def start(self) -> None:
        self._transport.registerProducer(self, True)

    def buffer_writes(self) -> None:
        if self._buffered is None:
            self._buffered = []

    def flush(self) -> int:
        """Write, by one call, the bytes that the layer has written since :meth:`buffer_writes`; return their number."""
        buffered, self._buffered = self._buffered, None
        if not buffered:
            return 0
        data = buffered[0] if len(buffered) == 1 else b"".join(buffered)
        self._transport.write(data)
        return len(data)

    def write(self, data: bytes) -> None:
        if self._buffered is None:
            self._transport.write(data)
        else:
            self._buffered.append(data)

    def write_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Write encrypted bytes by one call of the transport."""
        if self._gathers:
            self._transport.writeSequence(pieces)
        else:
            self._transport.write(b"".join(pieces))

    def count_answers(self, n_bytes: int) -> None:
        """Count bytes of OpenSSL's answers to KeyUpdates of the peer while the transport is full.

        If these bytes are too many, stop reading from the peer.
        """
        if not self._is_full or not n_bytes or self.is_closing:
            return
        self._answers += n_bytes
        self._read_or_wait()
        if self._answers_wait is not None:
            self._answers_wait(n_bytes)

    def set_reading_paused(self, paused: bool) -> None:
        """Stop or resume reading, as the protocol above the layer requests.

        Do not resume while OpenSSL's answers to KeyUpdates that wait in the transport are too many.
        """
        self.reading_paused = paused
        self._read_or_wait()

    def put_off(self, is_put_off: bool) -> None:
        """Stop reading from the transport, or resume the reading.

        :param is_put_off: whether received bytes wait to be decrypted in a later turn of the reactor.
        """
        self._is_put_off = is_put_off
        self._read_or_wait()

    def _read_or_wait(self) -> None:
        if self.is_closing:
            return
        if self.reading_paused or self._is_put_off or self._answers > MAX_ANSWERS:
            self._transport.pauseProducing()
        else:
            self._transport.resumeProducing()

    def loseConnection(self) -> None:
        self.flush()
        if not self.is_closing:
            self.is_closing = True
            # Unregister the producer: if it is paused, the transport would resume it when the last bytes are sent,
            # instead of closing.
            self._transport.unregisterProducer()
            self._transport.loseConnection()

    def abortConnection(self) -> None:
        self.is_closing = True
        self._transport.abortConnection()

    def end(self) -> None:
        """Drop the references to other objects, because the connection is lost."""
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
    """A wrapper of the protocol above a TLS layer: it passes on the plain text of several records by one call.

    :param reason_of: converts the reason with which Twisted's layer calls ``connectionLost`` to the reason that is
        passed to the protocol.
    """

    def __init__(self, protocol: Any, reason_of: Callable[[Failure], Failure]) -> None:
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
        reason.cleanFailure()  # avoid a reference cycle: the traceback refers to the layer
        reason = self._reason_of(reason)
        del self._reason_of  # avoid a reference cycle: this method refers to the layer
        protocol, self.protocol = self.protocol, None
        protocol.connectionLost(reason)


@implementer(IGatheringTransport, IConsumer)
class TlsLayer(TLSMemoryBIOProtocol):
    """The TLS layer of one connection.

    For the TCP transport, the layer is the protocol that receives encrypted bytes.  For the protocol that sends
    plain text, the layer is the transport.

    :ivar bytes_accepted: number of encrypted bytes that the kernel has accepted.
    :ivar unread: number of encrypted bytes that the kernel has accepted and that the peer's TCP has not confirmed; 0 if
        unknown.
    """

    def __init__(
        self, factory: TLSMemoryBIOFactory, protocol: IProtocol, transport: Any, clock: IReactorTime,
        answers_wait: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        self._above = _Receiver(protocol, self._reason_of)
        self._below = _LowerTransport(transport, answers_wait)
        self._clock = clock
        self._closing: IDelayedCall | None = None
        self._idle_answers = 0  # bytes of OpenSSL's answers to KeyUpdates since the peer last sent data
        self._records: RecordConnection | None = None  # set when the handshake is complete
        super().__init__(factory, self._above, False)

    @property
    def bytes_accepted(self) -> int:
        return getattr(self._below, "bytes_accepted", 0)

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
        """Pass encrypted bytes to Twisted's layer; return the number of bytes that OpenSSL wrote for the peer.

        OpenSSL writes for example handshake messages, and answers to KeyUpdates.
        """
        self._below.buffer_writes()
        try:
            super().dataReceived(data)
        finally:
            n_bytes = self._below.flush()
        if self._above.is_open:
            handle = self.getHandle()
            self._records = handle if isinstance(handle, RecordConnection) else None
        return n_bytes

    def _decrypt(self, records: RecordConnection, data: bytes) -> int:
        """Decrypt received bytes; return the number of bytes of OpenSSL's answers, such as those to KeyUpdates."""
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
            pieces = [b"."]  # TLS has failed: pass any byte to Twisted's layer, which then closes the connection
        self._below.buffer_writes()
        try:
            super().write(b"".join(pieces))
        finally:
            self._below.flush()
        self._close_in_time()

    def pauseProducing(self) -> None:
        self._below.set_reading_paused(True)

    def resumeProducing(self) -> None:
        self._below.set_reading_paused(False)

    def loseConnection(self) -> None:
        super().loseConnection()
        self._below.set_reading_paused(False)  # read the peer's close_notify
        self._close_in_time()

    def _close_in_time(self) -> None:
        """If the connection is closing, start a timer that drops it after :data:`SECONDS_TO_CLOSE`."""
        is_ending = self.disconnecting or self._below.is_closing
        if is_ending and self.connected and self._closing is None:
            self._closing = self._clock.callLater(SECONDS_TO_CLOSE, self.abortConnection)

    def abortConnection(self) -> None:
        if self.connected:
            super().abortConnection()

    @property
    def expects_more(self) -> bool:
        """Whether the protocol above the layer expects more bytes from the peer."""
        return bool(self._above.protocol.expects_more)

    def _reason_of(self, reason: Failure) -> Failure:
        """Return a BrokenTlsError if TLS has failed after its handshake, else ``reason``.

        The error is not returned if this side has closed the connection.

        :param reason: why the connection is lost.
        """
        if not self._above.is_open or self.disconnecting:
            return reason
        if isinstance(reason.value, TlsError):
            return Failure(BrokenTlsError(f"TLS has failed: {tls_reason(reason.value)}"))
        if self.expects_more and not self.getHandle().is_ended:
            return Failure(BrokenTlsError("its bytes were cut off, without the end of TLS"))
        return reason

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        closing, self._closing = self._closing, None  # avoid a reference cycle: a timer refers to the layer
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

    :param protocol: its attribute ``expects_more`` must say whether it expects more bytes: it has received a part of a
        message, or waits for an answer.
    :param creator: makes the TLS connection: an ``IOpenSSLServerConnectionCreator`` or
        ``IOpenSSLClientConnectionCreator``.
    :param answers_wait: called with the number of bytes when OpenSSL has answered KeyUpdates of the peer while the
        transport was full.
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
