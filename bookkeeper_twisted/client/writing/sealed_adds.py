"""Adds on their way to bookies: sealed frames that nothing changes any more, whatever becomes of the log."""

import struct
from collections.abc import Sequence

from ...codec import v3
from ...model import ENTRY_HEADER_SIZE, EntryRun, column
from .frame_shape import FrameShape

_LENGTH = struct.Struct(">i")


class SealedAdds:
    """Adds of consecutive entries of one ledger, at least one.  The bookies of a write quorum share them.

    :ivar first: id of the first entry.
    :ivar count: how many.
    """

    __slots__ = ("ledger_id", "first", "count", "_shape", "_frames", "_stride")

    def __init__(self, shape: FrameShape, ledger_id: int, first: int, count: int, frames: bytes, stride: int) -> None:
        """
        :param frames: one after the other.
        :param stride: bytes of a frame where all have the same size, else 0.
        """
        self.ledger_id = ledger_id
        self.first = first
        self.count = count
        self._shape = shape
        self._frames = frames
        self._stride = stride

    @property
    def wire(self) -> int:
        """The version in which nothing has to be encoded anew."""
        return self._shape.wire

    def requests(self, wire: int, first_request_id: int) -> bytes:
        """What a connection sends.

        :param wire: its version, 3 if it is not :attr:`wire`: that is for the rare add whose V2 reply could be
            mistaken for another's.
        :param first_request_id: V3: the ids count up from there.
        """
        shape = self._shape
        if wire == shape.wire:
            return shape.requests(self._frames, self._stride, first_request_id)
        run = EntryRun.of_entries(self.ledger_id, self.first, self._entries())
        return v3.encode_adds(shape.master_key, run, shape.flags, False, first_request_id)

    def _entries(self) -> Sequence[bytes]:
        """The bytes a bookie keeps, of each entry."""
        frames, start = self._frames, self._shape.payload_at - self._shape.digest_size - ENTRY_HEADER_SIZE
        if self._stride:
            return column(frames, self._stride, self.count, start, self._stride)
        entries, at = [], 0
        while at < len(frames):
            end = at + 4 + _LENGTH.unpack_from(frames, at)[0]
            entries.append(frames[at + start : end])
            at = end
        return entries
