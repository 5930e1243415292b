"""The seams of a bookie: where its work runs, and what it can do."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..model import Entries, EntryRun

T = TypeVar("T")

AddDone = Callable[[Entries, Exception | None], None]
"""Called with entries of an add, and None or the error that they failed with."""


class IStorageExecutor(Interface):
    """Named lanes off the reactor thread.

    Work of one lane runs in the order it was submitted, except on ``"read"``, which may have several
    threads.  Lanes: ``"journal-<n>"``, one for each journal; ``"flush-<n>"``, one for each ledger directory;
    ``"flush"`` for marks, recycled journal files, start and stop; ``"read"``.
    """

    def submit(lane: str, work: Callable[..., T], *args: Any) -> "Deferred[T]":
        """Runs ``work(*args)`` on the lane; the result or failure fires on the reactor thread.

        Cancelling prevents work that has not begun; begun work ends, its result is dropped.
        """

    def notify(function: Callable[..., None], *args: Any) -> None:
        """From a lane: runs ``function(*args)`` on the reactor thread, in the order of the calls."""

    def stop() -> "Deferred[None]":
        """Refuses new work, lets submitted work end, joins the threads."""


class IBookie(Interface):
    """The semantics of a bookie.  All methods are called on the reactor thread and touch memory only.

    Completions are called exactly once, with None or the error; those of one journal group are called
    in the order of the requests, then the outbox is flushed once.
    """

    def add(
        entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool, done: AddDone
    ) -> None:
        """Stores entries; ``done`` is called once they are durable (``deferred_sync``: once they are written).

        A mixed run may be done in parts, each entry in one of them: some refused, some stored.

        Errors: LedgerFencedError, UnauthorizedAccessError, WriteOnReadOnlyBookieError,
        TooManyRequestsError, BookieIOError.
        """

    def fence(ledger_id: int, master_key: bytes) -> "Deferred[None]":
        """Fences the ledger, unknown ones too; fires when the fence and the key are durable (S2)."""

    def cached(ledger_id: int, entry_id: int) -> EntryRun | None:
        """A run in memory that holds the entry."""

    def resident(ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        """Entries on disk from ``entry_id`` on that need not be waited for, because the system has them in
        memory: as many as lie together and fit, one at least.  To be asked after :meth:`cached`."""

    def scattered(ledger_id: int, entry_ids: Sequence[int], max_bytes: int) -> Sequence[bytes | None]:
        """Single entries in any order that need not be waited for; None: :meth:`cached` and :meth:`resident` may
        still have it.

        :param max_bytes: where this is reached the rest is left out; one at least is looked for.
        """

    def load(wanted: Sequence[tuple[int, int, int]]) -> "Deferred[list[EntryRun | Exception]]":
        """Reads (ledger, entry, max_bytes) triples from disk by one hand-over.

        The result has one item each, a run that begins at the entry, or NoSuchEntryError,
        NoSuchLedgerError, BookieIOError.  What was read is resident, or cached, for a while.
        """

    def last_entry(ledger_id: int) -> "Deferred[int]":
        """The id of the last entry stored; fails with NoSuchLedgerError, NoSuchEntryError."""

    def last_add_confirmed(ledger_id: int) -> int:
        """The highest LAC this bookie has received in this process, -1 if none."""

    def set_explicit_lac(ledger_id: int, master_key: bytes, body: bytes) -> "Deferred[None]":
        """Journals an explicit LAC; fires when it is durable."""

    def explicit_lac(ledger_id: int) -> bytes:
        """The explicit LAC packet as it was written, empty if none."""

    def wait_lac(ledger_id: int, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        """Fires when the LAC passes ``previous_lac`` (with the wall-clock ms of that), or at a fence,
        an explicit LAC notice or the timeout (with None).  Cancelling withdraws the watch."""

    def force(ledger_id: int) -> "Deferred[None]":
        """Fires when everything journaled of the ledger before the call is durable."""

    def entry_ranges(ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        """First and last ids of contiguous ranges stored here; NoSuchLedgerError."""
