"""A bookie that keeps nothing: it confirms every V2 add at once, so that what is measured is the client.

``python -m benchmarks.answering`` prints its port.
"""

import struct
from typing import Any

from twisted.internet import reactor
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Factory, Protocol

from bookkeeper_twisted.codec.v2_replies import IDS_REPLY, IDS_REPLY_LENGTH

_reactor: Any = reactor
_LENGTH = struct.Struct(">I")
_IDS = struct.Struct(">I20x16s")
"""Of an add, after its length word: header, master key, ledger and entry."""

_REPLY = struct.Struct(">III16s")
assert _REPLY.size == IDS_REPLY.size


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
            end = at + _LENGTH.size + length
            if end > len(data):
                break
            header, ids = _IDS.unpack_from(data, at + _LENGTH.size)
            replies.append(_REPLY.pack(IDS_REPLY_LENGTH, header & 0xFFFF0000, 0, ids))
            at = end
        self._rest = data[at:]
        assert self.transport is not None
        self.transport.write(b"".join(replies))


def main() -> None:
    """Serves until it is killed."""
    listening = _reactor.listenTCP(0, Factory.forProtocol(Confirming), interface="127.0.0.1")
    print(listening.getHost().port, flush=True)
    _reactor.run()


if __name__ == "__main__":
    main()
