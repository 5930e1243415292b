"""Reads how long the network takes to a peer and back, as the kernel of Linux measures it for each TCP connection."""

import struct
import sys
from typing import Any

_TCP, _TCP_INFO = 6, 11  # IPPROTO_TCP and TCP_INFO
_INFO = struct.Struct("=68xI")  # struct tcp_info up to tcpi_rtt, in microseconds


def round_trip_of(transport: Any) -> float | None:
    """Return the seconds from a packet to its confirmation by the peer, smoothed by the kernel.

    A peer may delay a confirmation by some 40 ms, so a shorter time says little.

    :param transport: the transport of a connection.
    :returns: None if it is not known: the system is not Linux, or the connection is not TCP, or has ended.
    """
    if not sys.platform.startswith("linux") or not hasattr(transport, "getHandle"):
        return None
    try:
        info: bytes = transport.getHandle().getsockopt(_TCP, _TCP_INFO, _INFO.size)
    except (OSError, AttributeError):  # no TCP; after the end, Twisted's transports have no socket
        return None
    return int(_INFO.unpack(info)[0]) / 1_000_000 if len(info) == _INFO.size else None
