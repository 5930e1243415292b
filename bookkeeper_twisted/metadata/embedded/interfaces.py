"""The interfaces of embedded stores: the blocking session on a store, and the worker that calls the session."""

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..interfaces import Versioned

T = TypeVar("T")

PATIENCE_AT_END = 1.0
"""Maximum number of seconds for which the end of a session waits for the locks of other processes.

What the session leaves in the store, such as a registration, has no effect, because the session is dead.
"""


class Creation(Enum):
    """Whether to create a store that does not exist.

    ``NEVER`` raises an error instead.  ``UNTIL_USED`` creates the store, and removes it if it contains no data when it
    is closed.
    """

    NEVER = "never"
    UNTIL_USED = "until used"
    ALWAYS = "always"


class IWorker(Interface):
    """A worker: it runs one driver's calls to the store, one at a time."""

    def call(work: Callable[..., T], *args: object) -> "Deferred[T]":
        """Run ``work(*args)`` after all earlier work; the Deferred fires with the result on the reactor thread.

        If the caller cancels the Deferred, work that has already begun continues, and its result is ignored.  But work
        that waits for another process is ended by the next :meth:`serve_reads`.
        """

    def read(work: Callable[..., T], *args: object) -> "Deferred[T]":
        """Run ``work(*args)``, which changes nothing in the store, like :meth:`call`, but not always in its turn.

        While earlier work waits for another process, the worker runs ``work`` first.
        """

    def serve_reads() -> None:
        """Run all submitted reads now; only work that waits for another process calls this, between two attempts.

        If the work that waits is a read, do nothing.

        :raises twisted.internet.defer.CancelledError: the caller has cancelled the work that waits.
        """

    def stop() -> None:
        """End the worker after the submitted work; the caller must not submit more work."""


