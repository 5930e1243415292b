"""The limits of a bookie's connections."""

import attrs

SECONDS_TO_CLOSE = 5.0
"""Seconds in which a peer that broke the protocol may read the replies to its earlier requests."""

SECONDS_IN_USE = 1.0
"""Seconds for which a peer keeps its connection after its last bytes, where there are too many connections."""

MAX_LEAVING = 100
"""Connections that are being closed behind their replies to make room; each holds a descriptor beyond the limit."""

SECONDS_STALLED = 10.0
"""Seconds without a byte read after which a peer that has replies to read counts as idle, whatever it has asked for."""


@attrs.frozen
class ServerLimits:
    """Limits of connections (S11).

    :ivar max_frame_size: of a request, length field included.
    :ivar max_connections: beyond this the idlest goes for a new one.
    :ivar frame_timeout: seconds from the first byte of a frame to its last, and, where peers have to authenticate, from
        the accept until they have.
    :ivar read_timeout: seconds in which a peer has to read something of its replies; None for no limit.
    :ivar incomplete_bytes: of frames of all connections whose rest has not come.
    :ivar unsent_bytes: replies queued beyond this stop the making of replies.
    :ivar pending_bytes: replies of all connections that are being made or that peers have not taken; beyond
        this, replies are small.
    :ivar unread_bytes: replies of all connections that peers have not taken, whatever the sizes of their entries:
        beyond this the connection goes that has held most for longest.
    :ivar small_reply: of so many bytes, if they may be: no peer waits for another that does not read.
    :ivar chunk: bytes received at once: big ones cost less for each request, and keep others waiting longer.
    """

    max_frame_size: int = 5 * 1024 * 1024
    max_connections: int = 10_000
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
        """Return the seconds between two looks for connections that are late: a fourth of what they may take."""
        return min(self.frame_timeout, self.read_timeout or self.frame_timeout) / 4


DEFAULT_LIMITS = ServerLimits()
