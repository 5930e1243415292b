"""Passes over all ledgers, which read the metadata of one ledger after the other, with limits on memory and speed."""

from collections.abc import Awaitable, Callable

import attrs
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...client.steps import for_each
from ...errors import MetadataError
from ...limits.throttle import Throttle
from ...metadata.interfaces import ILedgerManager
from ...metadata.undecoded import UndecodedLedgers
from ...model import LedgerMetadata
from ..switch import Switch

LedgerCallback = Callable[[int, LedgerMetadata], Awaitable[None]]
"""A function that a pass over all ledgers calls with the id and the metadata of each ledger."""

TOGETHER_SECONDS = 1.0
"""A pass over all ledgers begins this many seconds after it was requested; requests in this time share the pass."""


@attrs.frozen
class LedgerScan:
    """A pass over all ledgers: it reads the metadata of each ledger, and calls a function for each ledger.

    Ledgers that are deleted during the pass are skipped.  Ledgers whose stored metadata cannot be decoded are skipped,
    too; the pass logs their number at its end.  While autorecovery is switched off, the pass pauses.

    :ivar operations: the speed limit of the reads of metadata.
    :ivar parallel: maximum number of ledgers that are processed at the same time.
    :ivar timeout: maximum number of seconds that one read of metadata may take.
    :ivar noted: called by a pass with the id of each ledger whose metadata cannot be decoded, and why.
    """

    _log = Logger()

    clock: IReactorTime
    ledgers: ILedgerManager
    switch: Switch
    operations: Throttle
    parallel: int
    timeout: float
    noted: Callable[[int, str], object]

    async def run(self, on_ledger: LedgerCallback) -> int:
        """Call ``on_ledger`` for all ledgers; an error or a cancellation ends the pass and cancels running calls.

        :param on_ledger: called with the id and metadata of each ledger; several calls run at the same time.
        :returns: number of ledgers for which ``on_ledger`` was called.
        :raises bookkeeper_twisted.errors.MetadataError: the listing of ledgers or a read of metadata failed or took too
            long.
        """
        count = 0
        undecoded = UndecodedLedgers(self.noted)

        async def one(ledger_id: int) -> None:
            nonlocal count
            metadata = await self.read(ledger_id, undecoded)
            if metadata is not None:
                await on_ledger(ledger_id, metadata)
                count += 1

        try:
            await for_each(self.ledgers.ledger_ids(), one, self.parallel)
        finally:
            if undecoded.ids:
                text = "{count} ledgers are not checked: their metadata cannot be read or decoded; the first: {error}"
                self._log.error(text, count=len(undecoded.ids), error=undecoded.reason)
        return count

    async def read(self, ledger_id: int, undecoded: UndecodedLedgers | None = None) -> LedgerMetadata | None:
        """Read the metadata of the ledger ``ledger_id``; None if the ledger does not exist, or they cannot be decoded.

        The read begins when autorecovery is switched on and the speed limit allows it.

        :param undecoded: gets the ledger if its metadata cannot be decoded.
        :raises MetadataError: the store failed, or did not answer in time.
        """
        await self.switch.wait()
        await self.operations.acquire(user=f"audit, ledger {ledger_id}")
        undecoded = UndecodedLedgers() if undecoded is None else undecoded
        reading = Deferred.fromCoroutine(undecoded.read(self.ledgers, ledger_id))
        try:
            return await reading.addTimeout(self.timeout, self.clock)
        except TimeoutError:
            raise MetadataError(f"metadata of ledger {ledger_id} did not come within {self.timeout:g} s") from None


class SharedWalks:
    """Passes over all ledgers; several checks share one pass, which reads the metadata of each ledger once."""

    def __init__(self, scan: LedgerScan) -> None:
        self._scan = scan
        self._next: _SharedWalk | None = None

    def run(self, on_ledger: LedgerCallback, turn: int) -> "Deferred[None]":
        """Call ``on_ledger`` for all ledgers, in a pass over all ledgers that other calls of this method may share.

        If ``on_ledger`` fails, it is not called again, and only the Deferred of this call fails.  If the pass itself
        fails, the Deferreds of all calls that share it fail.  To cancel the returned Deferred ends the calls of
        ``on_ledger``; the pass ends, too, if no other call shares it.

        :param on_ledger: called with the id and metadata of each ledger; several calls run at the same time.
        :param turn: if several calls share a pass, the function with the lowest turn is called first for each ledger.
        :raises bookkeeper_twisted.errors.MetadataError: the listing of ledgers or a read of metadata failed or took too
            long.
        """
        if self._next is None or not self._next.is_open:
            self._next = _SharedWalk(self._scan)
        return self._next.join(on_ledger, turn)


class _SharedWalk:
    """One pass over all ledgers that several checks share; it ends early when all checks have failed or are cancelled.

    :ivar is_open: whether another check can still join the pass.
    """

    def __init__(self, scan: LedgerScan) -> None:
        self.is_open = True
        self._scan = scan
        self._callbacks: dict[Deferred[None], tuple[int, LedgerCallback]] = {}
        self._walking = Deferred.fromCoroutine(self._walk())
        self._walking.addBoth(self._ended)

    def join(self, on_ledger: LedgerCallback, turn: int) -> "Deferred[None]":
        ended: Deferred[None] = Deferred(self._leave)
        self._callbacks[ended] = turn, on_ledger
        return ended

    def _leave(self, ended: "Deferred[None]") -> None:
        del self._callbacks[ended]
        if not self._callbacks:
            self._walking.cancel()

    async def _walk(self) -> None:
        try:
            await deferLater(self._scan.clock, TOGETHER_SECONDS)
        finally:
            self.is_open = False
        self._callbacks = dict(sorted(self._callbacks.items(), key=lambda item: item[1][0]))
        await self._scan.run(self._call_all)

    async def _call_all(self, ledger_id: int, metadata: LedgerMetadata) -> None:
        for ended, (_, on_ledger) in list(self._callbacks.items()):
            if ended not in self._callbacks:
                continue  # this function has failed at another ledger, or was cancelled: do not call it any more
            try:
                await on_ledger(ledger_id, metadata)
            except CancelledError:
                raise
            except Exception as error:
                if self._callbacks.pop(ended, None) is not None:
                    ended.errback(error)
                if not self._callbacks:
                    raise

    def _ended(self, result: "Failure | None") -> None:
        while self._callbacks:
            ended, _ = self._callbacks.popitem()
            if result is None:
                ended.callback(None)
            else:
                ended.errback(result)
