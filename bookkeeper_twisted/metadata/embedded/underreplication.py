"""Underreplicated marks and replication locks in an embedded store."""

from collections.abc import AsyncIterator, Callable, Collection

from zope.interface import implementer

from ...codec.metadata_formats.underreplication import encode_underreplicated
from ...errors import (
    LedgerLockedError,
    MetadataVersionError,
    NotUnderreplicatedError,
)
from ...model import MAX_LEDGER_ID, UnderreplicatedLedger, check_ledger_id
from ..interfaces import IUnderreplication, Shuffle, Versioned
from ..stored_form import stored_text
from ..stored_marks import StoredMarks
from .session import EmbeddedSession

_PAGE = 1000
_DISABLED = "disable"


@implementer(IUnderreplication)
class EmbeddedUnderreplication:
    """The underreplicated marks and replication locks of an embedded driver."""

    strays = ()

    def __init__(self, session: EmbeddedSession) -> None:
        self._session = session
        self._store = session.store
        self._marks = StoredMarks()
        self._held: set[int] = set()
        session.on_expiry(self._held.clear)

    async def mark(self, ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        check_ledger_id(ledger_id)
        while True:
            try:
                return await self._mark(ledger_id, replicas, ctime)
            except (MetadataVersionError, NotUnderreplicatedError):
                pass  # another client changed or removed the underreplicated mark after it was read: try again

    async def _mark(self, ledger_id: int, replicas: Collection[str], ctime: int | None) -> None:
        version: int | None = None
        try:
            stored = await self.read_mark(ledger_id)
        except NotUnderreplicatedError:
            mark = UnderreplicatedLedger(ctime=ctime).with_replicas(replicas, ctime)
        else:
            mark, version = stored.value.with_replicas(replicas, ctime), stored.version
        await self._session.write(self._store.write_mark, ledger_id, encode_underreplicated(mark), version)

    async def read_mark(self, ledger_id: int) -> Versioned[UnderreplicatedLedger]:
        stored = await self._session.read(self._store.read_mark, check_ledger_id(ledger_id))
        return self._marks.decode(ledger_id, stored.value, stored.version)

    async def replace_mark(
        self, ledger_id: int, mark: UnderreplicatedLedger, version: int
    ) -> Versioned[UnderreplicatedLedger]:
        arguments = check_ledger_id(ledger_id), encode_underreplicated(mark), version
        return Versioned(mark, await self._session.write(self._store.write_mark, *arguments))

    async def remove_mark(self, ledger_id: int, version: int) -> None:
        await self._session.write(self._store.remove_mark, check_ledger_id(ledger_id), version)

    async def marked_ledgers(self, shuffle: Shuffle | None = None) -> AsyncIterator[int]:
        """Yield the ids of all ledgers with an underreplicated mark; raise an error if not all ids can be read."""
        first = 0
        while page := await self._session.read(self._store.mark_ids, first, MAX_LEDGER_ID, _PAGE):
            first = page[-1] + 1
            if shuffle is not None:
                shuffle(page)
            for ledger_id in page:
                yield ledger_id
            if first > MAX_LEDGER_ID:
                return

    def watch_marks(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._session.watches.watch("marks", self._replication_state, lambda _: listener(), of_sessions=True)

    async def _replication_state(self) -> object:
        return await self._session.read(self._store.replication_state)

    async def lock(self, ledger_id: int, holder: str) -> None:
        taken = await self._session.write(self._store.lock_ledger, check_ledger_id(ledger_id), holder)
        if not taken and ledger_id in self._held:
            raise LedgerLockedError(f"the replication lock of ledger {ledger_id} is held by this process")
        # If this session already held the lock, an earlier call of this driver took it, and the reply of that call was
        # lost.
        self._held.add(ledger_id)

    async def unlock(self, ledger_id: int) -> None:
        self._held.discard(ledger_id)
        await self._session.write(self._store.unlock_ledger, check_ledger_id(ledger_id))

    async def describe_lock(self, ledger_id: int, text: str) -> None:
        await self._session.write(self._store.describe_lock, check_ledger_id(ledger_id), stored_text(text))

    def watch_lost_locks(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._session.on_expiry(listener)

    async def locked_ledgers(self) -> dict[int, str]:
        return await self._session.read(self._store.locks)

    # -- the switch --

    async def is_enabled(self) -> bool:
        return await self._session.read(self._store.read_setting, _DISABLED) is None

    async def set_enabled(self, enabled: bool) -> bool:
        was_disabled = await self._session.write(self._store.write_setting, _DISABLED, None if enabled else b"")
        return was_disabled is enabled

    def watch_enabled(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        return self._session.watches.watch(_DISABLED, self.is_enabled, listener)
