"""The client's side of authentication: until both sides are complete, a connection carries only tokens."""

from collections.abc import Callable

from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IReactorTime
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from ...codec.connection import ClientDecoder
from ...codec.messages import AuthRequest, AuthResponse, ErrorResponse
from ...codec.operations import AUTH_DISABLED_PLUGIN, Operation
from ...codec.wire_protocol import IWireProtocol
from ...codec.wires import V3
from ...errors import BookieHandleNotAvailableError, Status, UnauthorizedAccessError
from ..authentication import IAuthenticationExchange, IClientAuthentication, IUnansweredExchange, Peer
from .encryption import START_TLS, EncryptingConnection
from .handshake import Handshake

_NO_ANSWER = "no authentication in time; Apache's bookies do not answer whom they refuse"
_NO_TOKEN = (
    "no authentication in time; this client does not have its own token yet; with Kerberos: its KDC does not answer"
)


class AuthenticatedConnection(Handshake):
    """A protocol that authenticates a connection, then passes the connection to the protocol for requests.

    If a connection with TLS has to be authenticated, Apache's bookies send an error after a successful TLS handshake:
    a V3 reply to StartTLS, even to a client that uses V2.  The reply only means that the client is not authenticated
    yet, so its bytes are dropped.

    :ivar ready: fires with the protocol for requests after the authentication; fails with UnauthorizedAccessError,
        RequestTimeoutError or BookieHandleNotAvailableError.
    """

    def __init__(
        self, clock: IReactorTime, wire: IWireProtocol, plugin: str, exchange: IAuthenticationExchange,
        timeout: float, max_frame_size: int, make: Callable[[], Protocol], is_required: bool = False,
        is_encrypted: bool = False,
    ) -> None:  # fmt: skip
        """:param plugin: the name of the authentication plugin, which AUTH requests contain.
        :param timeout: seconds for the whole exchange.
        :param make: makes the protocol for requests.
        :param is_required: whether to refuse a bookie that does not authenticate its clients.
        :param is_encrypted: whether the connection uses TLS.
        """
        super().__init__(clock, timeout, _NO_ANSWER)
        self._wire = wire
        self._plugin = plugin
        self._exchange = exchange
        self._decoder = ClientDecoder(wire, max_frame_size)
        self._make = make
        self._is_required = is_required
        self._number = 0
        self._begin = b""
        self._dropped = V3.refusal(START_TLS, Status.EIO) if is_encrypted else None

    def connectionMade(self) -> None:
        super().connectionMade()
        self._proceed(None)

    def dataReceived(self, data: bytes) -> None:
        if self._dropped is not None:
            self._begin = data = self._begin + data
            if len(data) < len(self._dropped) and self._dropped.startswith(data):
                return
            data, self._dropped = data.removeprefix(self._dropped), None
        for item in self._decoder.receive(data):
            if isinstance(item, AuthResponse | ErrorResponse) and not self.ready.called:
                # items other than answers to AUTH requests are dropped until the connection is authenticated
                self._received(item)
        if self._decoder.error is not None:
            self._fail(BookieHandleNotAvailableError(f"the bookie broke the protocol: {self._decoder.error}"))

    def _received(self, response: AuthResponse | ErrorResponse) -> None:
        if isinstance(response, ErrorResponse) or response.status is not Status.EOK:
            self._fail(UnauthorizedAccessError(detail="the bookie refused the authentication"))
        elif response.plugin == AUTH_DISABLED_PLUGIN:
            self._not_asked()
        else:
            self._proceed(response.payload)

    def _not_asked(self) -> None:
        """End the exchange, because the bookie has answered that it does not authenticate clients."""
        if self._is_required and not self._exchange.complete:
            self._fail(UnauthorizedAccessError(detail="the bookie authenticates nobody, which this client requires"))
        else:
            self._pass_on(self._make)

    def _proceed(self, received: bytes | None) -> None:
        """Pass a received token to the exchange and send the next token, until both sides are complete."""
        self._late = _NO_TOKEN
        maybeDeferred(self._exchange.next_token, received).addCallbacks(self._send, self._refuse)

    def _send(self, token: bytes) -> None:
        self._late = _NO_ANSWER
        if self.ready.called:
            return
        if self._number and self._exchange.complete and not token:
            self._pass_on(self._make)
            return
        self._ask(token)
        if self._exchange.complete and IUnansweredExchange.providedBy(self._exchange):
            self._ask(b"")

    def _ask(self, token: bytes) -> None:
        self._number += 1
        request = AuthRequest(self._wire.header(Operation.AUTH, self._number, 0), self._plugin, token)
        self.transport.write(self._wire.encode_request(request))  # type: ignore[union-attr]

    def _refuse(self, failure: Failure) -> None:
        error = failure.value
        self._fail(error if isinstance(error, Exception) else UnauthorizedAccessError(detail=str(error)))

    def _loss(self, reason: str) -> Exception:
        # in V2, a bookie refuses a client by closing the connection, so the reason of the loss is not known
        return BookieHandleNotAvailableError(f"connection lost during the authentication (refused?): {reason}")


def first_protocol(
    make: Callable[[], Protocol], peer: Peer, authentication: IClientAuthentication, is_required: bool,
    creator: IOpenSSLClientConnectionCreator | None, is_direct: bool, clock: IReactorTime, wire: IWireProtocol,
    timeout: float, max_frame_size: int,
) -> Protocol:  # fmt: skip
    """Make the first protocol of a connection: for TLS, else for authentication, else for requests.

    :param make: makes the protocol for requests, which follows TLS and authentication.
    :param peer: the bookie.
    :param is_required: whether to refuse a bookie that does not authenticate its clients.
    :param creator: makes the client's end of TLS; None for a connection without TLS.
    :param is_direct: whether TLS begins at once, without StartTLS.
    :param timeout: maximum number of seconds for TLS; the same number applies to authentication.
    """

    def authenticated(peer: Peer) -> Protocol:
        exchange = authentication.client_exchange(peer)
        if exchange.complete:
            return make()
        return AuthenticatedConnection(
            clock, wire, authentication.plugin, exchange, timeout, max_frame_size, make, is_required,
            peer.is_encrypted,
        )  # fmt: skip

    if creator is None:
        return authenticated(peer)
    return EncryptingConnection(clock, peer, creator, timeout, authenticated, is_direct)
