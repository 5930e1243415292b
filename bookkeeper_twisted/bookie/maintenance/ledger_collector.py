"""Deletes the local copies of ledgers that are deleted in metadata.

A ledger that exists in metadata must never be deleted.  The local ledgers are listed first, then the ledgers in
metadata.  A local ledger that is not in the second list is only a suspect.  The collector checks that the metadata
store has the instance id of the bookie's cluster; otherwise all ledgers would be deleted if the store was emptied or
replaced.  Then the collector syncs with the store and reads the metadata of each suspect, because the second list may
be incomplete, or may come from a server with outdated data.

The collector also deletes local copies of *over-replicated* ledgers: closed ledgers without this bookie in any ensemble
of their metadata, for example because autorecovery has replaced this bookie.  It acquires the replication lock of the
ledger, reads the metadata again, and deletes the local copy, but keeps the fence.  The bookie still accepts recovery
adds to the ledger, because autorecovery may write a replica here later.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import LedgerLockedError, MetadataError, NoSuchLedgerMetadataError, StorageError
from ...limits.throttle import Throttle
from ...metadata.interfaces import ILedgerManager, IUnderreplication
from ...metadata.locked_work import under_lock
from ...metrics import MaintenanceMetrics
from ...storage.interfaces import ILedgerStorage
from ..bookie import Bookie

REMEMBERED = 7 * 86400
"""Seconds for which the fence of a deleted ledger is remembered, to refuse late adds, as in Apache's bookie."""

_PAGE = 1000
# One request to ZooKeeper lists the children of one node, at most ``_RANGE`` ledgers.  So the rate limiter counts one
# request for each range of this many ledger ids.
_USER = "the collection of deleted ledgers"
_RANGE = 10_000


@attrs.frozen
class Cluster:
    """The cluster of the bookie, with access to the cluster's metadata store.

    :ivar instance_id: reads the instance id of the cluster from the store.
    :ivar expected_id: the instance id in the bookie's cookie.
    """

    bookie_id: str
    ledgers: ILedgerManager
    locks: IUnderreplication
    instance_id: Callable[[], Awaitable[str]]
    expected_id: str


