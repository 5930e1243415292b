"""The records of autorecovery in a metadata store.

They are underreplicated marks (a mark lists the bookies that lack entries of a ledger), the locks of replication
workers, the votes in the election of the auditor, the times of the auditor's checks, and the delay of its audits.
"""

from google.protobuf.message import Message

from ...errors import CodecError
from ...model import AuditorCheck, UnderreplicatedLedger
from .._pb import dataformats_pb2 as pb
from .forms import binary_of, codec_errors, decimal, parse_binary, parse_text, text_of

_BASIC, _VERSION = "BASIC", 1


_CHECK_FIELDS: dict[AuditorCheck, tuple[type[Message], str]] = {
    AuditorCheck.ALL_LEDGERS: (pb.CheckAllLedgersFormat, "checkAllLedgersCTime"),
    AuditorCheck.PLACEMENT: (pb.PlacementPolicyCheckFormat, "placementPolicyCheckCTime"),
    AuditorCheck.REPLICAS: (pb.ReplicasCheckFormat, "replicasCheckCTime"),
}


def encode_underreplicated(mark: UnderreplicatedLedger) -> bytes:
    """Encode the underreplicated mark of a ledger, which lists the bookies that lack entries.

    A mark that could not be decoded is returned as it was stored.

    :raises CodecError: a value does not fit its field.
    """
    if mark.problem:
        return mark.stored
    with codec_errors("under-replication mark"):
        return text_of(pb.UnderreplicatedLedgerFormat(replica=mark.replicas, ctime=mark.ctime))


def decode_underreplicated(data: bytes) -> UnderreplicatedLedger:
    """Decode the underreplicated mark of a ledger, which lists the bookies that lack entries.

    :raises CodecError: the bytes are not such a mark.
    """
    with codec_errors("under-replication mark"):
        message = parse_text(pb.UnderreplicatedLedgerFormat(), data)
        return UnderreplicatedLedger(tuple(message.replica), message.ctime if message.HasField("ctime") else None)


def restore_underreplicated(data: bytes) -> UnderreplicatedLedger:
    """Decode the underreplicated mark of a ledger; return one with the reason and the bytes if it cannot be decoded.

    :param data: the stored bytes of the mark.
    """
    try:
        return decode_underreplicated(data)
    except CodecError as error:
        return UnderreplicatedLedger(problem=str(error), stored=data)


def encode_rereplication_layout() -> bytes:
    """Encode the record of the layout in which underreplicated marks are stored; only one layout exists."""
    return text_of(pb.LedgerRereplicationLayoutFormat(type=_BASIC, version=_VERSION))


def check_rereplication_layout(data: bytes) -> None:
    """Check that underreplicated marks are stored in the layout that this module knows.

    :param data: the record of the layout.
    :raises CodecError: the layout is unknown.
    """
    with codec_errors("re-replication layout"):
        message = parse_text(pb.LedgerRereplicationLayoutFormat(), data)
        if (message.type, message.version) != (_BASIC, _VERSION):
            raise CodecError(f"type {message.type!r} version {message.version} is unknown")


def encode_lock(host: str) -> bytes:
    """Encode a replication lock.

    :param host: host name of the replication worker, for people to read.
    :raises CodecError: the name is not text.
    """
    with codec_errors("re-replication lock"):
        return text_of(pb.LockDataFormat(bookieId=host))


def decode_lock(data: bytes) -> str | None:
    """Return the host name in a replication lock; None if the lock has none.

    :raises CodecError: the bytes are not a lock.
    """
    with codec_errors("re-replication lock"):
        message = parse_text(pb.LockDataFormat(), data)
        return message.bookieId if message.HasField("bookieId") else None


def encode_vote(bookie_id: str) -> bytes:
    """Encode a vote in the election of the auditor.

    :param bookie_id: the id of the bookie that is a candidate.
    :raises CodecError: the id is not text.
    """
    with codec_errors("auditor vote"):
        return text_of(pb.AuditorVoteFormat(bookieId=bookie_id))


def decode_vote(data: bytes) -> str | None:
    """Return the id of the candidate in a vote for the auditor; None if the vote has none.

    :raises CodecError: the bytes are not a vote.
    """
    with codec_errors("auditor vote"):
        message = parse_text(pb.AuditorVoteFormat(), data)
        return message.bookieId if message.HasField("bookieId") else None


def encode_check_time(check: AuditorCheck, ms: int) -> bytes:
    """Encode the time at which the auditor last finished a check.

    :param ms: milliseconds since the epoch.
    :raises CodecError: the number does not fit 64 bits.
    """
    message, field = _CHECK_FIELDS[check]
    with codec_errors(check.value):
        return binary_of(message(**{field: ms}))


def decode_check_time(check: AuditorCheck, data: bytes) -> int | None:
    """Decode the time of the auditor's last finished check, in ms since the epoch; None if the record has none.

    :raises CodecError: the bytes are not the record of a check time.
    """
    factory, field = _CHECK_FIELDS[check]
    with codec_errors(check.value):
        message = parse_binary(factory(), data)
        ms: int = getattr(message, field)
        return ms if message.HasField(field) else None


def encode_recovery_delay(seconds: int) -> bytes:
    """Encode the time for which the auditor waits after the loss of a bookie before it marks the bookie's ledgers.

    :param seconds: the delay in seconds, 0 for none.
    """
    return b"%d" % seconds


def decode_recovery_delay(data: bytes) -> int:
    """Decode the seconds that the auditor waits after the loss of a bookie before it marks the bookie's ledgers.

    :raises CodecError: the bytes are not a number.
    """
    with codec_errors("lost bookie recovery delay"):
        return decimal(data.decode("ascii"), 32)
