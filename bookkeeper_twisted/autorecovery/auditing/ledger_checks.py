"""The auditor's three periodic checks of all ledgers.

:class:`AllLedgersCheck` reads entries from each bookie.  :class:`PlacementCheck` tests whether ensembles comply with
the placement policy.  :class:`ReplicasCheck` asks the bookies for lists of their entries, and counts the replicas.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

import attrs
from twisted.internet.interfaces import IReactorTime

from ...client.interfaces import IBookieClient
from ...client.steps import for_each
from ...errors import BookKeeperError, NoSuchLedgerError, NotUnderreplicatedError
from ...ledger.findings import LossKind, ReplicaLoss
from ...ledger.placement import Adherence
from ...ledger.schedule import Ranges, fewest_replicas, schedule_of
from ...metadata.interfaces import IUnderreplication
from ...model import AuditorCheck, LedgerMetadata
from ...placement.interfaces import IPlacementPolicy
from ..interfaces import ILedgerChecker
from ..unanswering import UnansweringBookies
from .auditor_metrics import AuditorMetrics
from .bookie_audit import Marker
from .ledger_scan import LedgerCallback, LedgerScan, SharedWalks
from .repeating import FIRST_PAUSE

LATER_ROUNDS = 3
"""Number of repeated checks of a ledger, after the check of all ledgers, if one of its bookies did not answer."""
MOST_ROUNDS = 8
"""Maximum number of repeated checks of a ledger if its bookies have stopped answering any request.

