"""Answers fencing reads, long polls, and requests that read or write the explicit LAC."""

from ...codec.messages import (
    ReadLacRequest,
    ReadLacResponse,
    ReadRequest,
    ReadResponse,
    WriteLacRequest,
    WriteLacResponse,
)
from ...errors import (
    BadRequestError,
    BookKeeperError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
    UnauthorizedAccessError,
)
from ...model import INVALID_ENTRY_ID
from .context import RequestContext, check_ids
from .read_processor import read_entry, read_entry_or_last, read_last
from .session import RequestSession


class LacProcessor:
    """The processor of requests that fence a ledger, or read, write or wait for a LAC.

    Its coroutines return the response, or raise an error from which the caller makes the response.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    async def read(self, session: RequestSession, request: ReadRequest) -> ReadResponse:
        """Answer a fencing read, a long poll, or a read that also asks for the LAC.

        :raises BookieError: the read failed; the error has the status of the reply.
        """
        check_ids(request.ledger_id, request.entry_id)
        if request.fence:
            return await self._fencing_read(session, request)
        if request.previous_lac is not None:
            return await self._long_poll(session, request, request.previous_lac)
        entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)
        return _found(request, request.entry_id, entry, self._lac(request))

    def _lac(self, request: ReadRequest) -> int:
        return self._context.bookie.last_add_confirmed(request.ledger_id)

    async def _fencing_read(self, session: RequestSession, request: ReadRequest) -> ReadResponse:
        """Fence the ledger durably, then read the entry.

        Even the reply "no such entry" is not sent before the fence is durable.
        """
        if request.master_key is None:
            raise UnauthorizedAccessError(request.ledger_id)
        await self._context.bookie.fence(request.ledger_id, request.master_key)
        entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)
        return _found(request, request.entry_id, entry, None)

    async def _long_poll(self, session: RequestSession, request: ReadRequest, previous: int) -> ReadResponse:
        if request.piggyback and request.entry_id != INVALID_ENTRY_ID:
            raise BadRequestError(request.ledger_id, request.entry_id, "piggyback with an entry id")
        timestamp: int | None = None
        if request.timeout_ms is not None:
            timestamp = await session.wait_lac(request.ledger_id, previous, request.timeout_ms)
        if not request.piggyback:
            entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)
            return _found(request, request.entry_id, entry, self._lac(request), timestamp)
        lac = self._lac(request)
        if lac > previous:
            try:
                entry = await read_entry(session, request.ledger_id, previous + 1)
            except NoSuchEntryError:
                pass  # this bookie does not store the entry, only others of the ensemble do: reply with the LAC alone
            else:
                return _found(request, previous + 1, entry, lac, timestamp)
        return _found(request, request.entry_id, None, lac, timestamp)

    async def read_lac(self, session: RequestSession, request: ReadLacRequest) -> ReadLacResponse:
        """Answer with the explicit LAC and the last entry of a ledger, or with one of them if the other is missing.

        :raises BookieError: there is no explicit LAC, and the last entry does not exist or cannot be read.
        """
        body = self._context.bookie.explicit_lac(request.ledger_id) or None
        last: bytes | None = None
        try:
            _, last = await read_last(session, request.ledger_id)
        except (NoSuchLedgerError, NoSuchEntryError):
            if body is None:
                raise NoSuchEntryError(request.ledger_id) from None
        except BookKeeperError:
            if body is None:
                raise
        return ReadLacResponse(request.header, Status.EOK, request.ledger_id, body, last)

    async def write_lac(self, session: RequestSession, request: WriteLacRequest) -> WriteLacResponse:
        """Store an explicit LAC (the LAC that a writer sends apart from entries); return when it is durable.

        :raises BookieError: the LAC was refused; the error has the status of the reply.
        """
        await self._context.bookie.set_explicit_lac(request.ledger_id, request.master_key, request.body)
        return WriteLacResponse(request.header, Status.EOK, request.ledger_id)


def _found(
    request: ReadRequest, entry_id: int, entry: bytes | None, max_lac: int | None, timestamp: int | None = None
) -> ReadResponse:
    return ReadResponse(request.header, Status.EOK, request.ledger_id, entry_id, entry, max_lac, timestamp)
