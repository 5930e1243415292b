"""The interfaces of a bookie: the threads in which its blocking work runs, and its operations."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from zope.interface import Interface

from ..crc32c import Buffer
from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import TooManyRequestsError
from ..storage.interfaces import IFile

T = TypeVar("T")

AddDone = Callable[[Entries, Exception | None], None]
"""The completion of an add: called with some or all of its entries, and with None or the error of these entries."""


@attrs.define(eq=False)
class LoadLaterError(TooManyRequestsError):
    """An entry was not loaded, because the call had already loaded its maximum number of bytes; load it later."""


@attrs.define
class ReadTimes:
    """The times of reads from disk, as far as they have ended.

    :ivar on_disk: seconds of the reads themselves, and of waits for a read thread behind reads that each took long.
    :ivar for_thread: seconds of waits for a read thread behind many short reads.
    """

    on_disk: float = 0.0
    for_thread: float = 0.0

    def add(self, other: "ReadTimes | None") -> None:
        """Add the times of other reads.

        :param other: these times; None if there are none.
        """
        if other is not None:
            self.on_disk += other.on_disk
            self.for_thread += other.for_thread


class IStorageExecutor(Interface):
    """An executor of work outside the reactor thread, in threads that have names.

    The names are ``"journal-<n>"``, one for each journal; ``"flush-<n>"``, one for each ledger directory; ``"flush"``
    for log marks, recycled journal files, start and stop; ``"maintenance-<n>"``, one for each ledger directory; and
    ``"read"``, the name of a pool of threads.  Work in one thread runs in the order of its submission; work in the pool
    may run in another order.
    """

    def submit(thread: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run ``work(*args)`` in a thread.

        :param thread: name of the thread; ``"read"`` names a pool of threads.
        :returns: fires on the reactor thread with the result or failure.  If it is cancelled before the work begins,
            the work does not run.  If it is cancelled later, the work runs to its end, and its result is dropped.
        """

    def write(
        thread: str, file: IFile, parts: Sequence[Buffer], offset: int, done: Callable[[Failure | None], object]
    ) -> bool:
        """Do what ``submit(thread, file.pwritev, parts, offset, True)`` does, if the system can do it without a thread.

        The outcome is passed to a callback instead of a Deferred, because this is on the way of each small group.

        :param thread: name of the thread, which must be idle.  If the system accepts the write, but then does not make
            it, this thread makes the write.
        :param file: a file that has blocks where the bytes are written.
        :param done: called once after this method has returned True: with None when the bytes are durable, or with a
            Failure.
        :returns: False if the system does not accept the write, so that the caller must submit it.
        """

    def notify(function: Callable[..., None], *args: Any) -> None:
        """Call ``function(*args)`` on the reactor thread.

        Submitted work calls this method on its own thread.  The functions are called in the order of these calls.
        """

    def join() -> "Deferred[None]":
        """Wait until no submitted work is left, including work that is submitted during the wait.

        Work that was cancelled after its begin may still use files, so close files only after this wait.
        """

    def stop() -> "Deferred[None]":
        """Refuse new work, wait until submitted work has ended, and join the threads."""


