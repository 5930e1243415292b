"""Ensemble changes: failed bookies of an ensemble are replaced by other bookies.

A writer stores the new ensemble by a compare-and-set of the metadata.  Further entries may complete only after this.
A recovery keeps the new ensemble in memory, and stores it when it closes the ledger.  A writer with deferred sync
cannot replace bookies.
"""

from collections.abc import Collection, Mapping, Sequence

import attrs
from zope.interface import implementer

from ...errors import LedgerClosedError, LedgerFencedError, NotEnoughBookiesError, UnexpectedConditionError, WriteError
from ...metadata.interfaces import ILedgerManager, Versioned
from ...metadata.update_loop import update
from ...model import LedgerMetadata, LedgerState, Segment
from ...placement.bookie_watcher import BookieWatcher
from ..interfaces import IEnsembleChange


def with_segment(segments: tuple[Segment, ...], change: Segment) -> tuple[Segment, ...]:
    """Return the segments of a ledger after an ensemble change, whose new segment is ``change``.

    Usually the new segment is added.  If it begins with the same entry as the newest segment, it replaces the newest
    segment, because no entry of the newest segment can have completed.

    :raises bookkeeper_twisted.errors.UnexpectedConditionError: the new segment begins before the newest segment.
    """
    newest = segments[-1].first_entry_id
    if change.first_entry_id < newest:
        raise UnexpectedConditionError(f"bookies change at entry {change.first_entry_id}, after a change at {newest}")
    return (*segments[:-1], change) if change.first_entry_id == newest else (*segments, change)


def substituted(ensemble: Sequence[str], failed: Mapping[int, str], substitutes: Mapping[int, str]) -> tuple[str, ...]:
    """Return the ensemble with failed bookies replaced by ``substitutes``.

    :param failed: ids of the failed bookies by position in the ensemble.  If another bookie is at a position now, it is
        not replaced.
    :param substitutes: ids of the new bookies by position in the ensemble, perhaps not for all failed bookies.
    """
    return tuple(
        substitutes[position] if position in substitutes and failed[position] == bookie_id else bookie_id
        for position, bookie_id in enumerate(ensemble)
    )


async def find_substitutes(
    bookies: BookieWatcher, metadata: LedgerMetadata, failed: Mapping[int, str], excluded: Collection[str]
) -> dict[int, str]:
    """Choose substitutes for as many failed bookies as possible.

    :param metadata: the metadata whose newest ensemble is to be changed.
    :param failed: ids of the failed bookies by position in the ensemble, at least one.
    :param excluded: bookies that must not be chosen, in addition to those of the ensemble and the failed ones.
    :returns: ids of the new bookies by position in the ensemble, at least one.
    :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no failed bookie has a substitute.
    """
    ensemble = list(metadata.segments[-1].bookies)
    unusable = {*excluded, *failed.values()}
    found: dict[int, str] = {}
    shortage = NotEnoughBookiesError(f"no bookie can take the place of {', '.join(failed.values())}")
    for position in sorted(failed):
        try:
            found[position] = await bookies.replace_bookie(
                position, ensemble, metadata.write_quorum_size, unusable, metadata.custom_metadata
            )
        except NotEnoughBookiesError as error:
            shortage.__cause__ = error
            break
        ensemble[position] = found[position]
    if not found:
        raise shortage
    return found


