"""Begins TLS on connections to a bookie, depending on the first bytes that the peer sends.

A peer may begin with the handshake of TLS itself (direct TLS).  Apache's bookies do not support direct TLS.  It is
meant for clients that reach bookies through a TLS router, and for clients that must not send any byte in clear.

Any other peer starts TLS only by its first frame, a V3 StartTLS in clear; Apache's clients send it for V2, too.  Bytes
that follow this frame in clear are dropped: otherwise an attacker on the network could insert requests that the bookie
would answer as if the peer had sent them.  The session that answers requests is opened after the handshake.

There is one exception.  Apache's clients send their first SASL token in clear right after StartTLS, and expect the
reply within TLS.  So if the frame after StartTLS is an AUTH request with an empty token, it is answered after the
handshake, whether it arrived together with StartTLS or later.  An attacker who inserts such a request gains nothing,
because its token is empty, and because the answer is encrypted for the peer of the handshake.  If clients have to
authenticate, this AUTH request must name the plugin that the bookie uses; a request that names another plugin is
dropped, because its answer would be a refusal.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.logger import Logger
from zope.interface import implementer

from ...codec.messages import AuthRequest, StartTlsRequest, StartTlsResponse
from ...errors import Status
from ...instruments import Counter
from ...protocol.connection_state import ConnectionState
from ...protocol.interfaces import IRequestSession, IServerConnection
from ...protocol.peer_lines import PeerLines, cause_of


@attrs.frozen
class Encryption:
    """The TLS settings of a bookie's connections.

    :ivar creator: makes the server side of each TLS connection.
    :ivar is_required: whether requests in clear are refused.
    """

    creator: IOpenSSLServerConnectionCreator
    is_required: bool = False


class PeerRefusals:
    """Counts and logs requests that are refused because their peer is not encrypted or not authenticated.

    :param lines: logs the refusals, a limited number of lines for each peer.
    :param refused: counts the refused requests.
    """

    _log = Logger()

    def __init__(self, lines: PeerLines, refused: Counter) -> None:
        self.lines = lines
        self._refused = refused

    def say(self, connection: IServerConnection, reason: str) -> None:
        """Log that requests of a peer are refused.

        :param reason: what is missing.
        """
        cause = cause_of(reason)
        self.lines.log(self._log.info, "refusing {peer}: {error}", connection.peer, error=reason, cause=cause)

    def refuse(self, connection: IServerConnection, item: Any) -> bool:
        """Refuse a request with the status EUA, and count it.

        :returns: False if the protocol has no reply that refuses this request; the connection is then closed.
        """
        self._refused.value += 1
        return refuse(connection, item)


def refuse(connection: IServerConnection, item: Any, status: Status = Status.EUA) -> bool:
    """Refuse a request of a peer that is not authenticated or not encrypted, as Apache's bookie does.

    :returns: False if the protocol has no reply that refuses this request; the caller must close the connection.
    """
    # The reply must be in the wire protocol of the request (V2 or V3).  A single request names it in its header; a run
    # of requests has an attribute for it.
    frames = getattr(item, "header", item).wire.refusal(item, status)
    if frames is None:
        connection.end()
        return False
    connection.reply(frames)
    return True


def _is_empty_token(item: object) -> bool:
    return isinstance(item, AuthRequest) and not item.payload


@implementer(IRequestSession)
class FirstFrameSession:
    """The session of a connection until its first frame; then it opens the session that answers later requests.

    :param open_session: opens the session that answers requests.
    :param refusals: counts and logs the requests in clear that are refused.
    :param plugin: the name of the plugin that AUTH requests must contain, if clients have to authenticate.
    """

    def __init__(
        self, connection: IServerConnection, encryption: Encryption,
        open_session: Callable[[IServerConnection], IRequestSession], refusals: PeerRefusals, plugin: str = "",
    ) -> None:  # fmt: skip
        self._connection = connection
        self._encryption = encryption
        self._open = open_session
        self._refusals = refusals
        self._plugin = plugin
        self._session: IRequestSession | None = None
        connection.expect_hello(self._encrypt_at_once)
        if not encryption.is_required:
            connection.permit_clear()

    @property
    def busy(self) -> bool:
        return self._session is not None and self._session.busy

    def received(self, items: Sequence[Any]) -> None:
        if self._session is not None:
            self._session.received(items)
        elif isinstance(items[0], StartTlsRequest):
            self._encrypt(items[0], items[1:2])
        elif self._encryption.is_required:
            self._refuse(items)
        else:
            self._open_session()
            self.received(items)

    def _encrypt_at_once(self) -> None:
        """Begin TLS for a peer that has sent nothing in clear."""

        def encrypted() -> None:
            self._open_session()

        self._connection.encrypt(self._encryption.creator, encrypted)

    def _encrypt(self, request: StartTlsRequest, behind: Sequence[Any]) -> None:
        """Begin TLS after a StartTLS request.

        If the next frame in clear is an AUTH request with an empty token, it is answered after the handshake.

        :param behind: the frames that arrived together with the StartTLS request.
        """
        first: list[Any] = [item for item in behind if _is_empty_token(item)]

        def take(item: object) -> bool:
            if _is_empty_token(item):
                first.append(item)
            return bool(first)

        def encrypted() -> None:
            session = self._open_session()
            if first and (connection.state is not ConnectionState.AUTHENTICATING or first[0].plugin == self._plugin):
                session.received(first)
                connection.flush()

        connection = self._connection
        connection.reply(request.header.wire.encode_response(StartTlsResponse(request.header, Status.EOK)))
        connection.encrypt(self._encryption.creator, encrypted, None if behind else take)

    def _open_session(self) -> IRequestSession:
        self._session = session = self._open(self._connection)
        return session

    def _refuse(self, items: Sequence[Any]) -> None:
        """Refuse all received requests, then close the connection: the peer must start TLS on a new one."""
        self._refusals.say(self._connection, "it sends requests in clear, and tlsRequired=true")
        for item in items:
            if not self._refusals.refuse(self._connection, item):
                return
        self._connection.end()

    def writable(self) -> None:
        if self._session is not None:
            self._session.writable()

    def lost(self) -> None:
        if self._session is not None:
            self._session.lost()
