"""Computes the ids of the ledgers in which the sink stores its records, and tests whether a ledger is such a record.

The sink keeps a record about each batch and each query.  It stores a record as the custom metadata of a ledger without
entries.  A user's ledger may have an id in the same range, so the test also reads the custom metadata.
"""

import hashlib

from ..model import LedgerMetadata

ROLE, MANIFEST = "spark.role", "spark.manifest"
PUBLICATION_ROLE, QUERY_ROLE = b"publication", b"query"

FIRST_PUBLICATION = 1 << 62
"""The lowest id of the ledgers in whose metadata the sink stores its records about published batches and queries.

It is far above all ids that the metadata store generates.  A metadata store with a layout for 32-bit ledger ids cannot
store records.
"""

_NAME_BITS = 24
_KEY_BITS = 38
assert _NAME_BITS + _KEY_BITS == 62


def _bits(count: int, *parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - count)


def range_of(manifest: str) -> tuple[int, int]:
    """Return the first and the last ledger id (inclusive) that the sink's records for one manifest may have.

    The range is computed from a hash of the name, so two manifests may have the same range.

    :param manifest: name of the manifest, a list of published ledgers.
    """
    first = FIRST_PUBLICATION | _bits(_NAME_BITS, manifest) << _KEY_BITS
    return first, first + (1 << _KEY_BITS) - 1


def id_of(manifest: str, *key: str) -> int:
    """Compute the ledger id of one of the sink's records from a hash; two records may get the same id.

    :param manifest: name of the manifest, a list of published ledgers, to which the record belongs.
    :param key: strings that distinguish the record from other records of the manifest.
    """
    return range_of(manifest)[0] + _bits(_KEY_BITS, manifest, *key)


def is_record(ledger_id: int, metadata: LedgerMetadata) -> bool:
    """Test, by id and metadata, whether a ledger is a record of the sink.

    Such a ledger has no entries; its custom metadata are a record about a batch or a query.

    :param metadata: metadata of the ledger.
    """
    custom = metadata.custom_metadata
    if custom.get(ROLE) not in (PUBLICATION_ROLE, QUERY_ROLE) or not metadata.closed or metadata.last_entry_id >= 0:
        return False
    first, last = range_of(custom.get(MANIFEST, b"").decode("utf-8", "replace"))
    return first <= ledger_id <= last
