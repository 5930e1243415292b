"""The replicator: copies entries until every replica of a fragment is complete again.

If the bookie at a position is writable, the replicator copies the missing entries to this bookie, and the metadata does
not change.  If the bookie is lost or read-only, the placement policy chooses a new bookie for the position, and the
replicator copies all entries of the position to the new bookie.  It updates the metadata only after the new bookie has
acknowledged these entries (safety rule S19).  So a crash at any moment leaves only extra copies.  If a bookie fails to
store copies, another bookie is chosen, a limited number of times.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import attrs

from ...client.reading.context import ReadingContext
from ...errors import EntriesLostError, IllegalOperationError, NotEnoughBookiesError, WriteError
from ...ledger.copy_plan import CopyRun, copy_plan, losses_of_targets, lost_everywhere, without
from ...ledger.findings import FragmentReport, LossKind, ReplicaLoss
from ...ledger.fragments import LedgerFragment, Moves
from ...limits.throttle import Throttle
from ...metadata.interfaces import Versioned
from ...metadata.update_loop import update
from ...model import LedgerMetadata
from ..interfaces import repair_of
from ..metrics import ReplicationMetrics
from ..presence import Presence
from .copying import Copied, CopyLimits, CopySettings, FragmentCopy, LatencyProbe

MAX_NAMED = 100
"""Maximum number of entry ids in the text of an error."""

MAX_ROUNDS = 3
"""Maximum number of attempts to copy the entries of one fragment; each attempt replaces the bookies that failed before.
"""


@attrs.define
class _FragmentWork:
    """The progress of the repair of one fragment.

    :ivar hopeless: entries that every bookie of their write set has lost, as runs (consecutive entries).
    :ivar lost: for each position of the ensemble that is not repaired yet, the entries that its bookie lacks.
    :ivar excluded: ids of bookies that must not get copies.
    :ivar copied: called with the number of entries and bytes after a bookie has stored copies.
    :ivar repaired: for each repaired position of the ensemble, the bookie that now has the entries of this position.
    :ivar shortage: the error of the placement policy if it found no bookie for a position.
    :ivar failed: the error of the last bookie that failed to store copies.
    """

    fragment: LedgerFragment
    hopeless: Sequence[CopyRun]
    lost: dict[int, list[ReplicaLoss]]
    excluded: set[str]
    copied: Copied
    repaired: dict[int, str] = attrs.field(factory=dict)
    shortage: NotEnoughBookiesError | None = None
    failed: Exception | None = None

    @property
    def ensemble(self) -> tuple[str, ...]:
        """Return the ensemble of the fragment, with the new bookies of the positions repaired so far."""
        return tuple(self.repaired.get(position, old) for position, old in enumerate(self.fragment.ensemble))

    def done(self, targets: Mapping[int, str], failed: Mapping[str, Exception]) -> None:
        """Record the results of one attempt to copy entries to the chosen bookies.

        :param targets: for each position to repair, the id of the bookie to which its entries were sent.
        :param failed: the error of each bookie that did not store all these entries, by bookie id.
        """
        for position, target in targets.items():
            if target in failed:
                self.excluded.add(target)
                self.failed = failed[target]
            else:
                self.repaired[position] = target
                del self.lost[position]


def _lost_everywhere(report: FragmentReport, hopeless: Sequence[CopyRun]) -> EntriesLostError:
    """Return the error for entries that cannot be copied, because all bookies of their write sets have lost them."""
    ids = tuple(islice((n for run in hopeless for n in range(run.first, run.last + 1)), MAX_NAMED))
    losses = [
        f"{loss.bookie_id} is gone" if loss.kind is LossKind.GONE else f"{loss.kind.value} at {loss.bookie_id}"
        for loss in report.losses
        if any(low <= ids[0] <= high for low, high in loss.ranges)
        and report.fragment.schedule.keeps(loss.position, ids[0])
    ]
    # The order is not that of the ensemble, so that ledgers on the same bookies have the same reason.
    return EntriesLostError(report.fragment.ledger_id, ids, ", ".join(sorted(losses)))


class FragmentReplicator:
    """The replicator of one cluster; it may repair any number of fragments at the same time.

    :param metadata_limit: the speed limit of requests to the metadata store.
    :param never: ids of bookies that must not get copies, even if they are writable.
    :param probe: decides when only one entry is copied, to measure the latency of bookies; None if this is not needed.
    """

    def __init__(
        self, context: ReadingContext, presence: Presence, limits: CopyLimits, metadata_limit: Throttle,
        metrics: ReplicationMetrics, settings: CopySettings | None = None, never: Collection[str] = (),
        probe: LatencyProbe | None = None,
    ) -> None:  # fmt: skip
        self._probe = probe
        self._never = frozenset(never)
        self._context = context
        self._presence = presence
        self._limits = limits
        self._metadata_limit = metadata_limit
        self._metrics = metrics
        self._settings = settings or CopySettings()

    async def repair(
        self, stored: Versioned[LedgerMetadata], report: FragmentReport, copied: Copied = lambda entries, n_bytes: None
    ) -> Versioned[LedgerMetadata]:
        """Copy the lost entries of a fragment to bookies that lack them; replace lost or read-only bookies.

        If the repair is cancelled, its reads and writes end, and the copies made so far remain as extra copies.

        :param stored: the metadata of the ledger that was checked.
        :param report: the result of the check of the fragment.
        :param copied: called with the number of entries and bytes after a bookie has stored copies.
        :returns: the metadata after the repair.
        :raises IllegalOperationError: the fragment is not closed: a writer may still add entries to it.
        :raises EntriesLostError: some entries are on no bookie.  Other entries may have been copied, but the metadata
            is unchanged.
        :raises NotEnoughBookiesError: too few bookies are writable, so some positions were not repaired.
        :raises WriteError: bookies failed to store copies, in each of several attempts with different bookies.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger was deleted during the repair.
        :raises bookkeeper_twisted.errors.BookKeeperError: bookies or the metadata store did not answer.
        """
        fragment = report.fragment
        if not fragment.closed:
            raise IllegalOperationError(f"ledger {fragment.ledger_id} from entry {fragment.first} on is not final")
        work = _FragmentWork(fragment, list(lost_everywhere(fragment, report.losses)), {}, set(), copied)
        for loss in report.losses:
            work.lost.setdefault(loss.position, []).append(loss)
        unwritable = await self._presence.unwritable(fragment.ensemble)
        leaving = {loss.bookie_id for loss in report.losses if loss.kind in (LossKind.GONE, LossKind.LEAVING)}
        work.excluded |= unwritable | leaving | self._never
        context = self._context.with_flow()
        try:
            for _ in range(MAX_ROUNDS):
                if work.lost and not await self._round(context, stored.value, work):
                    break
        finally:
            context.bookies.retire()
        if work.hopeless:
            raise _lost_everywhere(report, work.hopeless)
        moves = fragment.moves(work.repaired)
        if moves.bookies:
            stored = await self._moved(stored, fragment.ledger_id, moves)
        if work.lost:
            if work.shortage is not None and work.failed is None:
                raise work.shortage
            raise WriteError(
                f"entries from {fragment.first} on of ledger {fragment.ledger_id} were not copied: {work.failed}"
            )
        return stored

    async def _round(self, context: ReadingContext, metadata: LedgerMetadata, work: _FragmentWork) -> bool:
        """For each ensemble position whose bookie lacks entries, choose a bookie, and copy the entries to it.

        Return False if no bookie was found for any of these positions.
        """
        fragment = work.fragment
        targets = await self._targets(metadata, work)
        if not targets:
            return False
        copies = FragmentCopy(
            context, fragment.ledger_id, metadata, self._limits, self._metrics, self._settings, self._probe,
            work.copied,
        )  # fmt: skip
        plan = copy_plan(fragment, losses_of_targets(fragment, work.lost, targets), targets)
        await copies.run(without(plan, work.hopeless))
        if copies.unreadable:
            ids = tuple(sorted(copies.unreadable))
            raise EntriesLostError(fragment.ledger_id, ids, str(copies.unreadable[ids[0]]))
        work.done(targets, copies.failed)
        return True

    async def _targets(self, metadata: LedgerMetadata, work: _FragmentWork) -> dict[int, str]:
        """Choose the bookie to copy to, for each ensemble position whose bookie lacks entries.

        The result has no item for a position for which no bookie can be chosen.
        """
        targets: dict[int, str] = {}
        ensemble = list(work.ensemble)
        work.shortage = None
        for position in sorted(work.lost):
            bookie_id = ensemble[position]
            if bookie_id in work.excluded:
                try:
                    ensemble[position] = await self._context.watcher.replace_bookie(
                        position, ensemble, metadata.write_quorum_size, work.excluded, metadata.custom_metadata
                    )
                except NotEnoughBookiesError as error:
                    work.shortage = NotEnoughBookiesError(f"no bookie can take the place of {bookie_id}: {error}")
                    continue
            targets[position] = ensemble[position]
        return targets

    async def _moved(
        self, stored: Versioned[LedgerMetadata], ledger_id: int, moves: Moves
    ) -> Versioned[LedgerMetadata]:
        """Write the new bookies to the metadata of a ledger; call this only after all copies are acknowledged."""
        await self._metadata_limit.acquire(user=repair_of(ledger_id))
        return await update(self._context.ledgers, ledger_id, stored, moves.are_needed, moves.apply)