@implementer(IEnsembleChange)
class StoredEnsembleChange:
    """The ensemble changes of a ledger's writer; each is stored by a compare-and-set of the metadata.

    :ivar metadata: the newest known metadata.
    """

    def __init__(
        self, ledger_id: int, ledgers: ILedgerManager, metadata: Versioned[LedgerMetadata], bookies: BookieWatcher,
        max_changes: int,
    ) -> None:  # fmt: skip
        self.metadata = metadata
        self._ledger_id = ledger_id
        self._ledgers = ledgers
        self._bookies = bookies
        self._changes_left = max_changes

    async def replace(
        self, failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Replace failed bookies of the newest ensemble by a compare-and-set of the ledger's stored metadata.

        See :meth:`~bookkeeper_twisted.client.interfaces.IEnsembleChange.replace` for parameters and errors.

        :raises bookkeeper_twisted.errors.WriteError: the maximum number of ensemble changes of a ledger is reached.
        :raises bookkeeper_twisted.errors.LedgerFencedError: the ledger is being recovered.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the ledger was closed by another client.
        """
        if self._changes_left <= 0:
            raise WriteError(f"{', '.join(failed.values())} failed, and maxNumEnsembleChanges is reached")
        substitutes = await find_substitutes(self._bookies, self.metadata.value, failed, excluded)
        self._changes_left -= 1

        def needs_change(stored: LedgerMetadata) -> bool:
            newest = stored.segments[-1].bookies
            return stored.state is LedgerState.OPEN and substituted(newest, failed, substitutes) != newest

        def change(stored: LedgerMetadata) -> LedgerMetadata:
            ensemble = substituted(stored.segments[-1].bookies, failed, substitutes)
            return attrs.evolve(stored, segments=with_segment(stored.segments, Segment(first_entry_id, ensemble)))

        self.metadata = await update(self._ledgers, self._ledger_id, self.metadata, needs_change, change)
        self._check_stored(first_entry_id)
        return self.metadata.value.segments[-1].bookies

    def closed(self, metadata: Versioned[LedgerMetadata]) -> None:
        """Remember the ``metadata`` with which the writer has closed the ledger."""
        self.metadata = metadata

    def has_spare(self, ensemble: Collection[str]) -> bool:
        """Test whether a known writable bookie is outside of ``ensemble``."""
        return not self._bookies.writable.issubset(ensemble)

    def stay(self, bookies: Collection[str], why: Exception) -> None:
        """Record that failed ``bookies`` stay in the ensemble, and ``why`` no other bookie could replace them."""
        self._bookies.missed(bookies, why)

    def _check_stored(self, first_entry_id: int) -> None:
        """Raise an error if the stored ledger is no longer open, so that its writer must stop."""
        state, newest = self.metadata.value.state, self.metadata.value.segments[-1]
        if state is LedgerState.IN_RECOVERY:
            raise LedgerFencedError(self._ledger_id, detail="it is being recovered")
        if state is LedgerState.CLOSED:
            raise LedgerClosedError(f"ledger {self._ledger_id} was closed by another client")
        if newest.first_entry_id > first_entry_id:
            raise UnexpectedConditionError("another client has changed the ensemble of the ledger")


@implementer(IEnsembleChange)
class RememberedEnsembleChange:
    """The ensemble changes of a recovery, which are kept in memory and stored when the ledger is closed.

    A failed bookie is never chosen as a substitute, so the recovery ends at the latest when all bookies have failed.

    :ivar changes: the segments to add to the stored metadata.
    """

    def __init__(self, metadata: LedgerMetadata, bookies: BookieWatcher) -> None:
        self.changes: tuple[Segment, ...] = ()
        self._metadata = metadata
        self._bookies = bookies
        self._failed: dict[str, None] = {}

    async def replace(
        self, failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Replace failed bookies of the newest ensemble; remember the new ensemble in :attr:`changes`.

        See :meth:`~bookkeeper_twisted.client.interfaces.IEnsembleChange.replace` for parameters and errors.
        """
        current = self.applied_to(self._metadata)
        self._failed.update(dict.fromkeys(failed.values()))
        substitutes = await find_substitutes(self._bookies, current, failed, {*excluded, *self._failed})
        change = Segment(first_entry_id, substituted(current.segments[-1].bookies, failed, substitutes))
        self.changes = with_segment(self.changes, change) if self.changes else (change,)
        return change.bookies

    def has_spare(self, ensemble: Collection[str]) -> bool:
        """Return False: if the recovery found no substitute for a bookie, the bookie stays in the ensemble."""
        return False

    def stay(self, bookies: Collection[str], why: Exception) -> None:
        """Record that failed ``bookies`` stay in the ensemble, and ``why`` no other bookie could replace them."""
        self._bookies.missed(bookies, why)

    def applied_to(self, metadata: LedgerMetadata) -> LedgerMetadata:
        """Return ``metadata`` with the remembered changes.

        :raises bookkeeper_twisted.errors.UnexpectedConditionError: the newest segment of ``metadata`` begins at a
            higher entry id than a remembered change.
        """
        segments = metadata.segments
        for change in self.changes:
            segments = with_segment(segments, change)
        return attrs.evolve(metadata, segments=segments)


@implementer(IEnsembleChange)
class NoEnsembleChange:
    """The ensemble changes of a writer with deferred sync: each fails, so that the writer ends.

    The failed bookie may have acknowledged entries and lost them before they were on disk, and a substitute would not
    have these entries.
    """

    async def replace(
        self, failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Raise an error, which ends the writer.

        :raises bookkeeper_twisted.errors.WriteError: always.
        """
        names = ", ".join(failed.values())
        raise WriteError(f"{names} failed, and bookies of a ledger with deferred sync cannot be replaced")

    def has_spare(self, ensemble: Collection[str]) -> bool:
        """Return False, because no bookie can be replaced."""
        return False

    def stay(self, bookies: Collection[str], why: Exception) -> None:
        """Do nothing; never called, because :meth:`replace` has ended the writer."""
