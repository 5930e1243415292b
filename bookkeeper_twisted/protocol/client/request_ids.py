"""Request ids: ``flow id << 32 | sequence``, so that every reply contains the id of its flow.

Flow id and sequence have 31 bits each, so that the request id is positive as a signed 64-bit number.  It is used as
V3's ``txnId`` and as the request id of a batch read.  A flow is the requests of one ledger handle; flow id 0 stands for
requests that the connection itself makes.
"""

from collections.abc import Callable

FLOW_SHIFT = 32
MAX_FLOW_ID = (1 << 31) - 1
SEQUENCES = 1 << 31
CONNECTION_FLOW = 0
"""The flow id of requests that a connection itself makes, for example to test whether the bookie is alive."""


class FlowIds:
    """An allocator of the flow ids of one client; a flow is the requests of one ledger handle.

    It never returns 0.  It also returns no id that a flow still uses, or that a late reply may still contain: such a
    reply could be matched with a request of a new flow with the same id.  So each id has a count of *holders*: its
    flow, and each connection that still expects replies to this flow.  An id is free when it has no holder.
    """

    def __init__(self, following: int = 1) -> None:
        """:param following: the first id to try."""
        self._following = following
        self._holders: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._holders)

    def allocate(self) -> int:
        """Return a free flow id for a new ledger handle; the handle must pass it to :meth:`release` when it is closed.

        Until then, no other handle gets the id.
        """
        while self._following in self._holders:
            self._advance()
        flow_id = self._following
        self._holders[flow_id] = 1
        self._advance()
        return flow_id

    def _advance(self) -> None:
        self._following = self._following % MAX_FLOW_ID + 1

    def retain(self, flow_id: int) -> None:
        """Add a holder of a flow id, a connection that expects replies to the flow, so that no other flow gets the id.

        :raises KeyError: ``flow_id`` is free; :meth:`allocate` it first.
        """
        self._holders[flow_id] += 1

    def release(self, flow_id: int) -> None:
        """Remove one holder of a flow id; when no holder is left, another flow can get the id.

        :raises KeyError: ``flow_id`` is free already.
        """
        self._holders[flow_id] -= 1
        if not self._holders[flow_id]:
            del self._holders[flow_id]


class RequestIds:
    """An allocator of the request ids of one ledger handle (flow), for all its connections.

    :ivar flow_id: the high half of each id.
    """

    __slots__ = ("flow_id", "_sequence", "_wrapped")

    def __init__(self, flow_id: int, sequence: int = 0) -> None:
        """:param sequence: the number of the first request; a request id is the flow id followed by this number."""
        self.flow_id = flow_id
        self._sequence = sequence
        self._wrapped = False

    def allocate(self, count: int, is_pending: Callable[[int, int], bool]) -> int:
        """Return the first of ``count`` consecutive request ids.

        :param is_pending: tests whether a reply to one of some consecutive ids is still expected; its arguments are the
            first id and the number of ids.  It is called only after the sequence has wrapped around.
        """
        base = self.flow_id << FLOW_SHIFT
        while True:
            if self._sequence + count > SEQUENCES:
                self._sequence, self._wrapped = 0, True
            first = base | self._sequence
            self._sequence += count
            if not (self._wrapped and is_pending(first, count)):
                return first
