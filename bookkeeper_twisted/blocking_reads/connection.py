"""One blocking TCP connection to a bookie, which sends and receives whole frames.

Only this module of the package opens sockets.  The socket blocks, and the kernel enforces its time-outs
(``SO_RCVTIMEO``, ``SO_SNDTIMEO``).  So with ``MSG_WAITALL`` one system call receives a reply of megabytes directly into
the bytes object that is returned.  Python releases the interpreter lock during this call.  Encrypted or authenticated
connections (:mod:`.secured`) use such a socket, too.
"""

import socket
import struct
from typing import Protocol

import attrs

from ..codec.framing import LENGTH_SIZE, frame_length
from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..errors import BookieHandleNotAvailableError, IncorrectParameterError, RequestTimeoutError

WAIT_ALL = int(socket.MSG_WAITALL)
"""The flag of ``recv`` for waiting until all requested bytes have arrived."""

_TIMEVAL = struct.Struct("@ll")
_MICROSECONDS = 1_000_000


@attrs.frozen
class Address:
    """The address at which a bookie listens.

    :ivar bookie_id: id of the bookie, for messages and metadata.
    :ivar port: the port; 0 if no address of the bookie is known.
    """

    bookie_id: str
    host: str
    port: int


@attrs.frozen
class Timeouts:
    """The time limits of a connection, in seconds, greater than 0.

    :ivar connect: the limit for making a connection.
    :ivar reply: the limit for sending a request, and for receiving each frame.
    """

    connect: float = 10.0
    reply: float = 5.0

    def __attrs_post_init__(self) -> None:
        if not (self.connect > 0 and self.reply > 0):
            raise IncorrectParameterError(f"time-outs are greater than 0, not {self.connect} and {self.reply}")


class IBookieConnection(Protocol):
    """The operations of a connection to a bookie that readers and copiers use; tests provide connections of their own.

    Each operation raises BookieHandleNotAvailableError if the connection is lost, RequestTimeoutError after a time-out,
    and CodecError if a frame is longer than the limit.  After an error the connection cannot be used any more.

    :ivar wire: the version of the wire protocol, 2 or 3.
    """

    wire: int

    def send(self, data: bytes) -> None:
        """Send ``data``, which consists of whole frames; return when the kernel has taken all bytes."""

    def receive(self, size: int) -> bytes:
        """Receive exactly ``size`` bytes."""

    def receive_some(self, size: int) -> bytes:
        """Receive the bytes that have arrived, at most ``size``; wait for at least one byte."""

    def receive_frame(self) -> bytes:
        """Receive one frame, and return it with its length word."""

    def close(self) -> None:
        """Close the socket.  A second call has no effect."""


class IByteStream(Protocol):
    """The methods of a blocking socket that a connection uses; for encryption, another class has the same methods.

    ``recv`` and ``sendall`` raise OSError like the methods of a socket, and BlockingIOError after a time-out.
    """

    def sendall(self, data: bytes, /) -> None:
        """Send all bytes of ``data``."""

    def recv(self, size: int, flags: int, /) -> bytes:
        """Return at most ``size`` bytes, b"" if the peer has closed the connection.

        :param flags: flags of ``socket.recv``; 0, or :data:`WAIT_ALL` to wait for ``size`` bytes.
        """

    def close(self) -> None:
        """Close the socket.  A second call has no effect."""


class BookieConnection:
    """An open connection to a bookie over a blocking socket.

    :param opened: the socket, or the stream of an encrypted connection over a socket.
    :param address: the address of the bookie, for messages.
    :param max_frame_size: maximum number of bytes of a frame, including its length word.
    """

    def __init__(self, opened: IByteStream, address: Address, wire: int, max_frame_size: int) -> None:
        self.wire = wire
        self._socket = opened
        self._address = address
        self._max_frame_size = max_frame_size

    def send(self, data: bytes) -> None:
        """Send ``data``, which consists of whole frames; return when the kernel has taken all bytes."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise failure_of(error, self._address) from None

    def receive(self, size: int) -> bytes:
        """Receive exactly ``size`` bytes."""
        if not size:
            return b""
        data = self._some(size, WAIT_ALL)
        if len(data) == size:
            return data
        pieces = [data]  # a signal or a near time-out can make recv return fewer bytes, even with WAIT_ALL
        missing = size - len(data)
        while missing:
            pieces.append(self._some(missing, WAIT_ALL))
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def receive_some(self, size: int) -> bytes:
        """Receive the bytes that have arrived, at most ``size``; wait for at least one byte."""
        return self._some(size, 0)

    def receive_frame(self) -> bytes:
        """Receive one frame, and return it with its length word."""
        head = self.receive(LENGTH_SIZE)
        return head + self.receive(frame_length(head, 0, self._max_frame_size))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _some(self, size: int, flags: int) -> bytes:
        try:
            data = self._socket.recv(size, flags)
        except OSError as error:
            raise failure_of(error, self._address) from None
        if not data:
            raise BookieHandleNotAvailableError(f"bookie {self._address.bookie_id} closed the connection")
        return data


def failure_of(error: OSError, address: Address) -> BookieHandleNotAvailableError | RequestTimeoutError:
    """Convert an error of a socket to an error of this package.

    :param error: the error of the socket.
    :param address: the bookie to which the socket is connected, for the text of the error.
    """
    if isinstance(error, BlockingIOError | TimeoutError):
        return RequestTimeoutError(f"bookie {address.bookie_id} did not answer in time")
    return BookieHandleNotAvailableError(f"connection to bookie {address.bookie_id} lost: {error.strerror or error}")


def dial(
    address: Address, wire: int, timeouts: Timeouts, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE
) -> BookieConnection:
    """Connect to a bookie, without encryption or authentication.

    :param wire: the version of the wire protocol, 2 or 3.
    :param timeouts: the time limits of this attempt, and of later calls on the connection.
    :param max_frame_size: maximum number of bytes of a frame that may be received, including its length word.
    :raises BookieHandleNotAvailableError: the connection failed, or was not made in time.
    """
    return BookieConnection(open_socket(address, timeouts), address, wire, max_frame_size)


def open_socket(address: Address, timeouts: Timeouts) -> socket.socket:
    """Connect a blocking socket to a bookie.

    :param timeouts: the time limits of this attempt, and of later calls on the socket.
    :raises BookieHandleNotAvailableError: the connection failed, or was not made in time.
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
    return opened
