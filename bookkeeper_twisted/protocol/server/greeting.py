"""The bytes that a peer may send between StartTLS and its first TLS record: none, or one unencrypted frame.

Apache's clients send the first SASL token unencrypted, immediately after StartTLS.  The token arrives together with
StartTLS, or by itself while the bookie waits for the handshake.  The first byte tells a frame from a TLS record.  A TLS
handshake record begins with the byte 22.  A frame begins with its length, so the first byte of a short frame is 0.

TLS begins only when the first record is complete, because OpenSSL uses some 50 times as much memory for a connection as
the record has bytes.  So a peer that sends the record slowly, or not at all, uses little memory.  If the time for
handshakes in this reactor turn is used up, the complete record waits here for a later turn.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from ...codec.connection import ServerDecoder
from ...codec.framing import LENGTH_SIZE
from ...security.record_format import HANDSHAKE, HEAD, body_size

LONGEST = 256
"""Maximum number of bytes of an unencrypted frame.

A frame with an empty token has some 20 bytes and the name of a plugin.
"""

_FRAME = b"\0"
"""The first byte of an unencrypted frame.

It is the most significant byte of the frame's length, and is 0 because the length is at most :data:`LONGEST`.
"""

LONGEST_RECORD = 16 * 1024
"""Maximum number of bytes in the body of an unencrypted TLS record, by the standard of TLS.

The bookie buffers a first record of this length until it is complete.  Clients send some hundred bytes, or 2 KiB with
large keys.
"""

LONGEST_MESSAGE = 16 * 1024
"""Maximum number of bytes of the first handshake message, which OpenSSL buffers; its own limit is 128 KiB."""


class Greeting(Protocol):
    """The protocol of a transport until TLS begins there.

    It accepts at most one unencrypted frame.  All other bytes go to the TLS layer, which ends the connection if they
    are not TLS.

    :param connection: the connection; its ``connectionLost`` is called if the transport is lost before TLS begins.
    :param decoder: a decoder for the unencrypted frame only.
    :param take: called with the decoded frame; returns whether the peer may send this frame unencrypted.  If ``take``
        is None, no unencrypted frame is accepted.
    :param begin: begins TLS on the transport, and returns the layer.
    """

    def __init__(
        self, connection: Any, decoder: ServerDecoder, take: Callable[[object], bool] | None, begin: Callable[[], Any]
    ) -> None:
        self._connection = connection
        self._decoder = decoder
        self._take = take
        self._begin = begin
        self._received = b""
        self._waits = False

    def dataReceived(self, data: bytes) -> None:
        if self._connection.closed:
            return
        received = self._received + data
        if self._waits:
            self._received = received
            return
        self._received = b""
        if self._take is not None and received[:1] == _FRAME:
            size = LENGTH_SIZE
            if len(received) >= size:
                size += int.from_bytes(received[:size], "big")
            if len(received) < size <= LONGEST:
                self._received = received
                return
            if self._is_accepted(received[:size]):
                received = received[size:]
        if _is_half_record(received):
            self._take, self._received = None, received
        elif _is_too_long(received):
            self._connection.transport.abortConnection()
        elif received:
            self._begin_in_turn(received)

    def _begin_in_turn(self, received: bytes) -> None:
        """Begin TLS now, or in a later turn of the reactor; until then, do not read from the transport."""
        turns = self._connection.turns
        if turns.is_spent_for(True):
            self._received, self._waits = received, True
            self._connection.transport.pauseProducing()
            turns.wait_untrusted(self, begins=True)
            return
        counts = turns.begin(True)
        try:
            self._begin().dataReceived(received)
        finally:
            if counts:
                turns.end()

    def take_turn(self) -> None:
        """Begin the TLS handshake; its first input is the bytes that arrived while the connection had to wait.

        The scheduler (:class:`.Turns`) calls this method when reactor time for untrusted peers is available again.
        """
        self._waits = False
        received, self._received = self._received, b""
        if not self._connection.closed:
            self._connection.read_on()
            self._begin().dataReceived(received)

    def abort(self) -> None:
        """Drop the connection, because the beginning of TLS (:meth:`take_turn`) has raised an error."""
        self._connection.abort()

    def _is_accepted(self, frame: bytes) -> bool:
        """Pass an unencrypted frame to ``take``, and return whether it was accepted; accept only one such frame."""
        take, self._take = self._take, None
        items = self._decoder.receive(frame) if len(frame) <= LONGEST else []
        return take is not None and len(items) == 1 and take(items[0])

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._connection.turns.withdraw(self)
        self._connection.connectionLost(reason)


def _is_half_record(data: bytes) -> bool:
    """Test whether ``data`` is an incomplete TLS handshake record whose size is within the limit."""
    body = body_size(data) if len(data) >= HEAD else 0
    return data[:1] == HANDSHAKE and len(data) < HEAD + body and body <= LONGEST_RECORD


def _is_too_long(data: bytes) -> bool:
    """Test whether the first TLS record or the first handshake message is too long.

    The result is also True if the first TLS record of ``data`` does not contain the message's length field: an honest
    client sends the field in the first record, and without it the length of the message has no limit.
    """
    if data[:1] != HANDSHAKE:
        return False  # no handshake record: OpenSSL will refuse it
    if body_size(data) > LONGEST_RECORD:
        return True  # OpenSSL would use memory for the connection while the bytes of such a record arrive
    return len(data) < HEAD + 4 or int.from_bytes(data[HEAD + 1 : HEAD + 4], "big") > LONGEST_MESSAGE
