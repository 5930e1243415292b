"""The writers of ledgers, as asyncio has it; written by ``make doors``, not by hand."""

from collections.abc import Sequence
from typing import TypeVar

from .. import client
from ..client.claims.producer import WhenFull
from ..client.claims.thread_appender import ThreadAppender
from ..model import LedgerMetadata
from .handle import Handle
from .reactor import result_of

WriterT = TypeVar("WriterT", bound=client.LedgerWriter | client.AdvLedgerWriter)


class BaseWriter(Handle[WriterT]):
    """The members that all writers of ledgers have."""

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The last entry id up to which all entries are acknowledged and synced; -1 if there is none."""
        return self._inner.last_add_confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._inner.metadata

    async def force(self) -> None:
        """Make bookies sync every acknowledged entry; needed with deferred sync only.

        When it has succeeded, the last add confirmed includes every entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        await result_of(self._on_own_loop.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; if this is called again, return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append has failed, or the metadata could not be written.
            After a failed append, the ledger is closed at the last confirmed entry nevertheless, unless the client was
            closed or the ledger is being recovered.  If the close succeeds, every appended entry is in the ledger.
        """
        await super().close()

    @property
    def last_add_pushed(self) -> int:
        """The id of the last accepted entry, -1 if there is none. If the caller chooses the ids, entries that wait for
        a missing id do not count."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """Total size in bytes of all payloads up to :attr:`last_add_pushed`; after the close, up to the last confirmed
        entry."""
        return self._inner.length


class LedgerWriter(BaseWriter[client.LedgerWriter]):
    """The writer of a ledger whose entries get their ids in the order of the calls.

    To avoid TooManyRequestsError, wait for the results of earlier appends before there are too many.  Other threads
    append through :meth:`appender`.
    """

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """Return an appender, by which any thread can append entries without waiting for their acknowledgement.

        Call this method on the thread of the reactor or event loop; the blocking client may call it on any thread.  The
        entries of all threads and of :meth:`append` get consecutive ids.  If too many bytes are in flight, waiting
        entries of :meth:`append` are sent before entries of threads.  :meth:`close` waits until all entries of threads
        are acknowledged; once it is called, further appends of threads fail.

        :param when_full: what the appender does if a new entry would exceed the limit ``maxInFlightBytes`` of bytes
            that are not acknowledged yet: wait, drop the entry, or return a code.
        :param patience: maximum number of seconds that an append waits for room with ``WhenFull.BLOCK``; None for ever.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        return self._on_own_loop.appender(when_full, patience)

    async def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append one entry.

        :param data: bytes, a bytearray or a memoryview; the caller may change it after this call.
        :returns: the id of the entry, once this entry and all entries before it have their ack quorum.  The bookies
            then have the entries on disk; with deferred sync, perhaps only in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the data are not bytes, or too large for an entry.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: the appends that are not acknowledged yet have too many
            bytes.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the writer is closed.
        :raises bookkeeper_twisted.errors.LedgerFencedError: another client has opened the ledger with recovery.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can replace a failed bookie.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries, for another reason.
        """
        return await result_of(self._on_own_loop.append(data))

    async def append_many(self, payloads: Sequence[bytes | bytearray | memoryview]) -> tuple[int, int]:
        """Append entries with consecutive ids: all of them, or none if one of them is refused.

        This is many times faster than appending them one by one.

        :param payloads: the payload of each entry, at least one; the caller may change them after this call.
        :returns: the first and the last id, once all entries have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: there is no payload, a payload is not bytes, or a
            payload is too large.
        :raises bookkeeper_twisted.errors.BookKeeperError: any of the other errors of :meth:`append`.
        """
        return await result_of(self._on_own_loop.append_many(payloads))


class AdvLedgerWriter(BaseWriter[client.AdvLedgerWriter]):
    """The writer of a ledger whose caller chooses the entry ids, and may write the entries in any order.

    Entries complete without a gap: while an id is missing, entries with higher ids wait.  Unlike Apache's client, this
    writer sends an entry only when :meth:`write` was called for all lower ids.  So the ledger length in the entry's
    header is the sum of the payloads up to this entry.  Apache's client counts payloads in the order of the calls, so
    a recovery may close the ledger with a wrong length.
    """

    async def write(self, entry_id: int, data: bytes | bytearray | memoryview) -> int:
        """Write one entry.

        The entry is sent when this method was called for all lower ids.

        :param entry_id: id of the entry, >= 0.
        :param data: bytes, a bytearray or a memoryview; the caller may change it after this call.
        :returns: the id, once the entry and all entries before it have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is negative or not an integer, the data are
            not bytes, or the data are too large for an entry.
        :raises bookkeeper_twisted.errors.DuplicateEntryIdError: an entry with this id was written before.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes are in flight or wait to be sent; or this
            entry would have to wait for a lower id, and too many bytes wait for lower ids already.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        return await result_of(self._on_own_loop.write(entry_id, data))
