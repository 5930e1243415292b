"""The checker of ledgers: reads and verifies entries to find bookies that lack entries.

Each position of each fragment's ensemble is checked separately.  The check reads all entries that the bookie at this
position should have, or only a sample: the first, the last, and some between.  If a fragment has only a few kilobytes,
all its entries are read by one request, because a sample would need two.  If an entry of a sample is missing or
damaged, all entries of the position are read, so that the report names all lost entries.  If a bookie does not answer
after several tries, the check is inconclusive, but no entry counts as lost.  After several unanswered requests, all
checks leave the bookie out for a while (:mod:`~bookkeeper_twisted.autorecovery.unanswering`).
"""

from collections.abc import Collection, Iterator

import attrs
from zope.interface import implementer

from ...client.reading.context import ReadingContext
from ...client.reading.lac_coverage import LacCoverage
from ...client.steps import for_each
from ...codec.digest import Digester
from ...errors import BookKeeperError, ClientClosedError
from ...ledger.findings import CheckReport, FragmentReport, Inconclusive, LossKind, ReplicaLoss
from ...ledger.fragments import EVERY_ENTRY, LedgerFragment, fragments_of
from ...ledger.read_answers import usual_size_of
from ...ledger.replica_scan import DAMAGED, MISSING, UNREACHABLE, ReplicaScan, lost_ranges
from ...limits.throttle import Throttle
from ...model import INVALID_ENTRY_ID, LedgerMetadata
from ..interfaces import ILedgerChecker
from ..limits import ConcurrencyLimit
from ..metrics import CheckerMetrics
from ..presence import Presence
from ..retries import Retries
from ..unanswering import UnansweringBookies
from .bookie_reads import BookieReads

_SMALL_BYTES = 16 << 10
"""Maximum size in bytes of a fragment whose entries are all read, instead of a sample; the size is estimated."""


@attrs.frozen
class CheckerSettings:
    """The settings of checks of ledgers.

    :ivar percentage: percentage of the entries to read of those that a bookie should store of one fragment; 0 for only
        the first and the last entry, 100 for all entries (``auditorLedgerVerificationPercentage``).
    :ivar max_in_flight: maximum number of unanswered read requests of all checks together; 0 or less for no limit
        (``inFlightReadEntryNumInLedgerChecker``).
    :ivar parallel: maximum number of bookies of one ledger that are checked at the same time.  A bookie in several
        fragments counts once for each of them.
    :ivar batch_bytes: maximum number of bytes of one request.
    """

    percentage: int = 0
    max_in_flight: int = 0
    parallel: int = 6
    batch_bytes: int = 1 << 20
    retries: Retries = attrs.field(factory=Retries)


@implementer(ILedgerChecker)
class LedgerChecker:
    """The checker of the ledgers of one cluster; it may check any number of ledgers at the same time.

    :param reads: the limit of entries and bytes read per second.
    """

    def __init__(
        self, context: ReadingContext, presence: Presence, reads: Throttle, metrics: CheckerMetrics,
        settings: CheckerSettings | None = None,
    ) -> None:  # fmt: skip
        self._context = context
        self._presence = presence
        self._reads = reads
        self._metrics = metrics
        self._settings = settings or CheckerSettings()
        self._in_flight = ConcurrencyLimit(self._settings.max_in_flight)
        self._unanswering = UnansweringBookies(context.clock, "checks of ledgers")
        metrics.watch(self._unanswering)

    def unanswering(self) -> Collection[str]:
        """Return the ids of bookies that did not answer recent requests; checks send them no requests for a while."""
        return self._unanswering.bookies

    async def check(
        self, ledger_id: int, metadata: LedgerMetadata, suspects: Collection[str] = (),
        before: CheckReport | None = None,
    ) -> CheckReport:  # fmt: skip
        """Read entries from the bookies of each fragment of a ledger, and verify them.

        See :meth:`~.interfaces.ILedgerChecker.check` for parameters and errors.
        """
        gone = await self._presence.gone(metadata.bookies, suspects)
        context, settings = self._context, self._settings
        reads = BookieReads(
            context, ledger_id, self._reads, self._in_flight, settings.retries, settings.batch_bytes,
            usual_size_of(metadata), self._metrics, self._unanswering,
        )  # fmt: skip
        whole = frozenset(() if before is None else before.whole())
        check = _LedgerCheck(context, ledger_id, metadata, reads, frozenset(suspects), gone, whole, settings.percentage)
        report = await check.run(settings.parallel)
        self._metrics.checked(report)
        return report


