"""A metadata store in dictionaries, for one process: standalone bookies, embedding applications, and tests.

Drivers share a store if the same :class:`MemoryStore` made them, or if the same factory made them for the same URI
``memory:NAME``.  Each driver for the URI ``memory:`` has a separate store.  The registrations of a driver end when the
driver is closed.
"""

from collections.abc import Callable

import attrs
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ...errors import (
    BookieRegisteredError,
    CookieExistsError,
    CookieNotFoundError,
    LedgerExistsError,
    LedgerLockedError,
    MetadataError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
    NotUnderreplicatedError,
)
from ..interfaces import ANY_VERSION, Versioned
from .driver import EmbeddedAdmin, EmbeddedDriver
from .interfaces import IMetadataStore
from .workers import InlineWorker


@attrs.frozen
class _Registration:
    session: "MemorySession"
    read_only: bool
    info: bytes


@attrs.define(eq=False)
class MemoryStore:
    """The contents of a store in memory, which all drivers on this store share.

    :ivar opened: whether a driver on this store has ever been opened.
    :ivar sessions: for each open session, the function that is called after each change of the store.
    """

    instance_id: str = "memory"
    bookies: dict[str, _Registration] = attrs.field(factory=dict)
    cookies: dict[str, Versioned[bytes]] = attrs.field(factory=dict)
    ledgers: dict[int, Versioned[bytes]] = attrs.field(factory=dict)
    marks: dict[int, Versioned[bytes]] = attrs.field(factory=dict)
    locks: dict[int, tuple["MemorySession", str]] = attrs.field(factory=dict)
    replication_changes: int = 0
    votes: dict["MemorySession", tuple[int, str]] = attrs.field(factory=dict)
    next_vote: int = 0
    settings: dict[str, Versioned[bytes]] = attrs.field(factory=dict)
    next_ledger_id: int = 0
    revision: int = 0
    opened: bool = False
    sessions: dict["MemorySession", Callable[[], None]] = attrs.field(factory=dict)

    def admin(self, clock: IReactorTime, uri: str = "memory:") -> EmbeddedAdmin:
        """Make an administrator of the cluster in this store.

        :param uri: the URI that error messages show for the store.
        """
        return EmbeddedAdmin(clock, uri, MemorySession(self), InlineWorker())

    def driver(self, clock: IReactorTime, uri: str = "memory:") -> EmbeddedDriver:
        """Make a driver on this store, with a session of its own.

        :param uri: the URI that error messages show for the store.
        """
        return EmbeddedDriver(clock, uri, MemorySession(self), InlineWorker())


