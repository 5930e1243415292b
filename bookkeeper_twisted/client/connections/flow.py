"""The requests of one ledger handle (a flow), on one socket to each bookie, with its own request ids.

If ``wireProtocol`` is ``v3``, all requests use protocol V3.  If it is ``auto`` or ``v2``, the protocol depends on the
request (:class:`~bookkeeper_twisted.protocol.wire_protocols.ClientWires`):

- Adds, reads and batch reads use V2, except those below.
- Operations that V2 lacks use V3.
- V2 has no adds with deferred sync: ``auto`` sends them over V3, ``v2`` refuses them.
- V2 replies have no request id, so a bookie's reply could be mistaken for the reply to another request for the same
  entry.  So fencing reads use V3.  A request for an entry also uses V3 while another request for this entry is
  outstanding, perhaps of another handle (:mod:`~bookkeeper_twisted.protocol.client.in_flight`).

A flow uses the same socket to a bookie until the socket is lost or the flow ends.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.adds import Adds
from ...codec.runs import BatchReply, ReadReply
from ...codec.wire_protocol import IWireProtocol
from ...errors import ERROR_OF_STATUS, BookKeeperError, ClientClosedError, IllegalOperationError, Status
from ...protocol.client import cold_calls
from ...protocol.client.cold_calls import ColdCall
from ...protocol.client.connection import ClientConnection
from ...protocol.client.request_ids import RequestIds
from ...protocol.client.sent_adds import AddsDone
from ..interfaces import IBookieClient
from .bookie_socket import BookieSocket
from .pool import ConnectionPool

T = TypeVar("T")

CountAnswer = Callable[[str, Exception | None], None]
"""A function that counts the outcome of a request: its arguments are the bookie id, and the error or None."""


def _report_outcome(answered: CountAnswer, done: Callable[..., None], bookie_id: str, *outcome: Any) -> None:
    """Count the outcome of a request to a bookie, then pass the outcome on to the caller of the request.

    :param answered: counts the outcome.
    :param done: the callback of the caller.
    :param bookie_id: the bookie.
    :param outcome: the arguments of ``done`` after the bookie id; the last one is the error.
    """
    answered(bookie_id, outcome[-1])
    done(bookie_id, *outcome)


def _begin_request(request: "Callable[[ClientConnection], Deferred[T]]", connection: ClientConnection) -> "Deferred[T]":
    try:
        return request(connection)
    except Exception:
        return fail()


@implementer(IBookieClient)
class Flow:
    """The requests of one ledger handle to all bookies.

    :ivar pool: all connections of the client.
    """

    _log = Logger()

    __slots__ = ("pool", "_answered", "_ids", "_sockets", "_pending", "_end", "_left", "__weakref__")

    def __init__(self, pool: ConnectionPool, answered: CountAnswer | None) -> None:
        """:param answered: called with the outcome of every request; None if no caller counts the outcomes."""
        self.pool = pool
        self._answered = answered
        self._ids = RequestIds(pool.settings.flow_ids.allocate())
        self._sockets: dict[tuple[str, IWireProtocol], BookieSocket] = {}
        self._pending = 0
        self._end: Exception | None = None
        self._left = False

    # ---- IBookieClient -------------------------------------------------------------------------------

    def add(self, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool = False) -> None:
        """Send adds to a bookie in one write: of new entries, or of entries that other bookies have stored already.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.add` for parameters and errors.
        """
        if self._answered is not None:
            done = partial(_report_outcome, self._answered, done)
        wires = self.pool.wires
        wire = wires.main
        if adds.deferred_sync:
            wire = wires.complete
            if wires.strict:
                text = f"ledger {adds.ledger_ids[0]}: {wires.main} has no deferred sync"
                done(bookie_id, range(len(adds)), IllegalOperationError(text))
                return
        socket = self._sockets.get((bookie_id, wire))
        ready = None if socket is None or self._end is not None else socket.ready
        if ready is None:
            self._add_later(wire, bookie_id, adds, done, fresh)
        elif not ready.add(self._ids, adds, done, fresh):
            self._add_later(wires.complete, bookie_id, adds, done, fresh)

    def _add_later(self, wire: IWireProtocol, bookie_id: str, adds: Adds, done: AddsDone, fresh: bool) -> None:
        """Send adds when the connection to the bookie is established."""

        def send(connection: ClientConnection) -> None:
            if not connection.add(self._ids, adds, done, fresh):
                self._add_later(self.pool.wires.complete, bookie_id, adds, done, fresh)

        def refused(failure: Failure) -> None:
            done(bookie_id, range(len(adds)), cast(Exception, failure.value))

        def ended(result: T) -> T:
            self._ended()
            return result

        self._pending += 1
        self._connected(bookie_id, wire).addCallbacks(send, refused).addBoth(ended).addErrback(self._broken)

    def read(
        self, bookie_id: str, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None
    ) -> "Deferred[ReadReply]":
        """Read one entry of a ledger from a bookie.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read` for parameters and errors.
        """

        def only(replies: list[ReadReply]) -> ReadReply:
            (reply,) = replies
            if reply.status is not Status.EOK:
                raise ERROR_OF_STATUS[reply.status](ledger_id, entry_id, bookie_id=bookie_id)
            return reply

        if flags == 0 and master_key is None:
            return self.read_many(bookie_id, ledger_id, (entry_id,)).addCallback(only)
        complete = self.pool.wires.complete
        return self._with(
            bookie_id, complete, lambda c: c.special_read(self._ids, ledger_id, entry_id, flags, master_key)
        ).addCallback(only)

    def read_many(
        self, bookie_id: str, ledger_id: int, entry_ids: Sequence[int], context: Mapping[str, str] | None = None
    ) -> "Deferred[list[ReadReply]]":
        """Read several entries from a bookie by requests that are sent in one write.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read_many` for parameters and errors.
        """

        def send(connection: ClientConnection) -> Deferred[list[ReadReply]]:
            if connection.can_read(ledger_id, entry_ids):
                return connection.read(self._ids, ledger_id, entry_ids, context)
            return self._with(bookie_id, self.pool.wires.complete, send)

        replies = self._with(bookie_id, self.pool.wires.main, send)
        return replies if self._answered is None else replies.addCallback(self._count_items, bookie_id)

    def read_batch(
        self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None, context: Mapping[str, str] | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Read one or more consecutive entries, beginning with ``first``, from a bookie in one request.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.read_batch` for parameters and errors.
        """

        def send(connection: ClientConnection) -> Deferred[BatchReply]:
            return connection.read_batch(
                self._ids, ledger_id, first, max_count, max_size, flags, master_key, patience, context
            )

        return self._with(bookie_id, self.pool.wires.main if patience is None else self.pool.wires.complete, send)

    def long_poll(
        self, bookie_id: str, ledger_id: int, previous_lac: int, patience: float
    ) -> "Deferred[ReadReply]":  # fmt: skip
        """Let a bookie wait until it knows a LAC above ``previous_lac``, then return its reply.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.long_poll` for parameters and errors.
        """
        wire = self.pool.wires.complete
        return self._with(bookie_id, wire, lambda c: c.long_poll(self._ids, ledger_id, previous_lac, patience))

    def read_lac(self, bookie_id: str, ledger_id: int) -> "Deferred[tuple[bytes | None, bytes | None]]":
        """Read the explicit LAC and the last entry of a ledger from one bookie."""
        return self._ask(bookie_id, cold_calls.read_lac(ledger_id))

    def write_lac(self, bookie_id: str, ledger_id: int, master_key: bytes, lac: int, body: bytes) -> "Deferred[None]":
        """Send an explicit LAC packet to a bookie, which stores it for readers of the ledger.

        See :meth:`~bookkeeper_twisted.client.interfaces.IBookieClient.write_lac` for parameters and errors.
        """
        return self._ask(bookie_id, cold_calls.write_lac(ledger_id, master_key, lac, body))

    def force(self, bookie_id: str, ledger_id: int) -> "Deferred[None]":
        """Make the bookie ``bookie_id`` sync all acknowledged adds of ``ledger_id``; fire when they are on disk."""
        return self._ask(bookie_id, cold_calls.force(ledger_id))

    def list_entries(self, bookie_id: str, ledger_id: int) -> "Deferred[Sequence[tuple[int, int]]]":
        """List the entries of the ledger ``ledger_id`` that a bookie has."""
        return self._ask(bookie_id, cold_calls.list_entries(ledger_id))

    def bookie_info(self, bookie_id: str) -> "Deferred[tuple[int, int]]":
        """Ask the bookie ``bookie_id`` for the size and the free space of its ledger directories, in bytes."""
        return self._ask(bookie_id, cold_calls.bookie_info())

    def open_flow(self) -> IBookieClient:
        """Return a new flow, for the requests of another ledger handle over the same connections."""
        return cast(IBookieClient, Flow(self.pool, self._answered))

    def check_open(self) -> None:
        """Check that requests can be sent: neither the client nor this flow is closed or retired.

        :raises bookkeeper_twisted.errors.ClientClosedError: every request fails with this error from now on.
        """
        error = self._end or self.pool.closed
        if error is not None:
            raise error

    def retire(self) -> None:
        """Refuse further requests with ClientClosedError; outstanding requests end as usual, then the flow ends."""
        if self._end is None:
            self._end = ClientClosedError("the handle was closed")
        self._leave_if_quiet()

    def close(self) -> "Deferred[None]":
        """End this flow, the requests of one ledger handle: fail outstanding and later requests."""
        self._end = self._end or ClientClosedError("the handle was closed")
        self._leave(self._end)
        return succeed(None)

    def _refuse(self, error: Exception) -> None:
        """Fail every later request with ``error``."""
        self._end = error

    def _leave_if_quiet(self) -> None:
        """Stop using all sockets if the ledger handle is closed and none of its requests is outstanding.

        While requests are outstanding, this method is called again when they have ended.
        """
        waits = self._pending or [s for s in self._sockets.values() if s.waits(self._ids, self._leave_if_quiet)]
        if self._end is not None and not waits:
            self._leave(self._end)

    def _leave(self, error: Exception) -> None:
        if self._left:
            return
        self._left = True
        for socket in self._sockets.values():
            if socket.usable:
                socket.leave(self._ids, error)
        self._sockets.clear()
        self.pool.settings.flow_ids.release(self._ids.flow_id)

    # ---- requests ------------------------------------------------------------------------------------

    def _ended(self) -> None:
        self._pending -= 1
        if self._end is not None:
            self._leave_if_quiet()

    def _ask(self, bookie_id: str, call: ColdCall[T]) -> "Deferred[T]":
        return self._with(bookie_id, self.pool.wires.complete, lambda connection: connection.ask(self._ids, call))

    def _with(
        self, bookie_id: str, wire: IWireProtocol, request: "Callable[[ClientConnection], Deferred[T]]"
    ) -> "Deferred[T]":
        """Send a request to a bookie, immediately or when the connection is established."""
        self._pending += 1
        ready = self._ready(bookie_id, wire)
        if ready is None:
            answer = self._connected(bookie_id, wire).addCallback(request)
        else:
            answer = _begin_request(request, ready)
        return answer.addCallbacks(self._did, self._did_not, (bookie_id,), errbackArgs=(bookie_id,))

    def _did(self, result: T, bookie_id: str) -> T:
        self._ended()
        if self._answered is not None:
            self._answered(bookie_id, None)
        return result

    def _did_not(self, failure: Failure, bookie_id: str) -> Failure:
        self._ended()
        if self._answered is not None:
            self._answered(bookie_id, cast(Exception, failure.value))
        return failure

    def _count_items(self, replies: list[ReadReply], bookie_id: str) -> list[ReadReply]:
        for reply in replies:
            if reply.status is not Status.EOK:
                error = ERROR_OF_STATUS[reply.status](reply.ledger_id, reply.entry_id, bookie_id=bookie_id)
                cast(CountAnswer, self._answered)(bookie_id, error)
        return replies

    def _broken(self, failure: Failure) -> None:
        self._log.failure("completing adds failed", failure)

    def _ready(self, bookie_id: str, wire: IWireProtocol) -> ClientConnection | None:
        """Return the connection to a bookie if a request can be sent on it immediately, else None."""
        socket = self._sockets.get((bookie_id, wire))
        return None if socket is None or self._end is not None else socket.ready

    def _connected(self, bookie_id: str, wire: IWireProtocol) -> "Deferred[ClientConnection]":
        if self._end is not None:
            return fail(self._end)
        socket = self._sockets.get((bookie_id, wire))
        if socket is None or not socket.usable:
            try:
                socket = self.pool.socket(bookie_id, wire, self._ids)
            except BookKeeperError as error:
                return fail(error)
            self._sockets[socket.key] = socket
        return socket.connected(self._ids.flow_id)
