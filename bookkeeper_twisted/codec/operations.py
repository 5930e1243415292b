"""Constants of the wire protocols: operations, flags, sizes.

The flag bits are the bits of V2; decoded V3 requests use the same bits.
"""

from enum import IntEnum

FENCE = 0x0001
"""Flag of a read or batch read: the bookie fences the ledger before the read."""

RECOVERY_ADD = 0x0002
"""Flag of an add by recovery or replication: the bookie accepts the add although the ledger is fenced."""

HIGH_PRIORITY = 0x0004
"""Flag of any request: the bookie serves it before background work."""

V3_HIGH_PRIORITY = 100
"""The priority in a V3 header that stands for the flag :data:`HIGH_PRIORITY`; decoders accept any value above 0."""

DEFAULT_MAX_FRAME_SIZE = 5 * 1024 * 1024
"""Size in bytes of the longest frame, with its length word (``nettyMaxFrameSizeBytes``)."""

MAX_COUNT = (1 << 31) - 1
"""Maximum number of entries that a batch read can ask for."""

MIN_ENTRY_SIZE = 24
"""Size in bytes of the shortest entry that a bookie stores.  Clients can only read entries of at least 32 bytes."""

MASTER_KEY_SIZE = 20
"""Size in bytes of a master key in V2.  Apache's clients and ours use keys of this size; V3 could carry others."""

MAX_MASTER_KEY_SIZE = 64
"""Size in bytes of the longest master key that a bookie accepts in V3.

The size is limited because a bookie keeps the master keys of its ledgers in memory.
"""

MAX_DIGEST_SIZE = 20
"""Size in bytes of the longest digest (HMAC)."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""Plugin name in the reply of a bookie that requires no authentication, or no further authentication."""


class V2Op(IntEnum):
    """The opcodes of V2 packets.  A bookie closes the connection if it receives any other number."""

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
