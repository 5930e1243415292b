"""The encoding of the values that every metadata driver stores."""

from ..codec.metadata_formats import encode_ledger_metadata
from ..errors import CodecError, MetadataSerializationError
from ..model import LedgerMetadata

_LONGEST = 500


def stored_form(ledger_id: int, metadata: LedgerMetadata) -> bytes:
    """Return the bytes that are stored for a ledger's metadata.

    :param ledger_id: id of the ledger, for the error.
    :raises bookkeeper_twisted.errors.MetadataSerializationError: the format of the metadata has no place for a value.
    """
    try:
        return encode_ledger_metadata(metadata)
    except CodecError as error:
        raise MetadataSerializationError(f"ledger {ledger_id}: {error}") from error


def stored_text(text: str) -> str:
    """Return the text of a replication lock as one line, cut to at most 500 characters.

    :param text: line breaks and other white space in it become one space.
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
