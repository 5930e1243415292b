"""Authentication by a signed token: the client sends its token, and the bookie verifies it.

Anybody who sees a token can use it, so tokens are sent over TLS only, unless ``tokenInClear`` permits unencrypted
connections.  The client reads its token from a file for each connection, so that the token can be renewed.  The bookie
does not close an authenticated connection when its token expires.
"""

from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ..config.authentication import AuthenticationConfig
from ..errors import ConfigError, UnauthorizedAccessError
from ..protocol.authentication import IAuthenticationExchange, IBookieAuthentication, IClientAuthentication, Peer
from ..security.files import file_error, read_text
from ..security.principals import NOBODY
from ..security.tokens import MAX_SIZE, TokenVerifier, token_verifier

PLUGIN = "token"
"""The name of this plugin in AUTH frames."""

_FILE = "clientAuthTokenFile"


def token_bookie(config: AuthenticationConfig, seconds: Callable[[], float]) -> IBookieAuthentication:
    """Return the bookie's side of authentication by signed tokens.

    :param seconds: returns the time in seconds since 1970.
    :raises ConfigError: no key is configured, a key file cannot be used, TLS is off without ``tokenInClear``, or the
        extra ``jwt`` is not installed.
    """
    verifier = token_verifier(config, seconds)
    if verifier is None:
        reason = "verifies tokens, so tokenKeyFile or tokenPublicKeys has to be set"
        raise config.error("bookie_auth_provider_factory_class", reason)
    if not config.encrypts and not config.token_in_clear:
        reason = "tokens are refused in clear, so nobody can log in: set tlsProviderFactoryClass, or tokenInClear=true"
        raise config.error("bookie_auth_provider_factory_class", reason)
    return TokenBookie(verifier, config.token_in_clear)


def token_client(config: AuthenticationConfig) -> IClientAuthentication:
    """Return the client's side of authentication by signed tokens.

    :raises ConfigError: the file with the token cannot be used, or TLS is off without ``tokenInClear``.
    """
    path = config.client_auth_token_file
    if not path:
        raise config.error("client_auth_token_file", "has to name the file with the token of this client")
    if not config.encrypts and not config.token_in_clear:
        reason = "the token would be sent in clear: set tlsProviderFactoryClass, or tokenInClear=true"
        raise config.error("client_auth_token_file", reason)
    read_token(path, warns=True)
    return TokenClient(path, config.token_in_clear)


def read_token(path: str, warns: bool = False) -> bytes:
    """Return the token in a file, without surrounding white space.

    :param warns: whether to log a warning if every user of the machine can read the file.
    :raises ConfigError: the file cannot be read, or has no token.
    """
    text = read_text(_FILE, path, MAX_SIZE, secret=warns).strip()
    if not text.isascii() or len(text.split()) != 1:
        raise file_error(_FILE, path, "it has no token, or more than one")
    return text.encode()


@implementer(IBookieAuthentication)
class TokenBookie:
    """The bookie's side of authentication by signed tokens: it verifies the tokens of clients.

    :param verifier: verifies the tokens.
    :param in_clear: whether to accept tokens on unencrypted connections.
    """

    plugin = PLUGIN

    def __init__(self, verifier: TokenVerifier, in_clear: bool) -> None:
        self._verifier = verifier
        self._in_clear = in_clear

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the bookie's side of an exchange in which the client ``peer`` sends its signed token."""
        return _BookieSide(self._verifier, peer.is_encrypted or self._in_clear)


@implementer(IAuthenticationExchange)
class _BookieSide:
    def __init__(self, verifier: TokenVerifier, is_private: bool) -> None:
        self.complete = False
        self.principal = NOBODY
        self._verifier = verifier
        self._is_private = is_private

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if not self._is_private:
            raise UnauthorizedAccessError(detail="a token was sent in clear")
        # "replace" decodes each byte that is not ASCII to U+FFFD, which the verifier refuses.
        self.principal = self._verifier.verify((received or b"").decode("ascii", "replace"))
        self.complete = True
        return succeed(b"")


@implementer(IClientAuthentication)
class TokenClient:
    """The client's side of authentication by signed tokens: it sends a token that it reads from a file.

    :param path: the file with the token.
    :param in_clear: whether to send the token on unencrypted connections.
    """

    plugin = PLUGIN

    def __init__(self, path: str, in_clear: bool) -> None:
        self._path = path
        self._in_clear = in_clear

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the client's side of an exchange in which the client sends its signed token to the bookie ``peer``."""
        return _ClientSide(self._path, peer, self._in_clear)


@implementer(IAuthenticationExchange)
class _ClientSide:
    def __init__(self, path: str, peer: Peer, in_clear: bool) -> None:
        self.complete = False
        self.principal = peer.certified
        self._path = path
        self._is_private = peer.is_encrypted or in_clear

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if received is not None:  # Any reply means that the bookie accepted the signed token: a refusal is an error.
            self.complete = True
            return succeed(b"")
        if not self._is_private:
            raise UnauthorizedAccessError(detail="the connection is not encrypted, so the token was not sent")
        try:
            return succeed(read_token(self._path))
        except ConfigError as error:
            raise UnauthorizedAccessError(detail=str(error)) from None
