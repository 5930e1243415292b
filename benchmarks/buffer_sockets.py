"""Claim logs and single writes, down to a socket."""

import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import Protocol
from twisted.internet.tcp import Connection

from . import buffer_paths as paths

_TURNS = 20
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