class LedgerCollector:
    """A collector of ledgers: it deletes local ledgers that do not exist in the metadata store any more.

    :param checkpoint: runs a checkpoint, which makes deletions durable; returns True if it succeeded.
    :param operations: the rate limit of metadata reads.
    :ivar over_replicated_wait: seconds between two searches for over-replicated ledgers; 0 for no searches.
    """

    _log = Logger()

    def __init__(
        self, bookie: Bookie, storage: ILedgerStorage, cluster: Cluster, checkpoint: Callable[[], Awaitable[bool]],
        clock: IReactorTime, operations: Throttle, metrics: MaintenanceMetrics, over_replicated_wait: float = 0.0,
    ) -> None:  # fmt: skip
        self._bookie = bookie
        self._storage = storage
        self._cluster = cluster
        self._ledgers = cluster.ledgers
        self._checkpoint = checkpoint
        self._clock = clock
        self._operations = operations
        self._metrics = metrics
        self.over_replicated_wait = over_replicated_wait
        self._last_search = clock.seconds()
        self._unreleased: set[int] = set()

    async def run(self) -> int:
        """Delete the local copies of ledgers that are deleted in metadata.

        :returns: the number of deleted ledgers.
        :raises MetadataError: metadata could not be read; ledgers whose deletion was not confirmed yet are kept.
        """
        now = int(self._clock.seconds())
        self._storage.forget_fences(now - REMEMBERED)
        await self._release()
        suspects = await self._suspects()
        if suspects:
            await self._confirm_cluster()
            await self._operations.acquire(user=_USER)
            await self._ledgers.sync()
        forgotten = 0
        for begin in range(0, len(suspects), _PAGE):
            forgotten += await self._forget_missing(suspects[begin : begin + _PAGE])
        if self.over_replicated_wait and now - self._last_search >= self.over_replicated_wait:
            forgotten += await self._forget_over_replicated()
            self._last_search = self._clock.seconds()
        return forgotten

    async def confirm(self) -> None:
        """Run one more checkpoint if the deletions of ledgers are not durable yet.

        :raises StorageError: the deletions are still not durable, because the checkpoint failed.
        """
        if self._storage.undeleted():
            await self._checkpoint()
        count = self._storage.undeleted()
        if count:
            raise StorageError(f"the deletion of {count} ledgers is not durable: a checkpoint failed, their logs stay")

    async def deleted(self) -> frozenset[int]:
        """Return the local ledgers that do not exist in metadata, and that :meth:`run` would therefore delete.

        Unlike :meth:`run`, list the suspects a second time instead of reading the metadata of each one.
        Over-replicated ledgers are not included.

        :raises MetadataError: metadata could not be read.
        """
        suspects = await self._suspects()
        if not suspects:
            return frozenset()
        await self._confirm_cluster()
        await self._operations.acquire(user=_USER)
        await self._ledgers.sync()
        return frozenset(await self._unlisted(suspects))

    def present(self, ledger_ids: Iterable[int]) -> frozenset[int]:
        """Return those of the deleted ``ledger_ids`` whose entries this bookie has, and others that it has deleted.

        The index has rows of a deleted ledger until a checkpoint has succeeded, which a disk may refuse.
        """
        stored = frozenset(ledger_id for ledger_id in ledger_ids if self._storage.ledger(ledger_id) is not None)
        return stored | self._storage.undeleted_ids()

    async def _suspects(self) -> list[int]:
        """Return the ids of local ledgers that the metadata store does not list: they may have been deleted."""
        return await self._unlisted(self._storage.ledger_ids())

    async def _unlisted(self, local: Sequence[int]) -> list[int]:
        """Return those of the sorted ``local`` ledgers that the metadata store does not list."""
        unlisted: list[int] = []
        for begin in range(0, len(local), _PAGE):
            page = local[begin : begin + _PAGE]
            listed = await self._listed(page)
            unlisted += [ledger_id for ledger_id in page if ledger_id not in listed]
        return unlisted

    async def _listed(self, local: Sequence[int]) -> set[int]:
        """List the ledgers of the cluster; return the ids of those ``local`` ledgers that are in the list."""
        await self._operations.acquire(user=_USER)
        wanted, listed, step = set(local), set[int](), local[0] // _RANGE
        async for ledger_id in self._ledgers.ledger_ids(local[0], local[-1]):
            if ledger_id // _RANGE != step:
                step = ledger_id // _RANGE
                await self._operations.acquire(user=_USER)
            if ledger_id in wanted:
                listed.add(ledger_id)
        return listed

    async def _confirm_cluster(self) -> None:
        found, expected = await self._cluster.instance_id(), self._cluster.expected_id
        if found != expected:
            raise MetadataError(f"the store is of cluster {found}, the bookie belongs to {expected}")

    async def _forget_missing(self, suspects: Sequence[int]) -> int:
        missing = [ledger_id for ledger_id in suspects if not await self._exists(ledger_id)]
        return await self._forget(missing)

    async def _forget(self, ledger_ids: Sequence[int], is_elsewhere: bool = False) -> int:
        if not ledger_ids:
            return 0
        forgotten = self._bookie.forget(ledger_ids, int(self._clock.seconds()), is_elsewhere)
        self._metrics.deleted_ledgers.value += len(forgotten)
        self._log.info("{n} ledgers were deleted", n=len(forgotten))
        await self._checkpoint()
        return len(forgotten)

    # -- over-replicated ledgers --

    async def _forget_over_replicated(self) -> int:
        await self._confirm_cluster()
        forgotten = 0
        for ledger_id in self._storage.ledger_ids():
            if await self._is_over_replicated(ledger_id):
                forgotten += await self._forget_locked(ledger_id)
        return forgotten

    async def _is_over_replicated(self, ledger_id: int) -> bool:
        row = self._storage.ledger(ledger_id)
        if row is None or row.forgotten_at:
            return False  # nothing to delete: an earlier call deleted the local copy, and kept only the fence
        await self._operations.acquire(user=_USER)
        try:
            metadata = (await self._ledgers.read(ledger_id)).value
        except NoSuchLedgerMetadataError:
            return False  # the ledger was deleted in metadata: the next garbage collection deletes the local copy
        return metadata.closed and not any(self._cluster.bookie_id in segment.bookies for segment in metadata.segments)

    async def _forget_locked(self, ledger_id: int) -> int:
        """Delete the local copy of a ledger while holding its replication lock.

        The copy is kept if another process holds the lock, or if an ensemble in the metadata contains this bookie now.

        :returns: the number of deleted copies, 0 or 1.
        """
        await self._operations.acquire(user=_USER)
        cluster = self._cluster
        try:
            return await under_lock(
                cluster.locks, ledger_id, cluster.bookie_id, lambda: self._forget_unless_needed(ledger_id), self._clock
            )
        except LedgerLockedError:
            return 0
        except MetadataError:
            self._unreleased.add(ledger_id)
            raise

    async def _forget_unless_needed(self, ledger_id: int) -> int:
        await self._ledgers.sync()
        return await self._forget([ledger_id], True) if await self._is_over_replicated(ledger_id) else 0

    async def _release(self) -> None:
        """Delete the replication locks of this bookie that could not be deleted earlier, because the store had failed.

        As long as a ledger is locked, no replication worker can repair it.
        """
        while self._unreleased:
            await self._cluster.locks.unlock(next(iter(self._unreleased)))
            self._unreleased.pop()

    async def _exists(self, ledger_id: int) -> bool:
        await self._operations.acquire(user=_USER)
        try:
            await self._ledgers.read(ledger_id)
        except NoSuchLedgerMetadataError:
            return False
        return True