The pauses before these 8 checks add up to 21 minutes, so that a bookie has time to answer again.
"""
MOST_LATER = 100_000
"""Maximum number of ledgers whose check is repeated because a bookie did not answer; their ids need memory."""
_TURNS = (AuditorCheck.ALL_LEDGERS, AuditorCheck.PLACEMENT, AuditorCheck.REPLICAS)
"""The order in which the checks process one ledger; the first check may mark it, and the others skip marked ledgers."""


@attrs.frozen
class CheckContext:
    """The objects that all periodic checks use.

    :ivar scan: reads the metadata of single ledgers.
    :ivar make_marker: a function that makes the :class:`~.bookie_audit.Marker` for one run of a check; it marks
        underreplicated ledgers.
    :ivar pause: a function that waits for some seconds.
    """

    clock: IReactorTime
    scan: LedgerScan
    walks: SharedWalks
    underreplication: IUnderreplication
    make_marker: Callable[[], Marker]
    metrics: AuditorMetrics
    pause: Callable[[float], Awaitable[None]]

    async def timed(self, check: AuditorCheck, run: Awaitable[None]) -> None:
        """Await ``run``, one run of a periodic ``check``; record its duration in the metrics.

        :raises Exception: the error of ``run``.
        """
        started = self.clock.seconds()
        summary = self.metrics.checks[check]
        try:
            await run
        except BaseException:
            summary.failure.record((self.clock.seconds() - started) * 1000)
            raise
        summary.success.record((self.clock.seconds() - started) * 1000)

    async def walk(self, check: AuditorCheck, on_ledger: LedgerCallback) -> None:
        """Call ``on_ledger`` with the id and metadata of each ledger, for a ``check``.

        Checks that begin within a second share one pass over all ledgers, so that the metadata of each ledger are read
        once.  If an audit of lost bookies is in the same pass, it processes each ledger before the checks.

        :param on_ledger: the function to call for each ledger.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata of some ledgers could not be read.
        """
        await self.walks.run(on_ledger, 1 + _TURNS.index(check))

    def marked(self, marker: Marker) -> None:
        """Record in the metrics how many ledgers and bytes the ``marker`` of a check has marked."""
        self.metrics.marked.success.record(marker.marked)
        self.metrics.marked_bytes.success.record(marker.n_bytes)


@attrs.frozen
class _Unsure:
    """The result of an inconclusive check of a ledger: one of its bookies did not answer.

    :ivar losses: the losses that the check has found on other bookies; a loss is a bookie and the entries that it
        lacks.
    :ivar bookies: ids of the bookies that could not answer.
    """

    losses: Collection[ReplicaLoss]
    bookies: frozenset[str]


@attrs.frozen
class AllLedgersCheck:
    """The check that reads entries from every bookie of a ledger, and marks a ledger if a bookie lacks entries.

    A ledger is not marked merely because a bookie did not answer.  It is checked again after all ledgers were checked,
    if the bookie answers other requests by then.

    :ivar is_expected: tests whether a bookie is registered, or was lost so recently that the auditor still waits for
        its return.
    """

    context: CheckContext
    checker: ILedgerChecker
    is_expected: Callable[[str], bool]

    async def run(self) -> None:
        """Check all ledgers one time, and record the duration in the metrics.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed before the check was complete.
        """
        await self.context.timed(AuditorCheck.ALL_LEDGERS, self._run())

    async def _run(self) -> None:
        marker, later = self.context.make_marker(), dict[int, _Unsure]()
        await self.context.walk(AuditorCheck.ALL_LEDGERS, partial(self._check, marker, later))

        async def again(ledger_id: int) -> None:
            metadata = await self.context.scan.read(ledger_id)
            if metadata is not None:
                await self._check(marker, later, ledger_id, metadata, unsure[ledger_id].losses)

        async def again_if_answered(ledger_id: int) -> None:
            if self._is_hopeless(unsure[ledger_id], still_silent):
                later[ledger_id] = unsure[ledger_id]
            else:
                await again(ledger_id)

        for number in range(MOST_ROUNDS):
            if not any(number < LATER_ROUNDS or self._is_hopeless(one) for one in later.values()):
                break
            await self.context.pause(FIRST_PAUSE * 2**number)
            unsure, later = later, {}
            # For each bookie that does not answer, check one of its ledgers first, to find out whether the bookie
            # answers again.
            hopeless = {ledger_id: one for ledger_id, one in unsure.items() if self._is_hopeless(one)}
            first = {bookie_id: ledger_id for ledger_id, one in hopeless.items() for bookie_id in one.bookies}
            chosen = set(first.values())
            await for_each(chosen, again, self.context.scan.parallel)
            # Only a bookie to which these checks have sent requests is known to be still silent.  The result of
            # checker.unanswering() may also contain bookies that got no request, because they are lost by now or no
            # longer in the ensembles.
            still_silent = {bookie_id for ledger_id in chosen & later.keys() for bookie_id in later[ledger_id].bookies}
            others = [ledger_id for ledger_id in unsure if ledger_id not in chosen]
            await for_each(others, again_if_answered, self.context.scan.parallel)
        self.context.metrics.inconclusive.value += len(later)
        self.context.marked(marker)

    async def _check(
        self, marker: Marker, later: dict[int, _Unsure], ledger_id: int, metadata: LedgerMetadata,
        known: Collection[ReplicaLoss] = (),
    ) -> None:  # fmt: skip
        """Check a ledger; mark it as underreplicated if one of its bookies lacks entries.

        :param later: the inconclusive results by ledger id; if a bookie could not answer, this method adds the result,
            so that the caller checks the ledger again later.
        :param known: empty at the first check of a ledger.  At a repeated check, the losses for which the ledger was
            marked at the check before; a loss is a bookie and the entries that it lacks.
        """
        metrics = self.context.metrics
        report = await self.checker.check(ledger_id, metadata)
        metrics.checked.value += 1
        metrics.fragments_per_ledger.success.record(len(metadata.segments))
        metrics.bookies_per_ledger.success.record(len(metadata.bookies))
        losses = [loss for loss in report.losses() if not self._is_waited_for(loss)]
        new = [loss for loss in losses if loss not in known]
        bad = {loss.bookie_id for loss in new if loss.kind is not LossKind.GONE}
        if gone := {loss.bookie_id for loss in new if loss.kind is LossKind.GONE}:
            # Do not write the mark again for a lost bookie that it already names: the audit of lost bookies also writes
            # such marks.  Always mark missing or damaged entries, because only this check finds them.
            bad |= gone.difference(await marker.marked_bookies(ledger_id) or ())
        if bad:
            await marker.mark(ledger_id, metadata.length, bad)
        if not report.is_conclusive and len(later) < MOST_LATER:
            unsure = (position.bookie_id for one in report.fragments for position in one.inconclusive)
            later[ledger_id] = _Unsure(losses, frozenset(unsure))

    def _is_hopeless(self, unsure: _Unsure, among: Collection[str] | None = None) -> bool:
        """Test whether another check of a ledger would be inconclusive again, because its bookies still do not answer.

        :param among: ids of bookies; all other bookies are assumed to answer.  None: no bookie is assumed to answer.
        """
        silent = set(self.checker.unanswering())
        return unsure.bookies <= (silent if among is None else silent & set(among))

    def _is_waited_for(self, loss: ReplicaLoss) -> bool:
        return loss.kind is LossKind.GONE and self.is_expected(loss.bookie_id)


@attrs.frozen
class PlacementCheck:
    """The check that counts closed ledgers that violate the placement policy, and old underreplicated marks.

    :ivar repairs: whether to mark ledgers that violate the policy as underreplicated; such a mark has no bookie ids.
    :ivar grace_period: age in seconds from which on an underreplicated mark is old; 0 if old marks are not counted.
    """

    context: CheckContext
    policy: IPlacementPolicy
    repairs: bool
    grace_period: float
    now_ms: Callable[[], int]

    async def run(self) -> None:
        """Check all ledgers one time, and record the duration in the metrics.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed before the check was complete.
        """
        await self.context.timed(AuditorCheck.PLACEMENT, self._run())

    async def _run(self) -> None:
        marker, not_adhering = self.context.make_marker(), Counter[str]()

        async def on_ledger(ledger_id: int, metadata: LedgerMetadata) -> None:
            if metadata.closed and not await self._adheres(metadata):
                not_adhering["ledgers"] += 1
                if self.repairs and await marker.marked_bookies(ledger_id) is None:
                    await marker.mark(ledger_id, metadata.length, ())

        await self.context.walk(AuditorCheck.PLACEMENT, on_ledger)
        left_behind = await self._left_behind()
        findings = self.context.metrics.findings
        findings.not_adhering, findings.left_behind = not_adhering["ledgers"], left_behind
        self.context.marked(marker)

    async def _adheres(self, metadata: LedgerMetadata) -> bool:
        for segment in metadata.segments:
            await self.policy.prepare(segment.bookies)
            if self.policy.adherence(segment.bookies, metadata.write_quorum_size) is Adherence.FAIL:
                return False
        return True

    async def _left_behind(self) -> int:
        if not self.grace_period:
            return 0
        limit, count = self.now_ms() - self.grace_period * 1000, 0
        async for ledger_id in self.context.underreplication.marked_ledgers():
            try:
                mark = (await self.context.underreplication.read_mark(ledger_id)).value
            except NotUnderreplicatedError:
                continue
            count += mark.ctime is not None and mark.ctime < limit
        return count


@attrs.frozen
class ReplicasCheck:
    """The check that asks bookies which entries they have, and counts ledgers with an entry that has too few replicas.

    Only closed ledgers without an underreplicated mark are checked.  This check writes no marks.

    :ivar unanswering: the record of bookies that do not answer these requests.
    """

    context: CheckContext
    bookies: IBookieClient
    unanswering: UnansweringBookies

    async def run(self) -> None:
        """Check all ledgers one time, and record the duration in the metrics.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed before the check was complete.
        """
        await self.context.timed(AuditorCheck.REPLICAS, self._run())

    async def _run(self) -> None:
        counts: Counter[str] = Counter()
        await self.context.walk(AuditorCheck.REPLICAS, self._counting(counts))
        findings = self.context.metrics.findings
        findings.no_replica = counts["none"]
        findings.below_ack_quorum = counts["ack"]
        findings.below_write_quorum = counts["write"]

    def _counting(self, counts: Counter[str]) -> LedgerCallback:
        marker = self.context.make_marker()

        async def on_ledger(ledger_id: int, metadata: LedgerMetadata) -> None:
            if not metadata.closed or metadata.last_entry_id < 0:
                return
            if await marker.marked_bookies(ledger_id) is not None:
                return
            fewest = await self._fewest(ledger_id, metadata)
            if fewest is None:
                self.context.metrics.inconclusive.value += 1
            elif fewest == 0:
                counts["none"] += 1
            elif fewest < metadata.ack_quorum_size:
                counts["ack"] += 1
            elif fewest < metadata.write_quorum_size:
                counts["write"] += 1

        return on_ledger

    async def _fewest(self, ledger_id: int, metadata: LedgerMetadata) -> int | None:
        """Return the number of replicas of the entry that has the fewest; None if a bookie did not list its entries."""
        listed: dict[str, Ranges] = {}
        try:
            for bookie_id in sorted(metadata.bookies):
                listed[bookie_id] = await self._list(bookie_id, ledger_id)
        except BookKeeperError:
            return None
        schedule = schedule_of(metadata)
        starts = [segment.first_entry_id for segment in metadata.segments[1:]]
        ends: Collection[int] = [*[start - 1 for start in starts], metadata.last_entry_id]
        return min(
            fewest_replicas(schedule, segment.first_entry_id, last, [listed[b] for b in segment.bookies])
            for segment, last in zip(metadata.segments, ends, strict=True)
        )

    async def _list(self, bookie_id: str, ledger_id: int) -> Sequence[tuple[int, int]]:
        try:
            return await self.unanswering.ask(bookie_id, partial(self.bookies.list_entries, bookie_id, ledger_id))
        except NoSuchLedgerError:
            return ()
