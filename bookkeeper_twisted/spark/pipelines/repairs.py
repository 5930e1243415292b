"""The part of a repair that Spark's driver does: replication locks, choice of target bookies, metadata and marks.

Theory of operation.  The driver takes the replication lock of a ledger, so that no replication worker repairs it at the
same time, and reads its metadata.  For each position in an ensemble whose bookie lacks entries, the driver chooses a
target, that is a bookie that receives copies.  The target is the same bookie if it is writable; otherwise it is another
bookie, which receives all entries of the position.  Tasks copy the entries.  When the targets have stored them, the
driver writes the targets to the metadata, by one write for all fragments of the ledger.  Then it removes the
underreplicated mark, under the same conditions as replication workers (:mod:`...metadata.mark_removal`).  A condition
is that the underreplicated mark has not changed since the check of the ledger began, so marks are read before the
check.

A crash at any moment leaves at most extra copies of entries.  If the session of the metadata store is lost, locks are
lost, and the work on their ledgers stops.  A fragment whose writer may be alive is not repaired.
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
"""Maps the id of a ledger, and the number of a fragment in this ledger, to the lost entries of each bookie."""

Marks = Mapping[int, Versioned[UnderreplicatedLedger]]
"""Underreplicated marks, by ledger id."""

Outcome = tuple[object, ...]
"""A row of the repair report: ledger, fragment number, position, bookie, replacement, state, copied entries, detail."""

_HOLDER = "bookkeeper-spark"


@attrs.define
class FragmentRepair:
    """The plan and the results of the repair of one fragment (entries with the same ensemble).

    A position is the index of a bookie in the ensemble of the fragment.

    :ivar number: index of the fragment in its ledger.
    :ivar lost: maps a position to the entries that the bookie at this position lacks.
    :ivar targets: maps a position to the bookie that is chosen to get these entries: the same bookie or a new one.
    :ivar copied: maps the id of a target bookie to the number of entries that were sent to it.
    :ivar problems: maps a position that was not repaired to two texts for the report: the state and the reason.
    :ivar named: maps a repaired position to its bookie in the ledger's metadata after the repair; empty until the
        metadata are written.
    """

    number: int
    fragment: LedgerFragment
    lost: Mapping[int, Sequence[ReplicaLoss]]
    targets: dict[int, str] = attrs.field(factory=dict)
    copied: dict[str, int] = attrs.field(factory=dict)
    problems: dict[int, tuple[str, str]] = attrs.field(factory=dict)
    named: dict[int, str] = attrs.field(factory=dict)

    def losses(self) -> list[ReplicaLoss]:
        """Return the lost entries for which a bookie was chosen to receive copies, for the tasks that copy them."""
        return losses_of_targets(self.fragment, self.lost, self.targets)

    def fail(self, state: str, why: str) -> None:
        """Record that the repair of the whole fragment has failed.

        :param state: the state that all positions get: a constant of this module, such as ``FAILED``.
        :param why: the reason, for the report.
        """
        self.problems = dict.fromkeys(self.lost, (state, why))

    @property
    def repaired(self) -> dict[int, str]:
        """Map each repaired position in the ensemble to the bookie that has received all missing copies."""
        return {position: target for position, target in self.targets.items() if position not in self.problems}

    def outcomes(self) -> Iterator[Outcome]:
        """Yield one row of the repair report for each position of the ensemble whose bookie lacked entries."""
        for position, losses in self.lost.items():
            state, detail = self.problems.get(position, (REPAIRED, ""))
            target = self.targets.get(position)
            entries = self.copied.get(target, 0) if target is not None else 0
            number, ledger_id = self.number, self.fragment.ledger_id
            yield ledger_id, number, position, losses[0].bookie_id, self.named.get(position), state, entries, detail


@attrs.frozen
class Check:
    """The result of a check of ledgers, on which a repair is based.

    :ivar unsure: maps the id of a ledger to the bookies on which not all entries could be checked.  None if the check
        did not read entries at all: then any bookie may lack entries.
    :ivar marks: the underreplicated marks that were read before the check; the repair removes only these marks.
    """

    losses: Losses
    unsure: Mapping[int, Collection[str]] | None = None
    marks: Marks = attrs.field(factory=dict)


@attrs.define
class LockedLedger:
    """A ledger under repair; this process holds its replication lock."""

    ledger_id: int
    lock: LedgerLock
    stored: Versioned[LedgerMetadata]
    fragments: dict[int, FragmentRepair] = attrs.field(factory=dict)

    def completes(self, replicas: Collection[str], check: Check) -> bool:
        """Test whether the repair has restored all replicas that the ledger's underreplicated mark reports as missing.

        :param replicas: the bookies in the underreplicated mark.  If there are none, any replica may be missing, so the
            result is False.
        :param check: the check on which the repair is based.
        """
        # ignore bookies that are no longer in the ledger's metadata, because they were replaced
        unsure = self.stored.value.bookies.intersection(replicas)
        if check.unsure is not None:
            unsure = unsure.intersection(check.unsure.get(self.ledger_id, ()))
        return bool(replicas) and not unsure and not any(one.problems for one in self.fragments.values())


@attrs.frozen
class Refusal:
    """The result for a ledger whose repair did not begin.

    :ivar state: the state of the ledger in the report.
    :ivar why: the reason, as text for the report.
    """

    state: str
    why: str


class Repairs:
    """The driver's work before and after the entries of a ledger are copied: plans the repair, and finishes it."""

    def __init__(self, client: BookKeeper, check: Check) -> None:
        self._check = check
        self._watcher = client.context.watcher
        self._ledgers = client.metadata.ledgers
        self._marks = client.metadata.underreplication
        self._registration = client.metadata.registration

    async def begin(self, ledger_id: int) -> LockedLedger | Refusal:
        """Take the replication lock of a ledger and plan its repair.

        :returns: the locked ledger with the plan, or the reason why it is not repaired.
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
        """For each position in a fragment's ensemble whose bookie lacks entries, choose the bookie to copy them to."""
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
        """Write the new bookies of a ledger to its metadata, and unlock the ledger.

        If no replica lacks entries any more, this method also deletes the underreplicated mark of the ledger.

        :param repair: the ledger that :meth:`begin` returned, with the results of the copies; errors of this call are
            recorded in it.
        """
        try:
            await repair.lock.run(partial(self._finish, repair))
        except NoSuchLedgerMetadataError:
            pass  # the ledger was deleted during its repair
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
        """Write the bookies that have received copies to the ledger's metadata, for all fragments in one write."""
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
