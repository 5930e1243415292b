"""The bytes that wait to be written on one connection: a queue for each flow, served in turn.

A write is a *block*: flow by flow, the frames of each in the order they were queued and next to each
other, so that the bookie finds long runs of one ledger.  No flow may fill a block alone while others
wait.  Frames are complete when they are queued, so a block has its real length: nothing is padded or
split.  Order matters within a flow only, which its queue keeps; no request is a barrier for others.
"""

from typing import Any

MAX_BLOCK = 256 << 10
"""Bytes after which a block is not continued."""

MAX_TURN_EVENTS = 500
"""Requests of one flow in a block after which it is the next flow's turn."""

MAX_TURN_BYTES = 64 << 10
"""The same in bytes."""


class WriteQueue:
    """The frames that wait to be written, by flow."""

    __slots__ = ("_put", "_queues")

    def __init__(self) -> None:
        self._put: list[Any] = []  # what is in no queue yet: flow id, frames, how many requests they are, ...
        self._queues: dict[int, list[Any]] = {}  # of each flow: frames, how many requests they are, frames, ...

    def __bool__(self) -> bool:
        return bool(self._put or self._queues)

    @property
    def size(self) -> int:
        """Bytes that wait."""
        queued = sum([len(frames) for queue in self._queues.values() for frames in queue[::2]])
        return queued + sum(map(len, self._put[1::3]))

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Queue the frames of one write.

        :param flow_id: of the queue they join, behind what it has.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        self._put += (flow_id, frames, events)

    def block(self) -> tuple[bytes, int]:
        """Takes out the next block, and how many requests it has."""
        put, self._put = self._put, []
        flow_ids, all_frames, all_events = put[::3], put[1::3], put[2::3]
        if not self._queues and len(set(flow_ids)) == len(flow_ids):
            block, events = b"".join(all_frames), sum(all_events)
            if len(block) <= MAX_TURN_BYTES and events <= MAX_TURN_EVENTS:  # no flow has more than one turn
                return block, events
        for flow_id, frames, events in zip(flow_ids, all_frames, all_events, strict=True):
            self._queues.setdefault(flow_id, []).extend((frames, events))
        items: list[Any] = []
        size = 0
        while self._queues and size < MAX_BLOCK:
            size += self._round(items, MAX_BLOCK - size)
        return b"".join(items[::2]), sum(items[1::2])

    def _round(self, items: list[Any], room: int) -> int:
        """Takes out a turn of each flow until ``room`` is filled.

        :returns: how many bytes.
        """
        size, ends = 0, list[tuple[int, int]]()
        for flow_id, queue in self._queues.items():
            end, turn_bytes = (2, len(queue[0])) if len(queue) == 2 else _turn(queue)
            items += queue[:end]
            size += turn_bytes
            ends.append((flow_id, end))
            if size >= room:
                break
        for flow_id, end in ends:
            queue = self._queues.pop(flow_id)
            if end < len(queue):
                del queue[:end]
                self._queues[flow_id] = queue  # behind all others
        return size

    def clear(self) -> None:
        """Drops everything."""
        self._put, self._queues = [], {}


def _turn(queue: list[Any]) -> tuple[int, int]:
    """Return where the turn of a flow ends in its queue, and its bytes; at least one item."""
    size = events = 0
    for at in range(0, len(queue), 2):
        length = len(queue[at])
        events += queue[at + 1]
        if at and (size + length > MAX_TURN_BYTES or events > MAX_TURN_EVENTS):
            return at, size
        size += length
    return len(queue), size
