"""The replicator: makes a fragment of a ledger complete again.

A bookie that is writable gets back what it lacks, and nothing changes in the metadata.  Where a bookie is gone or
read-only, the placement policy chooses another one, which gets everything that the position keeps; only after that is
acknowledged does the metadata name it (S19).  A crash at any moment leaves extra copies and nothing else.  A target
that fails is replaced, a bounded number of times.
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
from ..metrics import ReplicationMetrics
from ..presence import Presence
from .copying import CopyLimits, CopySettings, FragmentCopy, LatencyProbe

MAX_NAMED = 100
"""Entries that an error names."""

MAX_ROUNDS = 3
"""The most choices of targets for one fragment."""


@attrs.define
class _FragmentWork:
    """The progress of the repair of one fragment.

    :ivar hopeless: entries that every bookie of their write set has lost.
    :ivar lost: the losses of each position that no target has completed.
    :ivar excluded: bookies that must not be targets.
    :ivar repaired: the bookie of each position that is done.
    :ivar shortage: why a position had no target.
    :ivar failed: the error of the last target that failed.
    """

    fragment: LedgerFragment
    hopeless: Sequence[CopyRun]
    lost: dict[int, list[ReplicaLoss]]
    excluded: set[str]
    repaired: dict[int, str] = attrs.field(factory=dict)
    shortage: NotEnoughBookiesError | None = None
    failed: Exception | None = None

    @property
    def ensemble(self) -> tuple[str, ...]:
        """Return the bookies of the fragment after the replacements so far."""
        return tuple(self.repaired.get(position, old) for position, old in enumerate(self.fragment.ensemble))

    def done(self, targets: Mapping[int, str], failed: Mapping[str, Exception]) -> None:
        """Record the results of a round: the repaired positions in the ensemble, and the targets that failed."""
        for position, target in targets.items():
            if target in failed:
                self.excluded.add(target)
                self.failed = failed[target]
            else:
                self.repaired[position] = target
                del self.lost[position]


def _lost_everywhere(report: FragmentReport, hopeless: Sequence[CopyRun]) -> EntriesLostError:
    """Return the error for entries that cannot be copied, because each bookie of their write set has lost them."""
    ids = tuple(islice((n for run in hopeless for n in range(run.first, run.last + 1)), MAX_NAMED))
    losses = [
        f"{loss.bookie_id} is gone" if loss.kind is LossKind.GONE else f"{loss.kind.value} at {loss.bookie_id}"
        for loss in report.losses
        if any(low <= ids[0] <= high for low, high in loss.ranges)
        and report.fragment.schedule.keeps(loss.position, ids[0])
    ]
    return EntriesLostError(report.fragment.ledger_id, ids, ", ".join(losses))


class FragmentReplicator:
    """The replicator of one cluster, which repairs fragments of ledgers, any number at a time.

    :param metadata_limit: of requests to the metadata store.
    :param never: bookies that must not be targets, although they may be writable.
    :param probe: of the latency at the bookies; None: nothing watches it.
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

    async def repair(self, stored: Versioned[LedgerMetadata], report: FragmentReport) -> Versioned[LedgerMetadata]:
        """Copy to a fragment the entries that a check found missing.

        Cancelling it ends reads and writes; copies that were made remain as extra copies.

        :param stored: the metadata that were checked.
        :returns: the metadata after that.
        :raises IllegalOperationError: the fragment belongs to a writer that may be alive.
        :raises EntriesLostError: no bookie has some entries; the others were copied if possible, the metadata stay.
        :raises NotEnoughBookiesError: too few bookies are writable for some of the positions.
        :raises WriteError: targets failed, and so did targets chosen after them.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger was deleted during the repair.
        :raises bookkeeper_twisted.errors.BookKeeperError: bookies or the metadata store could not be asked.
        """
        fragment = report.fragment
        if not fragment.closed:
            raise IllegalOperationError(f"ledger {fragment.ledger_id} from entry {fragment.first} on is not final")
        work = _FragmentWork(fragment, list(lost_everywhere(fragment, report.losses)), {}, set())
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
        """Copy entries to a target for each position that lacks entries; return whether a target was found."""
        fragment = work.fragment
        targets = await self._targets(metadata, work)
        if not targets:
            return False
        copies = FragmentCopy(
            context, fragment.ledger_id, metadata, self._limits, self._metrics, self._settings, self._probe
        )  # fmt: skip
        plan = copy_plan(fragment, losses_of_targets(fragment, work.lost, targets), targets)
        await copies.run(without(plan, work.hopeless))
        if copies.unreadable:
            ids = tuple(sorted(copies.unreadable))
            raise EntriesLostError(fragment.ledger_id, ids, str(copies.unreadable[ids[0]]))
        work.done(targets, copies.failed)
        return True

    async def _targets(self, metadata: LedgerMetadata, work: _FragmentWork) -> dict[int, str]:
        """Choose a target bookie for each position that lacks entries; leave out positions without a target."""
        targets: dict[int, str] = {}
        ensemble = list(work.ensemble)
        work.shortage = None
        for position in sorted(work.lost):
            bookie_id = ensemble[position]
            if bookie_id in work.excluded:
                try:
                    ensemble[position] = await self._another(metadata, position, ensemble, work.excluded)
                except NotEnoughBookiesError as error:
                    work.shortage = NotEnoughBookiesError(f"no bookie can take the place of {bookie_id}: {error}")
                    continue
            targets[position] = ensemble[position]
        return targets

    async def _another(
        self, metadata: LedgerMetadata, position: int, ensemble: list[str], excluded: Collection[str]
    ) -> str:
        return await self._context.watcher.replace_bookie(
            position, ensemble, metadata.write_quorum_size, excluded, metadata.custom_metadata
        )

    async def _moved(
        self, stored: Versioned[LedgerMetadata], ledger_id: int, moves: Moves
    ) -> Versioned[LedgerMetadata]:
        """Replace the old bookies by the new bookies in the metadata, after all copies are acknowledged."""
        await self._metadata_limit.acquire()
        return await update(self._context.ledgers, ledger_id, stored, moves.are_needed, moves.apply)
