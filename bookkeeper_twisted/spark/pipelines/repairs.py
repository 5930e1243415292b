"""The work of the driver in a repair of ledgers: locks, targets, metadata and marks.

Theory of operation.  The driver takes the replication lock of a ledger, so that no replication worker repairs it as
well, reads its metadata and chooses a target for each position that lacks entries: the bookie itself if it is writable,
otherwise another one, which gets everything that the position keeps.  Where all targets of a fragment have taken
everything, new bookies are named, by one write of the metadata for all fragments of the ledger (S19).  A mark goes by
the rule of workers (:mod:`...metadata.mark_removal`), so it is read before the check.  A crash at any moment leaves
extra copies and nothing else, and so does a lost session: what the driver does for a ledger ends with the lock.
Fragments of a writer that may be alive are left alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import attrs

from ...client import BookKeeper
from ...errors import (
    BookKeeperError,
    LedgerLockedError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
)
from ...ledger.copy_plan import losses_of_targets
from ...ledger.findings import ReplicaLoss
from ...ledger.fragments import LedgerFragment, fragments_of
from ...metadata.interfaces import Versioned
from ...metadata.locked_work import LedgerLock
from ...metadata.mark_removal import remove_mark
from ...metadata.update_loop import update
from ...model import LedgerMetadata, UnderreplicatedLedger

REPAIRED, FAILED, LOST, LOCKED, OPEN, NO_TARGET = "repaired", "failed", "lost", "locked", "open", "no target"

Losses = Mapping[int, Mapping[int, Sequence[ReplicaLoss]]]
"""The losses of positions, by the ledger and the number of the fragment in it."""

Marks = Mapping[int, Versioned[UnderreplicatedLedger]]
"""Marks of under-replication, by ledger id."""

Outcome = tuple[object, ...]
"""Ledger, number of the fragment, position, bookie, the bookie that has its entries now, state, entries, detail."""

_HOLDER = "bookkeeper-spark"


@attrs.define
class FragmentRepair:
    """The repair of one fragment.

    :ivar lost: by position.
    :ivar targets: by position.
    :ivar copied: entries, by target.
    :ivar problems: by position: the state in which it is left, and why.
    :ivar named: targets that the metadata name, by position.
    """

    number: int
    fragment: LedgerFragment
    lost: Mapping[int, Sequence[ReplicaLoss]]
    targets: dict[int, str] = attrs.field(factory=dict)
    copied: dict[str, int] = attrs.field(factory=dict)
    problems: dict[int, tuple[str, str]] = attrs.field(factory=dict)
    named: dict[int, str] = attrs.field(factory=dict)

    def losses(self) -> list[ReplicaLoss]:
        """Return the losses whose entries the targets get."""
        return losses_of_targets(self.fragment, self.lost, self.targets)

    def fail(self, state: str, why: str) -> None:
        """Record that no position got its missing entries.

        :param state: the new state of all positions, one of those at the top of the module.
        :param why: the reason, for the report.
        """
        self.problems = dict.fromkeys(self.lost, (state, why))

    @property
    def repaired(self) -> dict[int, str]:
        """Return the bookies that have all entries now, by position."""
        return {position: target for position, target in self.targets.items() if position not in self.problems}

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the rows of the report."""
        for position, losses in self.lost.items():
            state, detail = self.problems.get(position, (REPAIRED, ""))
            target = self.targets.get(position)
            entries = self.copied.get(target, 0) if target is not None else 0
            number, ledger_id = self.number, self.fragment.ledger_id
            yield ledger_id, number, position, losses[0].bookie_id, self.named.get(position), state, entries, detail


@attrs.frozen
class Check:
    """The result of the check of ledgers before their repair.

    :ivar unsure: bookies of which not everything could be checked, by ledger; None: no entries were read, and nothing
        is known of bookies that are registered.
    :ivar marks: of the time before the check; those of other ledgers stay.
    """

    losses: Losses
    unsure: Mapping[int, Collection[str]] | None = None
    marks: Marks = attrs.field(factory=dict)


@attrs.define
class LockedLedger:
    """A ledger under repair, with its lock."""

    ledger_id: int
    lock: LedgerLock
    stored: Versioned[LedgerMetadata]
    fragments: dict[int, FragmentRepair] = attrs.field(factory=dict)

    def completes(self, replicas: Collection[str], check: Check) -> bool:
        """Test whether the repair has done all that a mark asks for.

        :param replicas: the bookies that it names; a mark that names none asks for more than was done.
        :param check: of the time before the repair.
        """
        # only bookies still in the ledger's metadata matter: others were replaced
        unsure = self.stored.value.bookies.intersection(replicas)
        if check.unsure is not None:
            unsure = unsure.intersection(check.unsure.get(self.ledger_id, ()))
        return bool(replicas) and not unsure and not any(one.problems for one in self.fragments.values())


