"""The repair of a marked ledger: check it, complete its final fragments, check again; move replicas if configured.

A mark names bookies, and of these every entry is read, so that damage in the middle is found; a mark that names none
makes suspects of all.  One fragment that cannot be repaired does not hold up the next.  Fragments of a writer that may
be alive are left alone for a grace period, in which the writer replaces a lost bookie itself.  Only if the very same
loss is still there after it, the ledger is recovered, which fences the writer; not where no bookie could take the place
of one that is gone.
"""

from collections.abc import Collection, Iterator
from enum import Enum

import attrs

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
from ..interfaces import ILedgerChecker
from .fragment_replicator import FragmentReplicator
from .placement import Placement

LASTING = (EntriesLostError, NotEnoughBookiesError)
"""Errors that go away only if bookies come back or are added."""

_MAX_ROUNDS = 3
"""Checks of one attempt that are followed by copies."""


class RepairState(Enum):
    """The outcomes of an attempt to repair a ledger."""

    WHOLE = "whole"
    """Every entry is on its full write set."""
    DELETED = "deleted"
    """The ledger does not exist."""
    GRACE = "grace"
    """The loss is in fragments of a writer that may be alive, and may replace the bookie itself."""
    WAITING = "waiting"
    """Bookies or the metadata store could not be asked; a later attempt may succeed without a change."""
    IMPOSSIBLE = "impossible"
    """No bookie has some entries, or there are too few bookies: bookies must come back, or be added."""


@attrs.frozen
class Attempt:
    """One attempt to repair a ledger.

    :ivar reason: why the ledger is not whole.
    :ivar error: the error that ended the attempt or the repair of a fragment.
    :ivar repaired: fragments that were made complete; ``moved``: that were complete, and moved.
    :ivar report: of the last check, of a ledger that exists.
    """

    state: RepairState
    reason: str = ""
    error: Exception | None = None
    repaired: int = 0
    moved: int = 0
    report: CheckReport | None = None


@attrs.define
class _RepairProgress:
    """The fragments of one attempt: how many were repaired or moved, and why others were not."""

    repaired: int = 0
    moved: int = 0
    problems: list[BookKeeperError] = attrs.field(factory=list)


class LedgerRepair:
    """The repair of the ledgers of one cluster, any number at a time.

    :param metadata_limit: of requests to the metadata store.
    :param placement: finds replicas to be moved, if marked ledgers are to keep to the placement policy.
    """

    def __init__(
        self, context: ClientContext, checker: ILedgerChecker, replicator: FragmentReplicator, metadata_limit: Throttle,
        placement: Placement | None = None,
    ) -> None:  # fmt: skip
        self._context = context
        self._checker = checker
        self._replicator = replicator
        self._metadata_limit = metadata_limit
        self._placement = placement

    async def attempt(self, ledger_id: int, replicas: Collection[str]) -> Attempt:
        """Repair the final fragments of a ledger; never fences a writer.

        :param replicas: the bookies that the mark names.
        :raises bookkeeper_twisted.errors.BookKeeperError: the check could not be made.
        """
        try:
            stored = await self._read(ledger_id)
            report = await self._checker.check(ledger_id, stored.value, _suspects(stored.value, replicas))
            progress = _RepairProgress()
            for _ in range(_MAX_ROUNDS):  # repeat, because another bookie may be lost during the copies
                before = progress.repaired
                if report.damaged:
                    progress.problems.clear()
                    stored = await self._repair(stored, report, progress)
                if progress.repaired == before:
                    break
                # check again: all entries of bookies repaired in place, and a sample of those on new bookies
                in_place = {loss.bookie_id for loss in report.losses()}
                stored = await self._read(ledger_id)
                report = await self._checker.check(ledger_id, stored.value, in_place, report)
            if report.is_whole:
                progress.problems.clear()
                await self._place(stored, report, progress)
        except NoSuchLedgerMetadataError:
            return Attempt(RepairState.DELETED)
        return _verdict(report, progress)

    async def attempt_after_grace(self, ledger_id: int, replicas: Collection[str], before: CheckReport) -> Attempt:
        """Repair a ledger whose open fragments had losses a grace period ago; recover it if these losses remain.

        :param before: of that time.
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
        await self._metadata_limit.acquire()
        return await self._context.ledgers.read(ledger_id)

    async def _repair(
        self, stored: Versioned[LedgerMetadata], report: CheckReport, progress: _RepairProgress
    ) -> Versioned[LedgerMetadata]:
        """Repair each final fragment on its own."""
        for damaged in report.damaged:
            if not damaged.fragment.closed:
                continue
            try:
                stored = await self._replicator.repair(stored, damaged)
            except (NoSuchLedgerMetadataError, ClientClosedError):
                raise
            except BookKeeperError as error:
                progress.problems.append(error)
            else:
                progress.repaired += 1
        return stored

    async def _place(self, stored: Versioned[LedgerMetadata], report: CheckReport, progress: _RepairProgress) -> None:
        """Move replicas of a complete ledger to the bookies that the placement policy demands."""
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
        """Return the error that explains why no bookie can take copies of the lost entries; None if a bookie can.

        Recovering the ledger would then only end a writer that goes on without the lost bookies.
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
        """Recover a ledger that has lost bookies; return None once it is closed, else the failed attempt."""
        metadata = stored.value
        digester = Digester(metadata.digest_type, metadata.password)
        try:
            await LedgerRecovery(self._context, ledger_id, digester).run(stored)
        except (NoSuchLedgerMetadataError, ClientClosedError):
            raise
        except BookKeeperError as error:
            schedule = schedule_of(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
            gone = {loss.position for loss in lasting if loss.kind is LossKind.GONE}
            answering = [position for position in range(metadata.ensemble_size) if position not in gone]
            state = RepairState.WAITING if schedule.is_covered(answering) else RepairState.IMPOSSIBLE
            return Attempt(state, f"it cannot be closed: {error}", error)
        return None


def _suspects(metadata: LedgerMetadata, replicas: Collection[str]) -> frozenset[str]:
    """Return the bookies whose entries are all read: the given ``replicas`` or, without any, all bookies."""
    return frozenset(replicas) or metadata.bookies


def _verdict(report: CheckReport, progress: _RepairProgress) -> Attempt:
    """Return the result of an attempt, from its last check and the earlier problems."""
    if report.is_whole and not progress.problems:
        return Attempt(RepairState.WHOLE, repaired=progress.repaired, moved=progress.moved, report=report)
    problems = progress.problems
    lasting = next((error for error in problems if isinstance(error, LASTING)), None)
    if any(not one.fragment.closed for one in report.damaged):
        state, reason = RepairState.GRACE, "its writer may replace the bookies that it lost"
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
    """Return the losses in the writer's fragments that both checks have found.

    What a bookie lacked in only one check was still being written, or the writer has replaced the bookie since.
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
