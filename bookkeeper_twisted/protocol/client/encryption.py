"""The client's side of the start of TLS: until its handshake is complete, a connection carries nothing else.

With direct TLS the handshake begins at once.  Otherwise it begins after StartTLS, a request of V3.
A bookie that has answered StartTLS sends nothing before the client does.  So if other bytes arrive with the answer, an
attacker has inserted them, and the client drops the connection.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import attrs
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IReactorTime
from twisted.internet.protocol import Protocol

from ...codec.connection import ClientDecoder
from ...codec.messages import ErrorResponse, StartTlsRequest, StartTlsResponse
from ...codec.operations import Operation
from ...codec.wires import V3
from ...errors import ERROR_OF_STATUS, BookieHandleNotAvailableError, SecurityError, Status
from ...security.principals import NOBODY, principal_of
from ..authentication import Peer
from .handshake import Handshake

if TYPE_CHECKING:
    from ..tls_layer import TlsLayer

START_TLS = StartTlsRequest(V3.header(Operation.START_TLS, 1, 0))
"""The first request of a connection that is to be encrypted."""


class EncryptingConnection(Handshake):
    """A protocol that begins TLS, at once or by V3's StartTLS, then passes its connection to another protocol.

    :ivar ready: fires with the other protocol after the TLS handshake; fails with SecurityError, RequestTimeoutError or
        BookieHandleNotAvailableError.
    """

    def __init__(
        self, clock: IReactorTime, peer: Peer, creator: IOpenSSLClientConnectionCreator, timeout: float,
        make: Callable[[Peer], Protocol], is_direct: bool = False,
    ) -> None:  # fmt: skip
        """:param peer: the bookie; its certificate is not known yet.
        :param timeout: seconds for StartTLS and the handshake.
        :param make: makes the protocol that uses the encrypted connection after the handshake.
        :param is_direct: whether TLS begins immediately, without StartTLS.
        """
        super().__init__(clock, timeout, f"no TLS handshake with {peer.address} in time")
        self._peer = peer
        self._bookie_id = peer.address
        self._creator = creator
        self._make = make
        self._is_direct = is_direct
        self._decoder = ClientDecoder(V3)
        self._layer: TlsLayer | None = None

    def connectionMade(self) -> None:
        super().connectionMade()
        if self._is_direct:
            self._begin_tls()
        else:
            self.transport.write(V3.encode_request(START_TLS))  # type: ignore[union-attr]

    def dataReceived(self, data: bytes) -> None:
        items = self._decoder.receive(data)
        error = self._decoder.error
        if items:
            self._begin(items[0], len(items) > 1 or self._decoder.keeps or error is not None)
        elif error is not None:
            self._fail(BookieHandleNotAvailableError(f"the bookie broke the protocol: {error}"))

    def _begin(self, reply: object, has_more: bool) -> None:
        """Begin TLS if the bookie's ``reply`` permits it and no other bytes followed the reply; else fail."""
        if isinstance(reply, StartTlsResponse) and reply.status is Status.EOK:
            if has_more:
                reason = "bytes in clear arrived behind its answer to StartTLS"
                self._fail(SecurityError(f"{self._bookie_id} does not encrypt the connection: {reason}"))
                return
            self._begin_tls()
            return
        self._fail(SecurityError(f"{self._bookie_id} does not encrypt the connection: {_refusal(reply)}"))

    def _begin_tls(self) -> None:
        from ..tls_layer import begin_tls  # imported here: its packages are installed only for TLS

        self._layer = begin_tls(self, self._creator, True, self._clock)

    def handshakeCompleted(self) -> None:
        """Pass the encrypted connection to the next protocol; the TLS layer calls this after the handshake."""
        assert self._layer is not None
        certificate = self._layer.getHandle().get_peer_certificate(as_cryptography=True)
        certified = principal_of(certificate) if certificate is not None else NOBODY
        self._pass_on(partial(self._make, attrs.evolve(self._peer, certified=certified, is_encrypted=True)))

    def _loss(self, reason: str) -> Exception:
        if self._layer is None:
            return BookieHandleNotAvailableError(f"connection lost: {reason}")
        return SecurityError(f"the TLS handshake with {self._bookie_id} failed: {reason}")


def _refusal(reply: object) -> str:
    """Say what a bookie that does not begin TLS has answered, without bytes of the peer."""
    status = reply.status if isinstance(reply, StartTlsResponse | ErrorResponse) else Status.EOK
    if status is Status.EBADREQ:
        return "it has no TLS"
    if status in ERROR_OF_STATUS:
        return f"its answer was {status.name} ({ERROR_OF_STATUS[status].text})"
    return "its answer was of another kind"
