"""The seam between a connection and the session that answers its requests."""

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.internet.interfaces import ITransport
from zope.interface import Attribute, Interface

from .connection_state import ConnectionState


class IServerConnection(Interface):
    """A peer that sends requests, as seen by the code that answers them.  Reactor thread."""

    peer: str = Attribute("Who it is, for logs.")
    state: ConnectionState = Attribute("Where the connection is in its life.")
    closed: bool = Attribute("Whether it is gone; replies are dropped then.")
    has_room: bool = Attribute("Whether more replies should be made now (S11).")
    reply_limit: int = Attribute("Bytes that a reply of several entries should have now, at most (S11).")

    def reply(data: bytes, count: int = 1) -> None:
        """Queues the frames of ``count`` replies until the outbox is flushed."""

    def reply_pieces(pieces: Sequence[bytes | memoryview]) -> None:
        """Queues one reply that comes in pieces; a view is copied only if the peer does not take it at once."""

    def expect(n_bytes: int) -> None:
        """Counts bytes of replies that are being made (negative: no longer) towards the limit of all connections."""

    def flush() -> None:
        """Writes the replies queued on this connection without waiting for the outbox."""

    def enter(state: ConnectionState) -> None:
        """Reports that authentication begins or has ended."""

    def end() -> None:
        """Closes the connection behind the replies that are queued."""

    def hold(held: bool) -> None:
        """Stops (True) or resumes (False) reading requests from the peer."""


class IRequestSession(Interface):
    """Answers the requests of one connection."""

    busy: bool = Attribute("Whether requests are under way.")

    def received(items: Sequence[Any]) -> None:
        """Takes the runs and messages of one chunk, in order; the outbox is flushed behind it."""

    def writable() -> None:
        """The connection has room again; the outbox is flushed behind it."""

    def lost() -> None:
        """The connection is gone."""


class IGatheringTransport(ITransport):
    """A transport that takes views, too, and sends several pieces without joining them first."""

    def writeSequence(data: Iterable[bytes | memoryview]) -> None:
        """Writes the pieces in order.  Their bytes may change once it has returned."""
