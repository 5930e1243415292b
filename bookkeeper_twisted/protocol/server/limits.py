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

    :ivar max_frame_size: most bytes of a request, length field included.
    :ivar max_connections: connections beyond which the idlest one ends for a new one.
    :ivar frame_timeout: seconds from the first byte of a frame to its last, and, where peers have to authenticate, from
        the accept until they have.
    :ivar read_timeout: seconds in which a peer has to read a part of its replies; None for no limit.
    :ivar incomplete_bytes: most bytes of incomplete frames of all connections.
    :ivar unsent_bytes: bytes of queued replies beyond which a connection makes no more replies.
    :ivar pending_bytes: bytes of replies of all connections, in preparation or not taken by peers, beyond which
        replies are small.
    :ivar unread_bytes: bytes of replies of all connections that peers have not taken, of whatever entries, beyond
        which the connection ends that has held most for longest.
    :ivar small_reply: bytes of a small reply, if possible: no peer waits for another that does not read.
    :ivar chunk: bytes of one receipt: large ones cost less for each request, and keep others waiting longer.
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
        """Return the seconds between two sweeps for late connections, a fourth of their time limit."""
        return min(self.frame_timeout, self.read_timeout or self.frame_timeout) / 4


DEFAULT_LIMITS = ServerLimits()
