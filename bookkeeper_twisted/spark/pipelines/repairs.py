"""The driver's part of a repair: it takes replication locks, chooses targets, and updates metadata and marks.

Theory of operation.  The driver takes the replication lock of a ledger, so that no replication worker repairs it at the
same time, and reads its metadata.  If the bookie at a position of an ensemble lacks entries, the driver chooses a
target: this bookie itself if it is writable, otherwise another bookie, which then gets all entries of the position.
Tasks copy the entries.  When all targets of a fragment have stored theirs, the driver replaces bookies in the metadata,
with one write for all fragments of the ledger (safety rule S19).  It removes the underreplicated mark by the rule of
replication workers (:mod:`...metadata.mark_removal`).  This rule needs the version of the mark before the check of the
ledger, so marks are read before the check.

After a crash at any moment there may be extra copies, but nothing else is wrong.  The same holds if the session of the
metadata store is lost: all work on a ledger stops when its lock is lost.  A fragment whose writer may be alive is not
repaired.
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
"""The lost entries, by ledger id and by number of the fragment; each loss names its position in the ensemble."""

Marks = Mapping[int, Versioned[UnderreplicatedLedger]]
"""Underreplicated marks, by ledger id."""

Outcome = tuple[object, ...]
"""A row of the repair report: ledger, fragment number, position, bookie, replacement, state, copied entries, detail."""

_HOLDER = "bookkeeper-spark"


@attrs.define
class FragmentRepair:
    """The repair of one fragment (entries with the same ensemble): the plan, and the results so far.

    The keys of most mappings are positions: indexes of bookies in the ensemble of the fragment.

    :ivar number: index of the fragment in its ledger.
    :ivar lost: for each position whose bookie lacks entries, these entries.
    :ivar targets: for each of these positions, the bookie that gets the entries: the same bookie or a new one.
    :ivar copied: for each target (bookie id), the number of entries that were sent to it.
    :ivar problems: for each position that was not repaired, its state in the report and the reason.
    :ivar named: for each repaired position, the bookie that the ledger's metadata contain there after the repair.
    """

    number: int
    fragment: LedgerFragment
    lost: Mapping[int, Sequence[ReplicaLoss]]
    targets: dict[int, str] = attrs.field(factory=dict)
    copied: dict[str, int] = attrs.field(factory=dict)
    problems: dict[int, tuple[str, str]] = attrs.field(factory=dict)
    named: dict[int, str] = attrs.field(factory=dict)

    def losses(self) -> list[ReplicaLoss]:
        """Return the lost entries that tasks must copy to targets."""
        return losses_of_targets(self.fragment, self.lost, self.targets)

    def fail(self, state: str, why: str) -> None:
        """Record that the repair of the whole fragment has failed.

        :param state: the state that all positions get: a constant of this module, such as ``FAILED``.
        :param why: the reason, for the report.
        """
        self.problems = dict.fromkeys(self.lost, (state, why))

    @property
    def repaired(self) -> dict[int, str]:
        """Return, by position in the ensemble, the targets that now have all entries of the position."""
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
    """The result of a check of ledgers: the lost entries that a repair must copy.

    :ivar unsure: by ledger id, the bookies whose entries could not all be checked.  None if the check has read no
        entries, so that it does not know whether registered bookies have their entries.
    :ivar marks: the underreplicated marks that were read before the check.  The repair removes no other marks.
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
        """Test whether all replicas that an underreplicated mark names are complete after the repair.

        :param replicas: the bookies that the mark names.  If it names no bookie, any replica may be missing, so the
            result is False.
        :param check: the check that was made before the repair.
        """
        # A bookie that is no longer in the ledger's metadata was replaced, so no entries are missing on it.
        unsure = self.stored.value.bookies.intersection(replicas)
        if check.unsure is not None:
            unsure = unsure.intersection(check.unsure.get(self.ledger_id, ()))
        return bool(replicas) and not unsure and not any(one.problems for one in self.fragments.values())


@attrs.frozen
class Refusal:
    """The reason why the repair of a ledger did not begin, and the state of the ledger in the report."""

    state: str
    why: str


class Repairs:
    """Begins and ends the repair of each ledger that has lost entries, according to a check."""

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
        """Choose a target bookie for each position of a fragment whose present bookie lacks entries."""
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
        """Write the targets to the metadata, remove the mark of a fully replicated ledger, and release the lock.

        :param repair: the ledger that :meth:`begin` locked; its fragments contain the results of the copies, and get
            the errors of this call.
        """
        try:
            await repair.lock.run(partial(self._finish, repair))
        except NoSuchLedgerMetadataError:
            pass  # the ledger was deleted during its repair, so nothing is left to do
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
        """Write the targets of all repaired fragments to the ledger's metadata, by one write."""
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
