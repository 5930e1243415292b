"""Authentication of connections: the interfaces of both sides, and a method that admits every peer without tokens.

On an encrypted connection the TLS handshake is complete before authentication begins, so the certificate of the peer is
known.

Each side makes one exchange object for each connection.  The client's exchange makes the first token, which is sent in
an AUTH request.  Then each side makes its next token from the token that it received, until both exchanges are
complete.  The bookie sends its tokens in AUTH responses.  :mod:`bookkeeper_twisted.authentication` has the methods that
a configuration can choose.
"""

import attrs
from twisted.internet.defer import Deferred, succeed
from zope.interface import Attribute, Interface, implementer

from ..codec.operations import AUTH_DISABLED_PLUGIN
from ..security.principals import NOBODY, Principal

MAX_TOKEN = 64 * 1024
"""Maximum size in bytes of a token from a peer; a Kerberos ticket of a user in many groups has some 12 KiB."""


@attrs.frozen
class Peer:
    """The other end of a connection that is to be authenticated.

    :ivar address: the address and port of a client, or the id of a bookie.
    :ivar certified: the principal in the certificate of the peer; NOBODY if it sent no certificate.
    :ivar is_encrypted: whether the connection is encrypted, so that it is safe to send passwords.
    :ivar host: in a client, the host name or address that it has connected to, or an empty string if this is unknown.
        In a bookie, always an empty string.
    :ivar reactor: the reactor of the connection; an exchange may do blocking work on the threads of its thread pool.
    """

    address: str
    certified: Principal = NOBODY
    is_encrypted: bool = False
    host: str = ""
    reactor: object = attrs.field(default=None, eq=False, repr=False)


class IAuthenticationExchange(Interface):
    """One side of the exchange of authentication tokens on a connection.  Called on the reactor thread."""

    complete: bool = Attribute("Whether this side has nothing more to ask of its peer.")
    principal: Principal = Attribute("Who the peer has proven to be, once the exchange is complete.")

    def next_token(received: bytes | None) -> "Deferred[bytes]":
        """Return the token to send next.

        :param received: the peer's token; None for the first token of a client.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: the peer is refused; the connection is closed.
        """


class IRefusingExchange(IAuthenticationExchange):
    """A bookie's exchange with a peer that is refused whatever it sends; the provider has logged the reason."""


class IUnansweredExchange(IAuthenticationExchange):
    """A client's exchange whose last token Apache's bookies do not answer, for example GSSAPI.

    The exchange is complete when it has returned its last token.  To learn whether the bookie has admitted it, the
    client then sends one more token, which is empty.  Only a bookie that has admitted the client answers this token.
    """


class IBookieAuthentication(Interface):
    """A method of authentication, on the bookie's side.

    For each connection, it makes an exchange: the object that receives and returns the tokens of this connection.
    """

    plugin: str = Attribute("The name in AUTH frames.")

    def bookie_exchange(peer: Peer) -> IAuthenticationExchange:
        """Return the bookie's side of an exchange with a client.

        If the exchange is complete from the start, the client is admitted without a token.

        :param peer: the client.
        """


class IClientAuthentication(Interface):
    """A method of authentication, on the client's side.

    For each connection, it makes an exchange: the object that receives and returns the tokens of this connection.
    """

    plugin: str = Attribute("The name in AUTH frames.")

    def client_exchange(peer: Peer) -> IAuthenticationExchange:
        """Return the client's side of an exchange with a bookie.

        If the exchange is complete from the start, the client sends no token.

        :param peer: the bookie.
        """


@implementer(IAuthenticationExchange)
class NoExchange:
    """An exchange that is complete from the start.

    :ivar principal: the principal in the peer's certificate.
    """

    complete = True

    def __init__(self, peer: Peer) -> None:
        self.principal = peer.certified

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Return an empty token, because the exchange needs none."""
        return succeed(b"")


@implementer(IBookieAuthentication, IClientAuthentication)
class AuthenticationDisabled:
    """The authentication that admits every peer, as Apache's bookie and client do by default."""

    plugin = AUTH_DISABLED_PLUGIN

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return an exchange without tokens, which admits every client."""
        return NoExchange(peer)

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return an exchange that is complete from the start, so that the client sends no token."""
        return NoExchange(peer)
