"""The repair of a ledger with an underreplicated mark: check it, copy lost entries, check again.

The check reads all entries of the bookies in the underreplicated mark, not only a sample.  If it contains no bookie, it
reads all entries of all bookies of the ledger.  If one fragment cannot be repaired, the other fragments are repaired
nevertheless.

A fragment to which a writer may still add entries is not repaired before the end of a grace period, in which the writer
can replace a lost bookie itself.  If a second check after this period finds the same loss, the ledger is recovered,
which fences the writer.  But if no other bookie could replace the lost one, the ledger is not recovered, because its
writer may be able to continue.

If configured, the repair also moves replicas of a complete ledger to satisfy the placement policy.
"""

from collections.abc import Collection, Iterator
from enum import Enum

import attrs
from twisted.logger import Logger

from ...client.context import ClientContext
from ...client.recovery.ledger_recovery import LedgerRecovery
from ...codec.digest import Digester
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    EntriesLostError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
)
from ...ledger.findings import CheckReport, FragmentReport, LossKind, ReplicaLoss
from ...ledger.schedule import schedule_of
from ...limits.throttle import Throttle
from ...metadata.interfaces import Versioned
from ...model import LedgerMetadata
from ..interfaces import CopyProgress, ILedgerChecker, repair_of
from .fragment_replicator import FragmentReplicator
from .placement import Placement

LASTING = (EntriesLostError, NotEnoughBookiesError)
"""Errors that every further attempt will raise, until bookies return or are added."""

_MAX_ROUNDS = 3
"""Maximum number of times that one attempt copies lost entries and then checks the ledger again."""


class RepairState(Enum):
    """The possible outcomes of an attempt to repair a ledger."""

    WHOLE = "whole"
    """Every entry is on all bookies of its write set."""
    DELETED = "deleted"
    """The ledger does not exist."""
    GRACE = "grace"
    """Some entries are lost in fragments to which a writer may still add entries; the writer may replace the bookie."""
    WAITING = "waiting"
    """Bookies or the metadata store did not answer; a later attempt may succeed."""
    IMPOSSIBLE = "impossible"
    """Some entries are on no bookie, or too few bookies are writable: bookies must return or be added."""


@attrs.frozen
class Attempt:
    """The result of one attempt to repair a ledger.

    :ivar reason: why the ledger is not complete, for people to read.
    :ivar error: the error that ended the attempt or the repair of one of its fragments.
    :ivar repaired: number of fragments that were made complete.
    :ivar moved: number of complete fragments with replicas that were moved to other bookies.
    :ivar report: report of the last check; None if there was none.
    """

    state: RepairState
    reason: str = ""
    error: Exception | None = None
    repaired: int = 0
    moved: int = 0
    report: CheckReport | None = None


@attrs.define
class _RepairProgress:
    """The results of one attempt so far: the numbers of repaired and of moved fragments, and the errors."""

    repaired: int = 0
    moved: int = 0
    problems: list[BookKeeperError] = attrs.field(factory=list)


