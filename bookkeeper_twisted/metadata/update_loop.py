"""Changes of ledger metadata by compare-and-set: a change is made again if another client writes first.

The loop makes it harmless to repeat a write after its first answer was lost: whether it was applied is
decided by what is stored, and a value that has the update already no longer needs it.
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
"""Writes of unknown outcome after which an update is given up."""

MAX_RACES = 100
"""Lost races after which an update is given up: so many are a fault of the store, not of other clients."""


async def update(
    manager: ILedgerManager,
    ledger_id: int,
    current: Versioned[LedgerMetadata] | None,
    needs_update: Callable[[LedgerMetadata], bool],
    transform: Callable[[LedgerMetadata], LedgerMetadata],
) -> Versioned[LedgerMetadata]:
    """Apply a pure change to the metadata of a ledger by compare-and-set.

    :param current: metadata and version that the caller has read; None reads them first.
    :param needs_update: whether a value still has to be changed; may raise to give up.
    :param transform: the changed value; may raise to give up.
    :returns: the value written, or the one that needs no update.
    :raises bookkeeper_twisted.errors.MetadataVersionError: too many races were lost; the change was not made.
    :raises bookkeeper_twisted.errors.MetadataError: the ledger does not exist, or the store fails again and
        again; whether the change was made is then unknown.
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
                raise error from None  # the outcome of the write stays unknown, and its error says so
            if found.version >= current.version:  # an older version comes from a server that lags behind: ignore it
                current = found
    return current


def _was_not_made(error: MetadataError) -> bool:
    """Test whether an ``error`` means that the store was not reached: it has not made the write, and cannot be read."""
    return isinstance(error, MetadataUnavailableError) and not isinstance(error, MetadataOutcomeUnknownError)
