"""The limits and the owner of a connection of a client."""

from collections.abc import Callable

import attrs

from .request_ids import FlowIds
from .traffic import Traffic


@attrs.frozen
class ConnectionLimits:
    """Times in seconds a bookie may take, and the longest frame either way."""

    add_timeout: float = 5.0
    read_timeout: float = 5.0
    max_frame_size: int = 5 << 20


@attrs.frozen
class ConnectionOwner:
    """The owner of a connection, as the connection needs it.

    :ivar bookie_id: the bookie at the other end.
    :ivar flow_ids: of the client.
    :ivar traffic: counts what is written and acknowledged.
    :ivar lost: called once, as soon as the connection is of no more use.
    :ivar wrote: called with the number of requests and bytes of each write.
    """

    bookie_id: str
    flow_ids: FlowIds
    traffic: Traffic
    lost: Callable[[], None]
    wrote: Callable[[int, int], None] = lambda events, size: None
