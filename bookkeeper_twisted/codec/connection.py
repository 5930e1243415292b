"""Decoders of the requests or the replies in the bytes of one connection, in chunks of any size.

The server detects which protocol the peer speaks: a connection begins with the first of its protocols, V3, and the
first frame that is not V3 switches it to the next, V2, for good, from that frame on.  So V3 may come before V2, never
after it.  A client knows its protocol.
"""

from collections.abc import Iterator, Sequence

from ..errors import CodecError
from .framing import FrameBuffer
from .operations import DEFAULT_MAX_FRAME_SIZE
from .wire_protocol import IWireProtocol
from .wires import INCLUDED


class ServerDecoder:
    """The decoder of the requests of one connection.

    :param max_frame_size: bytes of the longest frame with its length word.
    :param protocols: the protocols that a peer may speak, in the order in which they are tried; at least one.
    :ivar wire: the protocol of the next frame as far as it is known.
    :ivar error: the error that ended the decoder, else None; the connection must then be closed.
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
        """The number of bytes received of an incomplete frame; 0 between frames."""
        return len(self._buffer)

    @property
    def ready(self) -> bool:
        """Whether complete frames are left, because one call decodes a limited number: call :meth:`receive` again."""
        return self._buffer.ready

    def receive(self, chunk: bytes) -> list[object]:
        """Decode the requests that become complete with a chunk.

        :param chunk: the next bytes of the stream.
        :returns: complete runs, messages and refusals, in order; none after an error.  If they are very many, only the
            first ones.
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
        """Yield all items that become complete with a ``chunk``, however many they are."""
        yield from self.receive(chunk)
        while self.ready:
            yield from self.receive(b"")


class ClientDecoder:
    """The decoder of the replies of one connection.

    :param wire: the protocol of the connection.
    :param max_frame_size: bytes of the longest frame with its length word.
    :ivar error: the error that ended the decoder, else None; the connection must then be closed, its requests failed.
    :ivar keeps: whether a reply is incomplete; if not, :meth:`add` returns its argument.
    """

    __slots__ = ("error", "keeps", "_limit", "_buffer", "_scan")

    def __init__(self, wire: IWireProtocol, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.error: CodecError | None = None
        self.keeps = False
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)
        self._scan = wire.scan_replies

    def receive(self, chunk: bytes) -> list[object]:
        """Decode the replies that become complete with a chunk.

        :param chunk: the next bytes of the stream.
        :returns: complete replies, in order; none after an error.
        """
        return self.scan(self.add(chunk), 0)

    def add(self, chunk: bytes) -> bytes:
        """Add a chunk to the buffered bytes without decoding it.

        :param chunk: the next bytes of the stream.
        :returns: bytes to scan, which begin with a reply; empty while no reply is complete.
        """
        data = self._buffer.add(chunk)
        self.keeps = bool(self._buffer)
        return data

    def scan(self, data: bytes, at: int) -> list[object]:
        """Decode the replies in the bytes that :meth:`add` returned, and keep the incomplete reply at their end.

        :param at: offset of the first reply to decode; the caller has recognized those before it.
        :returns: complete replies, in order; none after an error.
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