class _LedgerCheck:
    """One check of one ledger."""

    def __init__(
        self, context: ReadingContext, ledger_id: int, metadata: LedgerMetadata, reads: BookieReads,
        suspects: frozenset[str], gone: frozenset[str], whole: frozenset[tuple[int, int, int, str]], percentage: int,
    ) -> None:  # fmt: skip
        self._context = context
        self._ledger_id = ledger_id
        self._metadata = metadata
        self._digester = Digester(metadata.digest_type, metadata.password)
        self._reads = reads
        self._suspects = suspects
        self._gone = gone
        self._whole = whole
        self._percentage = percentage
        self._lost: dict[tuple[int, int], list[ReplicaLoss]] = {}
        self._unsure: dict[tuple[int, int], Inconclusive] = {}

    async def run(self, parallel: int) -> CheckReport:
        last_confirmed, unknown = await self._last_confirmed()
        fragments = list(fragments_of(self._ledger_id, self._metadata, last_confirmed))
        await for_each(self._positions(fragments), lambda position: self._check_position(*position), parallel)
        if unknown is not None:
            newest = len(fragments) - 1
            bookie_id = fragments[newest].ensemble[0]
            self._unsure.setdefault((newest, 0), Inconclusive(0, bookie_id, f"the last add confirmed: {unknown}"))
        totals = self._reads.totals
        reports = tuple(self._report(number, fragment) for number, fragment in enumerate(fragments))
        return CheckReport(self._ledger_id, reports, totals.requests, totals.entries, totals.n_bytes)

    async def _last_confirmed(self) -> tuple[int, BookKeeperError | None]:
        """Return the LAC of an open ledger; if too few bookies answered, also return the error.

        With an error, the true LAC may be higher than the returned LAC.  The returned LAC is at least the last entry
        before the newest ensemble, even if the bookies know only a lower LAC.
        """
        metadata = self._metadata
        if metadata.closed:
            return INVALID_ENTRY_ID, None
        settled = metadata.segments[-1].first_entry_id - 1
        coverage = LacCoverage(self._reads.read_lac, self._digester, self._ledger_id, metadata)
        try:
            known = await coverage.read()
        except ClientClosedError:
            raise
        except BookKeeperError as error:
            return settled, error
        return max(known.last_add_confirmed, settled), None

    def _positions(
        self, fragments: list[LedgerFragment]
    ) -> Iterator[tuple[int, LedgerFragment, int, tuple[int, int]]]:
        """Yield each position whose bookie must be asked for entries, with its fragment.

        If the bookie is lost, record the entries of the position as lost instead.
        """
        whole, suspects = self._whole, self._suspects
        for number, fragment in enumerate(fragments):
            for position, bookie_id in enumerate(fragment.ensemble):
                ends = fragment.ends(position)
                if bookie_id in self._gone:
                    ranges = () if ends is None else (ends,)
                    self._lost[number, position] = [ReplicaLoss(position, bookie_id, LossKind.GONE, ranges)]
                elif ends is None:
                    continue  # this position stores no entry of the fragment
                elif bookie_id in suspects or (fragment.first, fragment.last, position, bookie_id) not in whole:
                    yield number, fragment, position, ends

    async def _check_position(
        self, number: int, fragment: LedgerFragment, position: int, ends: tuple[int, int]
    ) -> None:
        bookie_id = fragment.ensemble[position]
        scan = ReplicaScan(
            self._ledger_id, fragment.schedule, position, self._digester, self._reads.knows_batches(bookie_id)
        )
        percentage = EVERY_ENTRY if bookie_id in self._suspects else self._percentage
        sample = fragment.sample(position, percentage, self._context.chance)
        if sample is None or (scan.batching and self._is_small(fragment)):
            await self._reads.scan(bookie_id, scan.whole(*ends))
        else:
            await self._reads.scan(bookie_id, scan.some(sample))
            if any(one.status in (MISSING, DAMAGED) for one in scan.findings):
                scan.findings.clear()
                await self._reads.scan(bookie_id, scan.whole(*ends))
        self._note(number, position, bookie_id, scan)

    def _is_small(self, fragment: LedgerFragment) -> bool:
        return self._metadata.closed and fragment.count * usual_size_of(self._metadata).n_bytes <= _SMALL_BYTES

    def _note(self, number: int, position: int, bookie_id: str, scan: ReplicaScan) -> None:
        losses = []
        for kind, state in ((LossKind.MISSING, MISSING), (LossKind.DAMAGED, DAMAGED)):
            ranges = tuple(lost_ranges(scan.findings, state))
            if ranges:
                losses.append(ReplicaLoss(position, bookie_id, kind, ranges))
        if losses:
            self._lost[number, position] = losses
        causes = [one.detail for one in scan.findings if one.status == UNREACHABLE]
        if causes:
            self._unsure[number, position] = Inconclusive(position, bookie_id, causes[0])

    def _report(self, number: int, fragment: LedgerFragment) -> FragmentReport:
        positions = range(len(fragment.ensemble))
        losses = tuple(loss for position in positions for loss in self._lost.get((number, position), ()))
        unsure = tuple(self._unsure[number, position] for position in positions if (number, position) in self._unsure)
        return FragmentReport(fragment, losses, unsure)
