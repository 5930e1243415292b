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

from bookkeeper_twisted.protocol.block_writer import BlockWriter
from bookkeeper_twisted.protocol.direct_transport import DirectConnection
from bookkeeper_twisted.protocol.traffic import Traffic

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
    runs = [paths.writing(*paths.exclusive(), write), paths.write_each(write, False), paths.write_each(write, True)]

    def way(run: Callable[[Sequence[bytes]], None]) -> Callable[[], None]:
        def turns() -> None:
            for _ in range(_TURNS):
                run(payloads)
                wire.turn()

        return turns

    log, each, deferred = best(rounds, [way(run) for run in runs])
    yield "a write for each message / exclusive log", 2.5, each / log, True
    yield "a Deferred and a write for each / exclusive log", 10, deferred / log, True
    for name, bar, connection in (("a client", 5, DirectConnection), ("Twisted's connection", inf, Connection)):
        copies = copies_for_a_slow_peer(connection)
        yield f"user copies of a byte in {name}, its peer takes 4 KiB at a time", bar, copies, False


class _SlowSocket:
    """Takes a little with every call, and tells copies from what was put in.

    :ivar put: what was handed to the connection.
    :ivar copied: bytes of all other memory that it sends from.
    """

    def __init__(self) -> None:
        self.put: list[bytes] = []
        self.copied = 0
        self._seen: list[object] = []

    def setblocking(self, flag: bool) -> None:
        pass

    def fileno(self) -> int:
        return -1

    def send(self, data: Any) -> int:
        view = memoryview(data)
        memory: Any = view.obj
        if not any(memory is known for known in self.put + self._seen):
            self._seen.append(memory)
            self.copied += len(memory)
        return min(len(view), _ACCEPTED)

    def sendmsg(self, pieces: Sequence[Any]) -> int:
        return self.send(pieces[0])


def copies_for_a_slow_peer(connection: type[Connection]) -> float:
    """User copies of each byte from the log to the kernel, in such a connection of a client."""
    clock, slow = Clock(), _SlowSocket()
    transport: Any = connection(slow, Protocol(), MemoryReactor())  # type: ignore[arg-type]
    transport.connected = True
    writer = BlockWriter(clock, Traffic(clock.seconds), lambda events, size: None)
    writer.start(transport)
    offer, drain = paths.exclusive()
    for _ in range(_SLOW_ROUNDS):
        for _ in range(1000):
            offer(bytes(100))
        for data in drain():
            slow.put.append(data)
            writer.put(1, data, 1000)
        clock.advance(0)
    while writer.queued or transport.dataBuffer or transport._tempDataBuffer:
        transport.doWrite()
    sent = sum(map(len, slow.put))
    return (sent + slow.copied) / sent  # once out of the log
