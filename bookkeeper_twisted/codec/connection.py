"""One connection's bytes to requests or replies, whatever the chunks.

The server finds out which protocol the peer speaks: a connection begins as the first of its protocols, V3, and the
first frame that is of another one passes it to the next, V2, for good, that frame included.  So V3 may come before V2,
never after.  A client knows what it asked for.
"""

from collections.abc import Iterator, Sequence

from ..errors import CodecError
from .framing import FrameBuffer
from .operations import DEFAULT_MAX_FRAME_SIZE
from .wire_protocol import IWireProtocol
from .wires import INCLUDED


class ServerDecoder:
    """Requests of one connection.

    :param max_frame_size: bytes of the longest frame, its length word included.
    :param protocols: what a peer may speak, in the order in which they are tried; at least one.
    :ivar wire: protocol of the next frame as far as it is known.
    :ivar error: what ended the decoder; the connection has to be closed.
    """

    __slots__ = ("wire", "error", "_limit", "_buffer", "_others")

    def __init__(
        self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE, protocols: Sequence[IWireProtocol] = INCLUDED
    ) -> None:
        self.wire, *self._others = protocols
        self.error: CodecError | None = None
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)

    @property
    def incomplete(self) -> int:
        """Bytes of a frame that has begun and is not complete; 0 between frames."""
        return len(self._buffer)

    @property
    def ready(self) -> bool:
        """Whether frames that are complete were left for later, as there were many: :meth:`receive` goes on."""
        return self._buffer.ready

    def receive(self, chunk: bytes) -> list[object]:
        """Takes bytes in.

        :param chunk: any part of the stream.
        :returns: runs, messages and refusals that are complete, in order; none after an error.  Of very many there are
            only the first ones.
        """
        items: list[object] = []
        if self.error is not None:
            return items
        data = self._buffer.add(chunk)
        try:
            at, own = self.wire.scan_requests(data, 0, self._limit, items)
            while not own:
                if not self._others:
                    raise CodecError("a frame of no protocol that is known")
                self.wire = self._others.pop(0)
                at, own = self.wire.scan_requests(data, at, self._limit, items)
            self._buffer.keep(data, at)
        except CodecError as error:
            self.error = error
            self._buffer.clear()
        return items

    def receive_all(self, chunk: bytes) -> Iterator[object]:
        """Yield what :meth:`receive` returns for a ``chunk``, then what it left for later."""
        yield from self.receive(chunk)
        while self.ready:
            yield from self.receive(b"")


class ClientDecoder:
    """Replies of one connection.

    :param wire: what it speaks.
    :param max_frame_size: bytes of the longest frame, its length word included.
    :ivar error: what ended the decoder; the connection has to be closed, what is outstanding has failed.
    :ivar keeps: whether a reply has begun and is not complete: else :meth:`add` returns what it is given.
    """

    __slots__ = ("error", "keeps", "_limit", "_buffer", "_scan")

    def __init__(self, wire: IWireProtocol, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.error: CodecError | None = None
        self.keeps = False
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)
        self._scan = wire.scan_replies

    def receive(self, chunk: bytes) -> list[object]:
        """Takes bytes in.

        :param chunk: any part of the stream.
        :returns: replies that are complete, in order; none after an error.
        """
        return self.scan(self.add(chunk), 0)

    def add(self, chunk: bytes) -> bytes:
        """Take bytes in without a look at them.

        :param chunk: any part of the stream.
        :returns: what is to be scanned, beginning with a reply; empty while there is none.
        """
        data = self._buffer.add(chunk)
        self.keeps = bool(self._buffer)
        return data

    def scan(self, data: bytes, at: int) -> list[object]:
        """Read what :meth:`add` returned, and keep the incomplete reply at its end.

        :param at: where the first reply begins that is not known otherwise.
        :returns: replies that are complete, in order; none after an error.
        """
        items: list[object] = []
        if self.error is not None:
            return items
        try:
            self._buffer.keep(data, self._scan(data, at, self._limit, items))
        except CodecError as error:
            self.error = error
            self._buffer.clear()
        self.keeps = bool(self._buffer)
        return items
