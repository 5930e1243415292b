"""A bookie that keeps nothing: it confirms every V2 add at once, so that what is measured is the client.

The reads by which a client asks a silent bookie for a sign of life are answered with an empty entry.

``python -m benchmarks.pool.answering`` prints its port.
"""

import struct
from typing import Any

from twisted.internet import reactor
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Factory, Protocol

from bookkeeper_twisted.codec.v2.layout import IDS_REPLY, IDS_REPLY_LENGTH
from bookkeeper_twisted.entries.columns import column

_reactor: Any = reactor
_LENGTH = struct.Struct(">I")
_IDS_AT, _IDS_END = 28, 44
"""Ledger and entry of an add, behind length word, header and master key."""

_READ_IDS_AT, _READ_IDS_END = 8, 24
"""The same of a read, which has no key."""

_LEAST_ADD = 52
"""Bytes of the shortest add."""

_HEAD_SIZE = 8
_HEAD = struct.Struct(">III")
assert _HEAD.size + _IDS_END - _IDS_AT == IDS_REPLY.size


class Confirming(Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._rest = b""

    def connectionMade(self) -> None:
        """Answers leave at once, as those of any bookie."""
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)

    def dataReceived(self, data: bytes) -> None:
        """Answers what is complete in one write."""
        data = self._rest + data
        at, replies = 0, []
        while len(data) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, at)
            size = _LENGTH.size + length
            count = (len(data) - at) // size
            if not count:
                break
            if not _alike(data, at, size, count):
                count = 1
            (header,) = _LENGTH.unpack_from(data, at + _LENGTH.size)
            head = _HEAD.pack(IDS_REPLY_LENGTH, header & 0xFFFF0000, 0)
            ids = (_IDS_AT, _IDS_END) if size >= _LEAST_ADD else (_READ_IDS_AT, _READ_IDS_END)
            replies.append(head + head.join(column(data[at : at + count * size], size, count, *ids)))
            at += count * size
        self._rest = data[at:]
        assert self.transport is not None
        self.transport.write(b"".join(replies))


def _alike(data: bytes, at: int, size: int, count: int) -> bool:
    """Whether that many frames begin with the same length and header."""
    end = at + count * size
    return all(data[i:end:size].count(data[i]) == count for i in range(at, at + _HEAD_SIZE))


def main() -> None:
    """Serves until it is killed."""
    listening = _reactor.listenTCP(0, Factory.forProtocol(Confirming), interface="127.0.0.1")
    print(listening.getHost().port, flush=True)
    _reactor.run()


if __name__ == "__main__":
    main()
