"""Ledger metadata: versions 1 (text lines), 2 (protobuf text) and 3 (protobuf binary).

Every version begins with the line ``BookieMetadataFormatVersion TAB version``.  As in Java, an update keeps the version
of the stored metadata.  Length and last entry id are valid only if the ledger is closed.  In other states, 0 and -1
are stored, and readers ignore them.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from ...errors import CodecError
from ...model import INVALID_ENTRY_ID, DigestType, LedgerMetadata, LedgerState, Segment, check_bookie_id
from .._pb.dataformats_pb2 import LedgerMetadataFormat
from ..varints import varint
from .forms import binary_of, codec_errors, decimal, parse_binary, parse_text, text_of

_HEADER = re.compile(rb"BookieMetadataFormatVersion\t([0-9]{1,9})\n")
_CLOSED = "CLOSED"
_IN_RECOVERY = -102
"""The number that version 1 stores in place of the last entry id while a ledger is in recovery."""


def encode_ledger_metadata(metadata: LedgerMetadata) -> bytes:
    """Encode the metadata of a ledger in its ``format_version``.

    :raises CodecError: a decoder would refuse the metadata, or a field cannot be stored in version 1.
    """
    with codec_errors("ledger metadata"):
        _check(metadata)
        header = b"BookieMetadataFormatVersion\t%d\n" % metadata.format_version
        if metadata.format_version == 1:
            return header + "".join(_version_1_lines(metadata)).encode("ascii")
        if metadata.format_version == 2:
            return header + text_of(_message(metadata))
        if metadata.format_version == 3:
            body = binary_of(_message(metadata))
            return header + varint(len(body)) + body
        raise CodecError(f"version {metadata.format_version} is unknown")


def decode_ledger_metadata(data: bytes) -> LedgerMetadata:
    """Decode the metadata of a ledger.

    :raises CodecError: the bytes are not ledger metadata, or their fields contradict each other.
    """
    with codec_errors("ledger metadata"):
        header = _HEADER.match(data)
        if header is None:
            raise CodecError("the version line is missing")
        version, body = int(header[1]), data[header.end() :]
        if version == 1:
            metadata = _of_version_1(body.decode("utf-8"))
        elif version == 2:
            metadata = _of_message(parse_text(LedgerMetadataFormat(), body), 2)
        elif version == 3:
            metadata = _of_message(parse_binary(LedgerMetadataFormat(), _delimited(body)), 3)
        else:
            raise CodecError(f"version {version} is unknown")
        _check(metadata)
        return metadata


def _check(metadata: LedgerMetadata) -> None:
    """Check the ensemble and quorum sizes, the bookies of each segment, and the order of the segments.

    :raises CodecError: they contradict each other.
    """
    if not metadata.segments:
        raise CodecError("no segment")
    for segment in metadata.segments:
        if len(segment.bookies) != metadata.ensemble_size:
            raise CodecError(f"a segment has {len(segment.bookies)} bookies, not {metadata.ensemble_size}")
        for bookie_id in segment.bookies:
            check_bookie_id(bookie_id)
    for before, after in pairwise(metadata.segments):
        if after.first_entry_id <= before.first_entry_id:
            raise CodecError(f"segment {after.first_entry_id} follows {before.first_entry_id}")
    if not metadata.ensemble_size >= metadata.write_quorum_size >= metadata.ack_quorum_size:
        raise CodecError("not ensemble size >= write quorum >= ack quorum")


# ---- version 1 -----------------------------------------------------------------------------------


def _version_1_lines(metadata: LedgerMetadata) -> Iterator[str]:
    for name, lost in (
        ("ack quorum", metadata.ack_quorum_size != metadata.write_quorum_size),
        ("password", metadata.has_password),
        ("custom metadata", bool(metadata.custom_metadata)),
        ("bookie named CLOSED", any(s.bookies[:1] == (_CLOSED,) for s in metadata.segments)),
    ):
        if lost:
            raise CodecError(f"version 1 has no place for the {name}")
    yield f"{metadata.write_quorum_size}\n{metadata.ensemble_size}\n{metadata.length if metadata.closed else 0}\n"
    for segment in metadata.segments:
        yield "\t".join([str(segment.first_entry_id), *segment.bookies]) + "\n"
    if metadata.closed:
        yield f"{metadata.last_entry_id}\t{_CLOSED}"
    elif metadata.state is LedgerState.IN_RECOVERY:
        yield f"{_IN_RECOVERY}\t{_CLOSED}"


def _of_version_1(text: str) -> LedgerMetadata:
    lines = text.split("\n")
    if len(lines) < 4:
        raise CodecError("lines are missing")
    write_quorum, ensemble_size = decimal(lines[0], 32), decimal(lines[1], 32)
    length, last, state, segments = decimal(lines[2]), INVALID_ENTRY_ID, LedgerState.OPEN, []
    for line in filter(None, lines[3:]):
        first, *bookies = line.split("\t")
        if bookies[:1] == [_CLOSED]:
            last = decimal(first)
            state = LedgerState.IN_RECOVERY if last == _IN_RECOVERY else LedgerState.CLOSED
            break
        segments.append(Segment(decimal(first), tuple(bookies)))
    closed = state is LedgerState.CLOSED
    return LedgerMetadata(
        ensemble_size=ensemble_size,
        write_quorum_size=write_quorum,
        ack_quorum_size=write_quorum,
        segments=tuple(segments),
        state=state,
        length=length if closed else 0,
        last_entry_id=last if closed else INVALID_ENTRY_ID,
        has_password=False,
        format_version=1,
    )


# ---- versions 2 and 3 ----------------------------------------------------------------------------


def _message(metadata: LedgerMetadata) -> LedgerMetadataFormat:
    message = LedgerMetadataFormat(
        quorumSize=metadata.write_quorum_size,
        ensembleSize=metadata.ensemble_size,
        length=metadata.length if metadata.closed else 0,
        lastEntryId=metadata.last_entry_id if metadata.closed else INVALID_ENTRY_ID,
        state=LedgerMetadataFormat.State.ValueType(metadata.state),
        ackQuorumSize=metadata.ack_quorum_size,
        ctime=metadata.ctime,
    )
    for segment in metadata.segments:
        message.segment.add(firstEntryId=segment.first_entry_id, ensembleMember=segment.bookies)
    # Java cannot read a digest type without a password, so write both or neither
    if metadata.has_password:
        message.digestType = LedgerMetadataFormat.DigestType.ValueType(metadata.digest_type)
        message.password = metadata.password
    for key, value in metadata.custom_metadata.items():
        message.customMetadata.add(key=key, value=value)
    if metadata.format_version == 3:
        message.cToken = metadata.c_token
    return message


def _of_message(message: LedgerMetadataFormat, version: int) -> LedgerMetadata:
    has_password = message.HasField("password")
    if has_password and not message.HasField("digestType"):
        raise CodecError("a password, but no digest type")
    closed = message.state == LedgerMetadataFormat.State.CLOSED
    return LedgerMetadata(
        ensemble_size=message.ensembleSize,
        write_quorum_size=message.quorumSize,
        ack_quorum_size=message.ackQuorumSize if message.HasField("ackQuorumSize") else message.quorumSize,
        segments=tuple(Segment(s.firstEntryId, tuple(s.ensembleMember)) for s in message.segment),
        state=LedgerState(message.state),
        length=message.length if closed else 0,
        last_entry_id=message.lastEntryId if closed and message.HasField("lastEntryId") else INVALID_ENTRY_ID,
        digest_type=DigestType(message.digestType) if has_password else DigestType.CRC32C,
        password=message.password,
        has_password=has_password,
        ctime=message.ctime if message.HasField("ctime") else None,
        custom_metadata={item.key: item.value for item in message.customMetadata},
        c_token=message.cToken,
        format_version=version,
    )


def _delimited(data: bytes) -> bytes:
    """Return the message that follows its varint length; bytes after the message are ignored."""
    size = 0
    for index, byte in enumerate(data[:5]):
        size |= (byte & 127) << 7 * index
        if byte < 128:
            start = index + 1
            if start + size > len(data):
                raise CodecError(f"{size} bytes announced, {len(data) - start} stored")
            return data[start : start + size]
    raise CodecError("the length is missing")
