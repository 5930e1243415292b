"""Claim logs and single writes, down to a socket."""

import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from twisted.internet import abstract
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import MemoryReactor

from bookkeeper_twisted.protocol.block_writer import BlockWriter
from bookkeeper_twisted.protocol.traffic import Traffic

from . import buffer_paths as paths

_TURNS = 20
_ACCEPTED = 4096
"""Bytes a slow peer takes at a time."""

_SLOW_ROUNDS = 20
Best = Callable[[int, Sequence[Callable[[], None]]], list[float]]


class Wire:
    """A transport of Twisted's on one end of a pair of sockets; a thread empties the other."""

    def __init__(self) -> None:
        self.reactor: Any = EPollReactor()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.transport: Any = Connection(ours, Protocol(), self.reactor)
        self.transport.connected = True
        threading.Thread(target=self._empty, args=(theirs,), daemon=True).start()

    @staticmethod
    def _empty(theirs: socket.socket) -> None:
        buffer = bytearray(1 << 20)
        while theirs.recv_into(buffer):
            pass

    def turn(self) -> None:
        """Until everything is sent."""
        transport = self.transport
        while transport.dataBuffer or transport._tempDataBuffer:
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
    yield "user copies of a byte in a client, its peer takes 4 KiB at a time", 5, copies_for_a_slow_peer(), False


class _SlowTransport(abstract.FileDescriptor):
    """What buffers below Twisted's TCP connections; its peer takes a little with every write event."""

    def __init__(self) -> None:
        super().__init__(MemoryReactor())
        self.connected = True

    def writeSomeData(self, data: Any) -> int:
        return min(len(data), _ACCEPTED)


def copies_for_a_slow_peer() -> float:
    """User copies of each byte from the log to the kernel, in a client's connection as it is."""
    copied = sent = 0
    concatenate = abstract._concatenate

    def counting(rest: Any, offset: int, pieces: Any) -> bytes:
        nonlocal copied
        joined: bytes = concatenate(rest, offset, pieces)
        copied += len(joined)
        return joined

    clock, transport = Clock(), _SlowTransport()
    writer = BlockWriter(clock, Traffic(clock.seconds), lambda events, size: None)
    writer.start(transport)
    offer, drain = paths.exclusive()
    abstract._concatenate = counting
    try:
        for _ in range(_SLOW_ROUNDS):
            for _ in range(1000):
                offer(bytes(100))
            for data in drain():
                writer.put(1, data, 1000)
                copied += len(data)  # out of the log
                sent += len(data)
            clock.advance(0)
        while writer.queued or transport.dataBuffer or transport._tempDataBuffer:
            transport.doWrite()
    finally:
        abstract._concatenate = concatenate
    return copied / sent
