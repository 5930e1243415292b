"""Passes each request to the processor for its kind, and answers the rare kinds itself."""

from collections.abc import Callable, Coroutine
from typing import Any

import attrs

from ...authorization.access import AccessControl
from ...codec.messages import (
    AuthRequest,
    AuthResponse,
    BookieInfoRequest,
    BookieInfoResponse,
    ForceLedgerRequest,
    ForceLedgerResponse,
    ListEntriesRequest,
    ListEntriesResponse,
    ReadLacRequest,
    ReadLacResponse,
    ReadRequest,
    ReadResponse,
    RejectedRequest,
    StartTlsRequest,
    StartTlsResponse,
    WriteLacRequest,
    WriteLacResponse,
)
from ...codec.operations import AUTH_DISABLED_PLUGIN
from ...codec.runs import AddRun, BatchRead, ReadRun
from ...errors import BookieIOError, Status
from ...instruments import Summary
from ...protocol.authentication import IBookieAuthentication, Peer
from ...protocol.connection_state import ConnectionState
from ...protocol.interfaces import IRequestSession, IServerConnection
from ...protocol.peer_lines import PeerLines
from ...shared_result import SharedResult
from .authentication import AuthenticatingSession
from .authorization import AuthorizingSession
from .batch_processor import BatchProcessor
from .context import RequestContext, status_of
from .encryption import Encryption, FirstFrameSession, PeerRefusals
from .lac_processor import LacProcessor
from .read_cursor import ReadCursor
from .read_processor import ReadProcessor
from .session import RequestSession
from .slow_requests import DISK, JOURNAL

_TOTAL_CAPACITY, _FREE_SPACE = 1, 2

_LIST_BYTES = 1024 * 1024
"""Number of bytes that are assumed for a reply that lists entries.

The bytes count against the connection's limits, so a connection can have only few such requests in progress.
"""


@attrs.frozen
class _Cold:
    """The functions and properties of one kind of rare request, such as a fencing read or a list of entries.

    :ivar answer: returns the response, or raises an error.
    :ivar refuse: makes the response with an error status.
    :ivar is_read: True if the request counts as a read in the limits on requests in progress.
    :ivar name: name of the operation, for the log.
    :ivar waits_for: the usual reason for which such a request waits, for the log.
    """

    answer: Callable[[RequestSession, Any], Coroutine[Any, Any, Any]]
    refuse: Callable[[Any, Status], Any]
    metric: Callable[[Any], Summary] | None = None
    is_read: bool = False
    name: str = ""
    waits_for: str = DISK