@implementer(IMetadataStore)
class MemorySession:
    """The session of one driver on a :class:`MemoryStore`.

    When the session ends, its registrations, its locks, and its vote in the election of the auditor are removed.
    """

    def __init__(self, shared: MemoryStore) -> None:
        self._shared = shared
        self._changed_here: Callable[[], None] = lambda: None
        self._expired: Callable[[], None] = lambda: None

    def open(self, changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        self._changed_here, self._expired = changed, expired
        return self._begin()

    def _begin(self) -> bool:
        self._shared.sessions[self] = self._changed_here
        opened, self._shared.opened = self._shared.opened, True
        return not opened

    def close(self) -> None:
        self._end()

    def expire(self) -> None:
        """End the session as if it had timed out, then begin a new session.

        Bookies that were registered in the old session are not registered again.
        """
        self._end()
        self._expired()
        self._begin()
        self._changed_here()

    def _end(self) -> None:
        if self._shared.sessions.pop(self, None):
            for bookie_id in [b for b, r in self._shared.bookies.items() if r.session is self]:
                del self._shared.bookies[bookie_id]
            for ledger_id in [i for i, (session, _) in self._shared.locks.items() if session is self]:
                del self._shared.locks[ledger_id]
            self._shared.votes.pop(self, None)
            self._replication_changed()

    def revision(self) -> object:
        return self._shared.revision

    def _changed(self) -> None:
        self._shared.revision += 1
        for changed in list(self._shared.sessions.values()):
            changed()

    def _check_alive(self) -> None:
        if self not in self._shared.sessions:
            raise MetadataError("the session has ended")

    def _replication_changed(self) -> None:
        self._shared.replication_changes += 1
        self._changed()

    # -- bookies --

    def instance_id(self) -> str:
        return self._shared.instance_id

    def format(self) -> None:
        shared = self._shared
        shared.cookies.clear()
        shared.ledgers.clear()
        shared.marks.clear()
        shared.locks.clear()
        shared.next_ledger_id = 0
        name, _, generation = shared.instance_id.partition("+")
        shared.instance_id = f"{name}+{int(generation or 0) + 1}"
        self._replication_changed()

    def register(self, bookie_id: str, read_only: bool, info: bytes) -> None:
        self._check_alive()  # nothing would ever remove a registration that is made after the session has ended
        found = self._shared.bookies.get(bookie_id)
        if found is not None and found.session is not self:
            raise BookieRegisteredError(f"bookie {bookie_id} is registered by another session")
        self._shared.bookies[bookie_id] = _Registration(self, read_only, info)
        self._changed()

    def unregister(self, bookie_id: str) -> None:
        found = self._shared.bookies.get(bookie_id)
        if found is not None and found.session is self:
            del self._shared.bookies[bookie_id]
            self._changed()

    def bookies(self) -> tuple[frozenset[str], frozenset[str]]:
        items = self._shared.bookies.items()
        return frozenset(b for b, r in items if not r.read_only), frozenset(b for b, r in items if r.read_only)

    def service_info(self, bookie_id: str) -> bytes:
        try:
            return self._shared.bookies[bookie_id].info
        except KeyError:
            raise MetadataError(f"bookie {bookie_id} is not registered") from None

    # -- cookies --

    def cookie_ids(self) -> frozenset[str]:
        return frozenset(self._shared.cookies)

    def read_cookie(self, bookie_id: str) -> Versioned[bytes]:
        try:
            return self._shared.cookies[bookie_id]
        except KeyError:
            raise CookieNotFoundError(f"no cookie of bookie {bookie_id}") from None

    def write_cookie(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        if version is None:
            if bookie_id in self._shared.cookies:
                raise CookieExistsError(f"bookie {bookie_id} has a cookie")
            new_version = 0
        else:
            _check_version(f"cookie of {bookie_id}", self.read_cookie(bookie_id).version, version)
            new_version = version + 1
        self._shared.cookies[bookie_id] = Versioned(cookie, new_version)
        return new_version

    def remove_cookie(self, bookie_id: str, version: int) -> None:
        _check_version(f"cookie of {bookie_id}", self.read_cookie(bookie_id).version, version)
        del self._shared.cookies[bookie_id]

    # -- ledgers --

    def next_ledger_id(self) -> int:
        ledger_id = self._shared.next_ledger_id
        while ledger_id in self._shared.ledgers:  # skip ids that clients have chosen for their ledgers
            ledger_id += 1
        self._shared.next_ledger_id = ledger_id + 1
        return ledger_id

    def create_ledger(self, ledger_id: int, metadata: bytes) -> None:
        if ledger_id in self._shared.ledgers:
            raise LedgerExistsError(f"ledger {ledger_id} exists")
        self._shared.ledgers[ledger_id] = Versioned(metadata, 0)
        self._changed()

    def read_ledger(self, ledger_id: int) -> Versioned[bytes]:
        try:
            return self._shared.ledgers[ledger_id]
        except KeyError:
            raise NoSuchLedgerMetadataError(f"ledger {ledger_id} does not exist") from None

    def write_ledger(self, ledger_id: int, metadata: bytes, version: int) -> int:
        _check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)
        self._shared.ledgers[ledger_id] = Versioned(metadata, version + 1)
        self._changed()
        return version + 1

    def remove_ledger(self, ledger_id: int, version: int) -> None:
        found = self.read_ledger(ledger_id).version
        _check_version(f"ledger {ledger_id}", found, found if version == ANY_VERSION else version)
        del self._shared.ledgers[ledger_id]
        self._changed()

    def ledger_ids(self, first: int, last: int, limit: int) -> list[int]:
        return sorted(i for i in self._shared.ledgers if first <= i <= last)[:limit]

    # -- underreplicated marks and replication locks --

    def read_mark(self, ledger_id: int) -> Versioned[bytes]:
        try:
            return self._shared.marks[ledger_id]
        except KeyError:
            raise NotUnderreplicatedError(f"ledger {ledger_id} is not marked") from None

    def write_mark(self, ledger_id: int, mark: bytes, version: int | None) -> int:
        if version is None:
            if ledger_id in self._shared.marks:
                raise MetadataVersionError(f"ledger {ledger_id} is marked already")
            new_version = 0
        else:
            _check_version(f"mark of ledger {ledger_id}", self.read_mark(ledger_id).version, version)
            new_version = version + 1
        self._shared.marks[ledger_id] = Versioned(mark, new_version)
        self._replication_changed()
        return new_version

    def remove_mark(self, ledger_id: int, version: int) -> None:
        _check_version(f"mark of ledger {ledger_id}", self.read_mark(ledger_id).version, version)
        del self._shared.marks[ledger_id]
        self._replication_changed()

    def mark_ids(self, first: int, last: int, limit: int) -> list[int]:
        return sorted(i for i in self._shared.marks if first <= i <= last)[:limit]

    def lock_ledger(self, ledger_id: int, holder: str) -> bool:
        self._check_alive()
        session, found = self._shared.locks.get(ledger_id, (None, holder))
        if session not in (None, self):
            raise LedgerLockedError(f"the replication lock of ledger {ledger_id} is held by {found}")
        self._shared.locks[ledger_id] = self, found
        self._replication_changed()
        return session is None

    def unlock_ledger(self, ledger_id: int) -> None:
        if ledger_id in self._shared.locks and self._shared.locks[ledger_id][0] is self:
            del self._shared.locks[ledger_id]
            self._replication_changed()

    def describe_lock(self, ledger_id: int, text: str) -> None:
        if ledger_id in self._shared.locks and self._shared.locks[ledger_id][0] is self:
            self._shared.locks[ledger_id] = self, text

    def locks(self) -> dict[int, str]:
        return {ledger_id: holder for ledger_id, (_, holder) in sorted(self._shared.locks.items())}

    def replication_state(self) -> object:
        return self._shared.replication_changes

    # -- auditors --

    def vote(self, candidate: str) -> int:
        self._check_alive()
        if self not in self._shared.votes:
            self._shared.votes[self] = self._shared.next_vote, candidate
            self._shared.next_vote += 1
            self._changed()
        return self._shared.votes[self][0]

    def withdraw_vote(self) -> None:
        if self._shared.votes.pop(self, None):
            self._changed()

    def votes(self) -> list[tuple[int, str]]:
        return sorted(self._shared.votes.values())

    def read_setting(self, name: str) -> Versioned[bytes] | None:
        return self._shared.settings.get(name)

    def write_setting(self, name: str, value: bytes | None) -> bool:
        found = self._shared.settings.pop(name, None)
        if value is not None:
            self._shared.settings[name] = Versioned(value, found.version + 1 if found else 0)
        self._changed()
        return found is not None

    def clear_settings(self) -> None:
        self._shared.settings.clear()
        self._changed()


def _check_version(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise MetadataVersionError(f"{what} has version {found}, not {expected}")
