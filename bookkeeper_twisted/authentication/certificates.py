"""Authentication by the role in the certificate of a client, as Apache's ``BookieAuthZFactory`` does.

The client sends no token, because the bookie has received the client's certificate in the TLS handshake.  The first
role in the certificate must be in ``authorizedRoles``; as in Java, further roles are ignored.  A value of
``authorizedRoles`` that begins with ``spiffe://`` is a SPIFFE id, which Java's bookie does not support.  A SPIFFE id
must be equal to the URI in the certificate, and the certificate must have only one URI (X.509-SVID).

A client whose certificate has no authorized role or SPIFFE id is refused as in Java: the connection stays open, but the
bookie replies to each request with the error code EUA (unauthorized access).
"""

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from ..config.authentication import AuthenticationConfig
from ..errors import UnauthorizedAccessError
from ..protocol.authentication import (
    IAuthenticationExchange,
    IBookieAuthentication,
    IClientAuthentication,
    IRefusingExchange,
    NoExchange,
    Peer,
)
from ..protocol.peer_lines import PeerLines, cause_of
from ..security.principals import NOBODY, Principal

PLUGIN = "BookieAuthZFactory"
"""The name of this plugin in AUTH frames, which is also the name of Apache's class."""

_SPIFFE = "spiffe://"
_log = Logger()


def certificate_bookie(config: AuthenticationConfig, seconds: Callable[[], float]) -> IBookieAuthentication:
    """Return the bookie's side of authentication by the certificates of clients.

    :param seconds: a function that returns the time in seconds; used to limit the rate of log lines.
    :raises ConfigError: ``authorizedRoles`` is empty, or TLS does not require certificates of clients.
    """
    if not any(role.strip() for role in config.authorized_roles):
        raise config.error("authorized_roles", "has to name a role or more, as BookieAuthZFactory asks for them")
    _require_certificates(config, "bookie_auth_provider_factory_class")
    return CertificateBookie(config.authorized_roles, seconds)


def certificate_client(config: AuthenticationConfig) -> IClientAuthentication:
    """Return the client's side of authentication by certificates.

    The client sends its certificate in the TLS handshake, and no token after it.

    :raises ConfigError: the client is not configured to send a certificate.
    """
    _require_certificates(config, "client_auth_provider_factory_class")
    return CertificateClient()


def _require_certificates(config: AuthenticationConfig, name: str) -> None:
    if not config.encrypts or not config.tls_client_authentication:
        reason = "needs the certificates of clients: set tlsProviderFactoryClass and tlsClientAuthentication=true"
        raise config.error(name, reason)


@implementer(IBookieAuthentication)
class CertificateBookie:
    """The bookie's side of authentication by certificates: it admits clients whose certificates have a configured role.

    :param authorized: the roles and SPIFFE ids of admitted clients.
    :param seconds: a function that returns the time in seconds; used to limit the rate of log lines.
    """

    plugin = PLUGIN

    def __init__(self, authorized: Iterable[str], seconds: Callable[[], float]) -> None:
        known = {each.strip() for each in authorized} - {""}
        self._ids = frozenset(each for each in known if each.startswith(_SPIFFE))
        self._roles = frozenset(known - self._ids)
        self._lines = PeerLines(seconds)

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return an exchange without tokens, which admits or refuses the client by its TLS certificate."""
        reason = self._refusal(peer.certified)
        if not reason:
            return NoExchange(peer)
        self._lines.log(
            _log.warn, "refusing all requests of {peer}: {reason}", peer.address, reason=reason, cause=cause_of(reason)
        )  # fmt: skip
        return _RefusingExchange(reason)

    def _refusal(self, certified: Principal) -> str:
        """Return why a client is refused; return an empty string if its certificate has an authorized role."""
        if certified.kind != "certificate":
            return "it has shown no certificate"
        if self._roles.intersection(certified.roles[:1]):
            return ""
        if len(certified.uris) == 1 and certified.uris[0] in self._ids:
            return ""
        shown = [f"its certificate is that of {certified.name!r}"]
        if self._roles:
            shown.append(f"its first role counts, of {list(certified.roles)}")
        if self._ids:
            shown.append(f"its URIs are {list(certified.uris)}")
        return f"{'; '.join(shown)}; not in authorizedRoles"


@implementer(IRefusingExchange)
class _RefusingExchange:
    """The exchange of a refused client: it never completes, so the bookie refuses all requests of the client."""

    complete = False
    principal = NOBODY

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        raise UnauthorizedAccessError(detail=self._reason)


@implementer(IClientAuthentication)
class CertificateClient:
    """The client's side of authentication by certificates, which sends no token."""

    plugin = PLUGIN

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return an exchange without tokens, because the client has sent its certificate in the TLS handshake."""
        return NoExchange(peer)
