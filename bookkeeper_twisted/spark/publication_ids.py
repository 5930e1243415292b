"""The ids of the sink's records in the metadata store, and a test whether a ledger is such a record.

A record is a ledger without entries, whose custom metadata contain what the sink records about a batch or a query.  A
user's ledger may have an id in the same range, so the test looks at the custom metadata too.
"""

import hashlib

from ..model import LedgerMetadata

ROLE, MANIFEST = "spark.role", "spark.manifest"
PUBLICATION_ROLE, QUERY_ROLE = b"publication", b"query"

FIRST_PUBLICATION = 1 << 62
"""The lowest id of a record of the sink; the ids that the metadata store generates for ledgers stay far below it.

If the layout of the metadata store has only 32-bit ledger ids, records cannot be stored.
"""

_NAME_BITS = 24
_KEY_BITS = 38
assert _NAME_BITS + _KEY_BITS == 62


def _bits(count: int, *parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - count)


def range_of(manifest: str) -> tuple[int, int]:
    """Return the first and the last id (inclusive) that records of a ``manifest`` may have.

    Two manifests may have the same range, because it is derived from a hash of the name.
    """
    first = FIRST_PUBLICATION | _bits(_NAME_BITS, manifest) << _KEY_BITS
    return first, first + (1 << _KEY_BITS) - 1


def id_of(manifest: str, *key: str) -> int:
    """Compute the id of a record of a ``manifest`` by a hash; two records may get the same id.

    :param key: words that distinguish the records of the manifest.
    """
    return range_of(manifest)[0] + _bits(_KEY_BITS, manifest, *key)


def is_record(ledger_id: int, metadata: LedgerMetadata) -> bool:
    """Test whether a ledger is a record of the sink; all other ledgers belong to users, whatever their ids.

    :param metadata: metadata of the ledger.
    """
    custom = metadata.custom_metadata
    if custom.get(ROLE) not in (PUBLICATION_ROLE, QUERY_ROLE) or not metadata.closed or metadata.last_entry_id >= 0:
        return False
    first, last = range_of(custom.get(MANIFEST, b"").decode("utf-8", "replace"))
    return first <= ledger_id <= last
