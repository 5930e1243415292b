"""Updates of ledger metadata by compare-and-set: if another client has written first, read again and retry.

If the answer to a write is lost, the loop reads the metadata again.  If the stored metadata contain the update already,
the loop does not write again, so a lost answer does no harm.
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
"""Number of writes with an unknown outcome after which an update is given up."""

MAX_RACES = 100
"""Number of lost races (another client wrote first) after which an update is given up; more suggest a fault of the
store.
"""


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
    :raises bookkeeper_twisted.errors.MetadataVersionError: too many races were lost; the change was not made.
    :raises bookkeeper_twisted.errors.MetadataError: the ledger does not exist, or the store failed repeatedly: then it
        is unknown whether the change was made.
    """
    doubts = races = 0
    if current is None:
        current = await manager.read(ledger_id)
    while needs_update(current.value):
        try:
            return await manager.write(ledger_id, transform(current.value), current.version)
        except (NoSuchLedgerMetadataError, MetadataSerializationError):
            raise
        except MetadataError as error:  # another client changed the metadata first, or the answer to the write was lost
            lost_race = isinstance(error, MetadataVersionError)
            doubts += not lost_race
            races += lost_race
            if _was_not_made(error) or doubts > MAX_DOUBTS or races > MAX_RACES:
                raise
            try:
                found = await manager.read(ledger_id)
            except MetadataUnavailableError:
                raise error from None  # it is still unknown whether the write was made: raise the error of the write
            # Ignore an older version: a ZooKeeper server that lags behind may return one.
            if found.version >= current.version:
                current = found
    return current


def _was_not_made(error: MetadataError) -> bool:
    """Test whether an ``error`` shows that the write did not reach the store, so that it was certainly not made."""
    return isinstance(error, MetadataUnavailableError) and not isinstance(error, MetadataOutcomeUnknownError)
