"""A walk over the metadata of all ledgers, with bounded memory, speed and number of ledgers at a time."""

from collections.abc import Awaitable, Callable

import attrs
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from ...client.steps import for_each
from ...errors import MetadataError, NoSuchLedgerMetadataError
from ...limits.throttle import Throttle
from ...metadata.interfaces import ILedgerManager
from ...model import LedgerMetadata
from ..switch import Switch

Visit = Callable[[int, LedgerMetadata], Awaitable[None]]


@attrs.frozen
class LedgerScan:
    """A walk that visits each ledger with the metadata that the ledger has at the time of the visit.

    A ledger that is deleted during the walk is left out.  While autorecovery is switched off, the walk pauses.

    :ivar operations: limit of reads of metadata.
    :ivar parallel: ledgers that are visited at a time.
    :ivar timeout: seconds that one read of metadata may take.
    """

    clock: IReactorTime
    ledgers: ILedgerManager
    switch: Switch
    operations: Throttle
    parallel: int
    timeout: float

    async def run(self, visit: Visit) -> int:
        """Visit all ledgers.  The first error, or a cancellation, ends the walk and cancels the visits under way.

        :param visit: called with ledger id and metadata, several at a time.
        :returns: how many ledgers were visited.
        :raises bookkeeper_twisted.errors.MetadataError: the listing, or one read, failed or took too long.
        """
        count = 0

        async def one(ledger_id: int) -> None:
            nonlocal count
            metadata = await self.read(ledger_id)
            if metadata is not None:
                await visit(ledger_id, metadata)
                count += 1

        await for_each(self.ledgers.ledger_ids(), one, self.parallel)
        return count

    async def read(self, ledger_id: int) -> LedgerMetadata | None:
        """Return the metadata of the ledger ``ledger_id``, None if it does not exist.

        It waits while autorecovery is switched off, and for the speed limit of metadata.

        :raises MetadataError: the store failed, or did not answer in time.
        """
        await self.switch.wait()
        await self.operations.acquire(entries=1)
        reading = Deferred.fromCoroutine(self._read(ledger_id))
        try:
            return await reading.addTimeout(self.timeout, self.clock)
        except TimeoutError:
            raise MetadataError(f"metadata of ledger {ledger_id} did not come within {self.timeout:g} s") from None

    async def _read(self, ledger_id: int) -> LedgerMetadata | None:
        try:
            return (await self.ledgers.read(ledger_id)).value
        except NoSuchLedgerMetadataError:
            return None
