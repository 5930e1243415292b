"""The limits of a bookie's connections."""

import attrs

SECONDS_TO_CLOSE = 5.0
"""Seconds that a peer has to read its last replies before its connection is dropped, for example after an error."""

SECONDS_IN_USE = 1.0
"""A connection can count as idle only after it has received no bytes for this many seconds.

Only an idle connection can be closed in favour of a new one.
"""

ENTERING_SHARE = 32
"""If more than one of this many connections has a peer that is not let in yet, new connections displace only those.

So peers that cannot authenticate displace at most this share of the clients.  A peer is let in when TLS and its
authentication are complete.
"""

LEAST_ENTERING = 2
"""Number of connections with peers that are not let in which the share of :data:`ENTERING_SHARE` always allows."""

SECONDS_FOR_EACH = 0.0001
"""Minimum number of seconds between two searches for idle connections, for each connection that is searched.

A search takes about a microsecond for each connection.  So searches take at most some percent of the time.
"""

MAX_FOUND = 1000
"""Maximum number of idle connections that one search returns; they are closed, one by one, for new connections."""

MAX_LEAVING = 100
"""Maximum number of connections that are being closed for new ones, but first send their last replies.

Each of them still uses a file descriptor.  Above this number, connections are closed without sending the replies.
"""

SECONDS_STALLED = 10.0
"""Seconds after which a peer that reads none of its waiting replies counts as idle, even if it has open requests."""

FULL_CHUNK = 128 * 1024
"""Number of bytes above which a received chunk decides how many bytes are received at a time from then on."""

QUICK = 0.001
"""Seconds: if the requests in a full chunk took less, twice as many bytes are received at a time from then on."""

SLOW = 0.003
"""Seconds: if the requests in a full chunk took more, half as many bytes are received at a time from then on."""

FEW_PEERS = 64
"""Maximum number of connections with which chunks may grow.

The entries of a chunk stay in memory until they are durable, once for each connection.  And with many connections, the
groups in the journal are large anyway.
"""


@attrs.frozen
class ServerLimits:
    """Limits of client connections, so that no client exhausts the memory of the bookie.

    :ivar max_frame_size: maximum number of bytes of a request, length field included.
    :ivar max_connections: maximum number of connections.  For a new connection above it, another one is ended: of the
        peers that are not let in yet, the one that connected first, if they are many (:data:`ENTERING_SHARE`);
        otherwise the longest idle connection.
    :ivar max_connections_per_address: maximum number of connections from one address, 0 for no limit.  New connections
        above it are refused.
    :ivar max_connections_per_principal: maximum number of connections of one authenticated principal, 0 for no limit.
    :ivar max_handshakes: number of peers that have begun TLS and are not authenticated yet, above which slow ones are
        dropped.  There are never more than three times this number.
    :ivar frame_timeout: seconds that a peer may take from the first byte of a frame to its last.  A peer that must
        authenticate may take as long from the start of the connection to the end of the authentication.
    :ivar read_timeout: seconds in which a peer must read at least a part of its waiting replies; None for no limit.
    :ivar incomplete_bytes: maximum number of bytes of incomplete frames of all connections.
    :ivar unsent_bytes: if a connection has more bytes of queued replies, the bookie makes no more replies for it.
    :ivar pending_bytes: a limit on the bytes of all connections' replies that are being prepared, or that wait for
        peers to read them.  Above it, new replies must be small, so that peers that do not read leave memory for other
        peers.
    :ivar unread_bytes: maximum number of bytes of all connections' replies that wait for peers to read them.  Above it,
        a connection is dropped: the one for which the number of waiting bytes, times the seconds for which bytes have
        waited, is largest.
    :ivar small_reply: maximum number of bytes of a reply while replies must be small; a reply with a single larger
        entry is allowed.
    :ivar chunk: maximum number of bytes received at a time from a peer whose requests take long: a large chunk costs
        less for each request, but lets other connections wait longer.
    :ivar max_chunk: maximum number of bytes received at a time from a peer whose requests are large, so that even many
        bytes are processed quickly.  It holds for few connections only (:data:`FEW_PEERS`).
    """

    max_frame_size: int = 5 * 1024 * 1024
    max_connections: int = 10_000
    max_connections_per_address: int = 0
    max_connections_per_principal: int = 0
    max_handshakes: int = 1_000
    frame_timeout: float = 60.0
    read_timeout: float | None = 60.0
    incomplete_bytes: int = 256 * 1024 * 1024
    unsent_bytes: int = 512 * 1024
    pending_bytes: int = 64 * 1024 * 1024
    unread_bytes: int = 256 * 1024 * 1024
    small_reply: int = 64 * 1024
    chunk: int = 256 * 1024
    max_chunk: int = 1024 * 1024

    @property
    def sweep_interval(self) -> float:
        """Return the seconds between two searches for connections that exceed ``frame_timeout`` or ``read_timeout``.

        It is a quarter of the shorter of these two time limits.
        """
        return min(self.frame_timeout, self.read_timeout or self.frame_timeout) / 4


DEFAULT_LIMITS = ServerLimits()
