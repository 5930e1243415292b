"""The interfaces between a connection of a bookie and the session that answers its requests."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, ITransport
from zope.interface import Attribute, Interface

from ..security.principals import Principal
from .connection_state import ConnectionState
from .turns import Turns


class IServerConnection(Interface):
    """A bookie's connection to a client, for the code that answers its requests.  Called on the reactor thread."""

    peer: str = Attribute("The other end, for logs.")
    host: str = Attribute("The address of the other end, the same for all connections from there.")
    state: ConnectionState = Attribute("Where the connection is in its life.")
    closed: bool = Attribute("Whether it is gone; replies are dropped then.")
    principal: Principal = Attribute("Who the peer has proven to be.")
    is_encrypted: bool = Attribute("Whether the TLS handshake is complete.")
    has_room: bool = Attribute("Whether more replies should be made now (S11).")
    is_scarce: bool = Attribute("Whether replies of all connections take so much that each has few (S11).")
    turns: Turns = Attribute("What requests may take of a turn of the reactor.")
    reply_limit: int = Attribute("Bytes that a reply of several entries should have now, at most (S11).")

    def reply(data: bytes, count: int = 1) -> None:
        """Queue the frames of replies; drop them if the connection is closed.

        Replies that are made at about the same time, for example to all adds of one journal write, are written together
        at the next flush of the bookie's connections.

        :param data: whole frames.
        :param count: number of replies in them.
        """

    def reply_pieces(pieces: Sequence[bytes | memoryview]) -> None:
        """Queue one reply that consists of several byte strings; it is dropped if the connection is closed.

        :param pieces: the parts of one frame.  The memory of a memoryview must not change until the next :meth:`flush`.
            The bytes that the kernel does not accept in this flush are copied, so the memory may change afterwards.
        """

    def expect(n_bytes: int) -> None:
        """Count bytes of replies that are being prepared; all connections of the bookie share one limit for them.

        :param n_bytes: number of bytes of replies that are now being prepared; negative to subtract counted bytes when
            their replies are queued, or when their requests are dropped.
        """

    def flush() -> None:
        """Write the queued replies of this connection now, before the next flush of all connections of the bookie."""

    def turn_is_over() -> bool:
        """Test whether this connection has used up its time in this iteration of the reactor.

        :returns: if True, the session must process no more requests now; its ``writable`` is called in a later
            iteration.
        """

    def enter(state: ConnectionState) -> None:
        """Set the state of the connection, for example when authentication begins or ends.

        :param state: the next state.
        :raises ValueError: the present state does not allow the next one.
        """

    def permit_clear() -> None:
        """Remove the limits of time and size for the first frame (:meth:`expect_hello`): the peer may send it in clear.
        """

    def expect_hello(begin: Callable[[], None]) -> None:
        """Call ``begin`` if the peer's first byte begins a TLS handshake: the peer may begin TLS without StartTLS.

        Until then, no frame may be larger than one with a token, because no other frame is served.

        :param begin: calls :meth:`encrypt`; after this call, the received bytes are passed to TLS.
        """

    def encrypt(
        creator: IOpenSSLServerConnectionCreator, encrypted: Callable[[], None],
        take: Callable[[object], bool] | None = None,
    ) -> None:  # fmt: skip
        """Write the queued replies, then begin the TLS handshake.

        :param encrypted: called when the handshake is complete and :attr:`principal` is known.
        :param take: called if the peer sends one more unencrypted frame before TLS.  It returns True to accept the
            frame, or False to close the connection.  None if no such frame is allowed: received bytes that are not
            decoded yet are dropped, and unencrypted bytes that arrive later end the connection.
        """

    def end() -> None:
        """Close the connection after the queued replies."""

    def set_reading_paused(paused: bool) -> None:
        """Stop or resume reading requests from the peer.

        :param paused: True to stop.  Requests that were received before are still passed to the session.
        """


class IRequestSession(Interface):
    """The session that answers the requests of one connection."""

    busy: bool = Attribute("Whether requests are under way; those that only wait for the LAC of a ledger do not count.")

    def received(items: Sequence[Any]) -> None:
        """Accept the requests of one chunk of received bytes; the connection then writes the queued replies.

        :param items: the requests in the order of arrival.  An item is one request, or a run: one object for several
            consecutive requests of the same kind.
        """

    def writable() -> None:
        """Resume answering requests, because the connection accepts replies again, or because it is scheduled now.

        After the call, the queued replies of all connections of the bookie are written.
        """

    def lost() -> None:
        """End the session of a connection that was lost."""


class IGatheringTransport(ITransport):
    """A transport that accepts memory views, and sends several buffers by one call without joining them."""

    bytes_accepted: int = Attribute("Number of written bytes that the kernel has accepted.")
    unread: int = Attribute("Number of these bytes that the peer has not confirmed; 0 if unknown.")

    def writeSequence(data: Iterable[bytes | memoryview]) -> None:
        """Write the byte strings in ``data`` in order.  After the return, their bytes may be changed."""
