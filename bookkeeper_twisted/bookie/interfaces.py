"""The interfaces of a bookie: the lanes on which its work runs, and its operations."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import TooManyRequestsError

T = TypeVar("T")

AddDone = Callable[[Entries, Exception | None], None]
"""Called with entries of an add, and None or the error that they failed with."""


@attrs.define(eq=False)
class LoadLaterError(TooManyRequestsError):
    """The entries of one request are too large for one load; this entry was not loaded."""


class IStorageExecutor(Interface):
    """An executor of work on named lanes outside the reactor thread.

    Work of one lane runs in the order it was submitted, except on ``"read"``, which may have several
    threads.  Lanes: ``"journal-<n>"``, one for each journal; ``"flush-<n>"``, one for each ledger directory;
    ``"flush"`` for marks, recycled journal files, start and stop; ``"read"``.
    """

    def submit(lane: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Run ``work(*args)`` on a lane.

        :param lane: name of the lane.
        :returns: the result or failure, on the reactor thread.  A cancelled call that has not begun never does; begun
            work ends, and its result is dropped.
        """

    def notify(function: Callable[..., None], *args: Any) -> None:
        """Run ``function(*args)`` on the reactor thread, in the order of the calls.  To be called on a lane."""

    def join() -> "Deferred[None]":
        """Wait until all submitted work has ended, or was cancelled before it began; also what is submitted meanwhile.

        Cancelled work that had begun may still use its arguments: files are closed after this.
        """

    def stop() -> "Deferred[None]":
        """Refuse new work, wait until submitted work has ended, and join the threads."""


class IBookie(Interface):
    """The operations of a bookie.  All methods are called on the reactor thread and use memory only.

    Completions are called exactly once, with None or the error; the completions of one journal group are called
    in the order of the requests, then the outbox is flushed once.
    """

    def add(
        entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool, done: AddDone
    ) -> None:
        """Store entries.

        Entries of several ledgers may be stored in part: some refused, some stored.

        :param master_key: of the ledgers; the first add to a ledger sets it.
        :param recovery: whether fenced ledgers accept the entries.
        :param high_priority: whether a read-only bookie accepts them, as far as its disks allow.
        :param done: called once they are durable, with ``deferred_sync`` once they are written; or with
            LedgerFencedError, UnauthorizedAccessError, WriteOnReadOnlyBookieError, TooManyRequestsError or
            BookieIOError.
        """

    def fence(ledger_id: int, master_key: bytes) -> "Deferred[None]":
        """Fence a known or unknown ledger, so that only recovery can add to it.

        :param master_key: of the ledger; an unknown ledger gets it.
        :returns: fires when the fence and the key are durable (S2); fails with UnauthorizedAccessError or
            BookieIOError.
        """

    def cached(ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return a run in the caches that holds ``entry_id`` of ``ledger_id`` at any position, or None.

        :param max_count: most entries that the caller can use from there on; the run may have more, or fewer.
        """

    def resident(ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Return entries on disk that can be read without a wait, because the system has their bytes in memory.

        To be called after :meth:`cached`.

        :param max_count: most entries.
        :param max_bytes: most bytes of the records; one entry is returned even if it is longer.
        :returns: a run that begins with ``entry_id``, of as many contiguous entries as fit; None if even that entry
            needs a wait.
        """

    def scattered(ledger_id: int, entry_ids: Sequence[int], max_bytes: int) -> Sequence[bytes | None]:
        """Return single entries, in any order of ids, without a wait.

        An entry is None if it is not in memory, or if only :meth:`cached` or :meth:`resident` can find it.

        :param max_bytes: the look-up ends when the entries have so many bytes; at least one is looked up.
        """

    def load(wanted: Sequence[tuple[int, int, int]]) -> "Deferred[list[EntryRun | Exception]]":
        """Read entries from disk by one call on the read lane.

        The entries are then resident, or cached, for a while.

        :param wanted: triples of ledger id, entry id and most bytes to read from there on.
        :returns: one item for each triple, a run that begins at the entry, or NoSuchEntryError, NoSuchLedgerError,
            DataUnknownError, where the log that held it is gone, or BookieIOError; or LoadLaterError, but for one
            at least, where the others have many more bytes than were asked for of all.  It fails with
            TooManyRequestsError.
        """

    def last_entry(ledger_id: int) -> "Deferred[int]":
        """Return the id of the last stored entry of ``ledger_id``; fails with NoSuchLedgerError, NoSuchEntryError."""

    def known_last(ledger_id: int) -> int:
        """Return the id of the last stored entry of ``ledger_id`` if memory has that id, else -1."""

    def last_add_confirmed(ledger_id: int) -> int:
        """Return the highest LAC of ``ledger_id`` that this bookie has received in this process, or -1."""

    def set_explicit_lac(ledger_id: int, master_key: bytes, body: bytes) -> "Deferred[None]":
        """Journal an explicit LAC; a lower LAC does not replace the known one.

        :param body: the packet of the client, stored as it is; its digest is not checked.
        :returns: fires when it is durable; fails with BadRequestError, LedgerFencedError, UnauthorizedAccessError,
            WriteOnReadOnlyBookieError or BookieIOError.
        """

    def explicit_lac(ledger_id: int) -> bytes:
        """Return the explicit LAC packet of ``ledger_id`` as it was written, or no bytes."""

    def wait_lac(ledger_id: int, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        """Wait until the LAC of a ledger is above ``previous_lac``.

        :param timeout: seconds.
        :returns: fires with the wall-clock ms at which it passed; with None if it is above already, or at a fence, an
            explicit LAC or the timeout.  Fails with NoSuchLedgerError, TooManyRequestsError.  Cancelling withdraws the
            watch.
        """

    def force(ledger_id: int) -> "Deferred[None]":
        """Wait until all records of ``ledger_id`` journaled before the call are durable; fails with BookieIOError."""

    def entry_ranges(ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        """Return the first and last id of each contiguous range of a ledger that is stored here.

        :returns: ascending, both ids included; fails with NoSuchLedgerError.
        """
