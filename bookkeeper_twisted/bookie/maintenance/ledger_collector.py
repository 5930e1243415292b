"""Finds the ledgers that metadata does not know any more, and has the bookie forget them.

Nothing live is deleted (S8).  The local ledgers are noted first, then metadata is listed.  A ledger that the
listing lacks is only a suspect, and is read by itself, behind a sync of the metadata store, so that neither a listing
that ended early nor a store that lags behind costs an entry.  Before that the store has to name the cluster that the
bookie belongs to: a store that was emptied or exchanged deletes nothing.
"""

from collections.abc import Awaitable, Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import MetadataError, NoSuchLedgerMetadataError
from ...metadata.interfaces import ILedgerManager
from ...metrics import MaintenanceMetrics
from ...storage.interfaces import ILedgerStorage
from ...throttle import Throttle
from ..bookie import Bookie

REMEMBERED = 7 * 86400
"""Seconds for which the fence of a deleted ledger refuses late adds, as in Apache's bookie."""

_PAGE = 1000


class LedgerCollector:
    """See the module docstring.

    :param instance_id: asks the store for the id of its cluster.
    :param expected_id: of the cluster that the bookie belongs to.
    :param checkpoint: makes durable what was forgotten; fires with whether it succeeded.
    :param operations: limit of metadata reads.
    """

    _log = Logger()

    def __init__(
        self, bookie: Bookie, storage: ILedgerStorage, ledgers: ILedgerManager,
        instance_id: Callable[[], Awaitable[str]], expected_id: str, checkpoint: "Callable[[], Deferred[bool]]",
        clock: IReactorTime, operations: Throttle, metrics: MaintenanceMetrics,
    ) -> None:  # fmt: skip
        self._bookie = bookie
        self._storage = storage
        self._ledgers = ledgers
        self._instance_id = instance_id
        self._expected_id = expected_id
        self._checkpoint = checkpoint
        self._clock = clock
        self._operations = operations
        self._metrics = metrics

    async def run(self) -> int:
        """Forget the ledgers that are gone.

        :returns: how many.
        :raises MetadataError: metadata could not be read; what was not confirmed by then stays.
        """
        now = int(self._clock.seconds())
        self._storage.forget_fences(now - REMEMBERED)
        suspects = await self._suspects()
        if suspects:
            await self._confirm_cluster()
            await self._operations.acquire()
            await self._ledgers.sync()
        forgotten = 0
        for begin in range(0, len(suspects), _PAGE):
            forgotten += await self._forget_missing(suspects[begin : begin + _PAGE])
        return forgotten

    async def _suspects(self) -> list[int]:
        """Local ledgers that the listing lacks; they were there before it began."""
        local = self._storage.ledger_ids()
        suspects: list[int] = []
        for begin in range(0, len(local), _PAGE):
            page = local[begin : begin + _PAGE]
            await self._operations.acquire()
            listed = {ledger_id async for ledger_id in self._ledgers.ledger_ids(page[0], page[-1])}
            suspects += [ledger_id for ledger_id in page if ledger_id not in listed]
        return suspects

    async def _confirm_cluster(self) -> None:
        found = await self._instance_id()
        if found != self._expected_id:
            raise MetadataError(f"the store is of cluster {found}, the bookie belongs to {self._expected_id}")

    async def _forget_missing(self, suspects: Sequence[int]) -> int:
        missing = [ledger_id for ledger_id in suspects if not await self._exists(ledger_id)]
        if not missing:
            return 0
        forgotten = self._bookie.forget(missing, int(self._clock.seconds()))
        self._metrics.deleted_ledgers.value += len(forgotten)
        self._log.info("{n} ledgers were deleted", n=len(forgotten))
        await self._checkpoint()
        return len(forgotten)

    async def _exists(self, ledger_id: int) -> bool:
        await self._operations.acquire()
        try:
            await self._ledgers.read(ledger_id)
        except NoSuchLedgerMetadataError:
            return False
        return True