class IMetadataStore(Interface):
    """One session on an embedded store.  All methods block, so only a worker calls them.  Values are encoded bytes.

    A method that returns stored data does not change the store, so :meth:`IWorker.read` may call it.

    Methods raise the same errors as :class:`~bookkeeper_twisted.metadata.interfaces.IRegistration` and
    :class:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager`.  If the store itself fails, they raise
    MetadataError with the name of the store.
    """

    def open(changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        """Open the store, or create it, and begin this driver's session.

        :param changed: called after every write by any session.  A store that cannot report writes never calls it; the
            driver then polls the store.
        :param expired: called on the reactor thread when the store has ended the session although the driver is open.
            All calls to the store fail until this callback has returned; a new session begins then.
        :returns: True if the store did not exist and this call created it.
        """

    def close() -> None:
        """End the session and remove its registrations; do nothing if the session is closed or was never opened."""

    def revision() -> object:
        """Return a value that changes with every write to the store by any session."""

    def instance_id() -> str: ...

    def format() -> None:
        """Remove ledgers, cookies, underreplicated marks and locks, and make a new instance id; keep registrations."""

    def register(bookie_id: str, read_only: bool, info: bytes) -> None:
        """Register a bookie for this session; an earlier registration of the bookie by this session is replaced.

        :param info: the encoded service info of the bookie.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session has registered the id.
        """

    def unregister(bookie_id: str) -> None:
        """Remove this session's registration of the bookie ``bookie_id``; do nothing if there is none."""

    def bookies() -> tuple[frozenset[str], frozenset[str]]:
        """Return the ids of the writable and of the read-only bookies that live sessions have registered."""

    def service_info(bookie_id: str) -> bytes:
        """Return the encoded service info of the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.MetadataError: the bookie is not registered.
        """

    def cookie_ids() -> frozenset[str]: ...

    def read_cookie(bookie_id: str) -> Versioned[bytes]:
        """Return the cookie of the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        """

    def write_cookie(bookie_id: str, cookie: bytes, version: int | None) -> int:
        """Store ``cookie`` as the cookie of the bookie ``bookie_id``: create it (``version`` None) or replace it.

        The result and the errors are those of
        :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.write_cookie`.
        """

    def remove_cookie(bookie_id: str, version: int) -> None:
        """Remove the cookie of the bookie ``bookie_id`` if it still has the version ``version``.

        The errors are those of :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.remove_cookie`.
        """

    def next_ledger_id() -> int: ...

    def create_ledger(ledger_id: int, metadata: bytes) -> None:
        """Store the encoded ``metadata`` of the new ledger ``ledger_id`` with version 0.

        :raises bookkeeper_twisted.errors.LedgerExistsError: a ledger with this id exists.
        """

    def read_ledger(ledger_id: int) -> Versioned[bytes]:
        """Return the encoded metadata of the ledger ``ledger_id``, with their version.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    def write_ledger(ledger_id: int, metadata: bytes, version: int) -> int:
        """Replace the metadata of a ledger if they still have the version ``version`` (compare-and-set).

        The errors are those of :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.write`.

        :returns: the new version.
        """

    def remove_ledger(ledger_id: int, version: int) -> None:
        """Remove the metadata of the ledger ``ledger_id`` if they still have the version ``version``.

        The errors are those of :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.remove`.
        """

    def ledger_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ledger ids from ``first`` to ``last`` (inclusive), in ascending order."""

    def read_mark(ledger_id: int) -> Versioned[bytes]:
        """Return the encoded underreplicated mark of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger has no mark.
        """

    def write_mark(ledger_id: int, mark: bytes, version: int | None) -> int:
        """Create (``version`` None) or replace the underreplicated mark of a ledger.

        :returns: the new version of the underreplicated mark.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the mark to be created exists, or the mark to be
            replaced has another version.
        """

    def remove_mark(ledger_id: int, version: int) -> None:
        """Remove the underreplicated mark of the ledger ``ledger_id`` if it still has the version ``version``.

        The errors are those of :meth:`~bookkeeper_twisted.metadata.interfaces.IUnderreplication.remove_mark`.
        """

    def mark_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ids, ascending, of underreplicated ledgers from ``first`` to ``last`` (inclusive)."""

    def lock_ledger(ledger_id: int, holder: str) -> bool:
        """Take the replication lock of a ledger for this session.

        :param holder: text to store with the lock: who holds the lock.
        :returns: False if this session holds the lock already.
        :raises bookkeeper_twisted.errors.LedgerLockedError: another live session holds the lock.
        """

    def unlock_ledger(ledger_id: int) -> None:
        """Release the replication lock of the ledger ``ledger_id``; do nothing if this session does not hold it."""

    def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the text of the lock of ``ledger_id`` with ``text``; do nothing if this session does not hold it."""

    def locks() -> dict[int, str]:
        """Return the text stored with each replication lock of a live session, by ledger id."""

    def replication_state() -> object:
        """Return a value that changes whenever an underreplicated mark changes or a replication lock is released."""

    def vote(candidate: str) -> int:
        """Cast this session's vote in the election of the auditor; if the session has already voted, keep that vote.

        :param candidate: name of the candidate, stored with the vote.
        :returns: the number of this session's vote.  Every new vote gets a higher number than all earlier votes.
        """

    def withdraw_vote() -> None:
        """Remove this session's vote in the election of the auditor; do nothing if it has not voted."""

    def votes() -> list[tuple[int, str]]:
        """Return the number and the candidate's name of each live session's vote, in ascending order of the numbers."""

    def read_setting(name: str) -> Versioned[bytes] | None:
        """Return a stored setting of autorecovery, such as the delay before an audit; None if it is not set.

        :param name: any name; the store does not interpret it.
        """

    def write_setting(name: str, value: bytes | None) -> bool:
        """Store a setting of autorecovery with a new version, or remove the setting.

        :param name: any name; the store does not interpret it.
        :param value: the encoded value; None to remove the setting.
        :returns: whether the setting was in the store before this call.
        """

    def clear_settings() -> None:
        """Remove all stored settings of autorecovery."""
