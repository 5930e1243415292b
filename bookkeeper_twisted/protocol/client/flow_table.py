"""The flows that one connection serves, and the replies still to come for flows that left."""

from .outstanding import SendingFlow
from .request_ids import CONNECTION_FLOW, FLOW_SHIFT, FlowIds, RequestIds


class FlowTable:
    """The flows on one connection, by id.

    :ivar own: the connection's own flow.
    """

    def __init__(self, flow_ids: FlowIds) -> None:
        """:param flow_ids: of the client; an id is held here while its flow is here, or replies to it are to come."""
        self._flow_ids = flow_ids
        self.own = RequestIds(CONNECTION_FLOW)
        self._flows: dict[int, SendingFlow] = {CONNECTION_FLOW: SendingFlow(self.own)}

    def of(self, ids: RequestIds) -> SendingFlow:
        """Return the flow with these ``ids``, which joins with its first request.

        :raises ValueError: another flow has the id.
        """
        flow = self._flows.get(ids.flow_id)
        if flow is None:
            flow = self._flows[ids.flow_id] = SendingFlow(ids)
            self._flow_ids.hold(ids.flow_id)
        elif flow.ids is not ids:
            raise ValueError(f"flow id {ids.flow_id} is taken")
        return flow

    def known(self, ids: RequestIds) -> SendingFlow | None:
        """Return the flow with these ``ids``, None if it has not joined, or has left and awaits no reply."""
        return self._flows.get(ids.flow_id)

    def replied(self, request_id: int, count: int = 1) -> None:
        """Count replies that arrived for the flow of a request.

        :param request_id: of one of the requests.
        :param count: of replies to requests of this flow.
        """
        flow = self._flows.get(request_id >> FLOW_SHIFT)
        if flow is not None:
            flow.expected_replies -= count
            self._end_if_quiet(flow)

    def leave(self, flow: SendingFlow) -> None:
        """Remove a ``flow``; its id stays held until no reply to its requests is to come."""
        flow.closed = True
        self._end_if_quiet(flow)

    def _end_if_quiet(self, flow: SendingFlow) -> None:
        if flow.closed and flow.expected_replies <= 0:
            del self._flows[flow.ids.flow_id]
            self._flow_ids.release(flow.ids.flow_id)

    @property
    def orphans(self) -> int:
        """Replies to come for flows that left."""
        return sum(flow.expected_replies for flow in self._flows.values() if flow.closed)

    def clear(self) -> None:
        """Release everything, since the connection is gone: no reply will come."""
        del self._flows[CONNECTION_FLOW]
        for flow_id in self._flows:
            self._flow_ids.release(flow_id)
        self._flows = {CONNECTION_FLOW: SendingFlow(self.own)}
