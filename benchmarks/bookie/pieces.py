"""``python -m benchmarks pieces``: the processor time of a lone add, by the two halves of its way through a bookie.

A bookie runs in this process, on a reactor that is turned by hand; a peer adds entry after entry, each when the one
before it is acknowledged.  The first half is the turn of the reactor in which the add is received and submitted to the
journal, the second half is all turns from then on until the reply is sent.  Both are the time of the reactor's thread;
what the threads of the process spend together is the third figure.  Least and median of all adds, in microseconds.

With ``--bare``, a server takes the bookie's place that makes only the calls that no bookie can leave out: it receives
the bytes, has the kernel write them, and sends a reply.  What it needs is the limit of what a bookie can reach.
"""

import argparse
import json
import select
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.interfaces import IReadDescriptor
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_twisted.cli.tap import collect_seldom
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.embedding.production import make_bookie

from ..shared.bare_file import BareFile
from ..shared.generator import FIRST_ID, add_frames
from ..shared.machine import Machine

_LEDGER = 1
_WARM_UP = 300
_WAIT = 0.05
_LENGTH = struct.Struct(">I")
_REPLY = _LENGTH.pack(24) + bytes(24)  # as long as that of V2
PIECES = ("received to submitted", "completed to sent", "both", "whole process")


@implementer(IReadDescriptor)
class BareServer(Protocol):
    """A server for one peer that writes what it receives, waits until that is durable, and sends a reply.

    Each write is one direct write to blocks of a file that were written before, by the kernel's asynchronous I/O.

    :param folder: where the file is made.
    """

    def __init__(self, reactor: Any, folder: Path) -> None:
        self._reactor = reactor
        self._file = BareFile(folder)

    def start(self) -> Deferred[None]:
        """Listen on the loopback interface."""
        self._listening = self._reactor.listenTCP(0, Factory.forProtocol(lambda: self), interface="127.0.0.1")
        self.port = self._listening.getHost().port
        self._reactor.addReader(self)
        return succeed(None)

    def connectionMade(self) -> None:
        self._socket = self.transport.getHandle()  # type: ignore[union-attr]

    def dataReceived(self, data: bytes) -> None:
        self._file.begin(data)

    def doRead(self) -> None:
        """Send the reply of the write that has ended."""
        self._file.end()
        self._socket.send(_REPLY)

    def fileno(self) -> int:
        return self._file.event

    def logPrefix(self) -> str:
        return "bare"

    def connectionLost(self, reason: Failure | None = None) -> None:  # type: ignore[override]
        """Do nothing: the peer, or the reactor, has ended."""

    def stop(self) -> Deferred[Any]:
        """Stop listening, and close the file."""
        self._reactor.removeReader(self)
        self._file.close()
        return maybeDeferred(self._listening.stopListening)


def _bookie(reactor: Any, folder: Path) -> Any:
    options = {
        "bookiePort": "0", "allowLoopback": "true", "advertisedAddress": "127.0.0.1",
        "metadataServiceUri": f"sqlite:///{folder}/metadata.db", "journalDirectories": f"{folder}/journal",
        "ledgerDirectories": f"{folder}/ledgers", "flushInterval": "3600000",
    }  # fmt: skip
    return make_bookie(reactor, BookieConfig.load(from_options(options)))


class LoneAdds:
    """A bookie in this process, and one peer that adds one entry after the other.

    :param folder: where the bookie keeps its files.
    :param made: makes the bookie, or a server in its place.
    """

    def __init__(self, folder: Path, wire: int, size: int, made: Callable[[Any, Path], Any] = _bookie) -> None:
        self.reactor: Any = EPollReactor()
        self._bookie = made(self.reactor, folder)
        self._wire, self._size, self._next = wire, size, FIRST_ID
        self._finish(self._bookie.start())
        self._peer = socket.create_connection(("127.0.0.1", self._bookie.port))
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replied = select.poll()
        self._replied.register(self._peer, select.POLLIN)

    def _finish(self, doing: Any) -> None:
        """Turn the reactor until a Deferred has fired."""
        while not doing.called:
            self._turn()
        if isinstance(doing.result, BaseException):
            raise doing.result

    def _turn(self) -> None:
        self.reactor.doIteration(_WAIT)
        self.reactor.runUntilCurrent()

    def run(self, count: int) -> list[tuple[float, ...]]:
        """Return the seconds of the :data:`PIECES` of each of ``count`` adds."""
        frames = add_frames(self._wire, _LEDGER, self._next, count, self._size)
        self._next += count
        stride = len(frames) // count
        return [self._add(frames[at : at + stride]) for at in range(0, len(frames), stride)]

    def _add(self, frame: bytes) -> tuple[float, ...]:
        turn, replied, thread, process = self._turn, self._replied.poll, time.thread_time, time.process_time
        self._peer.sendall(frame)
        process_began, began = process(), thread()
        turn()
        submitted = thread()
        while not replied(0):
            turn()
        sent, ended = thread(), process()
        (length,) = _LENGTH.unpack(self._take(4))
        self._take(length)
        return submitted - began, sent - submitted, sent - began, ended - process_began

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._peer.recv(count - len(data))
        return data

    def close(self) -> None:
        """Close the peer's connection, and stop the bookie."""
        self._peer.close()
        self._finish(self._bookie.stop())


def summary(adds: Sequence[Sequence[float]]) -> Mapping[str, tuple[float, float]]:
    """Return the least and the median of each of the :data:`PIECES`, in microseconds."""
    columns = zip(PIECES, zip(*adds, strict=True), strict=True)
    return {name: (round(min(found) * 1e6, 1), round(median(found) * 1e6, 1)) for name, found in columns}


def main(arguments: Sequence[str]) -> int:
    """Run the adds and print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks pieces", description=__doc__)
    parser.add_argument("--adds", type=int, default=5000, help="that are measured (5,000)")
    parser.add_argument("--size", type=int, default=1024, help="bytes of an entry's payload (1,024)")
    parser.add_argument("--wire", type=int, choices=(2, 3), default=2, help="version of the wire protocol (2)")
    parser.add_argument("--directory", default="/var/tmp", help="where the files are made: the disk that is measured")
    parser.add_argument("--json", action="store_true", help="one line of JSON, with the host")
    parser.add_argument("--bare", action="store_true", help="a server of bare calls instead of the bookie")
    options = parser.parse_args(arguments)
    collect_seldom()  # as ``twistd bookie`` does
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        adds = LoneAdds(Path(folder), options.wire, options.size, BareServer if options.bare else _bookie)
        try:
            adds.run(_WARM_UP)
            found = summary(adds.run(options.adds))
        finally:
            adds.close()
        if options.json:
            print(json.dumps({"us": found, "cpu": Machine.here(Path(folder)).cpu}))
            return 0
    print(f"{'a lone add, us':24} {'least':>8} {'median':>8}")
    for name, (least, middle) in found.items():
        print(f"{name:24} {least:>8} {middle:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
