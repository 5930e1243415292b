"""Ledger ids and ledger metadata in an embedded store."""

from collections.abc import AsyncIterator, Callable

from zope.interface import implementer

from ...codec.metadata_formats import decode_ledger_metadata
from ...errors import LedgerExistsError
from ...model import MAX_LEDGER_ID, LedgerMetadata, check_ledger_id
from ..interfaces import ANY_VERSION, ILedgerManager, Versioned
from ..stored_form import stored_form
from .session import EmbeddedSession

_PAGE = 1000


@implementer(ILedgerManager)
class EmbeddedLedgers:
    """The ledger manager of a driver on an embedded store: it generates ledger ids, and stores and lists metadata."""

    def __init__(self, session: EmbeddedSession) -> None:
        self._session = session
        self._store = session.store

    async def generate_id(self) -> int:
        return await self._session.write(self._store.next_ledger_id)

    async def create(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned[LedgerMetadata]:
        data = stored_form(check_ledger_id(ledger_id), metadata)
        try:
            await self._session.write(self._store.create_ledger, ledger_id, data)
        except LedgerExistsError:
            stored = await self._session.ledger_or_none(ledger_id)
            if stored is not None and metadata.c_token and metadata.c_token == stored.value.c_token:
                return stored  # an earlier attempt has stored the same metadata, but its reply was lost
            raise
        return Versioned(decode_ledger_metadata(data), 0)

    async def read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        return await self._session.ledger(check_ledger_id(ledger_id))

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        data = stored_form(check_ledger_id(ledger_id), metadata)
        new_version = await self._session.write(self._store.write_ledger, ledger_id, data, version)
        return Versioned(decode_ledger_metadata(data), new_version)

    async def remove(self, ledger_id: int, version: int = ANY_VERSION) -> None:
        await self._session.write(self._store.remove_ledger, check_ledger_id(ledger_id), version)

    async def sync(self) -> None:
        """Do nothing: an embedded store has one copy of its data, so every read sees all earlier writes."""

    async def ledger_ids(self, first: int = 0, last: int | None = None) -> AsyncIterator[int]:
        """Yield ledger ids in ascending order; if they cannot all be read, raise an error instead of ending early."""
        end = MAX_LEDGER_ID if last is None else last
        while True:
            page = await self._session.read(self._store.ledger_ids, first, end, _PAGE)
            for ledger_id in page:
                yield ledger_id
            if len(page) < _PAGE or page[-1] >= end:
                return
            first = page[-1] + 1

    def watch(self, ledger_id: int, listener: Callable[[Versioned[LedgerMetadata] | None], None]) -> Callable[[], None]:
        return self._session.watches.watch_ledger(check_ledger_id(ledger_id), listener)
