"""Constants of the wire protocols: operations, flags, sizes.  Decoded V3 requests use the flag bits of V2, too."""

from enum import IntEnum

FENCE = 0x0001
"""Flag of a read or batch read: fence the ledger first."""

RECOVERY_ADD = 0x0002
"""Flag of an add that is allowed on a fenced ledger."""

HIGH_PRIORITY = 0x0004
"""Flag of any request that is preferred to background work."""

V3_HIGH_PRIORITY = 100
"""The priority that a V3 header has in place of the flag :data:`HIGH_PRIORITY`; readers accept any value above 0."""

DEFAULT_MAX_FRAME_SIZE = 5 * 1024 * 1024
"""Bytes of the longest frame with its length word (``nettyMaxFrameSizeBytes``)."""

MAX_COUNT = (1 << 31) - 1
"""Number of entries that a batch read can ask for at most."""

MIN_ENTRY_SIZE = 24
"""Bytes of the shortest entry that a bookie stores.  No client can read an entry of less than 32 bytes."""

MASTER_KEY_SIZE = 20
"""Bytes of a ledger's key in V2.  Apache's clients and ours make keys of this size; V3 could carry other sizes."""

MAX_MASTER_KEY_SIZE = 64
"""Bytes of the longest key that a bookie accepts in V3; it is limited because bookies keep all keys in memory."""

MAX_DIGEST_SIZE = 20
"""Bytes of the longest digest, which is that of HMAC."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""Plugin name in the reply of a bookie that requires no authentication, or none any more."""


class V2Op(IntEnum):
    """The opcodes of V2 packets.  Any other number ends the connection."""

    ADD = 1
    READ = 2
    AUTH = 3
    BATCH_READ = 7


class Operation(IntEnum):
    """The operation numbers of V3, as in ``OperationType``."""

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
