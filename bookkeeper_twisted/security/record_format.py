"""The header of a TLS record.

====== =================================
bytes  meaning
====== =================================
0      type, such as :data:`HANDSHAKE`
1 - 2  version
3 - 4  length of the body, big-endian
====== =================================
"""

HEAD = 5
"""Number of bytes in the header of a TLS record."""

HANDSHAKE = b"\x16"
"""The type of records with handshake messages; the first record of a TLS connection has this type."""


def body_size(head: bytes) -> int:
    """Return the number of bytes in the body of a TLS record.

    :param head: the header of the record (its first :data:`HEAD` bytes), or more bytes of the record.
    """
    return int.from_bytes(head[3:HEAD], "big")
