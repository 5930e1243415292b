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

    A program that regularly waits for the result of an :meth:`append` does not get TooManyRequestsError.  Other threads
    append through :meth:`appender`.
    """

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """Return an appender that any thread can use; its offers return before the entry is acknowledged.

        Call this method on the thread of the reactor or event loop; the blocking client may call it on any thread.  The
        entries of all threads and of this writer's own appends get consecutive ids.  If entries of both kinds wait to
        be sent, the writer's own entries are sent first.  :meth:`close` waits until all offered entries are
        acknowledged; later offers fail.

        :param when_full: what an offer does while its entry has no room, because ``maxInFlightBytes`` of offered
            entries are not acknowledged yet.
        :param patience: maximum number of seconds that an offer waits for room with ``WhenFull.BLOCK``; None for ever.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        return self._inner.appender(when_full, patience)

    async def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append one entry.

        :param data: bytes, a bytearray or a memoryview; the last two may be changed once this has been called.
        :returns: the id of the entry, once this entry and all entries before it have their ack quorum.  The bookies
            then have the entries on disk; with deferred sync, they may have them only in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the data are not bytes, or too large for an entry.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes wait for their acknowledgement.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the writer is closed.
        :raises bookkeeper_twisted.errors.LedgerFencedError: another client has opened the ledger with recovery.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can replace a failed bookie.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries, for another reason.
        """
        return await result_of(self._inner.append(data))

    async def append_many(self, payloads: Sequence[bytes | bytearray | memoryview]) -> tuple[int, int]:
        """Append entries with consecutive ids: all of them, or none if one of them is refused.

        This is many times faster than appending them one by one.

        :param payloads: the payload of each entry, at least one; a bytearray or memoryview may be changed after the
            call.
        :returns: the first and the last id, once all entries have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: there is no entry, one is not bytes, or one is larger
            than an entry may be.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries, or a bookie cannot be
            replaced; see :meth:`append`.
        """
        return await result_of(self._inner.append_many(payloads))

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id such that this entry and all entries before it are acknowledged and synced.

        -1 if there is none.
        """
        return self._inner.last_add_confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._inner.metadata

    async def force(self) -> None:
        """Make bookies sync every acknowledged entry; needed with deferred sync only.

        Afterwards the last add confirmed is at least the last entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        await result_of(self._inner.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; later calls return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append has failed, or the metadata could not be written.
            If an append has failed, the ledger is closed at the last confirmed entry nevertheless, unless the client
            was closed or the ledger is being recovered.  So if the close succeeds, every append is in the ledger.
        """
        await super().close()

    @property
    def last_add_pushed(self) -> int:
        """The last id that an entry got, -1 if there is none. If the caller chooses the ids, the last id before the
        first missing id."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """The bytes of all payloads up to :attr:`last_add_pushed`; after the close, of all confirmed payloads."""
        return self._inner.length


class AdvLedgerWriter(Handle[client.AdvLedgerWriter]):
    """The only writer of one ledger; the caller chooses the entry ids, and may write the entries in any order.

    Entries complete without a gap: while an id is missing, entries with higher ids wait.  Unlike Apache's client, this
    one sends an entry only once the caller has written all entries before it.  The entry could not complete earlier,
    and the length in its header then counts exactly the payloads up to this entry.  If it counted the payloads in the
    order of the calls, a recovery could close the ledger with a wrong length.
    """

    async def write(self, entry_id: int, data: bytes | bytearray | memoryview) -> int:
        """Write one entry.

        An entry with an id after a gap waits until the gap is filled.

        :param entry_id: id of the entry, >= 0.
        :param data: bytes, a bytearray or a memoryview; the last two may be changed once this has been called.
        :returns: the id, once the entry and all entries before it have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is negative or not an integer, the data are
            not bytes, or the data are too large for an entry.
        :raises bookkeeper_twisted.errors.DuplicateEntryIdError: an entry with this id was written before.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes wait.  The entry that fills the gap is
            accepted nevertheless if there is room to send it.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        return await result_of(self._inner.write(entry_id, data))

    @property
    def ledger_id(self) -> int:
        """The id of the ledger."""
        return self._inner.ledger_id

    @property
    def last_add_confirmed(self) -> int:
        """The highest id such that this entry and all entries before it are acknowledged and synced.

        -1 if there is none.
        """
        return self._inner.last_add_confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._inner.metadata

    async def force(self) -> None:
        """Make bookies sync every acknowledged entry; needed with deferred sync only.

        Afterwards the last add confirmed is at least the last entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        await result_of(self._inner.force())

    async def close(self) -> None:
        """Close the ledger after its last confirmed entry; later calls return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append has failed, or the metadata could not be written.
            If an append has failed, the ledger is closed at the last confirmed entry nevertheless, unless the client
            was closed or the ledger is being recovered.  So if the close succeeds, every append is in the ledger.
        """
        await super().close()

    @property
    def last_add_pushed(self) -> int:
        """The last id that an entry got, -1 if there is none. If the caller chooses the ids, the last id before the
        first missing id."""
        return self._inner.last_add_pushed

    @property
    def length(self) -> int:
        """The bytes of all payloads up to :attr:`last_add_pushed`; after the close, of all confirmed payloads."""
        return self._inner.length
