"""Adds of entries that are sealed already, for tests of what follows the sealing."""

from ..client.writing.frame_shape import FrameShape
from ..client.writing.sealed_adds import SealedAdds
from ..model import ENTRY_HEADER_SIZE, EntryRun


def adds_of(shape: FrameShape, run: EntryRun) -> SealedAdds:
    """A run as it is sent.

    :param shape: with digests of no bytes: what is behind the headers is taken as it is.
    """
    frames = bytearray()
    for entry_id, entry in enumerate(run.entries(), run.first):
        head = shape.head(len(entry) - ENTRY_HEADER_SIZE)
        frame = bytearray(head + entry[8:])  # the ledger id is at the end of the head
        shape.number(frame, 0, len(frame), 1, entry_id)
        frames += frame
    stride = len(frames) // run.count if run.stride else 0
    return SealedAdds(shape, run.ledger_id, run.first, run.count, bytes(frames), stride)


def split_frames(frames: bytes) -> list[bytes]:
    """Frames one by one."""
    split, at = [], 0
    while at < len(frames):
        end = at + 4 + int.from_bytes(frames[at : at + 4], "big")
        split.append(frames[at:end])
        at = end
    return split
