"""The limits of a bookie's connections."""

import attrs

SECONDS_TO_CLOSE = 5.0
"""Seconds that a peer has to read its last replies before its connection is dropped, for example after an error."""

SECONDS_IN_USE = 1.0
"""Seconds after its last bytes in which a connection is not idle, so that a new connection cannot replace it."""

MAX_LEAVING = 100
"""Maximum number of connections beyond the limit that are being closed but still send their replies; each uses a
descriptor.
"""

SECONDS_STALLED = 10.0
"""Seconds after which a peer that reads none of its waiting replies counts as idle, even if it has open requests."""


@attrs.frozen
class ServerLimits:
    """Limits on what client connections may use, so that no client exhausts the bookie's memory (safety rule S11).

    :ivar max_frame_size: maximum number of bytes of a request, length field included.
    :ivar max_connections: maximum number of connections; beyond it, the connection that was idle longest is ended for a
        new one.
    :ivar max_connections_per_address: maximum number of connections from one address; 0: no limit; beyond it, new ones
        are refused.
    :ivar max_connections_per_principal: maximum number of connections of one peer that has proven who it is; 0: no
        limit.
    :ivar max_handshakes: number of peers that have begun TLS and are not authenticated yet, above which slow ones are
        dropped; there are never more than three times as many.
    :ivar frame_timeout: seconds that a peer has from the first byte of a frame to its last, and from the accept to the
        end of the authentication if it must authenticate.
    :ivar read_timeout: seconds in which a peer must read at least a part of its waiting replies; None for no limit.
    :ivar incomplete_bytes: maximum number of bytes of incomplete frames of all connections.
    :ivar unsent_bytes: bytes of queued replies of a connection above which it makes no more replies.
    :ivar pending_bytes: bytes of the replies of all connections that are being made or were not read by peers, above
        which new replies must be small.
    :ivar unread_bytes: maximum number of bytes of replies of all connections that peers have not read; beyond it, the
        connection with the largest product of unread bytes and seconds is dropped.
    :ivar small_reply: maximum number of bytes of a reply while replies must be small; a reply with a single larger
        entry is allowed. Small replies leave memory for all peers while some peers do not read.
    :ivar chunk: maximum number of bytes received at a time: a large chunk costs less for each request, but lets other
        connections wait longer.
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

    @property
    def sweep_interval(self) -> float:
        """Return the seconds between two searches for connections that exceed their time limit: a quarter of it."""
        return min(self.frame_timeout, self.read_timeout or self.frame_timeout) / 4


DEFAULT_LIMITS = ServerLimits()
