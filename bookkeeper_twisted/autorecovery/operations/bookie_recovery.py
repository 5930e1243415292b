"""Manual recovery of bookies: copies all their entries to other bookies, whether or not their ledgers are marked.

An operator names the bookies.  The replication lock of a ledger is held during its repair, so that no worker repairs it
at the same time.  If a ledger is open and its newest ensemble contains one of the bookies, the ledger is first
recovered and closed, which fences its writer.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from enum import Enum

import attrs
from twisted.internet.interfaces import IReactorTime

from ...client.admin import BookKeeperAdmin
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    CookieNotFoundError,
    IncorrectParameterError,
    LedgerRecoveryError,
    MetadataError,
    NoSuchLedgerMetadataError,
)
from ...ledger.findings import FragmentReport, LossKind, ReplicaLoss
from ...ledger.fragments import fragments_of
from ...limits.throttle import UNLIMITED, Rate, Throttles
from ...metadata.locked_work import under_lock
from ...metadata.undecoded import UndecodedLedgers, undecoded_text
from ...model import LedgerMetadata
from ..limits import REPLICATION_METADATA, REPLICATION_READ, REPLICATION_WRITE
from ..metrics import ReplicationMetrics
from ..presence import Presence
from ..replication.copying import CopyLimits
from ..replication.fragment_replicator import FragmentReplicator


class RecoveryResult(Enum):
    """The possible outcomes of the recovery of one ledger."""

    RECOVERED = "recovered"
    """No ensemble of the ledger contains one of the recovered bookies any more."""
    SKIPPED = "skipped"
    """The ledger is open, and the recovery was told to skip open ledgers."""
    FAILED = "failed"
    """An ensemble of the ledger still contains one of the bookies to recover."""


@attrs.frozen
class PlannedLedger:
    """The planned recovery of one ledger whose ensembles contain some of the bookies to recover.

    :ivar bookies: ids of the bookies in the ledger's ensembles that are to be recovered.
    :ivar is_open: whether the ledger must be recovered and closed first, which fences its writer.
    :ivar n_bytes: estimated size in bytes of the payloads to be copied.
    """

    ledger_id: int
    bookies: frozenset[str]
    is_open: bool
    n_bytes: int


@attrs.frozen
class RecoveredLedger:
    """The result of the recovery of one ledger.

    :ivar reason: why the recovery of the ledger failed; empty if it did not fail.
    :ivar cause: class of the error for which it failed; None if it did not fail.
    """

    ledger_id: int
    result: RecoveryResult
    reason: str = ""
    cause: type[BookKeeperError] | None = None


class BookieRecovery:
    """A manual recovery, which copies all entries of some bookies to other bookies.

    :param admin: the administration of the cluster.
    :param replicator: copies entries; it must not copy them to one of ``bookies``.
    :param bookies: ids of the bookies to recover.  If one of them still runs, entries are also read from it.
    :param skip_open: whether to skip open ledgers.
    :param holder: name of this host, which is stored with the replication locks.
    :ivar undecoded: the ledgers that :meth:`plan` has left out, as their metadata cannot be decoded.
    """

    def __init__(
        self, admin: BookKeeperAdmin, presence: Presence, replicator: FragmentReplicator, bookies: Collection[str],
        skip_open: bool = False, holder: str = "",
    ) -> None:  # fmt: skip
        self._admin = admin
        self._presence = presence
        self._replicator = replicator
        self._locks = admin.client.metadata.underreplication
        self._bookies = frozenset(bookies)
        self._skip_open = skip_open
        self._holder = holder
        self.undecoded = UndecodedLedgers()

    @classmethod
    def assembled(
        cls, clock: IReactorTime, admin: BookKeeperAdmin, bookies: Collection[str], metrics: ReplicationMetrics,
        skip_open: bool = False, holder: str = "", rate: Rate = UNLIMITED,
    ) -> "BookieRecovery":  # fmt: skip
        """Make a recovery with its own speed limiters and replicator.

        :param admin: the administration of the cluster.
        :param bookies: ids of the bookies to recover; no entries are copied to these.
        :param metrics: counts the copies.
        :param skip_open: whether to skip open ledgers.
        :param holder: name of this host, which is stored with the replication locks for people to read.
        :param rate: speed limit of the reads.
        """
        context, throttles = admin.client.context, Throttles(clock, {REPLICATION_READ: rate})
        metadata_limit = throttles.get(REPLICATION_METADATA)
        presence = Presence(clock, context.watcher, admin.client.metadata.registration, metadata_limit)
        limits = CopyLimits(throttles.get(REPLICATION_READ), throttles.get(REPLICATION_WRITE))
        replicator = FragmentReplicator(context, presence, limits, metadata_limit, metrics, never=bookies)
        return cls(admin, presence, replicator, bookies, skip_open, holder)

    async def plan(self) -> AsyncIterator[PlannedLedger]:
        """Yield the ledgers that have one of the bookies to recover in an ensemble, in ascending order of their ids.

        Ledgers whose metadata cannot be decoded may have one, too: they are in :attr:`undecoded` at the end.
        """
        async for ledger_id, metadata in self._admin.ledgers(undecoded=self.undecoded):
            planned = self.planned(ledger_id, metadata)
            if planned is not None:
                yield planned

    def planned(self, ledger_id: int, metadata: LedgerMetadata) -> PlannedLedger | None:
        """Plan the recovery of one ledger; return None if no bookie to recover is in an ensemble of its ``metadata``.

        :param ledger_id: id of the ledger.
        """
        named = self._bookies & metadata.bookies
        if not named:
            return None
        return PlannedLedger(ledger_id, named, self._is_written(metadata), self._estimate(ledger_id, metadata))

    def _is_written(self, metadata: LedgerMetadata) -> bool:
        return not metadata.closed and bool(self._bookies.intersection(metadata.segments[-1].bookies))

    def _estimate(self, ledger_id: int, metadata: LedgerMetadata) -> int:
        """Estimate the number of bytes to copy, by the average size of the ledger's entries.

        Return 0 if the ledger is not closed, because its length is not known then.
        """
        entries = metadata.last_entry_id + 1
        if not metadata.closed or entries <= 0:
            return 0
        copies = sum(
            report.fragment.count * len(report.losses) * metadata.write_quorum_size / metadata.ensemble_size
            for report in self._reports(ledger_id, metadata, self._bookies)
        )
        return int(copies * metadata.length / entries)

    async def unknown(self, planned: Iterable[PlannedLedger]) -> list[str]:
        """Return the ids of bookies to recover that have no cookie and are in no ensemble; they may be mistyped.

        If there are ledgers whose metadata cannot be decoded, no bookie is known to be in no ensemble.

        :param planned: all ledgers that :meth:`plan` yields.
        """
        if self.undecoded.ids:
            return []
        named = frozenset().union(*(ledger.bookies for ledger in planned))
        return sorted(self._bookies - named - await self._admin.all_bookies())

    async def check_gone(self) -> None:
        """Check, before the cookies of the recovered bookies are deleted, that none of these bookies is running.

        :raises IncorrectParameterError: one of the bookies is running.
        """
        if running := sorted(self._bookies & await self._admin.registered_bookies()):
            raise IncorrectParameterError(f"bookie {running[0]} is running: its cookie can't be deleted")

    def unjudged(self, format_id: Callable[[int], str] = str) -> str:
        """Return a text that names the first ledgers that are not recovered as their metadata cannot be decoded.

        :param format_id: formats the id of a ledger.
        :returns: the text; empty if there are no such ledgers.
        """
        what = "may need the bookie" if len(self._bookies) == 1 else "may need the bookies"
        return undecoded_text(self.undecoded.ids, what, format_id) if self.undecoded.ids else ""

    async def forget(self) -> list[str]:
        """Delete the cookies of the recovered bookies; return the ids of the bookies that had a cookie.

        :raises IncorrectParameterError: one of the bookies is running.
        """
        deleted = []
        for bookie_id in sorted(self._bookies):
            try:
                await self._admin.delete_cookie(bookie_id)
            except CookieNotFoundError:
                continue
            deleted.append(bookie_id)
        return deleted

    async def recover(self, planned: PlannedLedger) -> RecoveredLedger:
        """Replace the given bookies in one ledger: copy their entries to other bookies, and update the metadata.

        This method holds the replication lock of the ledger until it returns.  After a cancellation, extra copies may
        remain that the metadata do not name.

        :param planned: the ledger, whose metadata are read again.
        :returns: the result, with the reason if the recovery failed.
        :raises ClientClosedError: the client was closed.
        :raises MetadataError: the metadata store cannot be reached.  Other errors are not raised: they are in the
            result.
        """
        ledger_id = planned.ledger_id
        if planned.is_open and self._skip_open:
            return RecoveredLedger(ledger_id, RecoveryResult.SKIPPED)
        try:
            await under_lock(self._locks, ledger_id, self._holder, lambda: self._repair(ledger_id))
        except BookKeeperError as error:
            if isinstance(error, ClientClosedError):
                raise
            if isinstance(error, MetadataError):
                # Send one more request to the store.  If the store cannot be reached, the request raises MetadataError,
                # which ends the recovery of all ledgers.  Otherwise, each of the remaining ledgers would fail, too,
                # after minutes of retries.
                await self._admin.instance_id()
            if not isinstance(error, NoSuchLedgerMetadataError):  # a ledger that was deleted needs no recovery
                return RecoveredLedger(ledger_id, RecoveryResult.FAILED, str(error), _cause(error))
        return RecoveredLedger(ledger_id, RecoveryResult.RECOVERED)

    async def _repair(self, ledger_id: int) -> None:
        """Repair every fragment of a ledger whose ensemble contains a bookie to recover.

        :raises MetadataError: the metadata store failed, or the ledger was deleted.
        :raises BookKeeperError: the first error of a fragment, raised after all fragments were tried.
        """
        stored = await self._admin.client.context.ledgers.read(ledger_id)
        if self._is_written(stored.value):
            await self._admin.recover_ledger(ledger_id)
            stored = await self._admin.client.context.ledgers.read(ledger_id)
        problems: list[BookKeeperError] = []
        gone = await self._presence.gone(self._bookies)
        for report in self._reports(ledger_id, stored.value, gone):
            try:
                stored = await self._replicator.repair(stored, report)
            except (ClientClosedError, MetadataError):
                raise
            except BookKeeperError as error:
                problems.append(error)
                stored = await self._admin.client.context.ledgers.read(ledger_id)
        if problems:
            raise problems[0]

    def _reports(self, ledger_id: int, metadata: LedgerMetadata, gone: Collection[str]) -> Iterator[FragmentReport]:
        """Yield a report for each fragment that has a bookie to recover in its ensemble.

        The report says that such a bookie has lost all of its entries, so that they are copied.  In an open ledger, all
        fragments but the newest are reported as closed, because their last entries are known from the metadata.
        """
        confirmed = metadata.segments[-1].first_entry_id - 1
        for fragment in fragments_of(ledger_id, metadata, confirmed):
            losses = []
            for position, bookie_id in enumerate(fragment.ensemble):
                if bookie_id in self._bookies:
                    ends, kind = fragment.ends(position), LossKind.GONE if bookie_id in gone else LossKind.LEAVING
                    losses.append(ReplicaLoss(position, bookie_id, kind, () if ends is None else (ends,)))
            if losses:
                yield FragmentReport(fragment, tuple(losses))


def _cause(error: BookKeeperError) -> type[BookKeeperError]:
    """Return the class of an error; for the failed recovery of an open ledger, that of the error behind it."""
    behind = error.__cause__
    return type(behind if isinstance(error, LedgerRecoveryError) and isinstance(behind, BookKeeperError) else error)
