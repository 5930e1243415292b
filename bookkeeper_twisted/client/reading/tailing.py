"""Tailing: reads every entry of an open ledger as soon as it is confirmed, until the ledger is closed."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...ledger.entry_batch import EntryBatch
from ...ledger.read_answers import NO_ENTRY
from ...model import Entry
from .lac_reads import LacReads
from .ledger_view import LedgerView
from .read_ahead import Fetch

POLL_TIME = 5.0
"""Maximum number of seconds for which a bookie holds back the reply to a poll while the LAC does not rise.

The time can be long, because the reader learns from the metadata store when the ledger is closed.
"""

POLL_BYTES = 64 << 10
"""Maximum number of bytes of the reply to a poll; the reader requests further confirmed entries by ordinary reads."""

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
"""Maximum number of seconds between two polls if polls return at once without a higher LAC, as in a fenced ledger."""

PROMPT_PAUSE = 0.02
PROMPT_TIME = 10.0
"""For ``PROMPT_TIME`` seconds, a ledger without entries is polled every ``PROMPT_PAUSE`` seconds, then more slowly.

A bookie without an entry of the ledger answers a poll at once, so this client must pause.  The pause is short at first,
because a writer and a reader often start at the same time, so that the first entry comes soon.
"""


class Tail:
    """An iteration over the acknowledged entries of an open ledger from ``first`` upwards, never beyond the LAC.

    So each yielded entry stays readable.  Entries are yielded in id order.
    """

    def __init__(
        self, clock: IReactorTime, view: LedgerView, reads: LacReads, fetch: Fetch, first: int, batch_bytes: int
    ) -> None:  # fmt: skip
        self._clock = clock
        self._view = view
        self._reads = reads
        self._fetch = fetch
        self._next = first
        self._batch_bytes = batch_bytes
        self._pause = FIRST_PAUSE
        self._prompt_until = clock.seconds() + PROMPT_TIME

    async def entries(self) -> AsyncGenerator[Entry, None]:
        """Yield the entries of :meth:`batches` one by one."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry

    async def batches(self) -> AsyncGenerator[EntryBatch, None]:
        """Yield batches of entries as soon as they are confirmed, until the ledger is closed.

        :raises BookKeeperError: an entry cannot be read, no bookie answers, or the ledger was deleted.
        """
        while True:
            if self._next <= self._view.last_add_confirmed:
                batch: EntryBatch | None = await self._fetch(self._next, self._available, self._batch_bytes)
            elif self._view.closed:
                return
            else:
                batch = await self._news()
            if batch is not None:
                self._next = batch.last + 1
                yield batch

    @property
    def _available(self) -> int:
        """Return the number of entries up to the known LAC that the iteration has not yielded yet."""
        return self._view.last_add_confirmed - self._next + 1

    async def _news(self) -> EntryBatch | None:
        """Wait until the LAC is higher or the ledger has ended.

        :returns: the next entries, if a bookie sent them with its answer.
        """
        self._view.check_growing()
        began, known, is_empty = self._clock.seconds(), self._view.last_add_confirmed, False
        try:
            batch = await self._reads.wait_for_batch(self._next, POLL_TIME, POLL_BYTES)
        except NO_ENTRY:
            batch, is_empty = None, True  # the ledger has no entry yet, or its newest ensemble has no entry
        if self._view.last_add_confirmed > known:
            self._pause = FIRST_PAUSE
        elif not self._view.ended and self._clock.seconds() - began < self._pause:
            if is_empty and began < self._prompt_until:
                await self._rest(PROMPT_PAUSE)
            else:
                self._pause, pause = min(2 * self._pause, LONGEST_PAUSE), self._pause
                await self._rest(pause)
        return batch

    async def _rest(self, pause: float) -> None:
        """Wait for ``pause`` seconds, or until the LAC or the metadata of the ledger change."""

        def wake() -> None:
            if not over.called:
                over.callback(None)

        over: Deferred[None] = Deferred()
        timer = self._clock.callLater(pause, wake)
        forget = self._view.listen(wake)
        try:
            await over
        finally:
            forget()
            if timer.active():
                timer.cancel()
