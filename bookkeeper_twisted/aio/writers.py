"""The writers of ledgers, as asyncio has it; written by ``make doors``, not by hand."""

from collections.abc import Sequence

from .. import client
from ..client.claims.producer import WhenFull
from ..client.claims.thread_appender import ThreadAppender
from ..model import LedgerMetadata
from .handle import Handle
from .reactor import result_of


class LedgerWriter(Handle[client.LedgerWriter]):
    """The only writer of one ledger; entries get their ids in the order of the calls.

    A program that now and then waits for the result of an :meth:`append` never gets TooManyRequestsError.  Threads
    append through :meth:`appender`.
    """

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """Return an appender for any thread, whose offers do not wait for their acknowledgement.

        Call this on the thread of this object's reactor or loop; with plain calls, on any thread.
        Entries of all threads and of this handle get their ids in one sequence, first those appended here.
        :meth:`close` waits until all offered entries are acknowledged; later offers fail.

        :param when_full: what an offer does while ``maxInFlightBytes`` of offers are not acknowledged.
        :param patience: seconds that an offer waits for room at most, with ``WhenFull.BLOCK``; None for ever.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: the ledger takes no more entries, for this reason.
        """
        return self._inner.appender(when_full, patience)

    async def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append one entry.

        :param data: bytes, a bytearray or a memoryview; the last two may be changed once this has been called.
        :returns: the id of the entry, once an ack quorum has it on disk (with deferred sync: has it) and everything
            before it is acknowledged.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the data are not bytes, or too large for an entry.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes wait for their acknowledgement.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the writer is closed.
        :raises bookkeeper_twisted.errors.LedgerFencedError: another client has opened the ledger with recovery.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can take the place of one that failed.
        :raises bookkeeper_twisted.errors.BookKeeperError: the ledger takes no more entries, for another reason.
        """
        return await result_of(self._inner.append(data))

    async def append_many(self, payloads: Sequence[bytes | bytearray | memoryview]) -> tuple[int, int]:
        """Append entries with consecutive ids: all of them, or none if one is refused.

        This is many times faster than to append them one by one.

        :param payloads: the data of each entry, at least one; as in :meth:`append`.
        :returns: first and last id, once all are acknowledged.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: there is no entry, one is not bytes, or one is larger
            than an entry may be.
        :raises bookkeeper_twisted.errors.BookKeeperError: as in :meth:`append`.
        """
        return await result_of(self._inner.append_many(payloads))

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id up to which every entry is acknowledged and synced, -1 without such an entry."""
        return self._inner.last_add_confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._inner.metadata

    async def force(self) -> None:
        """Sync every acknowledged entry; needed with deferred sync only.

        After it the last add confirmed is at least the last entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        await result_of(self._inner.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; later calls return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append failed (the ledger is closed at the
            last confirmed entry nevertheless, unless the client was closed or the ledger is being recovered), or
                the metadata could not be written.  So if the close succeeds, every append is in the ledger.
        """
        await super().close()

    @property
    def last_add_pushed(self) -> int:
        """The last id given out, -1 if there is none; of entries that the caller numbers, the last one before the first
        gap."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """The bytes of all payloads up to :attr:`last_add_pushed`; once closed, of the confirmed ones."""
        return self._inner.length


class AdvLedgerWriter(Handle[client.AdvLedgerWriter]):
    """The only writer of one ledger, whose entries get the ids that the caller gives, in any order.

    Entries complete without a gap: while an id is missing, entries with higher ids wait.  An entry is sent once
    all entries before it were given, while Apache's client sends it immediately: it could not complete earlier, and
    so the length in each entry's header counts exactly the payloads up to it, in id order.  (Headers
    that count in call order make the length of a recovered ledger wrong.)
    """

    async def write(self, entry_id: int, data: bytes | bytearray | memoryview) -> int:
        """Write one entry.

        An id behind a gap waits until the gap is filled.

        :param entry_id: id of the entry, >= 0.
        :param data: bytes, a bytearray or a memoryview; the last two may be changed once this has been called.
        :returns: the id, once an ack quorum has acknowledged the entry and everything before it.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is not an integer or negative, or the data are
            not bytes or larger than an entry may be.
        :raises bookkeeper_twisted.errors.DuplicateEntryIdError: the id was given before.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes wait; the entry that the
            others wait for is accepted nevertheless while there is room to send it.
        :raises bookkeeper_twisted.errors.BookKeeperError: the ledger takes no more entries, for this reason.
        """
        return await result_of(self._inner.write(entry_id, data))

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id up to which every entry is acknowledged and synced, -1 without such an entry."""
        return self._inner.last_add_confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._inner.metadata

    async def force(self) -> None:
        """Sync every acknowledged entry; needed with deferred sync only.

        After it the last add confirmed is at least the last entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        await result_of(self._inner.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; later calls return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append failed (the ledger is closed at the
            last confirmed entry nevertheless, unless the client was closed or the ledger is being recovered), or
                the metadata could not be written.  So if the close succeeds, every append is in the ledger.
        """
        await super().close()

    @property
    def last_add_pushed(self) -> int:
        """The last id given out, -1 if there is none; of entries that the caller numbers, the last one before the first
        gap."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """The bytes of all payloads up to :attr:`last_add_pushed`; once closed, of the confirmed ones."""
        return self._inner.length
