"""Connections to bookies that are encrypted (TLS) or authenticated, over blocking sockets.

This module uses the code of the Twisted client: the protocols of :mod:`bookkeeper_twisted.protocol.client` begin TLS by
StartTLS, verify the bookie and exchange authentication tokens.  Here these protocols run over a blocking socket,
without a reactor.  :class:`_SocketTransport` sends the bytes that the protocols write, and passes received bytes to
the protocols, until the connection is secured or has failed.

This module needs Twisted, and for TLS the extra ``tls``.  Import it only where a connection has to be secured.
"""

from collections.abc import Callable
from typing import Any, cast

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from ..codec.operations import DEFAULT_MAX_FRAME_SIZE
from ..codec.wire_protocol import IWireProtocol
from ..errors import (
    BookieHandleNotAvailableError,
    BookKeeperError,
    RequestTimeoutError,
    SecurityError,
    UnauthorizedAccessError,
)
from ..protocol.authentication import IClientAuthentication, Peer
from ..protocol.client.authentication import first_protocol
from ..protocol.client.handshake import Handshake
from ..security.reasons import tls_reason
from .connection import WAIT_ALL, Address, BookieConnection, IByteStream, Timeouts, failure_of, open_socket
from .requests import WIRES

_CHUNK = 256 << 10
"""Maximum number of bytes that one system call receives."""

CreatorOf = Callable[[str], IOpenSSLClientConnectionCreator]
"""A function that makes the client's end of TLS connections to a host name or address."""


@attrs.frozen
class ConnectionSecurity:
    """The encryption and the authentication of connections to bookies.

    :ivar encryption: makes the client's end of TLS connections; None if connections are not encrypted.
    :ivar authentication: how this client proves to bookies who it is.
    :ivar authentication_is_required: whether to refuse bookies that do not authenticate their clients.
    :ivar now: a function that returns the seconds of a monotonic clock.
    :ivar is_direct: whether TLS begins immediately, without StartTLS.
    """

    encryption: CreatorOf | None
    authentication: IClientAuthentication
    authentication_is_required: bool
    now: Callable[[], float]
    is_direct: bool = False


def dial_secured(
    address: Address, wire: int, timeouts: Timeouts, security: ConnectionSecurity,
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
) -> BookieConnection:  # fmt: skip
    """Connect to a bookie; return when the connection is encrypted and this client is authenticated.

    :param wire: the version of the wire protocol, 2 or 3.
    :param timeouts: the time limits of this attempt, and of later calls on the connection.  TLS and authentication may
        each take ``timeouts.reply`` seconds.
    :param max_frame_size: maximum number of bytes of a frame that may be received, including its length word.
    :raises SecurityError: the bookie does not encrypt, or one side does not trust the certificate of the other side.
    :raises UnauthorizedAccessError: the bookie has refused this client, or has not proven who it is.
    :raises BookieHandleNotAvailableError: the connection failed, or was lost.
    :raises RequestTimeoutError: the bookie did not answer in time.
    """
    return secured_connection(open_socket(address, timeouts), address, wire, timeouts, security, max_frame_size)


def secured_connection(
    opened: IByteStream, address: Address, wire: int, timeouts: Timeouts, security: ConnectionSecurity,
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
) -> BookieConnection:  # fmt: skip
    """Secure a connection over which nothing was sent yet; arguments and errors are those of :func:`dial_secured`.

    :param opened: a connected socket; after an error it is closed.
    """
    try:
        stream = _SecuredStream(opened, address, timeouts.reply, security, WIRES[wire], max_frame_size)
    except OSError as error:
        opened.close()
        raise failure_of(error, address) from None
    except BookKeeperError as error:
        opened.close()
        raise _named(error, address) from None
    except BaseException:
        opened.close()
        raise
    return BookieConnection(stream, address, wire, max_frame_size)


def _named(error: BookKeeperError, address: Address) -> BookKeeperError:
    """Return an error like ``error`` whose text contains the id of the bookie."""
    if isinstance(error, UnauthorizedAccessError):
        return UnauthorizedAccessError(detail=f"bookie {address.bookie_id}: {error.detail}")
    if isinstance(error, SecurityError):  # the text of this error contains the id already
        return error
    kind = RequestTimeoutError if isinstance(error, RequestTimeoutError) else BookieHandleNotAvailableError
    return kind(f"no connection to bookie {address.bookie_id} at {address.host}:{address.port}: {error}")


