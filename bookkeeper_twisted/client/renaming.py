"""The change of a bookie's id in the metadata of ledgers, after its machine got another name or address.

No entries are moved: the bookie with the new id must have the entries of the bookie with the old id.  Before any
metadata are changed, all ensembles are checked.  If an ensemble contains both ids, they belong to two bookies, so
nothing is changed.
"""

from collections.abc import Callable
from functools import partial

import attrs
from twisted.internet.interfaces import IReactorTime

from ..errors import IncorrectParameterError, NoSuchLedgerMetadataError
from ..limits.throttle import Rate, Throttle
from ..metadata.interfaces import ILedgerManager
from ..metadata.update_loop import update
from ..model import LedgerMetadata, Segment, check_bookie_id
from .steps import for_each


@attrs.define
class RenamingProgress:
    """The progress of replacing the id of a bookie in the metadata of all ledgers.

    :ivar examined: number of ledgers that were read.
    :ivar updated: number of ledgers whose metadata were changed from the old id to the new id.
    """

    examined: int = 0
    updated: int = 0


class BookieRenaming:
    """The replacement of one bookie id by another in the metadata of all ledgers.

    A cancelled or failed renaming can be run again.

    :param updates_per_second: maximum number of metadata updates in a second; > 0.
    :param at_once: number of ledgers that are read or changed at a time; > 0.
    :param limit: maximum number of ledgers to change; None for all.
    :raises IncorrectParameterError: the ids are equal, one of them is not a valid bookie id, or a number is not greater
        than 0.
    """

    def __init__(
        self, clock: IReactorTime, ledgers: ILedgerManager, old: str, new: str, updates_per_second: float = 5.0,
        at_once: int = 25, limit: int | None = None,
    ) -> None:  # fmt: skip
        if check_bookie_id(old) == check_bookie_id(new):
            raise IncorrectParameterError(f"bookie {old} cannot be replaced by itself")
        if not (updates_per_second > 0 and at_once > 0 and (limit is None or limit > 0)):
            raise IncorrectParameterError("updates per second, ledgers in work and limit are greater than 0")
        self.progress = RenamingProgress()
        self._ledgers = ledgers
        self._old = old
        self._new = new
        self._updates = Throttle(clock, "bookie-renaming", Rate(updates_per_second))
        self._at_once = at_once
        self._left = limit
        self._examined: Callable[[RenamingProgress], object] = lambda progress: None

    async def run(self, examined: Callable[[RenamingProgress], object] = lambda progress: None) -> RenamingProgress:
        """Check the metadata of all ledgers, then replace the bookie id in all ledgers.

        :param examined: called with the progress after each ledger.
        :raises bookkeeper_twisted.errors.MetadataError: the store failed; ledgers that were changed stay changed.
        :raises IncorrectParameterError: an ensemble names both ids.  No ledger was changed, unless a writer put both
            ids into one ensemble after the check.
        """
        self._examined = examined
        await for_each(self._ledgers.ledger_ids(), self._check, self._at_once)
        await for_each(self._ledgers.ledger_ids(), self._rename, self._at_once)
        return self.progress

    async def _check(self, ledger_id: int) -> None:
        try:
            self._check_apart(ledger_id, (await self._ledgers.read(ledger_id)).value)
        except NoSuchLedgerMetadataError:
            pass  # the ledger was deleted after it was listed

    def _check_apart(self, ledger_id: int, metadata: LedgerMetadata) -> None:
        if any({self._old, self._new} <= set(segment.bookies) for segment in metadata.segments):
            raise IncorrectParameterError(
                f"an ensemble of ledger {ledger_id} names both {self._old} and {self._new}: they are two bookies"
            )

    async def _rename(self, ledger_id: int) -> None:
        if self._left == 0:
            return  # the limit of ledgers to change is reached
        try:
            current = await self._ledgers.read(ledger_id)
            if self._names_old(current.value) and self._take_one():
                await self._updates.acquire()
                await update(self._ledgers, ledger_id, current, self._names_old, partial(self._renamed, ledger_id))
                self.progress.updated += 1
        except NoSuchLedgerMetadataError:
            pass  # the ledger was deleted after it was listed
        self.progress.examined += 1
        self._examined(self.progress)

    def _take_one(self) -> bool:
        if self._left is None:
            return True
        if not self._left:
            return False
        self._left -= 1
        return True

    def _names_old(self, metadata: LedgerMetadata) -> bool:
        return any(self._old in segment.bookies for segment in metadata.segments)

    def _renamed(self, ledger_id: int, metadata: LedgerMetadata) -> LedgerMetadata:
        self._check_apart(ledger_id, metadata)
        segments = []
        for segment in metadata.segments:
            names = (self._new if name == self._old else name for name in segment.bookies)
            segments.append(Segment(segment.first_entry_id, tuple(names)))
        return attrs.evolve(metadata, segments=tuple(segments))