class IBookie(Interface):
    """The operations of a bookie.  All methods are called on the reactor thread, and only touch memory.

    When a group of records is written to the journal, the completions of its adds are called in the order of the
    requests; then the collected replies are sent.
    """

    def add(
        entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool, done: AddDone
    ) -> None:
        """Store entries of one or more ledgers.  Some entries may be stored while other entries are refused.

        :param master_key: the master key of all these ledgers; the first add to a ledger sets its key.
        :param recovery: whether fenced ledgers accept the entries.
        :param deferred_sync: whether the adds complete when the journal has written the entries, before it syncs them.
        :param high_priority: whether the bookie accepts the entries even while it is read-only.  It does so only while
            each ledger disk has more free bytes than the reserve for such adds, and the last checkpoint did not fail.
        :param done: called one or more times, with some of the entries and with None or an error.  Each entry is passed
            exactly once.  None means that the journal has synced these entries; with ``deferred_sync``, or if the
            bookie is configured without syncs, it only means that the journal has written them.  An error says why they
            were refused or not stored: BadRequestError, LedgerFencedError, UnauthorizedAccessError,
            WriteOnReadOnlyBookieError, TooManyRequestsError, BookieIOError or StorageFailedError.
        """

    def fence(ledger_id: int, master_key: bytes) -> "Deferred[None]":
        """Fence a known or unknown ledger, so that only recovery can add to it.

        :param master_key: the master key of the ledger; an unknown ledger gets this key.
        :returns: fires when the fence and the key are durable; fails with UnauthorizedAccessError, BookieIOError, or
            WriteOnReadOnlyBookieError if the journal of the ledger takes no writes.
        """

    def cached(ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return consecutive entries from a cache that include ``entry_id`` of ``ledger_id``; None if no cache has it.

        :param max_count: maximum number of entries that the caller can use, from ``entry_id`` on.  The result may have
            more or fewer entries, and may begin before ``entry_id``.
        """

    def resident(ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Return entries on disk that can be read without waiting, because their bytes are in the page cache.

        Call it if :meth:`cached` has not found the entry.

        :param max_count: maximum number of entries to return.
        :param max_bytes: maximum number of bytes of the entries; the first entry is returned even if it is longer.
        :returns: a run of consecutive entries from ``entry_id`` on, within the limits; None if a read of ``entry_id``
            must wait for the disk.
        """

    def scattered(
        ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int
    ) -> Sequence[bytes | None]:  # fmt: skip
        """Return the wanted entries, of one or more ledgers, that can be read without waiting for the disk.

        The result is in the order of the ids, and has None for each entry that was not found or not searched for.  For
        such an entry, :meth:`cached` or :meth:`resident` may still succeed.

        :param ledger_ids, entry_ids: ledger id and entry id of each wanted entry, at least one.
        :param max_bytes: the search ends when the found entries have this many bytes; at least one entry is searched
            for.
        """

    def load(
        wanted: Sequence[tuple[int, int, int]], times: ReadTimes | None = None
    ) -> "Deferred[list[EntryRun | Exception]]":  # fmt: skip
        """Read entries from disk, by one call on a read thread.

        Later calls of :meth:`cached` or :meth:`resident` find these entries while they are in memory.

        :param wanted: triples: ledger id, entry id, maximum number of bytes to read from this entry on.
        :param times: the times of the read are added to it before the Deferred fires.
        :returns: for each triple, a run that begins at the entry, or an error: NoSuchEntryError, NoSuchLedgerError,
            DataUnknownError (the entry log with the entry is missing), BookieIOError, or LoadLaterError (this call has
            already loaded its maximum number of bytes; at least one triple is loaded).  If too many reads wait, the
            Deferred itself fails with TooManyRequestsError.
        """

    def last_entry(ledger_id: int) -> "Deferred[int]":
        """Return the id of the last stored entry of ``ledger_id``; fails with NoSuchLedgerError, NoSuchEntryError."""

    def known_last(ledger_id: int) -> int:
        """Return the id of the last stored entry of ``ledger_id``; -1 if only a search of the index can find it."""

    def last_add_confirmed(ledger_id: int) -> int:
        """Return the highest LAC of ``ledger_id`` that this bookie received since its start; -1 if none."""

    def set_explicit_lac(ledger_id: int, master_key: bytes, body: bytes) -> "Deferred[None]":
        """Write an explicit LAC to the journal; it replaces the known explicit LAC unless it is lower.

        :param body: the client's LAC packet, which is stored unchanged; its digest is not checked.
        :returns: fires when the LAC is durable; fails with BadRequestError, LedgerFencedError, UnauthorizedAccessError,
            WriteOnReadOnlyBookieError or BookieIOError.
        """

    def explicit_lac(ledger_id: int) -> bytes:
        """Return the explicit LAC packet of ``ledger_id`` as the client sent it, or no bytes if there is none."""

    def wait_lac(ledger_id: int, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        """Wait until the LAC of a ledger is above ``previous_lac``.

        :param timeout: maximum number of seconds to wait.
        :returns: fires with the wall-clock time in ms at which the LAC advanced.  It fires with None if the LAC was
            above ``previous_lac`` already, or if the wait ends by a fence, the deletion of the ledger or the timeout.
            Fails with NoSuchLedgerError or TooManyRequestsError.  Cancelling ends the wait.
        """

    def force(ledger_id: int) -> "Deferred[None]":
        """Wait until all records of ``ledger_id`` that were queued before this call are durable.

        Fails with BookieIOError, or with WriteOnReadOnlyBookieError if the journal of the ledger takes no writes.
        """

    def entry_ranges(ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        """Find the ranges of consecutive entries of a ledger that this bookie has.

        :returns: (first id, last id) of each range, ascending.  Fails with NoSuchLedgerError.
        """
