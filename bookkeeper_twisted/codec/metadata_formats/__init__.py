"""The formats of records that BookKeeper stores in a metadata service and in cookie files.

Theory of operation.  Each kind of record has a module with an encoder and a decoder.  A decoder accepts the same
records as Java's decoder.  It checks the values that it returns, so that its callers need not check them.  It raises
only :class:`~bookkeeper_twisted.errors.CodecError`.  An encoder returns the bytes that Java's encoder writes, and
raises the same error for a value that does not fit the format.
"""

from .cookie import Cookie
from .layout import Layout
from .ledger_metadata import decode_ledger_metadata, encode_ledger_metadata
from .pulsar import decode_leader, decode_racks, encode_leader
from .service_info import decode_service_info, encode_service_info
from .underreplication import (
    check_rereplication_layout,
    decode_check_time,
    decode_lock,
    decode_recovery_delay,
    decode_underreplicated,
    decode_vote,
    encode_check_time,
    encode_lock,
    encode_recovery_delay,
    encode_rereplication_layout,
    encode_underreplicated,
    encode_vote,
    restore_underreplicated,
)

__all__ = [
    "Cookie",
    "Layout",
    "check_rereplication_layout",
    "decode_check_time",
    "decode_leader",
    "decode_ledger_metadata",
    "decode_lock",
    "decode_racks",
    "decode_recovery_delay",
    "decode_service_info",
    "decode_underreplicated",
    "decode_vote",
    "encode_check_time",
    "encode_leader",
    "encode_ledger_metadata",
    "encode_lock",
    "encode_recovery_delay",
    "encode_rereplication_layout",
    "encode_service_info",
    "encode_underreplicated",
    "encode_vote",
    "restore_underreplicated",
]
