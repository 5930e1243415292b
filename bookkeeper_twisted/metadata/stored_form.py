"""Ledger metadata as every driver stores it."""

from ..codec.metadata_formats import encode_ledger_metadata
from ..errors import CodecError, MetadataSerializationError
from ..model import LedgerMetadata


def stored_form(ledger_id: int, metadata: LedgerMetadata) -> bytes:
    """The bytes that are stored for a ledger.

    :param ledger_id: for the error.
    :raises bookkeeper_twisted.errors.MetadataSerializationError: the format of the metadata has no place for a value.
    """
    try:
        return encode_ledger_metadata(metadata)
    except CodecError as error:
        raise MetadataSerializationError(f"ledger {ledger_id}: {error}") from error
