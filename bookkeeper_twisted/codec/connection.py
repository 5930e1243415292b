"""Decoders of the bytes that a connection receives: requests in a bookie, replies in a client.

A bookie detects which protocol a client uses.  It expects V3 first.  The first frame that is not V3 switches the
connection to V2, from this frame to the end of the connection.  A client knows the protocol of its connection.
"""

from collections.abc import Iterator, Sequence

from ..errors import CodecError
from .framing import FrameBuffer
from .operations import DEFAULT_MAX_FRAME_SIZE
from .wire_protocol import IWireProtocol
from .wires import INCLUDED


class ServerDecoder:
    """A decoder of the requests that a bookie receives on one connection.

    :param max_frame_size: size in bytes of the longest frame with its length word.
    :param protocols: the protocols that a client may use, in the order in which they are tried; at least one.
    :ivar wire: the protocol in which the next frame is expected.
    :ivar error: the error that ended the decoder, else None; after an error, the owner must close the connection.
    :ivar incomplete: number of buffered bytes, of an incomplete frame or of frames that are not decoded yet.
    """

    __slots__ = ("wire", "error", "incomplete", "_limit", "_buffer", "_others")

    def __init__(
        self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE, protocols: Sequence[IWireProtocol] = INCLUDED
    ) -> None:
        self.wire, *self._others = protocols
        self.error: CodecError | None = None
        self.incomplete = 0
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)

    @property
    def rest(self) -> bytes:
        """The buffered bytes, of an incomplete frame or of frames that are not decoded yet."""
        return bytes(self._buffer)

    @property
    def ready(self) -> bool:
        """Whether complete frames are still buffered, because the last :meth:`receive` decoded the allowed number.

        Call :meth:`receive` again to decode them.
        """
        return self._buffer.ready

    def limit(self, max_frame_size: int) -> None:
        """Change the maximum frame size, for frames that begin from now on.

        :param max_frame_size: size in bytes of the longest frame with its length word.
        """
        self._limit = max_frame_size
        self._buffer.limit(max_frame_size)

    def has_few(self, chunk: bytes, max_requests: int) -> bool:
        """Test whether ``chunk``, the next bytes of the stream, contains bytes of few requests.

        See :meth:`.FrameBuffer.has_few` for parameters and errors.
        """
        return self._buffer.has_few(chunk, max_requests)

    def receive(self, chunk: bytes) -> list[object]:
        """Decode the requests that are complete with this ``chunk`` of received bytes.

        :param chunk: the next bytes of the stream.
        :returns: the requests in order: runs (many adds or reads in one object), messages, and refusals
            (RejectedRequest); none after an error.  If there are very many requests, only the first ones are returned,
            and :attr:`ready` is True.
        """
        items: list[object] = []
        if self.error is not None:
            return items
        cut, at = self._buffer.complete(chunk)
        try:
            if cut:
                self._scan(cut, 0, items)
            if at < len(chunk):
                self._scan(chunk, at, items)
        except CodecError as error:
            self.error = error
            self._buffer.clear()
        self.incomplete = self._buffer.n_bytes
        return items

    def _scan(self, data: bytes, at: int, items: list[object]) -> None:
        """Decode the requests from offset ``at`` on, add them to ``items``, and buffer what remains."""
        at, own = self.wire.scan_requests(data, at, self._limit, items)
        while not own:
            if not self._others:
                raise CodecError("a frame of no protocol that is known")
            self.wire = self._others.pop(0)
            at, own = self.wire.scan_requests(data, at, self._limit, items)
        self._buffer.keep(data, at)

    def receive_all(self, chunk: bytes) -> Iterator[object]:
        """Yield all requests that are complete with this ``chunk`` of received bytes, however many they are."""
        yield from self.receive(chunk)
        while self.ready:
            yield from self.receive(b"")


class ClientDecoder:
    """A decoder of the replies that a client receives on one connection.

    :param wire: the protocol of the connection.
    :param max_frame_size: size in bytes of the longest frame with its length word.
    :ivar error: the error that ended the decoder, else None; after an error, the owner must close the connection and
        fail its requests.
    :ivar keeps: whether part of a reply is buffered.  If not, :meth:`add` returns its argument unchanged.
    """

    __slots__ = ("error", "keeps", "_limit", "_buffer", "_scan")

    def __init__(self, wire: IWireProtocol, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.error: CodecError | None = None
        self.keeps = False
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)
        self._scan = wire.scan_replies

    def receive(self, chunk: bytes) -> list[object]:
        """Decode the replies that are complete with this ``chunk`` of received bytes.

        :param chunk: the next bytes of the stream.
        :returns: complete replies, in order; none after an error.
        """
        return self.scan(self.add(chunk), 0)

    def add(self, chunk: bytes) -> bytes:
        """Add a ``chunk`` of received bytes to the buffered bytes, without decoding it.

        :param chunk: the next bytes of the stream.
        :returns: bytes for :meth:`scan`, which begin at the start of a reply; empty while a buffered reply is
            incomplete.
        """
        data = self._buffer.add(chunk)
        self.keeps = self._buffer.n_bytes > 0
        return data

    def scan(self, data: bytes, at: int) -> list[object]:
        """Decode the replies in the bytes that :meth:`add` returned; buffer an incomplete reply at their end.

        :param at: offset of the first reply to decode; the replies before it were processed already.
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
        self.keeps = self._buffer.n_bytes > 0
        return items
