"""A plugin of one's own: each client shares a secret with the bookies, and proves that it knows it by a challenge.

Copy this folder, or put it on the path of bookies and clients as it is::

   export PYTHONPATH=examples/own_plugin SHARED_SECRETS=secrets.txt
   twistd -n bookie --bookieAuthProviderFactoryClass=shared-secret ...

``secrets.txt`` has lines of ``NAME SECRET``.  A client has its own line alone, and
``clientAuthProviderFactoryClass=shared-secret``.  The secret never travels, but what follows is as open as without the
plugin: use it within TLS.

The exchange: the client sends its name, the bookie a challenge, the client the HMAC of the challenge by its secret, and
the bookie nothing more.
"""

import hmac
import os
from pathlib import Path

from twisted.internet.defer import Deferred, succeed
from twisted.plugin import IPlugin
from zope.interface import implementer

from bookkeeper_twisted.authentication.plugins import IAuthenticationPlugin
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import (
    IAuthenticationExchange,
    IBookieAuthentication,
    IClientAuthentication,
    Peer,
)
from bookkeeper_twisted.security.principals import NOBODY, Principal

Secrets = dict[str, bytes]


@implementer(IPlugin, IAuthenticationPlugin)
class SharedSecretPlugin:
    """What ``twisted/plugins`` registers; it reads the file when a bookie or a client starts."""

    names = frozenset({"shared-secret"})

    def for_bookie(self, config: AuthenticationConfig) -> "SharedSecretBookie":
        """Return the bookie's side, which knows all secrets."""
        return SharedSecretBookie(read_secrets())

    def for_client(self, config: AuthenticationConfig) -> "SharedSecretClient":
        """Return the client's side, which knows its own secret."""
        (own,) = read_secrets().items()
        return SharedSecretClient(*own)


def read_secrets() -> Secrets:
    """Return the secret of each name in the file; an error has no secret in it."""
    path = os.environ.get("SHARED_SECRETS", "")
    try:
        lines = [line.split() for line in Path(path).read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"SHARED_SECRETS = {path!r}: {type(error).__name__}") from None
    if not lines or any(len(words) != 2 for words in lines):
        raise ConfigError(f"SHARED_SECRETS = {path!r}: expected lines of NAME SECRET")
    return {name: secret.encode() for name, secret in lines}


@implementer(IBookieAuthentication)
class SharedSecretBookie:
    """The bookie's side; ``plugin`` is the name in AUTH frames."""

    plugin = "shared-secret"

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return a new exchange, as for each connection."""
        return _BookieExchange(self._secrets)


@implementer(IAuthenticationExchange)
class _BookieExchange:
    def __init__(self, secrets: Secrets) -> None:
        self.complete = False
        self.principal = NOBODY
        self._secrets = secrets
        self._name: str | None = None
        self._challenge = os.urandom(32)

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        token = received or b""
        if self._name is None:
            self._name = token.decode("utf-8", "replace")
            return succeed(self._challenge)
        # an unknown name costs the same and gets the same answer as a wrong secret
        secret = self._secrets.get(self._name)
        proof = hmac.digest(secret or os.urandom(32), self._challenge, "sha256")
        if not hmac.compare_digest(proof, token) or secret is None:
            raise UnauthorizedAccessError(detail="the client does not know its secret")
        self.principal = Principal("token", self._name)
        self.complete = True
        return succeed(b"")


@implementer(IClientAuthentication)
class SharedSecretClient:
    """The client's side."""

    plugin = "shared-secret"

    def __init__(self, name: str, secret: bytes) -> None:
        self._name = name
        self._secret = secret

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return a new exchange, as for each connection."""
        return _ClientExchange(self._name, self._secret)


@implementer(IAuthenticationExchange)
class _ClientExchange:
    principal = NOBODY  # the bookie proves nothing: that is what its certificate is for

    def __init__(self, name: str, secret: bytes) -> None:
        self.complete = False
        self._name = name
        self._secret = secret
        self._answered = False

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if received is None:
            return succeed(self._name.encode())
        if not self._answered:
            self._answered = True
            return succeed(hmac.digest(self._secret, received, "sha256"))
        self.complete = True
        return succeed(b"")
