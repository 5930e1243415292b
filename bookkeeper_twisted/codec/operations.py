"""Numbers on the wire: operations, flags, sizes.  The runs of V2 and V3 both use the flag bits of V2."""

from enum import IntEnum

FENCE = 0x0001
"""Flag of a read or batch read: fence the ledger first."""

RECOVERY_ADD = 0x0002
"""Flag of an add that is allowed on a fenced ledger."""

HIGH_PRIORITY = 0x0004
"""Flag of any request that is preferred to background work."""

V3_HIGH_PRIORITY = 100
"""The value for :data:`HIGH_PRIORITY` in a V3 header (anything above 0 means it)."""

DEFAULT_MAX_FRAME_SIZE = 5 * 1024 * 1024
"""Bytes of the longest frame with its length word (``nettyMaxFrameSizeBytes``)."""

MAX_COUNT = (1 << 31) - 1
"""Number of entries that a batch read can ask for at most."""

MIN_ENTRY_SIZE = 24
"""Bytes of the shortest entry that is stored; one of 24 to 31 bytes is, although no client can read it."""

MASTER_KEY_SIZE = 20
"""Bytes of the key in V2, and of every key that Apache's clients and ours make; V3 carries any length."""

MAX_MASTER_KEY_SIZE = 64
"""Bytes of the longest key that a bookie takes in V3: it keeps the key of each ledger in memory."""

MAX_DIGEST_SIZE = 20
"""Bytes of the longest digest, HMAC."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""Plugin name in the answer of a bookie that requires no (further) authentication."""


class V2Op(IntEnum):
    """The opcodes that a V2 packet can carry; other numbers are reserved or unknown, and end the connection."""

    ADD = 1
    READ = 2
    AUTH = 3
    BATCH_READ = 7


class Operation(IntEnum):
    """The numbers of ``OperationType`` in V3."""

    READ = 1
    ADD = 2
    RANGE_READ = 3
    RANGE_ADD = 4
    AUTH = 5
    WRITE_LAC = 6
    READ_LAC = 7
    BOOKIE_INFO = 8
    START_TLS = 9
    FORCE_LEDGER = 10
    LIST_ENTRIES = 11
    BATCH_READ = 12