@attrs.frozen
class Refusal:
    """A ledger that was not repaired, with its state and the reason."""

    state: str
    why: str


class Repairs:
    """The repairs of the ledgers of one check."""

    def __init__(self, client: BookKeeper, check: Check) -> None:
        self._check = check
        self._watcher = client.context.watcher
        self._ledgers = client.metadata.ledgers
        self._marks = client.metadata.underreplication
        self._registration = client.metadata.registration

    async def begin(self, ledger_id: int) -> LockedLedger | Refusal:
        """Lock and plan a ledger of the check.

        :returns: the locked ledger, or why it is not repaired.
        """
        try:
            lock = await LedgerLock.take(self._marks, ledger_id, _HOLDER)
        except LedgerLockedError as error:
            return Refusal(LOCKED, str(error))
        try:
            return await lock.run(partial(self._planned, ledger_id, lock))
        except BookKeeperError as error:
            await lock.release()
            return Refusal(REPAIRED if isinstance(error, NoSuchLedgerMetadataError) else FAILED, str(error))

    async def _planned(self, ledger_id: int, lock: LedgerLock) -> LockedLedger:
        repair = LockedLedger(ledger_id, lock, await self._ledgers.read(ledger_id))
        await self._plan(repair, self._check.losses[ledger_id])
        return repair

    async def _plan(self, repair: LockedLedger, losses: Mapping[int, Sequence[ReplicaLoss]]) -> None:
        metadata = repair.stored.value
        writable = await self._registration.writable_bookies()
        newest = metadata.segments[-1].first_entry_id
        for number, fragment in enumerate(fragments_of(repair.ledger_id, metadata, newest - 1)):
            lost: dict[int, list[ReplicaLoss]] = {}
            for loss in losses.get(number, ()):
                if fragment.ensemble[loss.position] == loss.bookie_id:
                    lost.setdefault(loss.position, []).append(loss)
            one = FragmentRepair(number, fragment, lost)
            if not fragment.closed:
                one.fail(OPEN, "its writer may be alive")
            else:
                await self._choose(one, metadata, writable)
            if lost:
                repair.fragments[number] = one

    async def _choose(self, one: FragmentRepair, metadata: LedgerMetadata, writable: Collection[str]) -> None:
        """Choose a target for each position that lacks entries."""
        ensemble = list(one.fragment.ensemble)
        excluded = set(ensemble).difference(writable)
        for position in one.lost:
            target = ensemble[position]
            if target in excluded:
                try:
                    target = await self._watcher.replace_bookie(
                        position, ensemble, metadata.write_quorum_size, excluded, metadata.custom_metadata
                    )
                except NotEnoughBookiesError as error:
                    one.problems[position] = NO_TARGET, str(error)
                    continue
            ensemble[position] = one.targets[position] = target

    async def end(self, repair: LockedLedger) -> None:
        """Name new bookies, remove the mark of a ledger that is whole, and release the lock.

        :param repair: of :meth:`begin`; errors are noted in it.
        """
        try:
            await repair.lock.run(partial(self._finish, repair))
        except NoSuchLedgerMetadataError:
            pass  # the ledger was deleted during its repair, so that nothing is left to do
        except BookKeeperError as error:
            for one in repair.fragments.values():
                for position in one.targets:
                    one.problems.setdefault(position, (FAILED, str(error)))
        finally:
            await repair.lock.release()

    async def _finish(self, repair: LockedLedger) -> None:
        await self._name_targets(repair)
        mark = self._check.marks.get(repair.ledger_id)
        if mark is not None and repair.completes(mark.value.replicas, self._check):
            await remove_mark(self._marks, self._registration, repair.ledger_id, mark, repair.stored.value.bookies)

    async def _name_targets(self, repair: LockedLedger) -> None:
        """Name the new bookies of all repaired fragments by one write of the metadata."""
        moves = [one.fragment.moves(one.repaired) for one in repair.fragments.values()]
        moves = [one for one in moves if one.bookies]

        def needed(metadata: LedgerMetadata) -> bool:
            return any(one.are_needed(metadata) for one in moves)

        def moved(metadata: LedgerMetadata) -> LedgerMetadata:
            for one in moves:
                metadata = one.apply(metadata)
            return metadata

        repair.stored = await update(self._ledgers, repair.ledger_id, repair.stored, needed, moved)
        for one in repair.fragments.values():
            one.named = one.repaired
