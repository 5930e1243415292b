"""The states of a connection between a client and a bookie, which are the same on both sides.

First comes the TLS handshake, then the exchange of authentication tokens, then requests.  Encryption and authentication
are states of their own, so that no request is sent or answered before both are complete.
"""

from collections.abc import Mapping
from enum import Enum


class ConnectionState(Enum):
    """The states of a connection.

    CONNECTING: there is no socket yet, or no bytes were exchanged over it; the first frame may begin TLS.
    ENCRYPTING: the TLS handshake is under way; unencrypted bytes that were received before it are dropped.
    AUTHENTICATING: the two sides exchange tokens; requests wait at the client and are refused by the bookie.
    READY: requests are sent and answered.
    CLOSING: no more requests; earlier requests may still be answered.
    CLOSED: the socket is closed.
    """

    CONNECTING = "connecting"
    ENCRYPTING = "encrypting"
    AUTHENTICATING = "authenticating"
    READY = "ready"
    CLOSING = "closing"
    CLOSED = "closed"


_S = ConnectionState

NEXT: Mapping[ConnectionState, frozenset[ConnectionState]] = {
    _S.CONNECTING: frozenset({_S.ENCRYPTING, _S.AUTHENTICATING, _S.READY, _S.CLOSING, _S.CLOSED}),
    _S.ENCRYPTING: frozenset({_S.AUTHENTICATING, _S.READY, _S.CLOSING, _S.CLOSED}),
    _S.AUTHENTICATING: frozenset({_S.READY, _S.CLOSING, _S.CLOSED}),
    _S.READY: frozenset({_S.CLOSING, _S.CLOSED}),
    _S.CLOSING: frozenset({_S.CLOSED}),
    _S.CLOSED: frozenset(),
}
"""The states that may follow each state."""


def following(state: ConnectionState, wanted: ConnectionState) -> ConnectionState:
    """Return the state ``wanted`` if it may follow ``state``.

    :raises ValueError: ``wanted`` must not follow ``state``.
    """
    if wanted not in NEXT[state]:
        raise ValueError(f"a connection that is {state.value} cannot become {wanted.value}")
    return wanted
