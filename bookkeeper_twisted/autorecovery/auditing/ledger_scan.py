"""Walks over the metadata of all ledgers, with bounded memory, speed and number of ledgers at a time."""

from collections.abc import Awaitable, Callable

import attrs
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from ...client.steps import for_each
from ...errors import MetadataError, NoSuchLedgerMetadataError
from ...limits.throttle import Throttle
from ...metadata.interfaces import ILedgerManager
from ...model import LedgerMetadata
from ..switch import Switch

Visit = Callable[[int, LedgerMetadata], Awaitable[None]]

TOGETHER_SECONDS = 1.0
"""Seconds between the first call that asks for a shared walk and the walk: others join it in this time."""


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


class SharedWalks:
    """Walks for several callers each: those that call within :data:`TOGETHER_SECONDS` share one."""

    def __init__(self, scan: LedgerScan) -> None:
        self._scan = scan
        self._next: _SharedWalk | None = None

    def run(self, visit: Visit, turn: int) -> "Deferred[None]":
        """Visit all ledgers in a shared walk.

        An error of ``visit`` ends the visits of this caller, an error of the walk those of all.  A cancellation ends
        the visits of this caller, and the walk if no other is left.

        :param visit: see :meth:`LedgerScan.run`.
        :param turn: place of ``visit`` among the visits of one ledger, which follow one another from the lowest turn.
        :raises bookkeeper_twisted.errors.MetadataError: see :meth:`LedgerScan.run`.
        """
        if self._next is None or not self._next.is_open:
            self._next = _SharedWalk(self._scan)
        return self._next.join(visit, turn)


class _SharedWalk:
    """One shared walk, which ends early if the visits of all callers have ended.

    :ivar is_open: whether another caller can join.
    """

    def __init__(self, scan: LedgerScan) -> None:
        self.is_open = True
        self._scan = scan
        self._visits: dict[Deferred[None], tuple[int, Visit]] = {}
        self._walking = Deferred.fromCoroutine(self._walk())
        self._walking.addBoth(self._ended)

    def join(self, visit: Visit, turn: int) -> "Deferred[None]":
        ended: Deferred[None] = Deferred(self._leave)
        self._visits[ended] = turn, visit
        return ended

    def _leave(self, ended: "Deferred[None]") -> None:
        del self._visits[ended]
        if not self._visits:
            self._walking.cancel()

    async def _walk(self) -> None:
        try:
            await deferLater(self._scan.clock, TOGETHER_SECONDS)
        finally:
            self.is_open = False
        self._visits = dict(sorted(self._visits.items(), key=lambda item: item[1][0]))
        await self._scan.run(self._visit)

    async def _visit(self, ledger_id: int, metadata: LedgerMetadata) -> None:
        for ended, (_, visit) in list(self._visits.items()):
            if ended not in self._visits:  # this visit has failed at another ledger
                continue
            try:
                await visit(ledger_id, metadata)
            except CancelledError:
                raise
            except Exception as error:
                if self._visits.pop(ended, None) is not None:
                    ended.errback(error)
                if not self._visits:
                    raise

    def _ended(self, result: "Failure | None") -> None:
        while self._visits:
            ended, _ = self._visits.popitem()
            if result is None:
                ended.callback(None)
            else:
                ended.errback(result)
