"""What waits to be written on one connection: a queue for each flow, served in turn.

A write is a *block*: flow by flow, the frames of each in the order they were queued and next to each
other, so that the bookie finds long runs of one ledger.  No flow may fill a block alone while others
wait.  Frames are complete when they are queued, so a block has its real length: nothing is padded or
split.  Order matters within a flow only, which its queue keeps; no request is a barrier for others.
"""

from itertools import chain
from typing import Any

MAX_BLOCK = 256 << 10
"""Bytes after which a block is not continued."""

MAX_TURN_EVENTS = 500
"""Requests of one flow in a block after which it is the next flow's turn."""

MAX_TURN_BYTES = 64 << 10
"""The same in bytes."""


class WriteQueue:
    """Frames by flow.

    :ivar size: bytes that wait.
    :ivar events: requests that wait.
    """

    __slots__ = ("_queues", "size", "events")

    def __init__(self) -> None:
        self._queues: dict[int, list[Any]] = {}  # of each flow: frames, how many requests they are, frames, ...
        self.size = 0
        self.events = 0

    def __bool__(self) -> bool:
        return bool(self._queues)

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Queue the frames of one write.

        :param flow_id: of the queue they join, behind what it has.
        :param frames: whole frames.
        :param events: number of requests in them.
        """
        self.size += len(frames)
        self.events += events
        queue = self._queues.get(flow_id)
        if queue is None:
            self._queues[flow_id] = [frames, events]
        else:
            queue += (frames, events)

    def block(self) -> tuple[bytes, int]:
        """Takes out the next block, and how many requests it has."""
        if self.size <= MAX_TURN_BYTES and self.events <= MAX_TURN_EVENTS:  # no flow has more than one turn
            frames, events = b"".join(list(chain.from_iterable(self._queues.values()))[::2]), self.events
            self.clear()
            return frames, events
        items: list[Any] = []
        size = 0
        while self._queues and size < MAX_BLOCK:
            size += self._round(items, MAX_BLOCK - size)
        events = sum(items[1::2])
        self.size -= size
        self.events -= events
        return b"".join(items[::2]), events

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
        self._queues = {}
        self.size = self.events = 0


def _turn(queue: list[Any]) -> tuple[int, int]:
    """Where the turn of a flow ends in its queue, and its bytes; at least one item."""
    size = events = 0
    for at in range(0, len(queue), 2):
        length = len(queue[at])
        events += queue[at + 1]
        if at and (size + length > MAX_TURN_BYTES or events > MAX_TURN_EVENTS):
            return at, size
        size += length
    return len(queue), size
