"""The last word on a ledger: CLOSED with its last entry and length, by compare-and-set (S14, S15)."""

import attrs

from ...errors import MetadataVersionError
from ...metadata.interfaces import ILedgerManager, Versioned
from ...metadata.update_loop import update
from ...model import LedgerMetadata, LedgerState


async def close_ledger(
    ledgers: ILedgerManager, ledger_id: int, known: Versioned[LedgerMetadata], last_entry_id: int, length: int
) -> Versioned[LedgerMetadata]:
    """Close a ledger at the last entry of its writer.

    A ledger in recovery is closed too: the writer's last entry covers everything it acknowledged, and the recovery
    adopts what it finds stored.

    :param known: the metadata as last seen; may be old.
    :param last_entry_id: -1 if the ledger is empty.
    :param length: bytes of all payloads.
    :returns: the stored metadata.
    :raises bookkeeper_twisted.errors.MetadataVersionError: it is closed with another last entry or length.
    """

    def is_not_closed(stored: LedgerMetadata) -> bool:
        if stored.closed and (stored.last_entry_id, stored.length) != (last_entry_id, length):
            raise MetadataVersionError(
                f"ledger {ledger_id} was closed by another client after entry {stored.last_entry_id}, "
                f"{stored.length} bytes; here it ends after entry {last_entry_id}, {length} bytes"
            )
        return not stored.closed

    def closed(stored: LedgerMetadata) -> LedgerMetadata:
        return attrs.evolve(stored, state=LedgerState.CLOSED, last_entry_id=last_entry_id, length=length)

    return await update(ledgers, ledger_id, known, is_not_closed, closed)
