"""The states of a connection between a client and a bookie, which are the same on both sides.

Authentication is a state of its own, so that nothing but its own frames is sent or served before it has ended; a layer
of encryption is one more state between CONNECTING and AUTHENTICATING.
"""

from collections.abc import Mapping
from enum import Enum


class ConnectionState(Enum):
    """The states of a connection.

    CONNECTING: there is no socket yet, or nothing was exchanged over it.
    AUTHENTICATING: the two sides exchange tokens; requests wait at the client and are refused by the bookie.
    READY: requests are sent and answered.
    CLOSING: no more requests; earlier requests may still be answered.
    CLOSED: the end.
    """

    CONNECTING = "connecting"
    AUTHENTICATING = "authenticating"
    READY = "ready"
    CLOSING = "closing"
    CLOSED = "closed"


_S = ConnectionState

NEXT: Mapping[ConnectionState, frozenset[ConnectionState]] = {
    _S.CONNECTING: frozenset({_S.AUTHENTICATING, _S.READY, _S.CLOSED}),
    _S.AUTHENTICATING: frozenset({_S.READY, _S.CLOSING, _S.CLOSED}),
    _S.READY: frozenset({_S.CLOSING, _S.CLOSED}),
    _S.CLOSING: frozenset({_S.CLOSED}),
    _S.CLOSED: frozenset(),
}
"""The states that may follow each state."""


def following(state: ConnectionState, wanted: ConnectionState) -> ConnectionState:
    """Return the state ``wanted`` if it may follow ``state``.

    :raises ValueError: it must not follow.
    """
    if wanted not in NEXT[state]:
        raise ValueError(f"a connection that is {state.value} cannot become {wanted.value}")
    return wanted
