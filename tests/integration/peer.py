"""A peer of a bookie that may send anything, over TCP, and what it sees of the bookie's process."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import AddReplies, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.errors import Status
from examples.bookie_process import BookieProcess
from tests.wires import WIRES

from ..bookie.rig import KEY, run


class Peer(Protocol):
    """One connection, with replies decoded.

    :ivar closed: whether the bookie, or we, closed it.
    """

    transport: Any
    expects_more = False

    def __init__(self, wire: int) -> None:
        self.closed = False
        self._decoder = ClientDecoder(WIRES[wire])
        self._items: list[object] = []
        self._wanted: tuple[int, Deferred[list[object]]] | None = None
        self._gone: list[Deferred[None]] = []

    @classmethod
    async def connect(cls, reactor: Any, port: int, wire: int = 2) -> "Peer":
        """A connection to a bookie on this machine."""
        peer = cls(wire)
        await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), peer)
        return peer

    def send(self, data: bytes) -> None:
        """Sends bytes, whatever they mean."""
        self.transport.write(data)

    def take(self, count: int) -> "Deferred[list[object]]":
        """The next replies; fewer if the connection is closed before."""
        self._wanted = (count, Deferred())
        waiting = self._wanted[1]
        self._check()
        return waiting

    def gone(self) -> "Deferred[None]":
        """Fires when the connection is closed."""
        if self.closed:
            return succeed(None)
        self._gone.append(Deferred())
        return self._gone[-1]

    def leave(self) -> "Deferred[None]":
        """Drops the connection without a goodbye."""
        gone = self.gone()
        self.transport.abortConnection()
        return gone

    def _check(self) -> None:
        if self._wanted is not None and (self.closed or len(self._items) >= self._wanted[0]):
            (count, waiting), self._wanted = self._wanted, None
            taken, self._items = self._items[:count], self._items[count:]
            waiting.callback(taken)

    # -- called by the transport --

    def dataReceived(self, data: bytes) -> None:
        self._items.extend(self._decoder.receive(data))
        assert self._decoder.error is None, self._decoder.error
        self._check()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.closed = True
        self._check()
        for waiting in self._gone:
            waiting.callback(None)


class Bystander:
    """A well-behaved client on a connection of its own, and the entries it was promised."""

    LEDGER = 1
    ENTRIES = 10

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.acked = 0

    async def is_served(self) -> None:
        """Adds some entries, and reads them back."""
        entries = run(self.LEDGER, self.acked, self.ENTRIES)
        self.peer.send(requests_out.encode_adds(KEY, entries))
        added = 0
        while added < self.ENTRIES:
            (replies,) = cast(list[AddReplies], await self.peer.take(1))
            assert replies.status is Status.EOK, replies.status
            added += len(replies.entry_ids)
        await self.finds(self.acked, self.ENTRIES)
        self.acked += self.ENTRIES

    async def finds(self, first: int, count: int) -> None:
        """Entries are there, with their bytes; those from memory may come before those from disk."""
        entries, wanted = run(self.LEDGER, first, count), range(first, first + count)
        self.peer.send(requests_out.encode_reads(self.LEDGER, wanted))
        replies = cast(list[ReadReply], await self.peer.take(count))
        assert sorted(reply.entry_id for reply in replies) == list(wanted)
        for reply in replies:
            assert reply.status is Status.EOK, reply.status
            assert reply.entry == entries.entry(reply.entry_id), reply.entry_id


def open_files(process: BookieProcess) -> list[str]:
    """What a process has open, sockets included."""
    targets = []
    for path in Path(f"/proc/{process.transport.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed: a flush works on files of its own
            targets.append(str(path.readlink()))
    return sorted(targets)


def descriptors(process: BookieProcess) -> tuple[int, int]:
    """How many sockets a process has open, and how many other files."""
    targets = open_files(process)
    sockets = sum(target.startswith("socket:") for target in targets)
    return sockets, len(targets) - sockets


def resident_bytes(process: BookieProcess) -> int:
    """Memory that a process has in RAM."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.transport.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
