"""The end of a ledger: all it has synced, then CLOSED with its last entry and length by compare-and-set (S14, S15)."""

from collections.abc import Sequence
from typing import cast

import attrs
from twisted.internet.defer import FirstError, gatherResults

from ...errors import MetadataVersionError
from ...metadata.interfaces import ILedgerManager, Versioned
from ...metadata.update_loop import update
from ...model import LedgerMetadata, LedgerState
from ..interfaces import IBookieClient


async def force_ensemble(bookies: IBookieClient, ledger_id: int, ensemble: Sequence[str]) -> None:
    """Ask all bookies of an ensemble to sync: the copy of any of them may be needed.

    :param ensemble: ids of the bookies.
    :raises bookkeeper_twisted.errors.BookKeeperError: of the first that did not.
    """
    synced = [bookies.force(bookie_id, ledger_id) for bookie_id in ensemble]
    try:
        await gatherResults(synced, consumeErrors=True)
    except FirstError as error:
        raise cast(Exception, error.subFailure.value) from None


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
