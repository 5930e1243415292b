"""One blocking TCP connection to a bookie: whole frames out, whole frames in.

This is the door of the package to the network.  The socket blocks, and its time-outs are the kernel's
(``SO_RCVTIMEO``, ``SO_SNDTIMEO``): with ``MSG_WAITALL`` one system call receives a reply of megabytes into the bytes
object that the caller keeps, without the interpreter lock.
"""

import socket
import struct
from typing import Protocol

import attrs

from ..codec.framing import LENGTH_SIZE, frame_length
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..errors import BookieHandleNotAvailableError, IncorrectParameterError, RequestTimeoutError

_TIMEVAL = struct.Struct("@ll")
_MICROSECONDS = 1_000_000


@attrs.frozen
class Address:
    """The address at which a bookie listens.

    :ivar bookie_id: its id, for messages and metadata.
    :ivar port: 0 if no address is known.
    """

    bookie_id: str
    host: str
    port: int


@attrs.frozen
class Timeouts:
    """Seconds, greater than 0.

    :ivar connect: for a connection attempt.
    :ivar reply: for sending a request, and for each frame that is waited for.
    """

    connect: float = 10.0
    reply: float = 5.0

    def __attrs_post_init__(self) -> None:
        if not (self.connect > 0 and self.reply > 0):
            raise IncorrectParameterError(f"time-outs are greater than 0, not {self.connect} and {self.reply}")


class IBookieConnection(Protocol):
    """The calls a reader makes on a connection.

    Each raises BookieHandleNotAvailableError if the connection is lost, RequestTimeoutError if time is up, and
    CodecError if a frame is longer than the limit.  After an error the connection is of no use.

    :ivar wire: 2 or 3.
    """

    wire: int

    def send(self, data: bytes) -> None:
        """Send whole frames; returns when the kernel has all of ``data``."""

    def receive(self, size: int) -> bytes:
        """Receive exactly ``size`` bytes."""

    def receive_some(self, size: int) -> bytes:
        """Receive what has come, at least one byte and at most ``size``."""

    def receive_frame(self) -> bytes:
        """Receive one frame, its length word included."""

    def close(self) -> None:
        """Close the socket.  Closing twice is harmless."""


class BookieConnection:
    """A connection that is open; see :class:`IBookieConnection`.

    :param address: of the bookie, for messages.
    :param max_frame_size: bytes of the longest frame, its length word included.
    """

    def __init__(self, opened: socket.socket, address: Address, wire: int, max_frame_size: int) -> None:
        self.wire = wire
        self._socket = opened
        self._address = address
        self._max_frame_size = max_frame_size

    def send(self, data: bytes) -> None:
        """See :meth:`IBookieConnection.send`."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._failure(error) from None

    def receive(self, size: int) -> bytes:
        """See :meth:`IBookieConnection.receive`."""
        if not size:
            return b""
        data = self._some(size, socket.MSG_WAITALL)
        if len(data) == size:
            return data
        pieces = [data]  # a signal came, or the time-out is near
        missing = size - len(data)
        while missing:
            pieces.append(self._some(missing, socket.MSG_WAITALL))
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def receive_some(self, size: int) -> bytes:
        """See :meth:`IBookieConnection.receive_some`."""
        return self._some(size, 0)

    def receive_frame(self) -> bytes:
        """See :meth:`IBookieConnection.receive_frame`."""
        head = self.receive(LENGTH_SIZE)
        return head + self.receive(frame_length(head, 0, self._max_frame_size))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _some(self, size: int, flags: int) -> bytes:
        try:
            data = self._socket.recv(size, flags)
        except OSError as error:
            raise self._failure(error) from None
        if not data:
            raise BookieHandleNotAvailableError(f"bookie {self._address.bookie_id} closed the connection")
        return data

    def _failure(self, error: OSError) -> BookieHandleNotAvailableError | RequestTimeoutError:
        bookie_id = self._address.bookie_id
        if isinstance(error, BlockingIOError | TimeoutError):
            return RequestTimeoutError(f"bookie {bookie_id} did not answer in time")
        return BookieHandleNotAvailableError(f"connection to bookie {bookie_id} lost: {error.strerror or error}")


def dial(
    address: Address, wire: int, timeouts: Timeouts, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE
) -> BookieConnection:
    """Connect to a bookie.

    :param wire: the protocol that will be spoken, 2 or 3.
    :param timeouts: for this attempt, and for the connection's life.
    :param max_frame_size: bytes of the longest frame that is received, its length word included.
    :raises BookieHandleNotAvailableError: there is no connection, or not in time.
    """
    if not address.port:
        raise BookieHandleNotAvailableError(f"no address is known for bookie {address.bookie_id}")
    try:
        opened = socket.create_connection((address.host, address.port), timeouts.connect)
    except OSError as error:
        where = f"{address.bookie_id} at {address.host}:{address.port}"
        raise BookieHandleNotAvailableError(f"no connection to bookie {where}: {error}") from None
    seconds, fraction = divmod(timeouts.reply, 1)
    patience = _TIMEVAL.pack(int(seconds), int(fraction * _MICROSECONDS))
    opened.settimeout(None)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return BookieConnection(opened, address, wire, max_frame_size)
