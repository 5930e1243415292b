"""The limits of a client's connection to a bookie."""

import attrs


@attrs.frozen
class ConnectionLimits:
    """The time limits for replies, in seconds, and the maximum size of a frame in either direction, in bytes."""

    add_timeout: float = 5.0
    read_timeout: float = 5.0
    max_frame_size: int = 5 << 20

    @property
    def scan_interval(self) -> float:
        """Return the seconds between two scans for overdue requests."""
        return min(1.0, self.add_timeout / 4, self.read_timeout / 4)
