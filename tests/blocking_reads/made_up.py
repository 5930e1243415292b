"""Bookies in memory, behind connections that are called like sockets."""

from collections.abc import Sequence

import attrs

from bookkeeper_twisted.blocking_reads import Address, SocketPool
from bookkeeper_twisted.codec import messages
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.operations import RECOVERY_ADD
from bookkeeper_twisted.codec.runs import AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.v3 import replies_out
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, RequestTimeoutError, Status
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

LEDGER = 7
DIGESTER = Digester(DigestType.CRC32C, b"secret")


def stored_entries(
    payloads: Sequence[bytes], digester: Digester = DIGESTER, ledger_id: int = LEDGER
) -> dict[int, bytes]:
    """Entries as a bookie keeps them, by id."""
    run = sealed(digester, ledger_id, 0, -1, 0, payloads)
    return dict(enumerate(run.entries()))


@attrs.define(eq=False)
class MemoryBookie:
    """One bookie and its faults.

    :ivar entries: of the only ledger, by id.
    :ivar down: refuses connections.
    :ivar silent: does not answer in time.
    :ivar batches: whether it knows batch reads; None: it closes the connection on one.
    :ivar lac_packet: the explicit LAC.
    :ivar refuses: answers adds with this status.
    :ivar unreadable: entries that it cannot give, and the status of its answers to reads of them.
    :ivar drops: replies after which the connection of an idle client is lost, counted down.
    """

    address: Address
    entries: dict[int, bytes] = attrs.field(factory=dict)
    down: bool = False
    silent: bool = False
    batches: bool | None = True
    lac_packet: bytes | None = None
    refuses: Status | None = None
    unreadable: dict[int, Status] = attrs.field(factory=dict)
    dialled: int = 0
    requests: list[str] = attrs.field(factory=list)

    def reply(self, item: object) -> bytes | None:
        """The frames that answer one item of a decoder; None closes the connection."""
        if isinstance(item, BatchRead):
            return self._batch(item)
        if isinstance(item, ReadRun):
            self.requests.append(f"{len(item)} reads")
            return b"".join(self._read(item, i) for i in range(len(item)))
        if isinstance(item, AddRun):
            return self._add(item)
        assert isinstance(item, messages.ReadLacRequest)
        self.requests.append("lac")
        last = self.entries[max(self.entries)] if self.entries else None
        status = Status.EOK if last or self.lac_packet else Status.ENOENTRY
        return replies_out.encode_response(
            messages.ReadLacResponse(item.header, status, item.ledger_id, self.lac_packet, last)
        )  # fmt: skip

    def _add(self, run: AddRun) -> bytes:
        for entries in run.entries.runs():
            assert run.flags == RECOVERY_ADD and entries.ledger_id == LEDGER
            self.requests.append(f"{entries.count} adds from {entries.first}")
            if self.refuses is None:
                self.entries.update(enumerate(entries.entries(), entries.first))
        return run.replies(Status.EOK if self.refuses is None else self.refuses)

    def _read(self, run: ReadRun, index: int) -> bytes:
        entry_id = run.entry_ids[index]
        if entry_id in self.unreadable:
            return run.reply(index, self.unreadable[entry_id])
        entry = self.entries.get(entry_id)
        return run.reply(index, Status.EOK if entry else Status.ENOENTRY, entry or b"")

    def _batch(self, request: BatchRead) -> bytes | None:
        self.requests.append(f"batch {request.first}")
        if not self.batches:
            return None if self.batches is None else request.failure(Status.EBADREQ)
        found: list[bytes] = []
        size = 36
        if request.first in self.unreadable:
            return request.failure(self.unreadable[request.first])
        held = {n: entry for n, entry in self.entries.items() if n not in self.unreadable}
        while (entry := held.get(request.first + len(found))) and len(found) < request.max_count:
            size += len(entry) + 4
            if found and size > request.max_size:
                break
            found.append(entry)
        if not found:
            return request.failure(Status.ENOENTRY)
        return b"".join(request.success([EntryRun.of_entries(LEDGER, request.first, found)], -1))


class MemoryConnection:
    """A connection to a bookie in memory."""

    def __init__(self, bookie: MemoryBookie, wire: int) -> None:
        self.wire = wire
        self.closed = False
        self.stale = False
        self._bookie = bookie
        self._decoder = ServerDecoder()
        self._replies = b""

    def send(self, data: bytes) -> None:
        """Has the bookie answer at once."""
        assert not self.closed
        for item in self._decoder.receive(data):
            reply = None if self.stale else self._bookie.reply(item)
            if reply is None:
                self.stale = True
                return
            self._replies += reply

    def receive(self, size: int) -> bytes:
        """The next bytes of the replies."""
        if self._bookie.silent:
            raise RequestTimeoutError("silent")
        if len(self._replies) < size:
            raise BookieHandleNotAvailableError("closed by the bookie")
        data, self._replies = self._replies[:size], self._replies[size:]
        return data

    def receive_some(self, size: int) -> bytes:
        """A piece of the replies that ends anywhere."""
        return self.receive(max(1, min(size, len(self._replies), 1009)))

    def receive_frame(self) -> bytes:
        """The next reply."""
        head = self.receive(4)
        return head + self.receive(int.from_bytes(head, "big"))

    def close(self) -> None:
        """No more calls."""
        self.closed = True


@attrs.define(eq=False)
class Cluster:
    """Bookies, and a pool of connections to them.

    :ivar now: seconds of the clock that the pool sees.
    """

    bookies: list[MemoryBookie]
    now: float = 0.0
    connections: list[MemoryConnection] = attrs.field(factory=list)
    pool: SocketPool = attrs.field(init=False)

    @classmethod
    def of(cls, count: int) -> "Cluster":
        """So many empty bookies."""
        return cls([MemoryBookie(Address(f"b{i}", "127.0.0.1", i)) for i in range(count)])

    def __attrs_post_init__(self) -> None:
        self.pool = SocketPool(self._dial, lambda: self.now)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Of all bookies."""
        return tuple(bookie.address for bookie in self.bookies)

    def store(self, entries: dict[int, bytes], write_quorum: int) -> None:
        """Gives each entry to its write set."""
        for entry_id, entry in entries.items():
            for i in range(write_quorum):
                self.bookies[(entry_id + i) % len(self.bookies)].entries[entry_id] = entry

    def lose_idle_connections(self) -> None:
        """The bookies close every connection; clients do not notice until they use it."""
        for connection in self.connections:
            connection.stale = True

    def _dial(self, address: Address, wire: int) -> MemoryConnection:
        bookie = next(bookie for bookie in self.bookies if bookie.address == address)
        bookie.dialled += 1
        if bookie.down:
            raise BookieHandleNotAvailableError(f"no connection to bookie {address.bookie_id}")
        self.connections.append(MemoryConnection(bookie, wire))
        return self.connections[-1]
