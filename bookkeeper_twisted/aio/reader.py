"""The reader of a ledger, as asyncio has it; written by ``make doors``, not by hand."""

from collections.abc import AsyncGenerator

from .. import client
from ..client.reading.lac_reads import Confirmed
from ..ledger.entry_batch import EntryBatch
from ..model import Entry, LedgerMetadata
from .handle import Handle
from .reactor import result_of


class LedgerReader(Handle[client.LedgerReader]):
    """A reader of one ledger up to its last add confirmed.

    Every entry is verified by its digest.  Reads raise IncorrectParameterError for wrong arguments,
    ReadError for an entry above the LAC, and LedgerClosedError after :meth:`close`.  If no replica returned an entry,
    the error of one replica is raised: NoSuchEntryError only if all replicas answered with it, a connection error only
    if no replica had another error.

    If the ledger is still being written, the reader watches its metadata for new ensembles and for its close.  Call
    :meth:`close` when the reader is not needed any more.
    """

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this reader has seen."""
        return self._inner.metadata

    @property
    def last_add_confirmed(self) -> int:
        """The highest entry id that can be read, -1 if there is none; it never decreases."""
        return self._inner.last_add_confirmed

    @property
    def length(self) -> int:
        """Total size in bytes of all payloads; in an unclosed ledger, up to the newest entry that bookies reported."""
        return self._inner.length

    @property
    def is_closed(self) -> bool:
        """Whether the ledger (not this reader) is closed, so that no more entries can be added."""
        return self._inner.is_closed

    async def read(self, first: int, last: int) -> list[Entry]:
        """Read the entries ``first .. last``; raise an error if one of them cannot be read.

        :param first: id of the first entry, >= 0.
        :param last: id of the last entry, <= the LAC.
        :returns: the entries in order; all of them are in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer or negative, or ``first`` is
            above ``last``.
        :raises bookkeeper_twisted.errors.ReadError: ``last`` is above the LAC.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned one of the entries.
        """
        return await result_of(self._on_own_loop.read(first, last))

    async def read_entry(self, entry_id: int) -> Entry:
        """Read one entry.

        :param entry_id: id of the entry, from 0 to the LAC.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned the entry, or its id is above the LAC.
        """
        return await result_of(self._on_own_loop.read_entry(entry_id))

    async def read_unconfirmed(self, first: int, last: int) -> list[Entry]:
        """Read entries even above the LAC; such entries may be unacknowledged, and a recovery may drop them.

        :param first: id of the first entry, >= 0.
        :param last: id of the last entry.
        :returns: the entries in order; all of them are in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer or negative, or ``first`` is
            above ``last``.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned one of the entries.
        """
        return await result_of(self._on_own_loop.read_unconfirmed(first, last))

    async def read_batch(self, start: int, max_count: int = 0, max_size: int = 0) -> EntryBatch:
        """Read one or more consecutive entries from ``start`` upwards, perhaps fewer than requested.

        :param start: id of the first entry, from 0 to the LAC.
        :param max_count: maximum number of entries; 0 for no limit.
        :param max_size: maximum number of bytes; the first entry is returned even if it is larger.  If this is 0,
            negative or larger than the maximum frame size, the limit is the maximum frame size.
        :returns: the entries ``start .. batch.last``; the next read begins with ``batch.last + 1``.
        :raises bookkeeper_twisted.errors.BookKeeperError: no replica returned the first entry, or it is above the LAC.
        """
        return await result_of(self._on_own_loop.read_batch(start, max_count, max_size))

    def batches(self, start: int = 0, end: int | None = None) -> AsyncGenerator[EntryBatch, None]:
        """Iterate over the entries ``start .. end`` in batches; read up to ``readAheadBytes`` bytes ahead.

        To stop before the end, call the method ``aclose`` of the returned iterator; the iterator of the blocking client
        has the method ``close`` instead.

        :param start: id of the first entry, >= 0.
        :param end: id of the last entry; None for the LAC known now.  There are no batches if it is below ``start``.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an id is not an integer, or ``start`` is negative.
        :raises bookkeeper_twisted.errors.ReadError: ``end`` is above the LAC.
        """
        return self._iterate(self._inner.batches(start, end))

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

    def tail(self, start: int = 0) -> AsyncGenerator[Entry, None]:
        """Iterate over all entries from ``start``, each as soon as it is confirmed, until the ledger is closed.

        Open the ledger with ``recover=False``, because a recovery would end its writer.  If the loop is left or
        cancelled, outstanding requests are cancelled.

        :param start: id of the first entry, >= 0.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: ``start`` is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: raised by the iteration: the ledger was deleted.
        """
        return self._each(self.tail_batches(start))

    def tail_batches(self, start: int = 0) -> AsyncGenerator[EntryBatch, None]:
        """Iterate over all entries from ``start`` in batches, as bookies return them, until the ledger is closed.

        Entries are returned as soon as they are confirmed, as by :meth:`tail`.

        :param start: id of the first entry, >= 0.
        :raises bookkeeper_twisted.errors.BookKeeperError: ``start`` is invalid, or the iteration failed: the ledger was
            deleted, or an entry cannot be read.
        """
        return self._iterate(self._inner.tail_batches(start))

    async def read_last_add_confirmed(self) -> int:
        """Ask the bookies for the last add confirmed (LAC), and wait until enough have answered.

        Enough means that the result is at least the id of the last entry that was acknowledged before the call.

        :returns: the highest entry id that can be read, -1 if no entry can be read.
        :raises bookkeeper_twisted.errors.ReadError: too few bookies answered.
        """
        return await result_of(self._on_own_loop.read_last_add_confirmed())

    async def try_read_last_add_confirmed(self) -> int:
        """Ask the bookies for the last add confirmed (LAC) until one knows a higher LAC than this reader.

        :returns: the highest entry id that can be read, -1 if no entry can be read.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: no bookie answered, and one refused the password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: no bookie answered; the last failure was a time-out.
        :raises bookkeeper_twisted.errors.ReadError: no bookie answered; the last failure was another error.
        """
        return await result_of(self._on_own_loop.try_read_last_add_confirmed())

    async def read_last_add_confirmed_and_entry(self, entry_id: int, timeout: float) -> Confirmed:
        """Wait until an entry is confirmed, and read it.

        :param entry_id: id of the entry, >= 0.
        :param timeout: maximum number of seconds to wait.  If the entry is not confirmed in this time, or the ledger is
            closed without it, the result has no entry.
        :returns: the entry and the LAC.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument is not a number, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: no bookie answered, or no replica returned the entry.
        """
        return await result_of(self._on_own_loop.read_last_add_confirmed_and_entry(entry_id, timeout))

    async def close(self) -> None:
        """Close the reader, but not the ledger: later calls and outstanding reads raise LedgerClosedError."""
        await super().close()
