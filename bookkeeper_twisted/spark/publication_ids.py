"""The ids of the sink's records, which are ledgers without entries, and the test for such a record.

Users may create ledgers with ids as high, so an id alone does not make a ledger a record: its custom metadata do.
"""

import hashlib

from ..model import LedgerMetadata

ROLE, MANIFEST = "spark.role", "spark.manifest"
PUBLICATION_ROLE, QUERY_ROLE = b"publication", b"query"

FIRST_PUBLICATION = 1 << 62
"""No record has a lower id, and no generated ledger id comes near it; layouts with 32-bit ledger ids do not hold it."""

_NAME_BITS = 24
_KEY_BITS = 38
assert _NAME_BITS + _KEY_BITS == 62


def _bits(count: int, *parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - count)


def range_of(manifest: str) -> tuple[int, int]:
    """Return first and last id (inclusive) of the records of a ``manifest``.

    Another manifest may have the same range.
    """
    first = FIRST_PUBLICATION | _bits(_NAME_BITS, manifest) << _KEY_BITS
    return first, first + (1 << _KEY_BITS) - 1


def id_of(manifest: str, *key: str) -> int:
    """Return the id of one record of a ``manifest``; another record may have the same id.

    :param key: words that tell records of the manifest apart.
    """
    return range_of(manifest)[0] + _bits(_KEY_BITS, manifest, *key)


def is_record(ledger_id: int, metadata: LedgerMetadata) -> bool:
    """Test whether a ledger is a record of the sink; any other ledger belongs to a user, whatever its id.

    :param metadata: of the ledger.
    """
    custom = metadata.custom_metadata
    if custom.get(ROLE) not in (PUBLICATION_ROLE, QUERY_ROLE) or not metadata.closed or metadata.last_entry_id >= 0:
        return False
    first, last = range_of(custom.get(MANIFEST, b"").decode("utf-8", "replace"))
    return first <= ledger_id <= last
