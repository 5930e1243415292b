"""The write-back of a recovery: sends the entries after the LAC to bookies again, before the ledger is closed.

The ledger may only be closed when an ack quorum of bookies has each of these entries.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...codec.digest import Digester
from ...entries.entry_run import EntryRun
from ...errors import LedgerRecoveryError
from ...ledger.recovery_rules import RecoveryRules
from ..interfaces import IBookieClient
from ..logger_context import LoggerContext
from ..writing.appends import Source
from ..writing.batch import Waiter
from ..writing.batchers import Batchers
from ..writing.ensemble_change import RememberedEnsembleChange
from ..writing.failed_bookies import AddRules
from ..writing.quorum_writer import QuorumWriter

_LENGTH = struct.Struct(">q")
_LENGTH_AT = 24


class WriteBack:
    """The adds by which a recovery sends entries to bookies again, with the same ids, payloads and lengths.

    The LAC in all their headers is the LAC with which the recovery began.  A higher LAC would confirm these entries to
    readers, but the writer or another recovery may still close the ledger without them.  If a bookie fails, the new
    ensemble stays in memory, and is stored in the metadata when the ledger is closed.

    :param last_add_confirmed: the id of the entry before the first entry to write back.
    """

    def __init__(
        self, clock: IReactorTime, bookies: IBookieClient, digester: Digester, ledger_id: int, rules: RecoveryRules,
        changes: RememberedEnsembleChange, last_add_confirmed: int, batchers: Batchers, max_in_flight: int,
        logger_context: LoggerContext | None = None,
    ) -> None:  # fmt: skip
        self._digester = digester
        self._max_in_flight = max_in_flight
        self._batcher = batchers.batcher(bookies, digester, rules.schedule, rules.add_flags())
        self._waiting: Deferred[None] | None = None
        self._sent = last_add_confirmed
        self._writer = QuorumWriter(
            clock, ledger_id, rules.schedule, rules.metadata.segments[-1].bookies, changes, AddRules(confirms=False),
            Source(), self._wake, self._ended, last_add_confirmed, logger_context=logger_context,
        )  # fmt: skip
        self._writer.watch()

    @property
    def last_add_confirmed(self) -> int:
        """The id up to which all entries have been written back."""
        return self._writer.completed

    @property
    def length(self) -> int:
        """Ledger length in bytes up to the entry :attr:`last_add_confirmed`; valid once an entry was written back."""
        return self._writer.length

    async def add(self, run: EntryRun) -> None:
        """Send the next entries of the ledger; wait while too many bytes are in flight.

        :raises BookKeeperError: an entry cannot get its ack quorum.
        """
        for payloads, length in _stretches(run, self._digester.payloads(run)):
            self._batcher.cut()
            self._batcher.join_many(self._writer, self._sent + 1, length, payloads, None)
            self._sent += len(payloads)
        while self._writer.failure is None and self._writer.in_flight > self._max_in_flight:
            await self._next_news()
        self._check()

    async def finish(self) -> None:
        """Wait until all sent entries have their ack quorum.

        :raises BookKeeperError: an entry cannot get its ack quorum.
        """
        while self._writer.failure is None and not self._writer.idle:
            await self._next_news()
        self._check()

    def abandon(self) -> None:
        """Ignore all later answers of bookies; this has no effect after :meth:`finish`."""
        self._writer.stop(LedgerRecoveryError(f"the recovery of ledger {self._writer.ledger_id} was given up"))

    def _check(self) -> None:
        if self._writer.failure is not None:
            raise self._writer.failure

    async def _next_news(self) -> None:
        self._waiting = Deferred()
        await self._waiting

    def _ended(self, error: Exception, waiters: Sequence[Waiter]) -> None:
        self._wake()

    def _wake(self) -> bool:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)
        return True


def _stretches(run: EntryRun, payloads: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], int]]:
    """Split entries into ranges with consistent ledger lengths: each is the length before plus the entry's payload.

    Usually all entries are in one range.  But if callers choose the entry ids, Apache's writer adds up the payloads in
    the order of the calls, which may not be the order of the ids.

    :returns: for each range, the payloads and the ledger length before the range.
    """
    ends = [_LENGTH.unpack_from(stored, _LENGTH_AT)[0] for stored in run.entries()]
    starts = [end - len(payload) for end, payload in zip(ends, payloads, strict=True)]
    breaks = [i for i, (end, start) in enumerate(zip(ends, starts[1:], strict=False), 1) if end != start]
    for low, high in pairwise((0, *breaks, run.count)):
        yield payloads[low:high], starts[low]
