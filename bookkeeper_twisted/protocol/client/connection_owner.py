"""What a connection of a client is given: its limits, and who made it."""

from collections.abc import Callable

import attrs

from .request_ids import FlowIds
from .traffic import Traffic


@attrs.frozen
class RequestLimits:
    """Times in seconds a bookie may take, and the longest frame either way."""

    add_timeout: float = 5.0
    read_timeout: float = 5.0
    max_frame_size: int = 5 << 20


@attrs.frozen
class ConnectionOwner:
    """What a connection needs of those who made it.

    :ivar bookie_id: who is at the other end.
    :ivar flow_ids: of the client.
    :ivar traffic: told what is written and acknowledged.
    :ivar lost: called once, as soon as the connection is of no more use.
    :ivar wrote: told how many requests and bytes each write had.
    """

    bookie_id: str
    flow_ids: FlowIds
    traffic: Traffic
    lost: Callable[[], None]
    wrote: Callable[[int, int], None] = lambda events, size: None
