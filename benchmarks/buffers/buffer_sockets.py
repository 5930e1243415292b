"""Claim logs and single writes, down to a socket.

Each round offers a thousand messages and sends them over loopback.  The receiver is a process of its own: what it
takes is the same for every way to write, and no part of it.
"""

import multiprocessing
import random
import select
import socket
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import MemoryReactor

from bookkeeper_twisted.codec.adds import seal_adds
from bookkeeper_twisted.codec.digest import Digester, pack_headers
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.protocol.client.request_writer import RequestWriter, WriteHistograms
from bookkeeper_twisted.protocol.direct_transport import DirectConnection

from . import buffer_paths as paths

_TURNS = 20
_ACCEPTED = 4096
"""Bytes a slow peer takes at a time."""

_SLOW_ROUNDS = 20
Best = Callable[[int, Sequence[Callable[[], None]]], list[float]]


class Wire:
    """A transport of Twisted's on one end of a connection; a process empties the other."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
        receiver = multiprocessing.get_context("fork").Process(target=self._empty, args=(theirs, ours), daemon=True)
        receiver.start()
        theirs.close()
        ours.setblocking(False)
        self.reactor: Any = EPollReactor()
        self.transport: Any = Connection(ours, Protocol(), self.reactor)
        self.transport.connected = True

    @staticmethod
    def _empty(theirs: socket.socket, ours: socket.socket) -> None:
        ours.close()
        buffer = bytearray(1 << 20)
        while theirs.recv_into(buffer):
            pass

    def turn(self) -> None:
        """Until everything is sent."""
        transport = self.transport
        while transport.dataBuffer or transport._tempDataBuffer:
            select.select((), (transport,), ())
            transport.doWrite()


def socket_rows(rounds: int, best: Best) -> Iterator[tuple[str, float, float, bool]]:
    """Name, bar, figure, whether the bar is a lower bound."""
    wire = Wire()
    payloads = [random.Random(1).randbytes(25)] * 1000
    write = wire.transport.write
    runs = [paths.writing(*paths.shared(), write), paths.write_each(write, False), paths.write_each(write, True)]

    def way(run: Callable[[Sequence[bytes]], None]) -> Callable[[], None]:
        def turns() -> None:
            for _ in range(_TURNS):
                run(payloads)
                wire.turn()

        return turns

    log, each, deferred = best(rounds, [way(run) for run in runs])
    yield "a write for each message / shared log", 2.5, each / log, True
    yield "a Deferred and a write for each / shared log", 10, deferred / log, True
    for name, bar, connection, backlog in _COPYING:
        copies = copies_for_a_slow_peer(connection, backlog)
        yield f"user copies of a byte, slow peer: {name}", bar, copies, False


_COPYING: tuple[tuple[str, float, type[Connection], bool], ...] = (
    ("direct, one batch a block", 1, DirectConnection, False),
    ("direct, several batches a block", 1, DirectConnection, True),
    ("the same, bar of pull", 5, DirectConnection, True),
    ("Twisted's connection", inf, Connection, True),
)
"""Name, bar, connection, whether batches pile up.  A direct way, for which the bar of 1 is, sends the sealed frames;
that of 5 is for a producer that is pulled, 16 KiB at a time."""


class _SlowSocket:
    """Takes a little with every call.

    :ivar copied: bytes of all memory it was shown, each piece of memory once.
    """

    def __init__(self) -> None:
        self.copied = 0
        self._seen: dict[int, object] = {}  # kept, so that no other memory gets its address

    def setblocking(self, flag: bool) -> None:
        pass

    def fileno(self) -> int:
        return -1

    def show(self, data: Any) -> None:
        """Bytes on their way."""
        memory: Any = memoryview(data).obj
        if id(memory) not in self._seen:
            self._seen[id(memory)] = memory
            self.copied += len(memory)

    def send(self, data: Any) -> int:
        self.show(data)
        return min(len(data), _ACCEPTED)

    def sendmsg(self, pieces: Sequence[Any]) -> int:
        return self.send(pieces[0])


def copies_for_a_slow_peer(connection: type[Connection], backlog: bool) -> float:
    """User copies of each byte from a payload to the kernel, in such a connection of a client.

    That into the sealed frames of a batch is the first.  What sealing copies to compute digests is not counted.

    :param backlog: whether batches are queued faster than the peer takes them, so that a block has several.
    """
    clock, slow, sent = Clock(), _SlowSocket(), 0
    transport: Any = connection(slow, Protocol(), MemoryReactor())  # type: ignore[arg-type]
    transport.connected = True
    writer = RequestWriter(clock, WriteHistograms())
    writer.start(transport)

    def empty() -> None:
        while writer.queue.size or transport.dataBuffer or transport._tempDataBuffer:
            transport.doWrite()

    for data, events in _batches():
        slow.show(data)
        sent += len(data)
        writer.send(1, data, events)
        clock.advance(0)
        if not backlog:
            empty()
    empty()
    return slow.copied / sent


def _batches() -> Iterator[tuple[bytes, int]]:
    """What a writer hands to a connection, and how many frames each is."""
    digester, payloads = Digester(DigestType.CRC32C, b""), [bytes(100)] * 1000
    for number in range(_SLOW_ROUNDS):
        headers = pack_headers(1, 1000 * number, -1, 0, [100] * 1000)
        yield seal_adds(digester, (1,) * 1000, range(1000), headers, payloads).frames, 1000
