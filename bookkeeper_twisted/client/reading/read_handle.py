"""The reader of a ledger: reads single entries, ranges and batches, iterates, and follows an open ledger."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed

from ...arguments import LARGEST, check_integer, check_seconds, refusal
from ...codec.digest import Digester
from ...errors import BookKeeperError, ClientClosedError, MetadataError, ReadError
from ...ledger.entry_batch import EntryBatch
from ...metadata.interfaces import Versioned
from ...model import Entry, LedgerMetadata
from ..traces import LEDGER, READ, READ_BATCH, TracedOperation, TracedReads
from .context import ReadingContext
from .lac_reads import Confirmed, LacReads
from .ledger_view import HANDLE_CLOSED, LedgerView
from .read_ahead import Fetch, ReadAhead
from .replica_reads import ReplicaReader
from .tailing import Tail

T = TypeVar("T")


class LedgerReader:
    """A reader of one ledger up to its last add confirmed.

    Every entry is verified by its digest.  Reads raise IncorrectParameterError for wrong arguments,
    ReadError for an entry above the LAC, and LedgerClosedError after :meth:`close`.  If no replica returned an entry,
    the error of one replica is raised: NoSuchEntryError only if all replicas answered with it, a connection error only
    if no replica had another error.

    If the ledger is still being written, the reader watches its metadata for new ensembles and for its close.  Call
    :meth:`close` when the reader is not needed any more.

    :ivar ledger_id: the id of the ledger.
    """

    ledger_id: int

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
        self._records = context.records

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this reader has seen."""
        return self._view.metadata

    @property
    def last_add_confirmed(self) -> int:
        """The highest entry id that can be read, -1 if there is none; it never decreases."""
        return self._view.last_add_confirmed

    @property
    def length(self) -> int:
        """Total size in bytes of all payloads; in an unclosed ledger, up to the newest entry that bookies reported."""
        return self._view.length

    @property
    def is_closed(self) -> bool:
        """Whether the ledger (not this reader) is closed, so that no more entries can be added."""
        return self._view.closed

    def _follow(self) -> None:
        """Watch the metadata until the ledger is closed or deleted, or this reader is closed."""
        self._view.follow(self._ledgers)

    # ---- entries -------------------------------------------------------------------------------------

    def read(self, first: int, last: int) -> "Deferred[list[Entry]]":
        """Read the entries ``first .. last``; raise an error if one of them cannot be read.

        :param first: id of the first entry, >= 0.
        :param last: id of the last entry, <= the LAC.
        :returns: the entries in order; all of them are in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer or negative, or ``first`` is
            above ``last``.
        :raises bookkeeper_twisted.errors.ReadError: ``last`` is above the LAC.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned one of the entries.
        """
        return self._traced(READ, lambda fetch: self._read(fetch, first, last, self._view))

    def read_entry(self, entry_id: int) -> "Deferred[Entry]":
        """Read one entry.

        :param entry_id: id of the entry, from 0 to the LAC.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned the entry, or its id is above the LAC.
        """
        return self._traced(READ, lambda fetch: self._read_entry(fetch, entry_id))

    async def _read_entry(self, fetch: Fetch, entry_id: int) -> Entry:
        check_integer("entry_id", entry_id)
        (entry,) = await self._read(fetch, entry_id, entry_id, self._view)
        return entry

    def read_unconfirmed(self, first: int, last: int) -> "Deferred[list[Entry]]":
        """Read entries even above the LAC; such entries may be unacknowledged, and a recovery may drop them.

        :param first: id of the first entry, >= 0.
        :param last: id of the last entry.
        :returns: the entries in order; all of them are in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer or negative, or ``first`` is
            above ``last``.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned one of the entries.
        """
        return self._traced(READ, lambda fetch: self._read(fetch, first, last, None))

    def read_batch(self, start: int, max_count: int = 0, max_size: int = 0) -> "Deferred[EntryBatch]":
        """Read one or more consecutive entries from ``start`` upwards, perhaps fewer than requested.

        :param start: id of the first entry, from 0 to the LAC.
        :param max_count: maximum number of entries; 0 for no limit.
        :param max_size: maximum number of bytes; the first entry is returned even if it is larger.  If this is 0,
            negative or larger than the maximum frame size, the limit is the maximum frame size.
        :returns: the entries ``start .. batch.last``; the next read begins with ``batch.last + 1``.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned the first entry, or it is above the LAC.
        """
        return self._traced(READ_BATCH, lambda fetch: self._read_batch(fetch, start, max_count, max_size))

    def _traced(
        self, name: str, work: "Callable[[Fetch], Coroutine[Deferred[Any], Any, T]]"
    ) -> "Deferred[T]":  # fmt: skip
        """Begin a read; if the read is sampled, trace it and its requests.

        :param name: name of the span.
        :param work: the coroutine function that does the read.  It is called with a function that fetches entries, and
            that traces each request of a sampled read.
        """
        records = self._records
        begun = None if records is None else records.begin(name)
        if records is None or begun is None:
            return Deferred.fromCoroutine(work(self._fetch))
        read = TracedOperation(records, begun, name, {LEDGER: self.ledger_id})
        reading = Deferred.fromCoroutine(work(partial(self._fetch, reads=TracedReads(self._bookies, read))))
        return reading.addBoth(read.end_with)

    async def _read(self, fetch: Fetch, first: int, last: int, limit: LedgerView | None) -> list[Entry]:
        check_integer("first", first)
        check_integer("last", last)
        if first > last:
            raise refusal("last", last, f"an entry id that is not below first = {first}")
        self._check_readable(last, limit)
        begin = await fetch(first, last - first + 1, 0)
        entries = list(begin)
        async for batch in ReadAhead(fetch, begin.last + 1, last, self._read_ahead_bytes):
            # convert each batch to entry objects now, while the replies to the next requests are on their way
            entries.extend(batch)
        return entries

    async def _read_batch(self, fetch: Fetch, start: int, max_count: int, max_size: int) -> EntryBatch:
        check_integer("start", start)
        check_integer("max_count", max_count)
        check_integer("max_size", max_size, -LARGEST)
        self._check_readable(start, self._view)
        available = self.last_add_confirmed - start + 1
        return await fetch(start, min(max_count, available) if max_count else available, max_size)

    async def _fetch(
        self, first: int, max_count: int, max_size: int, reads: TracedReads | None = None
    ) -> EntryBatch:  # fmt: skip
        self._view.check()
        replicas = self._replicas
        replicas.moved(self._view.metadata)
        asked = replicas if reads is None else replicas.through(reads)
        try:
            run = await asked.fetch(first, max_count, max_size)
        except ClientClosedError:
            raise
        except BookKeeperError:
            if not await self._moved(first):
                raise
            asked = replicas if reads is None else replicas.through(reads)
            run = await asked.fetch(first, max_count, max_size)
        return EntryBatch(run, self._digester)

    async def _moved(self, entry_id: int) -> bool:
        """Test whether the ensemble of an entry has changed in the metadata store since the entry was requested.

        Re-replication also changes the ensembles of closed ledgers, whose metadata the reader does not watch.
        """
        asked = self._replicas.metadata.ensemble_at(entry_id)
        try:
            stored = await self._ledgers.read(self.ledger_id)
        except MetadataError:
            # ignore this error, because the error of the bookie is raised instead, which says more
            return False
        self._view.stored(stored)
        self._replicas.moved(self._view.metadata)
        return self._replicas.metadata.ensemble_at(entry_id) != asked

    def _check_readable(self, last: int, limit: LedgerView | None) -> None:
        self._view.check()
        if limit is not None and last > limit.last_add_confirmed:
            self._bookies.check_open()  # after the client was closed, no read can succeed, whatever the LAC
            raise ReadError(
                f"entry {last} of ledger {self.ledger_id} is beyond the last add confirmed {self.last_add_confirmed}"
            )

    # ---- iteration -----------------------------------------------------------------------------------

    def batches(self, start: int = 0, end: int | None = None) -> ReadAhead:
        """Iterate over the entries ``start .. end`` in batches; read up to ``readAheadBytes`` bytes ahead.

        To stop before the end, call the method ``aclose`` of the returned iterator; the iterator of the blocking client
        has the method ``close`` instead.

        :param start: id of the first entry, >= 0.
        :param end: id of the last entry; None for the LAC known now.  There are no batches if it is below ``start``.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer, or ``start`` is negative.
        :raises bookkeeper_twisted.errors.ReadError: ``end`` is above the LAC.
        """
        check_integer("start", start)
        if end is not None:
            check_integer("end", end, -1)
        last = self.last_add_confirmed if end is None else end
        self._check_readable(last if start <= last else -1, self._view)
        return ReadAhead(self._fetch, start, last, self._read_ahead_bytes)

    def entries(self, start: int = 0, end: int | None = None) -> AsyncGenerator[Entry, None]:
        """Iterate over the entries ``start .. end``; read ahead as :meth:`batches` does, until the loop is left.

        :param start: id of the first entry; 0 or more.
        :param end: id of the last entry; None for the LAC known now.
        :raises bookkeeper_twisted.errors.BookKeeperError: raised by the iteration: an argument is invalid, or an entry
            cannot be read.
        """
        return self._each(self.batches(start, end))

    def __aiter__(self) -> AsyncGenerator[Entry, None]:
        """Iterate over all entries up to the LAC that is known now, and read ahead."""
        return self.entries()

    async def _each(self, batches: ReadAhead) -> AsyncGenerator[Entry, None]:
        try:
            async for batch in batches:
                for entry in batch:
                    yield entry
        finally:
            batches.close()

    def tail(self, start: int = 0) -> AsyncGenerator[Entry, None]:
        """Iterate over all entries from ``start``, each as soon as it is confirmed, until the ledger is closed.

        Open the ledger with ``recover=False``, because a recovery would end its writer.  If the loop is left or
        cancelled, outstanding requests are cancelled.

        :param start: id of the first entry, >= 0.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``start`` is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: raised by the iteration: the ledger was deleted.
        """
        return self._tail(start).entries()

    def tail_batches(self, start: int = 0) -> AsyncGenerator[EntryBatch, None]:
        """Iterate over all entries from ``start`` in batches, as bookies return them, until the ledger is closed.

        Entries are returned as soon as they are confirmed, as by :meth:`tail`.

        :param start: id of the first entry, >= 0.
        :raises bookkeeper_twisted.errors.BookKeeperError: ``start`` is invalid, or the iteration failed: the ledger was
            deleted, or an entry cannot be read.
        """
        return self._tail(start).batches()

    def _tail(self, start: int) -> Tail:
        check_integer("start", start)
        self._view.check()
        return Tail(self._clock, self._view, self._lac_reads, self._fetch, start, self._read_ahead_bytes)

    # ---- the end -------------------------------------------------------------------------------------

    def read_last_add_confirmed(self) -> "Deferred[int]":
        """Ask the bookies for the last add confirmed (LAC), and wait until enough have answered.

        Enough means that the result is at least the id of the last entry that was acknowledged before the call.

        :returns: the highest entry id that can be read, -1 if no entry can be read.
        :raises bookkeeper_twisted.errors.ReadError: too few bookies answered.
        """
        return Deferred.fromCoroutine(self._ask(self._lac_reads.read))

    def try_read_last_add_confirmed(self) -> "Deferred[int]":
        """Ask the bookies for the last add confirmed (LAC) until one knows a higher LAC than this reader.

        :returns: the highest entry id that can be read, -1 if no entry can be read.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: no bookie answered, and one refused the password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: no bookie answered; the last failure was a time-out.
        :raises bookkeeper_twisted.errors.ReadError: no bookie answered; the last failure was another error.
        """
        return Deferred.fromCoroutine(self._ask(self._lac_reads.read_any))

    async def _ask(self, read: Callable[[], Coroutine[Any, Any, int]]) -> int:
        self._view.check()
        return await read()

    def read_last_add_confirmed_and_entry(self, entry_id: int, timeout: float) -> "Deferred[Confirmed]":
        """Wait until an entry is confirmed, and read it.

        :param entry_id: id of the entry, >= 0.
        :param timeout: maximum number of seconds to wait.  If the entry is not confirmed in this time, or the ledger is
            closed without it, the result has no entry.
        :returns: the entry and the LAC.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument is not a number, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: no bookie answered, or no replica returned the entry.
        """
        return Deferred.fromCoroutine(self._wait_for(entry_id, timeout))

    async def _wait_for(self, entry_id: int, timeout: float) -> Confirmed:
        check_integer("entry_id", entry_id)
        check_seconds("timeout", timeout)
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
        """Close the reader, but not the ledger: later calls and outstanding reads raise LedgerClosedError."""
        self._view.close()
        self._bookies.retire()
        return succeed(None)

    def __repr__(self) -> str:
        state = self.metadata.state.name.lower()
        ended = f", ended: {HANDLE_CLOSED}" if self._view.handle_closed else ""
        return f"<LedgerReader ledger {self.ledger_id} {state}, LAC {self.last_add_confirmed}{ended}>"

    async def __aenter__(self) -> "LedgerReader":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
