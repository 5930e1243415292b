"""The reader of a ledger: entries, ranges, batches, iteration, tailing; every byte verified (S18)."""

from collections.abc import AsyncIterator

from twisted.internet.defer import Deferred, succeed

from ...codec.digest import Digester
from ...errors import BookKeeperError, ClientClosedError, IncorrectParameterError, MetadataError, ReadError
from ...ledger.entry_batch import EntryBatch
from ...metadata.interfaces import Versioned
from ...model import Entry, LedgerMetadata, check_whole_number
from .context import ReadingContext
from .lac_reads import Confirmed, LacReads
from .ledger_view import LedgerView
from .read_ahead import ReadAhead
from .replica_reads import ReplicaReader
from .tailing import Tail


class LedgerReader:
    """Reads one ledger up to its last add confirmed.

    Errors of all reads: IncorrectParameterError, ReadError beyond the LAC, LedgerClosedError after
    :meth:`close`; else, once every replica was tried, the most telling error: one that is neither
    "missing" nor "no connection" first, NoSuchEntryError only if every replica said so.

    Of a ledger that was not closed when it was opened, the reader follows the metadata: new bookies, and
    the end.  :meth:`close` it when it is no longer needed.

    :ivar ledger_id: of the ledger.
    """

    def __init__(
        self, context: ReadingContext, ledger_id: int, stored: Versioned[LedgerMetadata], digester: Digester
    ) -> None:
        self.ledger_id = ledger_id
        self._view = LedgerView(ledger_id, stored)
        context = context.with_flow()
        self._clock = context.clock
        self._bookies = context.bookies
        self._ledgers = context.ledgers
        self._digester = digester
        self._replicas = ReplicaReader(context, digester, ledger_id, stored.value, self._view.confirmed)
        self._lac_reads = LacReads(context, digester, self._view, self._replicas.order)
        self._read_ahead_bytes = context.config.read_ahead_bytes

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest that was seen."""
        return self._view.metadata

    @property
    def last_add_confirmed(self) -> int:
        """The highest id that can be read, -1 if none; it never falls (S13)."""
        return self._view.last_add_confirmed

    @property
    def length(self) -> int:
        """Bytes of all payloads; of a ledger that is not closed, up to the last entry reported."""
        return self._view.length

    @property
    def is_closed(self) -> bool:
        """Whether the *ledger* is closed, so that nothing will ever be added to it."""
        return self._view.closed

    def _follow(self) -> None:
        """Follows the metadata from now on, until the ledger is closed or deleted, or the handle is closed."""
        self._view.follow(self._ledgers)

    # ---- entries -------------------------------------------------------------------------------------

    def read(self, first: int, last: int) -> "Deferred[list[Entry]]":
        """The entries ``first .. last``; the first one that cannot be read fails the call.

        :param first: id of the first entry, >= 0.
        :param last: id of the last entry, <= the LAC.
        :returns: the entries in order; all of them are in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``first`` is negative, or above ``last``.
        :raises bookkeeper_twisted.errors.ReadError: ``last`` is above the LAC.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica gave an entry: the reason that says most.
        """
        return Deferred.fromCoroutine(self._read(first, last, self._view))

    def read_entry(self, entry_id: int) -> "Deferred[Entry]":
        """One entry.

        :raises bookkeeper_twisted.errors.BookKeeperError: as :meth:`read`.
        """
        return self.read(entry_id, entry_id).addCallback(lambda entries: entries[0])

    def read_unconfirmed(self, first: int, last: int) -> "Deferred[list[Entry]]":
        """As :meth:`read`, beyond the LAC too: of entries that were perhaps never acknowledged, and that a recovery may
        drop.

        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``first`` is negative, or above ``last``.
        :raises bookkeeper_twisted.errors.BookKeeperError: as of :meth:`read`.
        """
        return Deferred.fromCoroutine(self._read(first, last, None))

    def read_batch(self, start: int, max_count: int = 0, max_size: int = 0) -> "Deferred[EntryBatch]":
        """Consecutive entries from ``start`` on, at least one; maybe fewer than asked for, so ask again.

        :param max_count: 0 sets no limit; negative is refused.
        :param max_size: bytes, to be exceeded by a first entry that is greater; 0, negative and more than
            a frame holds mean what a frame holds.
        """
        return Deferred.fromCoroutine(self._read_batch(start, max_count, max_size))

    async def _read(self, first: int, last: int, limit: LedgerView | None) -> list[Entry]:
        for entry_id in (first, last):
            check_whole_number(entry_id, "an entry id")
        if first > last:
            raise IncorrectParameterError(f"no range of entries: {first}..{last}")
        self._check(first, last, limit)
        entries: list[Entry] = []
        while first <= last:
            batch = await self._fetch(first, last - first + 1, 0)
            entries.extend(batch)
            first = batch.last + 1
        return entries

    async def _read_batch(self, start: int, max_count: int, max_size: int) -> EntryBatch:
        for number, name in ((start, "an entry id"), (max_count, "max_count"), (max_size, "max_size")):
            check_whole_number(number, name)
        if max_count < 0:
            raise IncorrectParameterError(f"max_count is negative: {max_count}")
        self._check(start, start, self._view)
        available = self.last_add_confirmed - start + 1
        return await self._fetch(start, min(max_count, available) if max_count else available, max_size)

    async def _fetch(self, first: int, max_count: int, max_size: int) -> EntryBatch:
        self._view.check()
        replicas = self._replicas
        replicas.metadata = self._view.metadata
        try:
            run = await replicas.fetch(first, max_count, max_size)
        except ClientClosedError:
            raise
        except BookKeeperError:
            if not await self._moved(first):
                raise
            run = await replicas.fetch(first, max_count, max_size)
        return EntryBatch(run, self._digester)

    async def _moved(self, entry_id: int) -> bool:
        """Whether an entry has other bookies than were asked for it: re-replication moves the
        entries of closed ledgers too, which have no watch."""
        asked = self._replicas.metadata.ensemble_at(entry_id)
        try:
            stored = await self._ledgers.read(self.ledger_id)
        except MetadataError:
            return False  # then the error of the bookies is more useful
        self._view.stored(stored)
        self._replicas.metadata = self._view.metadata
        return self._replicas.metadata.ensemble_at(entry_id) != asked

    def _check(self, first: int, last: int, limit: LedgerView | None) -> None:
        if first < 0:
            raise IncorrectParameterError(f"entry ids begin at 0, not {first}")
        if limit is not None and last > limit.last_add_confirmed:
            raise ReadError(
                f"entry {last} of ledger {self.ledger_id} is beyond the last add confirmed {self.last_add_confirmed}"
            )

    # ---- iteration -----------------------------------------------------------------------------------

    def batches(self, start: int = 0, end: int | None = None) -> ReadAhead:
        """Batches of the entries ``start .. end``, read ahead within ``readAheadBytes``.

        :param start: id of the first entry, >= 0.
        :param end: id of the last one; None for the LAC that is known now.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``start`` is negative.
        :raises bookkeeper_twisted.errors.ReadError: ``end`` is above the LAC.

        ``await batches.aclose()`` ends an iteration that is not gone through, and the requests it made.
        """
        last = self.last_add_confirmed if end is None else end
        if start < 0:
            raise IncorrectParameterError(f"entry ids begin at 0, not {start}")
        if start <= last:
            self._check(start, last, self._view)
        return ReadAhead(self._fetch, start, last, self._read_ahead_bytes)

    async def entries(self, start: int = 0, end: int | None = None) -> AsyncIterator[Entry]:
        """The entries ``start .. end``, one by one, read as :meth:`batches`; leaving the loop ends the reading.

        :param start: as of :meth:`batches`.
        :param end: as of :meth:`batches`.
        """
        batches = self.batches(start, end)
        try:
            async for batch in batches:
                for entry in batch:
                    yield entry
        finally:
            batches.close()

    def tail(self, start: int = 0) -> AsyncIterator[Entry]:
        """The entries from ``start`` on, each as soon as it is confirmed; ends when the ledger is closed.

        Open the ledger with ``recover=False`` for this: a recovery ends its writer.  Leaving the loop, or
        cancelling what awaits it, ends the requests under way.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: from the iteration: it was deleted.
        """
        return self._tail(start).entries()

    def tail_batches(self, start: int = 0) -> AsyncIterator[EntryBatch]:
        """As :meth:`tail`, in the batches in which the entries arrive.

        :param start: id of the first entry, >= 0.
        """
        return self._tail(start).batches()

    def _tail(self, start: int) -> Tail:
        if start < 0:
            raise IncorrectParameterError(f"entry ids begin at 0, not {start}")
        return Tail(self._clock, self._view, self._lac_reads, self._fetch, start, self._read_ahead_bytes)

    # ---- the end -------------------------------------------------------------------------------------

    def read_last_add_confirmed(self) -> "Deferred[int]":
        """Asks the bookies how far the ledger came, and waits until no write set can know more.

        :raises bookkeeper_twisted.errors.ReadError: too few bookies answered.
        """
        return Deferred.fromCoroutine(self._lac_reads.read())

    def try_read_last_add_confirmed(self) -> "Deferred[int]":
        """Asks the bookies how far the ledger came; the first that knows more than this handle is believed."""
        return Deferred.fromCoroutine(self._lac_reads.read_any())

    def read_last_add_confirmed_and_entry(self, entry_id: int, timeout: float) -> "Deferred[Confirmed]":
        """Waits until an entry is confirmed, and gives it with the LAC.

        :param timeout: seconds; without news until then, or at the end of the ledger, there is no entry.
        """
        return Deferred.fromCoroutine(self._wait_for(entry_id, timeout))

    async def _wait_for(self, entry_id: int, timeout: float) -> Confirmed:
        self._check(entry_id, entry_id, None)
        self._view.check()
        if entry_id > self.last_add_confirmed and not self.is_closed:
            found = await self._lac_reads.wait(entry_id, timeout)
            if found.entry is not None:
                return found
        if entry_id > self.last_add_confirmed:
            return Confirmed(self.last_add_confirmed)
        (entry,) = await self._fetch(entry_id, 1, 0)
        return Confirmed(self.last_add_confirmed, entry)

    # ---- life ----------------------------------------------------------------------------------------

    def close(self) -> "Deferred[None]":
        """Ends the handle: later reads fail, and so does waiting.  The ledger is not touched."""
        self._view.close()
        self._bookies.retire()
        return succeed(None)

    def __repr__(self) -> str:
        state = self.metadata.state.name.lower()
        return f"<LedgerReader ledger {self.ledger_id} {state}, LAC {self.last_add_confirmed}>"

    async def __aenter__(self) -> "LedgerReader":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