class LedgerRepair:
    """The repair of the ledgers of one cluster; it may repair any number of ledgers at the same time.

    :ivar running: the progress of each running attempt, by ledger id.
    :param metadata_limit: the speed limit of requests to the metadata store.
    :param placement: finds replicas that must move to other bookies; None if the placement policy need not be enforced.
    """

    _log = Logger()

    def __init__(
        self, context: ClientContext, checker: ILedgerChecker, replicator: FragmentReplicator, metadata_limit: Throttle,
        placement: Placement | None = None,
    ) -> None:  # fmt: skip
        self._context = context
        self._checker = checker
        self._replicator = replicator
        self._metadata_limit = metadata_limit
        self._placement = placement
        self.running: dict[int, CopyProgress] = {}

    async def attempt(self, ledger_id: int, replicas: Collection[str]) -> Attempt:
        """Repair the closed fragments of a ledger, to which no writer adds entries any more; do not fence the writer.

        :param replicas: ids of the bookies in the underreplicated mark of the ledger.
        :raises bookkeeper_twisted.errors.BookKeeperError: the check could not be made.
        """
        shown = self.running[ledger_id] = CopyProgress(self._context.clock.seconds())
        try:
            return await self._rounds(ledger_id, replicas, shown)
        finally:
            self.running.pop(ledger_id, None)

    async def _rounds(self, ledger_id: int, replicas: Collection[str], shown: CopyProgress) -> Attempt:
        try:
            stored = await self._read(ledger_id)
            report = await self._checker.check(ledger_id, stored.value, _suspects(stored.value, replicas))
            progress = _RepairProgress()
            for _ in range(_MAX_ROUNDS):  # repeated, because another bookie may be lost during the copies
                before = progress.repaired
                if report.damaged:
                    progress.problems.clear()
                    stored = await self._repair(stored, report, progress, shown)
                if progress.repaired == before:
                    break
                # The next check reads all entries of the bookies that lacked entries, but only a sample from bookies
                # that are new in an ensemble.
                in_place = {loss.bookie_id for loss in report.losses()}
                stored = await self._read(ledger_id)
                report = await self._checker.check(ledger_id, stored.value, in_place, report)
            if report.is_whole:
                progress.problems.clear()
                await self._place(stored, report, progress)
            shortage = await self._shortage(stored.value, [loss for _, loss in _open_losses(report)])
        except NoSuchLedgerMetadataError:
            return Attempt(RepairState.DELETED)
        return _verdict(report, progress, shortage)

    async def attempt_after_grace(self, ledger_id: int, replicas: Collection[str], before: CheckReport) -> Attempt:
        """Repair a ledger after its grace period; first recover the ledger if a new check finds the same losses.

        :param before: report of the check that was made before the grace period.
        :raises bookkeeper_twisted.errors.BookKeeperError: the check could not be made.
        """
        try:
            stored = await self._read(ledger_id)
            if not stored.value.closed:
                report = await self._checker.check(ledger_id, stored.value, _suspects(stored.value, replicas))
                lasting = _lasting(before, report)
                if lasting and (shortage := await self._shortage(stored.value, lasting)) is not None:
                    reason = f"it is left to its writer: {shortage}"
                    return Attempt(RepairState.IMPOSSIBLE, reason, shortage, report=report)
                if lasting and (failure := await self._recover(ledger_id, stored, lasting)) is not None:
                    return attrs.evolve(failure, report=report)
        except NoSuchLedgerMetadataError:
            return Attempt(RepairState.DELETED)
        return await self.attempt(ledger_id, replicas)

    async def _read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        await self._metadata_limit.acquire(user=repair_of(ledger_id))
        return await self._context.ledgers.read(ledger_id)

    async def _repair(
        self, stored: Versioned[LedgerMetadata], report: CheckReport, progress: _RepairProgress, shown: CopyProgress
    ) -> Versioned[LedgerMetadata]:
        """Repair each closed fragment with missing entries; after an error, continue with the next fragment.

        :param stored: the metadata of the ledger.
        :param report: the check that found the missing entries.
        :param progress: counts the repaired fragments, and collects the errors.
        :param shown: counts the copies, for the status pages.
        :returns: the metadata after the repair.
        """
        final = [damaged for damaged in report.damaged if damaged.fragment.closed]
        shown.fragments += len(final)
        shown.entries += sum(map(_lost_copies, final))
        for damaged in final:
            try:
                stored = await self._replicator.repair(stored, damaged, shown.count)
            except (NoSuchLedgerMetadataError, ClientClosedError):
                raise
            except BookKeeperError as error:
                progress.problems.append(error)
            else:
                progress.repaired += 1
            shown.done += 1
        return stored

    async def _place(self, stored: Versioned[LedgerMetadata], report: CheckReport, progress: _RepairProgress) -> None:
        """Move replicas of a complete ledger, if configured, so that its fragments comply with the placement policy."""
        if self._placement is None:
            return
        for fragment in (one.fragment for one in report.fragments if one.fragment.closed):
            try:
                moving = await self._placement.misplaced(fragment, stored.value)
                if moving.losses:
                    stored = await self._replicator.repair(stored, moving)
                    progress.moved += 1
            except (NoSuchLedgerMetadataError, ClientClosedError):
                raise
            except BookKeeperError as error:
                progress.problems.append(error)

    async def _shortage(
        self, metadata: LedgerMetadata, lasting: Collection[ReplicaLoss]
    ) -> NotEnoughBookiesError | None:
        """Return an error if no bookie is available to replace any of the lost bookies; else None.

        The result is also None if one of the losses has another cause than a lost bookie.  After an error, the caller
        must not recover the ledger: this would fence a writer that may be able to continue without the lost bookies.

        :param lasting: the losses in open fragments; after the grace period, those that were also found before it.
        """
        shortage = None
        ensemble, gone = metadata.segments[-1].bookies, [loss.bookie_id for loss in lasting]
        for loss in lasting:
            if loss.kind is not LossKind.GONE:
                return None
            try:
                await self._context.watcher.replace_bookie(
                    loss.position, ensemble, metadata.write_quorum_size, gone, metadata.custom_metadata
                )
            except NotEnoughBookiesError as error:
                shortage = error
            else:
                return None
        return shortage

    async def _recover(
        self, ledger_id: int, stored: Versioned[LedgerMetadata], lasting: Collection[ReplicaLoss]
    ) -> Attempt | None:
        """Recover and close a ledger; return None if this succeeds, else the attempt's result.

        :param lasting: the losses that were found before and after the grace period.
        """
        metadata = stored.value
        digester = Digester(metadata.digest_type, metadata.password)
        try:
            recovered = await LedgerRecovery(self._context, ledger_id, digester).run(stored)
        except (NoSuchLedgerMetadataError, ClientClosedError):
            raise
        except BookKeeperError as error:
            schedule = schedule_of(metadata)
            gone = {loss.position for loss in lasting if loss.kind is LossKind.GONE}
            answering = [position for position in range(metadata.ensemble_size) if position not in gone]
            state = RepairState.WAITING if schedule.is_covered(answering) else RepairState.IMPOSSIBLE
            return Attempt(state, f"it cannot be closed: {error}", error)
        self._log.info(
            "ledger {ledger_id} is closed after entry {last_entry_id}, and its writer is fenced, as it did not "
            "replace {bookies} in the grace period",
            ledger_id=ledger_id, last_entry_id=recovered.value.last_entry_id,
            bookies=", ".join(sorted(f"{loss.bookie_id} ({loss.kind.value})" for loss in lasting)),
        )  # fmt: skip
        return None


