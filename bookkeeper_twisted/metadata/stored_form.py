"""The encoding of ledger metadata and of the texts of locks, which all metadata drivers share."""

from ..codec.metadata_formats import encode_ledger_metadata
from ..errors import CodecError, MetadataSerializationError
from ..model import LedgerMetadata

_LONGEST = 500


def stored_form(ledger_id: int, metadata: LedgerMetadata) -> bytes:
    """Encode the metadata of a ledger for the metadata store.

    :param ledger_id: id of the ledger, which the error names.
    :raises bookkeeper_twisted.errors.MetadataSerializationError: the metadata format cannot store one of the values.
    """
    try:
        return encode_ledger_metadata(metadata)
    except CodecError as error:
        raise MetadataSerializationError(f"ledger {ledger_id}: {error}") from error


def stored_text(text: str) -> str:
    """Make the text to store with a replication lock: one line of at most 500 characters; a longer text is cut.

    :param text: the text to shorten; each sequence of white space in it becomes one space.
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
