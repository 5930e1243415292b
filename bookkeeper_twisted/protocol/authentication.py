"""Authentication of connections by plugins: interfaces, the provider without authentication, and the plugin search.

A connection that is encrypted has finished its TLS handshake before: the certificate of the peer is known then.

A provider makes one exchange for each connection and side.  The client's exchange makes the first token; then each
side makes a token from the token it received, in AUTH requests and their responses, until both are complete.
"""

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.plugin import IPlugin, getPlugins
from zope.interface import Attribute, Interface, implementer

from ..codec.operations import AUTH_DISABLED_PLUGIN
from ..errors import ConfigError
from ..security.principals import NOBODY, Principal

_log = Logger()
_JAVA = "org.apache.bookkeeper.auth.AuthProviderFactoryFactory$"


MAX_TOKEN = 64 * 1024
"""Bytes of the longest token that a peer may send; a Kerberos ticket with many groups has some 12 KiB."""


@attrs.frozen
class Peer:
    """The other end of a connection that is to be authenticated.

    :ivar address: the address and port of a client, or the id of a bookie.
    :ivar certified: the principal of its certificate; NOBODY if it has shown none.
    :ivar is_encrypted: whether the connection is encrypted, so that passwords can be sent.
    """

    address: str
    certified: Principal = NOBODY
    is_encrypted: bool = False


class IAuthenticationExchange(Interface):
    """One side of the exchange on one connection.  Reactor thread."""

    complete: bool = Attribute("Whether this side has nothing more to ask of its peer.")
    principal: Principal = Attribute("Who the peer has proven to be, once the exchange is complete.")

    def next_token(received: bytes | None) -> "Deferred[bytes]":
        """Return the token to send next.

        :param received: the peer's token; None for the first token of a client.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: the peer is refused; the connection is closed.
        """


class IAuthenticationProvider(Interface):
    """A plugin that authenticates connections."""

    names: frozenset[str] = Attribute(
        "Values of ``bookieAuthProviderFactoryClass`` and ``clientAuthProviderFactoryClass`` it answers to."
    )
    plugin: str = Attribute("The name in AUTH frames.")

    def bookie_exchange(peer: Peer) -> IAuthenticationExchange:
        """Return the bookie's side of an exchange with a client.

        If it is complete from the start, the client is admitted without a token.

        :param peer: the client.
        """

    def client_exchange(peer: Peer) -> IAuthenticationExchange:
        """Return the client's side of an exchange with a bookie.

        If it is complete from the start, the client sends no token.

        :param peer: the bookie.
        """


@implementer(IAuthenticationExchange)
class NoExchange:
    """An exchange that is complete from the start.

    :ivar principal: of the peer's certificate.
    """

    complete = True

    def __init__(self, peer: Peer) -> None:
        self.principal = peer.certified

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Return the empty token."""
        return succeed(b"")


@implementer(IPlugin, IAuthenticationProvider)
class AuthenticationDisabled:
    """The provider that admits every peer, as Apache's bookie and client do by default."""

    names = frozenset(
        {
            "", "null", "none", "disabled", _JAVA + "AuthenticationDisabledAuthProviderFactory",
            _JAVA + "NullClientAuthProviderFactory",
        }
    )  # fmt: skip
    plugin = AUTH_DISABLED_PLUGIN

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """See :meth:`IAuthenticationProvider.bookie_exchange`."""
        return NoExchange(peer)

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """See :meth:`IAuthenticationProvider.client_exchange`."""
        return NoExchange(peer)


def authentication_provider(name: str, key: str, origin: str, insecure: bool = False) -> IAuthenticationProvider:
    """Find the provider that the value of a configuration key names.

    :param name: the value of the key.
    :param key: of the configuration, for the error.
    :param origin: where the value was given, for the error.
    :param insecure: whether an unknown name means no authentication, with a warning in the log.
    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name.
    """
    providers = list(getPlugins(IAuthenticationProvider))
    for provider in providers:
        if name.strip() in provider.names:
            return provider
    if insecure:
        text = "{key} = {name}, {origin}: no such provider, no peer is authenticated"
        _log.warn(text, key=key, name=name, origin=origin)
        return AuthenticationDisabled()
    known = ", ".join(sorted(known for provider in providers for known in provider.names if known))
    raise ConfigError(f"{key} = {name!r}, {origin}: no such authentication provider; known are {known}")
