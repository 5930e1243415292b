"""A server in a bookie's place that does only what no bookie can leave out, on bare sockets and bare system calls.

It understands the V2 requests that the load generators send.  Adds of one size are acknowledged when one write of the
kernel's asynchronous I/O has made all of them durable that arrived during the write before.  Reads are answered from
memory.  It checks nothing, limits nothing, and keeps nothing when it ends.  No bookie in one thread of Python can be
faster on the same machine.  ``python -m benchmarks.compare.bare_server PORT FOLDER`` runs it until it is terminated.
"""

import select
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from bookkeeper_twisted.codec.operations import V2Op
from bookkeeper_twisted.codec.v2.layout import ADD_OVERHEAD, IDS_REPLY, IDS_REPLY_LENGTH, READ, header_word
from bookkeeper_twisted.errors import Status

from ..shared.bare_file import BareFile

_CHUNK = 256 << 10
_LENGTH = struct.Struct(">I")
_IDS = struct.Struct(">qq")
_KEY_END = 4 + ADD_OVERHEAD
_ADDED = IDS_REPLY.pack(IDS_REPLY_LENGTH, header_word(2, V2Op.ADD), 0, 0, 0)[: -_IDS.size]
_MISSING = IDS_REPLY.pack(IDS_REPLY_LENGTH, header_word(2, V2Op.READ), Status.ENOENTRY.v2, 0, 0)


class Ledger:
    """The entries of a ledger, all of one size and with consecutive ids, as the replies to reads of them.

    :param first: the first id.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._stride = 1
        self._replies = bytearray()

    def add(self, entries: list[bytes]) -> None:
        """Add entries."""
        length = IDS_REPLY_LENGTH + len(entries[0])
        head = IDS_REPLY.pack(length, header_word(2, V2Op.READ), 0, 0, 0)[: -_IDS.size]
        self._stride = _LENGTH.size + length
        self._replies += b"".join([head + entry[: _IDS.size] + entry for entry in entries])

    def replies(self, first: int, count: int) -> memoryview:
        """The replies to reads of consecutive entries."""
        at = (first - self._first) * self._stride
        return memoryview(self._replies)[at : at + count * self._stride]


class BareConnection:
    """A connection; everything received together is of one kind."""

    def __init__(self, peer: socket.socket, server: "BareServer") -> None:
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer = peer
        self._server = server
        self._rest = b""
        self._unsent = b""

    def ready(self) -> None:
        """Send what could not be sent before, and receive."""
        if self._unsent:
            self.send(b"")
            return
        try:
            data = self._peer.recv(_CHUNK)
        except ConnectionError:
            data = b""
        if not data:
            self._server.forget(self._peer)
            return
        self._rest += data
        while len(self._rest) >= _LENGTH.size:
            stride = _LENGTH.size + _LENGTH.unpack_from(self._rest)[0]
            count = len(self._rest) // stride
            if not count:
                return
            frames, self._rest = self._rest[: count * stride], self._rest[count * stride :]
            if frames[5] == V2Op.ADD:
                self._server.add(self, frames, stride)
            else:
                self._read(frames)

    def _read(self, frames: bytes) -> None:
        at = 0
        while at < len(frames):
            ledger_id, first = _IDS.unpack_from(frames, at + 8)
            last = _IDS.unpack_from(frames, len(frames) - _IDS.size)[1]
            together = (len(frames) - at) // READ.size
            if last != first + together - 1:
                together = 1
            ledger = self._server.ledgers.get(ledger_id)
            self.send(_MISSING if ledger is None else ledger.replies(first, together))
            at += together * READ.size

    def send(self, data: bytes | memoryview) -> None:
        """Send what the socket takes, and the rest when it takes more."""
        waited = bool(self._unsent)
        if waited:
            data = self._unsent + bytes(data)
        try:
            sent = self._peer.send(data)
        except BlockingIOError:
            sent = 0
        self._unsent = bytes(data[sent:])
        if waited is not bool(self._unsent):
            self._server.watch(self._peer, not waited)


class BareServer:
    """See the module.

    :ivar ledgers: by id.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.ledgers: dict[int, Ledger] = {}
        self._file = BareFile(folder)
        self._listening = socket.create_server(("127.0.0.1", port))
        self._poll = select.epoll()
        self._called: dict[int, Callable[[], None]] = {}
        self._waiting: list[tuple[BareConnection, bytes, int]] = []
        self._written: list[tuple[BareConnection, bytes, int]] = []
        for descriptor, call in ((self._listening.fileno(), self._accept), (self._file.event, self._acknowledge)):
            self._called[descriptor] = call
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Serve until the process ends."""
        while True:
            for descriptor, _ in self._poll.poll():
                self._called[descriptor]()

    def _accept(self) -> None:
        peer, _ = self._listening.accept()
        self._called[peer.fileno()] = BareConnection(peer, self).ready
        self._poll.register(peer, select.EPOLLIN)

    def forget(self, peer: socket.socket) -> None:
        """Close a connection."""
        del self._called[peer.fileno()]
        peer.close()

    def watch(self, peer: socket.socket, writing: bool) -> None:
        """Call the connection when its socket takes bytes, or else when it has some."""
        self._poll.modify(peer, select.EPOLLOUT if writing else select.EPOLLIN)

    def add(self, connection: BareConnection, frames: bytes, stride: int) -> None:
        """Write adds; with the next write, if one is under way."""
        self._waiting.append((connection, frames, stride))
        if not self._written:
            self._write()

    def _write(self) -> None:
        self._written, self._waiting = self._waiting, []
        if self._written:
            self._file.begin(b"".join([frames for _, frames, _ in self._written]))

    def _acknowledge(self) -> None:
        self._file.end()
        done, self._written = self._written, []
        self._write()
        for connection, frames, stride in done:
            entries = [frames[at + _KEY_END : at + stride] for at in range(0, len(frames), stride)]
            ledger_id, first = _IDS.unpack_from(entries[0])
            if ledger_id not in self.ledgers:
                self.ledgers[ledger_id] = Ledger(first)
            self.ledgers[ledger_id].add(entries)
            connection.send(b"".join([_ADDED + entry[: _IDS.size] for entry in entries]))


if __name__ == "__main__":
    BareServer(int(sys.argv[1]), Path(sys.argv[2])).run()
