"""Update ledger metadata by compare-and-set: if another client has written first, read the metadata and retry.

If the reply to a write is lost, the metadata are read again, and are written again only if they lack the update.
"""

from collections.abc import Callable

from ..errors import (
    MetadataError,
    MetadataOutcomeUnknownError,
    MetadataSerializationError,
    MetadataUnavailableError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
)
from ..model import LedgerMetadata
from .interfaces import ILedgerManager, Versioned

MAX_DOUBTS = 3
"""How often the reply to a write may be lost during one update; the next time, the update fails."""

MAX_RACES = 100
"""How often another client may write first during one update; the next time, the update fails."""


async def update(
    manager: ILedgerManager,
    ledger_id: int,
    current: Versioned[LedgerMetadata] | None,
    needs_update: Callable[[LedgerMetadata], bool],
    transform: Callable[[LedgerMetadata], LedgerMetadata],
) -> Versioned[LedgerMetadata]:
    """Apply a change to the metadata of a ledger by compare-and-set.

    :param current: the metadata and version that the caller has read; None to read them first.
    :param needs_update: a function that tests whether stored metadata still lack the change; it may raise an error to
        give up.
    :param transform: a function that returns the changed metadata, without side effects; it may raise an error to give
        up.
    :returns: the metadata that was written, or the stored metadata that needs no update.
    :raises bookkeeper_twisted.errors.MetadataVersionError: other clients wrote first too often; the change was not
        made.
    :raises bookkeeper_twisted.errors.MetadataError: the ledger does not exist, or the store failed repeatedly.  After
        failures of the store, the change may have been made or not.
    """
    doubts = races = 0
    if current is None:
        current = await manager.read(ledger_id)
    while needs_update(current.value):
        try:
            return await manager.write(ledger_id, transform(current.value), current.version)
        except (NoSuchLedgerMetadataError, MetadataSerializationError):
            raise
        except MetadataError as error:  # another client wrote first, or the reply to the write was lost
            lost_race = isinstance(error, MetadataVersionError)
            doubts += not lost_race
            races += lost_race
            if _was_not_made(error) or doubts > MAX_DOUBTS or races > MAX_RACES:
                raise
            try:
                found = await manager.read(ledger_id)
            except MetadataUnavailableError:
                # Raise the error of the write, not that of this read: only the error of the write says whether the
                # metadata may have been written.
                raise error from None
            # A ZooKeeper server that lags behind may return older metadata than an earlier read: ignore these.
            if found.version >= current.version:
                current = found
    return current


def _was_not_made(error: MetadataError) -> bool:
    """Test whether the ``error`` of a write means that the write was certainly not made."""
    return isinstance(error, MetadataUnavailableError) and not isinstance(error, MetadataOutcomeUnknownError)