class RequestProcessor:
    """The factory of the sessions of a bookie's connections."""

    def __init__(
        self, context: RequestContext, authentication: IBookieAuthentication, encryption: Encryption | None = None,
        access: AccessControl | None = None,
    ) -> None:  # fmt: skip
        self._access = access
        self._context = context
        self._authentication = authentication
        self._encryption = encryption
        self._asking: SharedResult[tuple[int, int]] | None = None
        self._refusals = PeerRefusals(PeerLines(context.clock.seconds), context.metrics.refused_authentications)
        reads, batches = ReadProcessor(context), BatchProcessor(context)
        self._cold = self._cold_requests(LacProcessor(context))
        self._starts: dict[type[Any], Callable[[RequestSession, Any], bool]] = {
            AddRun: RequestSession.add,
            ReadRun: reads.start,
            ReadCursor: reads.proceed,
            BatchRead: batches.start,
            RejectedRequest: _reject,
            **dict.fromkeys(self._cold, self._start_cold),
        }

    def open_session(self, connection: IServerConnection) -> IRequestSession:
        """Open the session of a ``connection``; if the bookie has TLS, the first frame may start the encryption."""
        if self._encryption is not None:
            plugin = self._authentication.plugin
            return FirstFrameSession(connection, self._encryption, self._open_session, self._refusals, plugin)
        return self._open_session(connection)

    def _open_session(self, connection: IServerConnection) -> IRequestSession:
        """Open a session whose peer must authenticate first, if the authentication provider requires that."""
        session = self._serving_session(connection)
        provider = self._authentication
        peer = Peer(connection.peer, connection.principal, connection.is_encrypted, reactor=self._context.clock)
        exchange = provider.bookie_exchange(peer)
        if exchange.complete:
            connection.principal = exchange.principal
            connection.enter(ConnectionState.READY)
            return session
        return AuthenticatingSession(connection, provider.plugin, exchange, session, self._refusals)

    def _serving_session(self, connection: IServerConnection) -> IRequestSession:
        """Open the session of an authenticated peer.

        If there are rules of authorization, the requests of the peer need permission.
        """
        session = RequestSession(connection, self._context, self._starts)
        return session if self._access is None else AuthorizingSession(connection, self._access, session)

    def _cold_requests(self, lacs: LacProcessor) -> dict[type[Any], _Cold]:
        metrics = self._context.metrics

        def read_metric(request: ReadRequest) -> Summary:
            return metrics.fence_read if request.fence else metrics.long_poll

        return {
            ReadRequest: _Cold(lacs.read, _refused_read, read_metric, True, "READ_ENTRY"),
            ReadLacRequest: _Cold(
                lacs.read_lac, _refused(ReadLacResponse), lambda _: metrics.read_lac, name="READ_LAC"
            ),
            WriteLacRequest: _Cold(
                lacs.write_lac, _refused(WriteLacResponse), lambda _: metrics.write_lac, False, "WRITE_LAC", JOURNAL
            ),
            ForceLedgerRequest: _Cold(
                self._force, _refused(ForceLedgerResponse), lambda _: metrics.force, False, "FORCE_LEDGER", JOURNAL
            ),
            ListEntriesRequest: _Cold(
                self._list, _refused(ListEntriesResponse), lambda _: metrics.list_entries, name="LIST_ENTRIES"
            ),
            BookieInfoRequest: _Cold(self._info, _refused_info, lambda _: metrics.bookie_info, name="BOOKIE_INFO"),
            AuthRequest: _Cold(_auth_disabled, _refused_auth),
            StartTlsRequest: _Cold(_no_tls, lambda request, status: StartTlsResponse(request.header, status)),
        }

    # -- cold requests --

    def _start_cold(self, session: RequestSession, request: Any) -> bool:
        cold = self._cold[type(request)]
        if not (session.admit_reads(1) if cold.is_read else session.admit(self._context.others)):
            return False
        session.serve(self._serve(session, request, cold))
        return True

    async def _serve(self, session: RequestSession, request: Any, cold: _Cold) -> None:
        clock, turns = self._context.clock, session.connection.turns
        began = clock.seconds()
        failure, counts, pairs = None, False, request.header.context
        try:
            response = await cold.answer(session, request)
            await session.turn()  # one event may resume many requests: let other connections run in between
            counts = turns.begin()
            reply = self._encoded(request, response)
        except Exception as error:
            failure = error
            status = status_of(error, **self._context.slow.fields_of(pairs))
            reply = request.header.wire.encode_response(cold.refuse(request, status))
        session.connection.reply(reply)
        if counts:
            turns.end()
        if cold.metric is not None:
            metric, took = cold.metric(request), (clock.seconds() - began) * 1000
            (metric.success if failure is None else metric.failure).record(took)
            if took >= self._context.slow.threshold:
                self._say_slow(session, request, cold, took)
        if pairs and self._context.traces is not None:
            name, peer = cold.name.lower(), session.connection.peer
            self._context.traces.answered(name, pairs, peer, _ids_of(request), began, failure)
        if cold.is_read:
            session.answered(1)
        else:
            self._context.others.release(1)

    def _say_slow(self, session: RequestSession, request: Any, cold: _Cold, took: float) -> None:
        """Log a slow request of a rare kind, such as a read of the LAC or a force of a ledger.

        A long poll for a LAC is not logged, because it is meant to take long.
        """
        if getattr(request, "timeout_ms", None) is not None:
            return
        waited_for = JOURNAL if getattr(request, "fence", False) else cold.waits_for
        peer, pairs = session.connection.peer, request.header.context
        self._context.slow.say(cold.name, peer, *_ids_of(request), 1, took, waited_for, pairs)

    def _encoded(self, request: Any, response: object) -> bytes:
        """Encode the reply to a request.

        :raises BookieIOError: the reply is longer than the limit of a frame; a client that received it would close the
            connection.
        """
        reply: bytes = request.header.wire.encode_response(response)
        if len(reply) > self._context.limits.max_frame_size:
            raise BookieIOError(request.ledger_id, detail=f"a reply of {len(reply)} bytes is over the limit of frames")
        return reply

    async def _force(self, session: RequestSession, request: ForceLedgerRequest) -> ForceLedgerResponse:
        await self._context.bookie.force(request.ledger_id)
        return ForceLedgerResponse(request.header, Status.EOK, request.ledger_id)

    async def _list(self, session: RequestSession, request: ListEntriesRequest) -> ListEntriesResponse:
        await session.room()
        session.expect(_LIST_BYTES)
        try:
            ranges = await self._context.bookie.entry_ranges(request.ledger_id)
        finally:
            session.expect(-_LIST_BYTES)
        return ListEntriesResponse(request.header, Status.EOK, request.ledger_id, tuple(ranges))

    async def _usage(self) -> tuple[int, int]:
        try:
            return await self._context.disk_usage()
        finally:
            self._asking = None

    async def _info(self, session: RequestSession, request: BookieInfoRequest) -> BookieInfoResponse:
        asking = self._asking
        if asking is None:
            asking = self._asking = SharedResult()
            asking.run(self._usage())
        total, free = await asking.wait()
        return BookieInfoResponse(
            request.header,
            Status.EOK,
            total if request.requested & _TOTAL_CAPACITY else None,
            free if request.requested & _FREE_SPACE else None,
        )


def _ids_of(request: Any) -> tuple[int, int]:
    """Return the ledger id and the entry id of a request; -1 for an id that this kind of request does not have."""
    return getattr(request, "ledger_id", -1), getattr(request, "entry_id", -1)


def _reject(session: RequestSession, request: RejectedRequest) -> bool:
    session.connection.reply(request.reply)
    return True


def _refused(response: Callable[..., Any]) -> Callable[[Any, Status], Any]:
    return lambda request, status: response(request.header, status, request.ledger_id)


def _refused_read(request: ReadRequest, status: Status) -> ReadResponse:
    return ReadResponse(request.header, status, request.ledger_id, request.entry_id)


def _refused_info(request: BookieInfoRequest, status: Status) -> BookieInfoResponse:
    return BookieInfoResponse(request.header, status)


def _refused_auth(request: AuthRequest, status: Status) -> AuthResponse:
    return AuthResponse(request.header, AUTH_DISABLED_PLUGIN, b"", status)


async def _auth_disabled(session: RequestSession, request: AuthRequest) -> AuthResponse:
    """Answer an authentication request of a peer that needs no authentication: some clients wait for the answer."""
    return AuthResponse(request.header, AUTH_DISABLED_PLUGIN, b"")


async def _no_tls(session: RequestSession, request: StartTlsRequest) -> StartTlsResponse:
    return StartTlsResponse(request.header, Status.EBADREQ)
