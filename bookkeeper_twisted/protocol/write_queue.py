"""What waits to be written on one connection: a queue for each flow, served in turn.

A write is a *block*: flow by flow, the frames of each in the order they were queued and next to each
other, so that the bookie finds long runs of one ledger.  No flow may fill a block alone while others
wait.  Frames are complete when they are queued, so a block has its real length: nothing is padded or
split.  Order matters within a flow only, which its queue keeps; no request is a barrier for others.
"""

MAX_BLOCK = 256 << 10
"""Bytes after which a block is not continued."""

MAX_TURN_EVENTS = 500
"""Requests of one flow in a block after which it is the next flow's turn."""

MAX_TURN_BYTES = 64 << 10
"""The same in bytes."""


class WriteQueue:
    """Frames by flow.

    :ivar size: bytes that wait.
    """

    __slots__ = ("_queues", "size")

    def __init__(self) -> None:
        self._queues: dict[int, list[tuple[bytes, int]]] = {}
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._queues)

    def put(self, flow_id: int, frames: bytes, events: int) -> None:
        """Queues the frames of ``events`` requests."""
        self.size += len(frames)
        queue = self._queues.get(flow_id)
        if queue is None:
            self._queues[flow_id] = [(frames, events)]
        else:
            queue.append((frames, events))

    def block(self) -> tuple[bytes, int]:
        """Takes out the next block, and how many requests it has."""
        parts: list[bytes] = []
        size = n_events = 0
        while self._queues and size < MAX_BLOCK:
            flow_id = next(iter(self._queues))
            queue = self._queues.pop(flow_id)
            taken, turn_bytes, turn_events = _turn(queue)
            parts += [frames for frames, _ in queue[:taken]]
            size += turn_bytes
            n_events += turn_events
            if taken < len(queue):
                del queue[:taken]
                self._queues[flow_id] = queue  # behind all others
        self.size -= size
        return b"".join(parts), n_events

    def clear(self) -> None:
        """Drops everything."""
        self._queues.clear()
        self.size = 0


def _turn(queue: list[tuple[bytes, int]]) -> tuple[int, int, int]:
    """How many items a flow may take out in one turn, their bytes and requests; at least one item."""
    size = n_events = 0
    for taken, (frames, events) in enumerate(queue):
        if taken and (size + len(frames) > MAX_TURN_BYTES or n_events + events > MAX_TURN_EVENTS):
            return taken, size, n_events
        size += len(frames)
        n_events += events
    return len(queue), size, n_events
