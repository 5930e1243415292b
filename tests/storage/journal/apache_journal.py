"""A journal reader that follows Apache's rules and knows nothing of ours (on-disk format 3.5)."""

import struct


def read(data: bytes, offset: int = 0) -> list[tuple[int, bytes]]:
    """Offset and body of every record its scanner delivers.

    :raises ValueError: it would refuse the file.
    """
    version, at = 1, 0
    if len(data) >= 8 and data[:4] == b"BKLG":
        version = struct.unpack_from(">i", data, 4)[0]
        at = 512 if version >= 5 else 8
    if not 1 <= version <= 6:
        raise ValueError(f"version {version}")
    at, found = max(at, offset), []
    while len(data) - at >= 4:
        (length,) = struct.unpack_from(">i", data, at)
        if length == 0:
            break
        if length == -256 and version >= 5:
            if len(data) - at < 8:
                break
            at += 8 + struct.unpack_from(">i", data, at + 4)[0]
            continue
        if length < 0:
            raise ValueError(f"invalid record of {length} bytes at {at}")
        if len(data) - at - 4 < length:
            break
        found.append((at, data[at + 4 : at + 4 + length]))
        at += 4 + length
    return found
