"""Numbers of the wire: operations, flags, sizes.  Both protocols use the same bits for V2 flags and runs."""

from enum import IntEnum

FENCE = 0x0001
"""Read, batch read: fence the ledger first."""

RECOVERY_ADD = 0x0002
"""Add: allowed on a fenced ledger."""

HIGH_PRIORITY = 0x0004
"""Any: to be preferred to background work."""

V3_HIGH_PRIORITY = 100
"""The value for :data:`HIGH_PRIORITY` in a V3 header (anything above 0 means it)."""

DEFAULT_MAX_FRAME_SIZE = 5 * 1024 * 1024
"""Greatest frame, its four length bytes included (``nettyMaxFrameSizeBytes``)."""

MAX_COUNT = (1 << 31) - 1
"""Most entries that a batch read can ask for."""

MIN_ENTRY_SIZE = 24
"""An entry of 24 to 31 bytes is stored although no client can read it; below, it is refused."""

MASTER_KEY_SIZE = 20
"""Bytes of the key in V2, and of every key that Apache's clients and ours make; V3 carries any length."""

MAX_MASTER_KEY_SIZE = 64
"""Bytes of the longest key that a bookie takes in V3: it keeps the key of each ledger in memory."""

MAX_DIGEST_SIZE = 20
"""Bytes of the longest digest, HMAC."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""Plugin name in the answer of a bookie that asks for no (further) authentication."""


class V2Op(IntEnum):
    """Opcodes a V2 packet can carry; the other numbers are reserved or unknown, and end the connection."""

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
