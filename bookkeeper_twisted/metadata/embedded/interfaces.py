"""The interfaces of embedded stores: the blocking session on a store, and the worker that calls the session."""

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..interfaces import Versioned

T = TypeVar("T")


class Creation(Enum):
    """The reaction to a missing store: raise an error, make a store that is removed if unused, or make a store."""

    NEVER = "never"
    UNTIL_USED = "until used"
    ALWAYS = "always"


class IWorker(Interface):
    """A worker: it runs the calls of one driver to its store one after the other.  See :mod:`.workers`."""

    def call(work: Callable[..., T], *args: object) -> "Deferred[T]":
        """Run ``work(*args)``, and deliver its result on the reactor thread.

        If the caller cancels the Deferred, work that has begun goes on, and its result is dropped.
        """

    def stop() -> None:
        """Let the submitted work finish; the caller must not submit more work after this call."""


class IMetadataStore(Interface):
    """One session on an embedded store.  All methods block, so only a worker calls them.  Values are encoded bytes.

    Methods raise the errors of :class:`~bookkeeper_twisted.metadata.interfaces.IRegistration` and
    :class:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager`.  If the store itself fails, they raise
    MetadataError with the name of the store.
    """

    def open(changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        """Begin the session of one driver on the store.

        :param changed: called after every write, if the store can report writes; a store that cannot is polled.
        :param expired: called on the reactor thread when the store has ended the session of an open driver.  Calls fail
            until the callback has returned; then the next session begins.
        :returns: whether the store did not exist, so that this call has made it.
        """

    def close() -> None:
        """End the session and remove its registrations; harmless if the session is closed or was never opened."""

    def revision() -> object:
        """Return a value that changes with every write to the store by any session."""

    def instance_id() -> str: ...

    def format() -> None:
        """Remove ledgers, cookies, underreplicated marks and locks, and draw a new instance id; registrations stay."""

    def register(bookie_id: str, read_only: bool, info: bytes) -> None:
        """Register a bookie for this session; an earlier registration of the bookie by this session is replaced.

        :param info: the encoded service info of the bookie.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session has registered the id.
        """

    def unregister(bookie_id: str) -> None:
        """Remove this session's registration of ``bookie_id``; harmless without a registration."""

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
        """Create (``version`` None) or replace the cookie of a bookie.

        See :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.write_cookie` for parameters and errors.
        """

    def remove_cookie(bookie_id: str, version: int) -> None:
        """Remove the cookie of the bookie ``bookie_id``.

        See :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.remove_cookie` for parameters and errors.
        """

    def next_ledger_id() -> int: ...

    def create_ledger(ledger_id: int, metadata: bytes) -> None:
        """Store the ``metadata`` of the new ledger ``ledger_id``; their version is 0.

        :raises bookkeeper_twisted.errors.LedgerExistsError: a ledger with this id exists.
        """

    def read_ledger(ledger_id: int) -> Versioned[bytes]:
        """Return the stored metadata of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    def write_ledger(ledger_id: int, metadata: bytes, version: int) -> int:
        """Replace the metadata of a ledger if they still have the version ``version`` (compare-and-set).

        See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.write` for parameters and errors.

        :returns: the new version.
        """

    def remove_ledger(ledger_id: int, version: int) -> None:
        """Remove the metadata of a ledger if they still have the version ``version``.

        See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.remove` for parameters and errors.
        """

    def ledger_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ledger ids from ``first`` to ``last`` (inclusive), in ascending order."""

    def read_mark(ledger_id: int) -> Versioned[bytes]:
        """Return the encoded underreplicated mark of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger has no mark.
        """

    def write_mark(ledger_id: int, mark: bytes, version: int | None) -> int:
        """Create (``version`` None) or replace the underreplicated mark of a ledger.

        :returns: the new version of the mark.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the mark to be created exists, or the mark to be
            replaced has another version.
        """

    def remove_mark(ledger_id: int, version: int) -> None:
        """Remove the underreplicated mark of a ledger if the mark still has the version ``version``.

        See :meth:`~bookkeeper_twisted.metadata.interfaces.IUnderreplication.remove_mark` for parameters and errors.
        """

    def mark_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ids of marked ledgers from ``first`` to ``last`` (inclusive), in ascending order."""

    def lock_ledger(ledger_id: int, holder: str) -> bool:
        """Take the replication lock of a ledger for this session.

        :param holder: text that is stored with the lock, and says who holds it.
        :returns: False if this session holds the lock already.
        :raises bookkeeper_twisted.errors.LedgerLockedError: another live session holds the lock.
        """

    def unlock_ledger(ledger_id: int) -> None:
        """Release this session's replication lock of ``ledger_id``; harmless if the session does not hold it."""

    def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the ``text`` of this session's replication lock of ``ledger_id``; harmless without a lock."""

    def locks() -> dict[int, str]:
        """Return the texts of the replication locks that live sessions hold, by ledger id."""

    def replication_state() -> object:
        """Return a value that changes whenever an underreplicated mark changes or a replication lock is released."""

    def vote(candidate: str) -> int:
        """Cast a vote in the election of the auditor, unless this session has a vote already.

        :param candidate: name of the candidate, stored with the vote.
        :returns: the number of the vote, which is higher than the numbers of all earlier votes.
        """

    def withdraw_vote() -> None:
        """Remove this session's vote in the election of the auditor; harmless if it has none."""

    def votes() -> list[tuple[int, str]]:
        """Return the vote of each live session: its number and the name of its candidate, in ascending order."""

    def read_setting(name: str) -> Versioned[bytes] | None:
        """Return a stored setting of autorecovery; None if it is not set.

        :param name: any name; the store does not interpret it.
        """

    def write_setting(name: str, value: bytes | None) -> bool:
        """Store a setting of autorecovery with a new version, or remove it.

        :param name: any name; the store does not interpret it.
        :param value: the encoded value; None to remove the setting.
        :returns: whether the setting was in the store before this call.
        """

    def clear_settings() -> None:
        """Remove all settings that :meth:`write_setting` has set."""
