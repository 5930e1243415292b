"""The range of ledger ids in which the sink keeps its records, apart from all other ledgers."""

import hashlib

FIRST_PUBLICATION = 1 << 62
"""No generated ledger id comes near it; metadata stores of every layout but the 32-bit ones hold it."""

_NAME_BITS = 24
_KEY_BITS = 38
assert _NAME_BITS + _KEY_BITS == 62


def _bits(count: int, *parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - count)


def range_of(manifest: str) -> tuple[int, int]:
    """Return first and last id, both included, of the records of a ``manifest``.

    Another manifest may have the same range.
    """
    first = FIRST_PUBLICATION | _bits(_NAME_BITS, manifest) << _KEY_BITS
    return first, first + (1 << _KEY_BITS) - 1


def id_of(manifest: str, *key: str) -> int:
    """Return the id of one record of a ``manifest``; another record may have the same id.

    :param key: words that tell records of the manifest apart.
    """
    return range_of(manifest)[0] + _bits(_KEY_BITS, manifest, *key)
