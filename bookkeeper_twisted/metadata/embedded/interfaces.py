"""The interfaces of embedded stores: the blocking session on a store, and the worker that runs its calls."""

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..interfaces import Versioned

T = TypeVar("T")


class IWorker(Interface):
    """A worker, which runs the calls of one driver to its store, one after the other."""

    def call(work: Callable[..., T], *args: object) -> "Deferred[T]":
        """Run ``work(*args)`` and deliver its result on the reactor thread.

        Cancelling drops the result of work that has begun.
        """

    def stop() -> None:
        """Let submitted work finish; the caller must not submit more work."""


class IMetadataStore(Interface):
    """One session on an embedded store.  Its methods block, one worker calls them, and values are stored bytes.

    Errors are those of :class:`~bookkeeper_twisted.metadata.interfaces.IRegistration` and
    :class:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager`, and MetadataError with the name of the store where
    it fails.
    """

    def open(changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        """Begin the session.

        :param changed: called by a store that can report every write; other stores are polled.
        :param expired: called by a store that can end the session of a driver that is open, on the reactor thread,
            before the next session takes its first call; in between every call fails.
        :returns: whether the store was made by this call.
        """

    def close() -> None:
        """End the session and remove its registrations.  Closing a closed or unopened store is harmless."""

    def revision() -> object:
        """Return a value that changes with every write, by this session or another."""

    def instance_id() -> str: ...

    def format() -> None:
        """Remove ledgers, cookies, marks and locks, and draw a new instance id; registrations stay."""

    def register(bookie_id: str, read_only: bool, info: bytes) -> None:
        """Register a bookie, in place of an earlier registration of this bookie by this session.

        :param info: stored form of its service info.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session holds the id.
        """

    def unregister(bookie_id: str) -> None:
        """Remove this session's registration of ``bookie_id``; harmless without a registration."""

    def bookies() -> tuple[frozenset[str], frozenset[str]]:
        """Return the writable and the read-only bookies of live sessions."""

    def service_info(bookie_id: str) -> bytes:
        """Return the stored service info of the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.MetadataError: it is not registered.
        """

    def cookie_ids() -> frozenset[str]: ...

    def read_cookie(bookie_id: str) -> Versioned[bytes]:
        """Return the cookie of the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        """

    def write_cookie(bookie_id: str, cookie: bytes, version: int | None) -> int:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.write_cookie`."""

    def remove_cookie(bookie_id: str, version: int) -> None:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.remove_cookie`."""

    def next_ledger_id() -> int: ...

    def create_ledger(ledger_id: int, metadata: bytes) -> None:
        """Store the ``metadata`` of a new ledger with version 0.

        :raises bookkeeper_twisted.errors.LedgerExistsError: a ledger with the id ``ledger_id`` exists.
        """

    def read_ledger(ledger_id: int) -> Versioned[bytes]:
        """Return the stored metadata of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    def write_ledger(ledger_id: int, metadata: bytes, version: int) -> int:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.write`.

        :returns: the new version.
        """

    def remove_ledger(ledger_id: int, version: int) -> None:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.remove`."""

    def ledger_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ledger ids from ``first`` to ``last`` (inclusive), in ascending order."""

    def read_mark(ledger_id: int) -> Versioned[bytes]:
        """Return the stored mark of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger has no mark.
        """

    def write_mark(ledger_id: int, mark: bytes, version: int | None) -> int:
        """Create (``version`` None) or replace a mark.

        :returns: the new version.
        :raises bookkeeper_twisted.errors.MetadataVersionError: it exists, or has another version.
        """

    def remove_mark(ledger_id: int, version: int) -> None:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.IUnderreplication.remove_mark`."""

    def mark_ids(first: int, last: int, limit: int) -> list[int]:
        """Return up to ``limit`` ids of marked ledgers from ``first`` to ``last`` (inclusive), in ascending order."""

    def lock_ledger(ledger_id: int, holder: str) -> bool:
        """Take the replication lock of a ledger for this session.

        :param holder: text of the lock.
        :returns: False if this session holds the lock already.
        :raises bookkeeper_twisted.errors.LedgerLockedError: another live session holds it.
        """

    def unlock_ledger(ledger_id: int) -> None:
        """Release this session's lock of ``ledger_id``; harmless without a lock."""

    def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the ``text`` of this session's lock of ``ledger_id``; harmless without a lock."""

    def locks() -> dict[int, str]:
        """Return the texts of the locks of live sessions, by ledger id."""

    def replication_state() -> object:
        """Return a value that changes when a mark changes or a lock is released."""

    def vote(candidate: str) -> int:
        """Cast a vote for this session, unless the session has a vote already.

        :param candidate: stored with the vote.
        :returns: the number of the vote, higher than that of every earlier vote.
        """

    def withdraw_vote() -> None:
        """Remove this session's vote; harmless without a vote."""

    def votes() -> list[tuple[int, str]]:
        """Return number and candidate of each vote of a live session, in ascending order of the numbers."""

    def read_setting(name: str) -> Versioned[bytes] | None:
        """Return a stored setting of autorecovery, None if this setting was never set.

        :param name: name of the value; names mean nothing to the store.
        """

    def write_setting(name: str, value: bytes | None) -> bool:
        """Set a setting of autorecovery, which gives it a new version, or remove the setting.

        :param name: see :meth:`read_setting`.
        :param value: None to remove it.
        :returns: whether it was set before.
        """

    def clear_settings() -> None:
        """Remove all settings that :meth:`write_setting` has set."""
