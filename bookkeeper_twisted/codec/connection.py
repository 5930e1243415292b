"""One connection's bytes to requests or replies, whatever the chunks.

The server finds out which protocol the peer speaks: a connection begins as V3, and the first frame that is
no ``Request`` makes it V2 for good, that frame included.  So V3 may come before V2, never after.  A
client knows what it asked for.

What a client sends is encoded by functions of :mod:`.v2` and :mod:`.v3`, both with the same names::

    encode_adds(master_key, entries: EntryRun, flags, deferred_sync, first_txn_id) -> bytes
    encode_reads(ledger_id, entry_ids, flags, first_txn_id) -> bytes      # plain reads
    encode_batch_read(request: BatchRead) -> bytes
    encode_request(message) -> bytes                                      # cold requests
    encode_response(message) -> bytes                                     # cold responses

Runs know how to encode their replies themselves (:mod:`.runs`).
"""

from ..errors import CodecError
from . import v2_requests, v2_responses, v3_requests, v3_responses
from .framing import FrameBuffer
from .operations import DEFAULT_MAX_FRAME_SIZE


class ServerDecoder:
    """Requests of one connection.

    :ivar wire: protocol of the next frame as far as it is known: 3, and after the first frame that is not
        V3, 2.
    :ivar error: what ended the decoder; the connection has to be closed.
    """

    __slots__ = ("wire", "error", "_limit", "_buffer")

    def __init__(self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.wire = 3
        self.error: CodecError | None = None
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)

    @property
    def incomplete(self) -> bool:
        """Whether a frame has begun and is not complete."""
        return len(self._buffer) > 0

    def receive(self, chunk: bytes) -> list[object]:
        """:returns: runs, messages and refusals that are complete, in order; none after an error."""
        items: list[object] = []
        if self.error is not None:
            return items
        data = self._buffer.add(chunk)
        try:
            at = 0
            if self.wire == 3:
                at, still_v3 = v3_requests.scan(data, at, self._limit, items)
                self.wire = 3 if still_v3 else 2
            if self.wire == 2:
                at = v2_requests.scan(data, at, self._limit, items)
            self._buffer.keep(data, at)
        except CodecError as error:
            self.error = error
            self._buffer.clear()
        return items


class ClientDecoder:
    """Replies of one connection.

    :ivar error: what ended the decoder; the connection has to be closed, what is outstanding has failed.
    """

    __slots__ = ("wire", "error", "_limit", "_buffer", "_scan")

    def __init__(self, wire: int, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self.wire = wire
        self.error: CodecError | None = None
        self._limit = max_frame_size
        self._buffer = FrameBuffer(max_frame_size)
        self._scan = v3_responses.scan if wire == 3 else v2_responses.scan

    @property
    def pending(self) -> bool:
        """Whether what is received next is no reply's beginning: after a part of one, or an error."""
        return self.error is not None or bool(self._buffer)

    def receive(self, chunk: bytes) -> list[object]:
        """:returns: replies that are complete, in order; none after an error."""
        items: list[object] = []
        if self.error is not None:
            return items
        data = self._buffer.add(chunk)
        try:
            self._buffer.keep(data, self._scan(data, 0, self._limit, items))
        except CodecError as error:
            self.error = error
            self._buffer.clear()
        return items