def _lost_copies(report: FragmentReport) -> int:
    """Estimate how many copies of entries a fragment lacks.

    In a striped ledger, a bookie stored only a part of the entries in each lost range, so only this share is counted.
    """
    schedule = report.fragment.schedule
    lost = sum(last - first + 1 for loss in report.losses for first, last in loss.ranges)
    return lost * schedule.write_quorum // schedule.ensemble_size


def _suspects(metadata: LedgerMetadata, replicas: Collection[str]) -> frozenset[str]:
    """Return the bookies whose entries must all be read: ``replicas``, or all bookies of the ledger if it is empty."""
    return frozenset(replicas) or metadata.bookies


def _verdict(report: CheckReport, progress: _RepairProgress, shortage: NotEnoughBookiesError | None) -> Attempt:
    """Return the result of an attempt to repair a ledger, by its last check and the errors in ``progress``.

    :param shortage: says that no bookie can replace the bookies that the writer of an open ledger lost; None if one can
        or if none is lost.
    """
    if report.is_whole and not progress.problems:
        return Attempt(RepairState.WHOLE, repaired=progress.repaired, moved=progress.moved, report=report)
    problems = progress.problems
    lasting = next((error for error in problems if isinstance(error, LASTING)), None)
    if any(not one.fragment.closed for one in report.damaged):
        # The ledger is in this state again and again while it cannot be repaired.  So an operator must read here, too,
        # for what else the repair waits.
        state, reason = RepairState.GRACE, "its writer may replace the bookies that it lost"
        if shortage is not None:
            reason += f"; no other bookie can take their place: {shortage}"
        if lasting is not None:
            reason += f"; older fragments cannot be repaired: {lasting}"
    elif lasting is not None:
        state, reason = RepairState.IMPOSSIBLE, str(lasting)
    elif problems:
        state, reason = RepairState.WAITING, str(problems[0])
    else:
        state, reason = RepairState.WAITING, next(_doubts(report), "a bookie lacks entries that it was just given")
    error = lasting or next(iter(problems), None)
    return Attempt(state, reason, error, progress.repaired, progress.moved, report)


def _doubts(report: CheckReport) -> Iterator[str]:
    for one in report.fragments:
        for unsure in one.inconclusive:
            yield f"bookie {unsure.bookie_id} could not be checked: {unsure.cause}"


def _lasting(before: CheckReport, now: CheckReport) -> list[ReplicaLoss]:
    """Return the losses in open fragments that both checks have found.

    A loss in only one of the checks needs no repair: the entries were still being written during the first check, or
    the writer has replaced the bookie since then.
    """
    earlier = {_key(one, loss): loss for one, loss in _open_losses(before)}
    found = []
    for one, loss in _open_losses(now):
        known = earlier.get(_key(one, loss))
        if known is not None and (loss.kind is LossKind.GONE or _overlap(loss.ranges, known.ranges)):
            found.append(loss)
    return found


def _open_losses(report: CheckReport) -> Iterator[tuple[FragmentReport, ReplicaLoss]]:
    for one in report.damaged:
        if not one.fragment.closed:
            for loss in one.losses:
                yield one, loss


def _key(one: FragmentReport, loss: ReplicaLoss) -> tuple[int, int, str, LossKind]:
    return one.fragment.first, loss.position, loss.bookie_id, loss.kind


def _overlap(some: Collection[tuple[int, int]], others: Collection[tuple[int, int]]) -> bool:
    return any(low <= last and first <= high for low, high in some for first, last in others)