class _SocketTransport:
    """The transport of a Twisted protocol over a blocking socket.

    :ivar protocol: the protocol that gets the received bytes; once TLS has begun, the TLS layer of the connection.
    :ivar clock: the clock of the protocols; :meth:`pump` advances it.
    """

    disconnecting = False

    def __init__(self, opened: IByteStream, patience: float, now: Callable[[], float]) -> None:
        """:param patience: the time limit of calls of the socket, in seconds."""
        self.protocol: Any = None
        self.clock = Clock()
        self._socket = opened
        self._patience = patience
        self._now = now
        self._seen = now()
        self._is_lost = False

    def pump(self) -> None:
        """Receive bytes once, and pass them to the protocol; report a lost connection or a time-out to it, too.

        :raises OSError: the socket has failed, or has received nothing in time.
        """
        try:
            data = self._socket.recv(_CHUNK, 0)
        except (BlockingIOError, TimeoutError):
            self.clock.advance(self._patience)  # the timers of the protocols fire, so that their Deferreds fail
            raise
        except OSError as error:
            self.lose(ConnectionLost(error.strerror or str(error)))
            return
        now = self._now()
        self.clock.advance(max(now - self._seen, 0.0))
        self._seen = now
        if data and not self.disconnecting:
            self.protocol.dataReceived(data)
        if not data or self.disconnecting:
            self.lose(ConnectionDone())

    def lose(self, reason: Exception) -> None:
        """Tell the protocol, once, that the connection has ended."""
        if not self._is_lost:
            self._is_lost = self.disconnecting = True
            self.protocol.connectionLost(Failure(reason))

    def write(self, data: bytes) -> None:
        if not self.disconnecting:
            self._socket.sendall(data)

    def writeSequence(self, data: list[bytes]) -> None:
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        self.disconnecting = True

    abortConnection = loseConnection

    # a blocking write waits until the kernel has taken the bytes, so a producer never has to be paused

    def registerProducer(self, producer: object, streaming: bool) -> None:
        pass

    def unregisterProducer(self) -> None:
        pass

    def pauseProducing(self) -> None:
        pass

    def resumeProducing(self) -> None:
        pass


class _Inbox(Protocol):
    """The protocol of a secured connection: it stores the received and decrypted bytes until they are read.

    :ivar received: the decrypted bytes that were not read yet.
    :ivar ended: the reason why the connection has ended; None while it is open.
    :cvar expects_more: whether the TLS layer must treat the end of the connection as an error, because bytes are
        missing.  Always False here, because the reader of a reply notices itself that its reply is incomplete.
    """

    expects_more = False

    def __init__(self) -> None:
        self.received = bytearray()
        self.ended: BaseException | None = None

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def take(self, size: int) -> bytes:
        """Remove and return at most ``size`` of the received bytes."""
        taken = bytes(self.received[:size])
        del self.received[:size]  # cheap, because a bytearray does not move the remaining bytes
        return taken

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.ended = reason.value


class _SecuredStream:
    """The decrypted byte stream of a secured connection.  The constructor secures the connection.

    :param patience: the time limit of calls of the socket, of TLS and of authentication, in seconds.
    """

    def __init__(
        self, opened: IByteStream, address: Address, patience: float, security: ConnectionSecurity,
        wire: IWireProtocol, max_frame_size: int,
    ) -> None:  # fmt: skip
        self._socket = opened
        self._address = address
        self._transport = _SocketTransport(opened, patience, security.now)
        self._inbox = _Inbox()

        creator = None if security.encryption is None else security.encryption(address.host)
        protocol = first_protocol(
            lambda: self._inbox, Peer(address.bookie_id, host=address.host), security.authentication,
            security.authentication_is_required, creator, security.is_direct, self._transport.clock, wire, patience,
            max_frame_size,
        )  # fmt: skip
        self._transport.protocol = protocol
        protocol.makeConnection(self._transport)
        while isinstance(protocol, Handshake):
            protocol = self._result_of(protocol.ready)

    def _result_of(self, ready: "Deferred[Any]") -> Any:
        """Receive bytes until ``ready`` fires; return its result, or raise its error."""
        found: list[object] = []
        ready.addBoth(found.append)
        while not found:
            try:
                self._transport.pump()
            except OSError:
                if not found:
                    raise
        if isinstance(found[0], Failure):
            raise cast(Exception, found[0].value)
        return found[0]

    def sendall(self, data: bytes, /) -> None:
        """Encrypt ``data`` and send all of its bytes."""
        try:
            if self._inbox.ended is None:
                self._inbox.transport.write(data)  # type: ignore[union-attr]
        except ConnectionError:
            # Receive once more: the bookie may have sent a TLS alert, which says why it ended the connection.
            self._transport.pump()
            raise
        finally:
            self._check()

    def recv(self, size: int, flags: int, /) -> bytes:
        """Return at most ``size`` decrypted bytes, b"" if the peer has closed the connection."""
        wanted = size if flags & WAIT_ALL else 1
        while len(self._inbox.received) < wanted and self._inbox.ended is None:
            self._transport.pump()
        if not self._inbox.received:
            self._check()
        return self._inbox.take(size)

    def _check(self) -> None:
        """Raise an error if the connection has ended without a regular close.

        This test is needed at each read and write, not only at the handshake.  With TLS 1.3, a bookie that refuses the
        certificate of a client ends the connection only after the client has completed the handshake.
        """
        ended = self._inbox.ended
        if ended is None or isinstance(ended, ConnectionDone):
            return
        if isinstance(ended, ConnectionLost):
            raise ConnectionResetError(str(ended))
        raise SecurityError(f"bookie {self._address.bookie_id} ended the encrypted connection: {tls_reason(ended)}")

    def close(self) -> None:
        """Close the socket under the TLS connection.  A second call has no effect."""
        self._socket.close()
