"""The audit of lost bookies: it marks every ledger that has a lost bookie in one of its ensembles."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import ClassVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...client.steps import for_each
from ...errors import NotUnderreplicatedError
from ...limits.throttle import Throttle
from ...metadata.interfaces import IUnderreplication
from ...metadata.undecoded import UndecodedLedgers
from ...model import LedgerMetadata
from ..switch import Switch
from .auditor_metrics import AuditorMetrics
from .ledger_scan import LedgerCallback, LedgerScan


class Marker:
    """Marks ledgers as underreplicated for one audit or check, within a speed limit, and counts these ledgers.

    :param switch: the switch of autorecovery; before each mark, the store is asked whether it is on.
    :param operations: the speed limit of requests that read or write underreplicated marks.
    :param now_ms: a function that returns the time in ms since the epoch; None to store marks without a time.
    :ivar marked: number of marked ledgers.
    :ivar n_bytes: sum of the lengths of the marked ledgers, in bytes.
    """

    def __init__(
        self, underreplication: IUnderreplication, switch: Switch, operations: Throttle,
        now_ms: Callable[[], int] | None,
    ) -> None:  # fmt: skip
        self.marked = 0
        self.n_bytes = 0
        self._underreplication = underreplication
        self._switch = switch
        self._operations = operations
        self._now_ms = now_ms

    async def mark(self, ledger_id: int, length: int, replicas: Collection[str]) -> None:
        """Mark a ledger as underreplicated; while autorecovery is switched off, wait.

        :param length: length of the ledger in bytes, which is added to :attr:`n_bytes`.
        :param replicas: ids of the bookies that lack entries; empty if these bookies are unknown.
        """
        await self._operations.acquire(user=f"audit, ledger {ledger_id}")
        await self._switch.confirm()
        ctime = None if self._now_ms is None else self._now_ms()
        await self._underreplication.mark(ledger_id, sorted(replicas), ctime)
        self.marked += 1
        self.n_bytes += length

    async def marked_bookies(self, ledger_id: int) -> Collection[str] | None:
        """Return the ids of the bookies in a ledger's underreplicated mark; None if the ledger is not marked.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed.
        """
        await self._operations.acquire(user=f"audit, ledger {ledger_id}")
        try:
            return (await self._underreplication.read_mark(ledger_id)).value.replicas
        except NotUnderreplicatedError:
            return None


class LeftOutLedgers:
    """The ledgers that passes could not read, as their metadata cannot be decoded, and that no audit has judged since.

    :ivar ids: maps the id of each of these ledgers to the value of :attr:`noted` when it was noted last.
    :ivar noted: how often ledgers were noted.
    """

    def __init__(self) -> None:
        self.ids: dict[int, int] = {}
        self.noted = 0
        self._changed: Callable[[bool], object] = bool

    def watch(self, changed: Callable[[bool], object]) -> None:
        """Call a function after changes.

        :param changed: called with False when a ledger was noted, and with True when an audit of all ledgers has ended.
        """
        self._changed = changed

    def note(self, ledger_id: int, reason: str = "") -> None:
        """Record that the metadata of a ledger cannot be decoded.

        :param reason: why they cannot be decoded; not kept.
        """
        self.noted += 1
        self.ids[ledger_id] = self.noted
        self._changed(False)

    def judged(self, ledger_id: int, begun: int) -> None:
        """Record that an audit has read a ledger, or that the ledger is deleted.

        An audit does not know of bookies that were lost after it has begun.  So the ledger stays here if it was noted
        after that: another audit may have left it out meanwhile, which knows of them.

        :param begun: the value of :attr:`noted` when the audit began, before it read which bookies are registered.
        """
        if self.ids.get(ledger_id, begun + 1) <= begun:
            del self.ids[ledger_id]

    def audited(self) -> None:
        """Record that an audit of all ledgers is complete."""
        self._changed(True)


class _EnoughError(Exception):
    """Raised to end :meth:`BookieAudit.named` early, when enough bookies were found."""


@attrs.define
class BookieAudit:
    """The audit of lost bookies: it marks their ledgers while it reads the metadata of all ledgers one by one.

    :ivar make_marker: returns the object by which one audit marks ledgers as underreplicated; called once per audit.
    :ivar left_out: the ledgers that audits could not read.
    :ivar ended_ms: when the last complete audit ended, in ms since the epoch; None before the first.
    """

    _log: ClassVar[Logger] = Logger()

    clock: IReactorTime
    now_ms: Callable[[], int]
    scan: LedgerScan
    make_marker: Callable[[], Marker]
    metrics: AuditorMetrics
    left_out: LeftOutLedgers = attrs.field(factory=LeftOutLedgers)
    ended_ms: int | None = None

    async def run(
        self, registered: frozenset[str], is_expected: Callable[[str], bool],
        walk: Callable[[LedgerCallback], Awaitable[object]] | None = None,
    ) -> int:  # fmt: skip
        """Mark each ledger as underreplicated if an ensemble in its metadata contains a lost bookie.

        :param registered: ids of the registered bookies.
        :param is_expected: called with the id of each bookie that is in an ensemble, but not in ``registered``.  It
            returns True if the bookie does not count as lost: the bookie has returned during the audit, or was lost so
            recently that the auditor still waits for its return.
        :param walk: calls its argument with the id and metadata of each ledger, in a pass over all ledgers that
            periodic checks may share.  None: the audit makes a pass of its own, immediately.
        :returns: number of ledgers that were marked.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed before the audit was complete.
        """
        started, marker, found = self.clock.seconds(), self.make_marker(), Counter[str]()
        on_ledger = self._marking(marker, found, registered, is_expected, self.left_out.noted)
        try:
            await (walk or self.scan.run)(on_ledger)
        except BaseException:
            self.metrics.audit.failure.record(self._ms_since(started))
            raise
        self.ended_ms = self.now_ms()
        self._record(self._ms_since(started), marker)
        of_each = ", ".join(f"{count} of bookie {bookie_id}" for bookie_id, count in sorted(found.items()))
        self._log.info("{n} ledgers marked{of_each}", n=marker.marked, of_each=of_each and f": {of_each}")
        if self.left_out.ids:
            text = "{n} ledgers are left out of the audit, as they cannot be read; they are read again after pauses"
            self._log.warn(text, n=len(self.left_out.ids))
        self.left_out.audited()
        return marker.marked

    async def run_again(
        self, ledger_ids: Collection[int], registered: frozenset[str], is_expected: Callable[[str], bool], begun: int
    ) -> int:
        """Mark ledgers that audits have left out as :meth:`run` does; those that cannot be read yet stay left out.

        :param ledger_ids: ids of these ledgers.
        :param registered, is_expected: as for :meth:`run`.
        :param begun: the value of :attr:`LeftOutLedgers.noted` before the registered bookies were read.
        :returns: number of ledgers that were marked.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """
        marker, undecoded = self.make_marker(), UndecodedLedgers()
        on_ledger = self._marking(marker, Counter(), registered, is_expected, begun)

        async def one(ledger_id: int) -> None:
            metadata = await self.scan.read(ledger_id, undecoded)
            if metadata is not None:
                await on_ledger(ledger_id, metadata)
            elif ledger_id not in undecoded.ids:
                self.left_out.judged(ledger_id, begun)

        await for_each(ledger_ids, one, self.scan.parallel)
        return marker.marked

    def _marking(
        self, marker: Marker, found: Counter[str], registered: frozenset[str], is_expected: Callable[[str], bool],
        begun: int,
    ) -> LedgerCallback:  # fmt: skip
        """Return the function of an audit that marks a ledger if it needs it, and counts its lost bookies in ``found``.
        """

        async def on_ledger(ledger_id: int, metadata: LedgerMetadata) -> None:
            lost = {bookie_id for bookie_id in metadata.bookies - registered if not is_expected(bookie_id)}
            if lost:
                await marker.mark(ledger_id, metadata.length, lost)
                found.update(lost)
            self.left_out.judged(ledger_id, begun)

        return on_ledger

    async def count(self, bookie_id: str) -> int:
        """Count the ledgers that have a bookie in one of their ensembles.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata of the ledgers could not be read.
        """
        count = 0

        async def on_ledger(ledger_id: int, metadata: LedgerMetadata) -> None:
            nonlocal count
            count += bookie_id in metadata.bookies

        await self.scan.run(on_ledger)
        return count

    async def named(self, bookies: frozenset[str], enough: int) -> frozenset[str]:
        """Find out which of some ``bookies`` are in an ensemble of at least one ledger.

        :param bookies: ids of the bookies to look for.
        :param enough: the search ends as soon as it has found this number of bookies.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata of the ledgers could not be read.
        """
        found: set[str] = set()

        async def on_ledger(ledger_id: int, metadata: LedgerMetadata) -> None:
            found.update(metadata.bookies & bookies)
            if len(found) >= enough:
                raise _EnoughError

        try:
            await self.scan.run(on_ledger)
        except _EnoughError:
            pass
        return frozenset(found)

    def _ms_since(self, started: float) -> float:
        return (self.clock.seconds() - started) * 1000

    def _record(self, ms: float, marker: Marker) -> None:
        for summary in (self.metrics.audit, self.metrics.index):
            summary.success.record(ms)
        if marker.marked:
            self.metrics.published.success.record(ms)
            self.metrics.marked.success.record(marker.marked)
            self.metrics.marked_bytes.success.record(marker.n_bytes)
