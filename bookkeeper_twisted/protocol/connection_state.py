"""The states of a connection between a client and a bookie, which are the same on both sides.

Encryption and authentication are states of their own, so that nothing but their own bytes is sent or served before they
have ended: first the TLS handshake, then the exchange of tokens, then requests.
"""

from collections.abc import Mapping
from enum import Enum


class ConnectionState(Enum):
    """The states of a connection.

    CONNECTING: there is no socket yet, or nothing was exchanged over it; the first frame may begin the encryption.
    ENCRYPTING: the TLS handshake is under way; unencrypted bytes that were received before it are dropped.
    AUTHENTICATING: the two sides exchange tokens; requests wait at the client and are refused by the bookie.
    READY: requests are sent and answered.
    CLOSING: no more requests; earlier requests may still be answered.
    CLOSED: the end.
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

    :raises ValueError: it must not follow.
    """
    if wanted not in NEXT[state]:
        raise ValueError(f"a connection that is {state.value} cannot become {wanted.value}")
    return wanted
