"""Bookies over the network: which wire a request takes, and how a bookie's address is found.

V2 carries adds, reads and batch reads; V3 is opened for what only V3 has, and for the requests whose V2
reply could be mistaken for another's: fencing reads, and keys that are taken (see
:mod:`~bookkeeper_twisted.protocol.outstanding`).  With ``wireProtocol = v3`` everything is V3; ``auto``
is V2 as described, and V3 for deferred sync, which V2 cannot say and ``v2`` therefore refuses.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from twisted.internet.defer import Deferred, DeferredList, fail
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.python.failure import Failure
from zope.interface import implementer

from ..codec import v2
from ..codec.runs import BatchReply, ReadReply
from ..config import ClientConfig
from ..errors import (
    BookieHandleNotAvailableError,
    ClientClosedError,
    IllegalOperationError,
    MetadataError,
    Status,
)
from ..metadata.interfaces import IRegistration
from ..model import EntryRun
from ..protocol import cold_calls
from ..protocol.client import ClientConnection, RequestLimits, error_of
from ..protocol.cold_calls import ColdCall
from .bookie_channel import BookieChannel
from .interfaces import IBookieClient

T = TypeVar("T")

RangeDone = Callable[[str, int, int, Exception | None], None]
Answered = Callable[[str, Exception | None], None]
"""Takes a bookie id, and why it did not do what it was asked, None if it did."""

EndpointOf = Callable[[str, int], IStreamClientEndpoint]
"""Host and port to endpoint."""


class BookieAddresses:
    """Finds bookies: by what they registered, else by an id that reads ``host:port``."""

    def __init__(self, registration: IRegistration, endpoint_of: EndpointOf) -> None:
        self._registration = registration
        self._endpoint_of = endpoint_of

    def resolve(self, bookie_id: str) -> "Deferred[IStreamClientEndpoint]":
        """:raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: there is no address."""
        return Deferred.fromCoroutine(self._resolve(bookie_id))

    async def _resolve(self, bookie_id: str) -> IStreamClientEndpoint:
        return self._endpoint_of(*await self._address(bookie_id))

    async def host_of(self, bookie_id: str) -> str:
        """Name or address of its machine.

        :raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: there is no address.
        """
        return (await self._address(bookie_id))[0]

    async def _address(self, bookie_id: str) -> tuple[str, int]:
        try:
            info = await self._registration.service_info(bookie_id)
        except MetadataError:
            return _host_and_port(bookie_id)
        for endpoint in info.endpoints:
            if endpoint.protocol == "bookie-rpc":
                return endpoint.host, endpoint.port
        return _host_and_port(bookie_id)


def _host_and_port(bookie_id: str) -> tuple[str, int]:
    host, _, port = bookie_id.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise BookieHandleNotAvailableError(f"no address is known for bookie {bookie_id}")
    return host.strip("[]"), int(port)


@implementer(IBookieClient)
class NetworkBookieClient:
    """One connection for each bookie and wire, made when needed.

    :param resolve: see :class:`BookieAddresses`.
    :param answered: told what came of every request, if anybody wants to know.
    """

    def __init__(
        self, clock: IReactorTime, resolve: Callable[[str], "Deferred[IStreamClientEndpoint]"], config: ClientConfig,
        answered: Answered | None = None,
    ) -> None:  # fmt: skip
        self._answered = answered
        self._clock = clock
        self._resolve = resolve
        self._main_wire = 3 if config.wire_protocol == "v3" else 2
        self._v2_only = config.wire_protocol == "v2"
        self._no_delay = config.client_tcp_no_delay
        self._limits = RequestLimits(
            config.add_entry_timeout_sec, config.read_entry_timeout_sec, config.netty_max_frame_size_bytes
        )
        self._channels: dict[tuple[str, int], BookieChannel] = {}
        self._closed = False
        # the frames of the run sent last: a V2 frame is the same for every bookie of the write quorum
        self._frames: tuple[EntryRun | None, bytes, int, bytes] = (None, b"", 0, b"")

    # ---- IBookieClient -------------------------------------------------------------------------------

    def add(
        self, bookie_id: str, entries: EntryRun, master_key: bytes, flags: int, deferred_sync: bool, done: RangeDone
    ) -> None:
        """See :meth:`~.interfaces.IBookieClient.add`."""

        def finished(first: int, count: int, error: Exception | None) -> None:
            if self._answered is not None:
                self._answered(bookie_id, error)
            done(bookie_id, first, count, error)

        def send(connection: ClientConnection) -> None:
            if connection.wire == 3:
                connection.add(entries, master_key, flags, deferred_sync, finished)
            elif connection.can_add(entries):
                frames = self._v2_frames(entries, master_key, flags)
                connection.add(entries, master_key, flags, deferred_sync, finished, frames)
            else:
                self._connected(bookie_id, 3).addCallback(send).addErrback(refused)

        def refused(failure: Failure) -> None:
            finished(entries.first, entries.count, cast(Exception, failure.value))

        wire = self._main_wire
        if deferred_sync and wire == 2:
            if self._v2_only:
                finished(entries.first, entries.count, IllegalOperationError("V2 has no deferred sync"))
                return
            wire = 3
        channel = self._channels.get((bookie_id, wire))
        if channel is not None and channel.ready is not None:
            send(channel.ready)
        else:
            self._connected(bookie_id, wire).addCallback(send).addErrback(refused)

    def _v2_frames(self, entries: EntryRun, master_key: bytes, flags: int) -> bytes:
        run, key, run_flags, frames = self._frames
        if run is not entries or key != master_key or run_flags != flags:
            frames = v2.encode_adds(master_key, entries, flags, False, 0)
            self._frames = (entries, master_key, flags, frames)
        return frames

    def read(
        self, bookie_id: str, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None
    ) -> "Deferred[ReadReply]":
        """See :meth:`~.interfaces.IBookieClient.read`."""

        def only(replies: list[ReadReply]) -> ReadReply:
            (reply,) = replies
            if reply.status is not Status.EOK:
                raise error_of(reply.status, ledger_id, entry_id)
            return reply

        if flags == 0 and master_key is None:
            return self.read_many(bookie_id, ledger_id, (entry_id,)).addCallback(only)
        return self._with(bookie_id, 3, lambda c: c.special_read(ledger_id, entry_id, flags, master_key)).addCallback(
            only
        )

    def read_many(self, bookie_id: str, ledger_id: int, entry_ids: Sequence[int]) -> "Deferred[list[ReadReply]]":
        """See :meth:`~.interfaces.IBookieClient.read_many`."""

        def send(connection: ClientConnection) -> Deferred[list[ReadReply]]:
            if connection.can_read(ledger_id, entry_ids):
                return connection.read(ledger_id, entry_ids)
            return self._with(bookie_id, 3, send)

        replies = self._with(bookie_id, self._main_wire, send)
        return replies if self._answered is None else replies.addCallback(self._count_items, bookie_id)

    def read_batch(
        self, bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """See :meth:`~.interfaces.IBookieClient.read_batch`."""

        def send(connection: ClientConnection) -> Deferred[BatchReply]:
            return connection.read_batch(ledger_id, first, max_count, max_size, flags, master_key, patience)

        return self._with(bookie_id, self._main_wire if patience is None else 3, send)

    def long_poll(
        self, bookie_id: str, ledger_id: int, previous_lac: int, patience: float
    ) -> "Deferred[ReadReply]":  # fmt: skip
        """See :meth:`~.interfaces.IBookieClient.long_poll`."""
        return self._with(bookie_id, 3, lambda c: c.long_poll(ledger_id, previous_lac, patience))

    def read_lac(self, bookie_id: str, ledger_id: int) -> "Deferred[tuple[bytes | None, bytes | None]]":
        """See :meth:`~.interfaces.IBookieClient.read_lac`."""
        return self._ask(bookie_id, cold_calls.read_lac(ledger_id))

    def write_lac(self, bookie_id: str, ledger_id: int, master_key: bytes, lac: int, body: bytes) -> "Deferred[None]":
        """See :meth:`~.interfaces.IBookieClient.write_lac`."""
        return self._ask(bookie_id, cold_calls.write_lac(ledger_id, master_key, lac, body))

    def force(self, bookie_id: str, ledger_id: int) -> "Deferred[None]":
        """See :meth:`~.interfaces.IBookieClient.force`."""
        return self._ask(bookie_id, cold_calls.force(ledger_id))

    def list_entries(self, bookie_id: str, ledger_id: int) -> "Deferred[Sequence[tuple[int, int]]]":
        """See :meth:`~.interfaces.IBookieClient.list_entries`."""
        return self._ask(bookie_id, cold_calls.list_entries(ledger_id))

    def bookie_info(self, bookie_id: str) -> "Deferred[tuple[int, int]]":
        """See :meth:`~.interfaces.IBookieClient.bookie_info`."""
        return self._ask(bookie_id, cold_calls.bookie_info())

    def close(self) -> "Deferred[None]":
        """See :meth:`~.interfaces.IBookieClient.close`."""
        self._closed = True
        channels, self._channels = self._channels, {}
        gone = [channel.close(ClientClosedError("the client was closed")) for channel in channels.values()]
        return DeferredList(gone).addCallback(lambda _: None)

    # ---- connections ---------------------------------------------------------------------------------

    def _ask(self, bookie_id: str, call: ColdCall[T]) -> "Deferred[T]":
        return self._with(bookie_id, 3, lambda connection: connection.ask(call))

    def _with(self, bookie_id: str, wire: int, request: "Callable[[ClientConnection], Deferred[T]]") -> "Deferred[T]":
        """Makes a request on the connection, now if there is one."""
        answer = self._connected(bookie_id, wire).addCallback(request)
        if self._answered is not None:
            answer.addCallbacks(self._did, self._did_not, (bookie_id,), errbackArgs=(bookie_id,))
        return answer

    def _did(self, result: T, bookie_id: str) -> T:
        cast(Answered, self._answered)(bookie_id, None)
        return result

    def _did_not(self, failure: Failure, bookie_id: str) -> Failure:
        cast(Answered, self._answered)(bookie_id, cast(Exception, failure.value))
        return failure

    def _count_items(self, replies: list[ReadReply], bookie_id: str) -> list[ReadReply]:
        for reply in replies:
            if reply.status is not Status.EOK:
                cast(Answered, self._answered)(bookie_id, error_of(reply.status, reply.ledger_id, reply.entry_id))
        return replies

    def _connected(self, bookie_id: str, wire: int) -> "Deferred[ClientConnection]":
        if self._closed:
            return fail(ClientClosedError("the client was closed"))
        key = (bookie_id, wire)
        channel = self._channels.get(key)
        if channel is None:
            channel = BookieChannel(self._clock, bookie_id, wire, self._limits, self._no_delay, self._resolve)
            self._channels[key] = channel
        return channel.connected()
