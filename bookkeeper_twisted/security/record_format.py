"""The bytes in front of the body of a TLS record.

====== =================================
bytes  meaning
====== =================================
0      type, such as :data:`HANDSHAKE`
1 - 2  version
3 - 4  bytes of the body, big-endian
====== =================================
"""

HEAD = 5
"""Number of bytes in front of the body."""

HANDSHAKE = b"\x16"
"""The type of a record with messages of the handshake; such a record is the first of a connection."""


def body_size(head: bytes) -> int:
    """Return the number of bytes in the body of a record.

    :param head: at least the first :data:`HEAD` bytes of the record.
    """
    return int.from_bytes(head[3:HEAD], "big")
