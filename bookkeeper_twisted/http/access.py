"""The rules of access to an HTTP server.

If a server checks requests, a few of its pages are still open to everybody, because probes and scrapers have no
credentials.  These pages show no secrets.  All other pages need a principal.  Requests that change a state, or read the
entries of ledgers, need an administrator.
"""

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from twisted.logger import Logger
from twisted.web.http import Request

from ..config.http import AUTO, NONE, HttpConfig
from ..instruments import Instruments
from ..metrics import watch_certificate
from ..protocol.peer_lines import PeerLines, peer_name
from ..security.principals import NOBODY, Principal
from ..security.tokens import token_verifier
from .api import Answer, json_answer
from .principals import CredentialsError, Verifier, identify, shown_name
from .routes import Access, Route

_READING = frozenset({b"GET", b"HEAD"})
_ROLE = "role:"
_FILES = "console/"
"""Prefix of the paths of the static files that belong to the page ``/console``."""

_SHOWN = 100

_NOBODY_CAN = (
    "no request can show who sends it: there are no tokens (tokenKeyFile, tokenPublicKeys) and no client certificates "
    "(httpServerTrustStorePath)"
)


@attrs.frozen
class RefusedRequest:
    """The reason why a request is not answered.

    :ivar status: 401 if the client must send credentials, otherwise 403.
    :ivar challenge: the value of ``WWW-Authenticate``, for 401.
    """

    status: int
    reason: str
    challenge: bytes = b""

    def answer(self, request: Request) -> Answer:
        """Return the answer to the refused ``request``, and set the headers of this answer."""
        if self.challenge:
            request.setHeader(b"WWW-Authenticate", self.challenge)
        return json_answer({"reason": self.reason}, self.status)


class AccessGuard:
    """Decides which requests an HTTP server answers.

    A checked request needs a principal, unless its page is open to everybody.  All requests are checked until
    :meth:`opened` is called.  After that, the key ``httpAuthentication`` decides: with ``none``, no request is checked;
    with ``auto``, requests are checked only if other machines can reach the server.

    :param config: the keys ``httpAuthentication``, ``httpAdminPrincipals`` and ``httpReadOnly`` of an HTTP server.
    :param verifier: verifies tokens; None if tokens are not accepted.
    :param certificates: whether clients may authenticate by TLS certificates.
    :param seconds: returns the time of the clock.
    :param instruments: export the numbers of refused requests.
    """

    _log = Logger()

    def __init__(
        self, config: HttpConfig, verifier: Verifier | None, certificates: bool, seconds: Callable[[], float],
        instruments: Instruments,
    ) -> None:  # fmt: skip
        self._mode = config.http_authentication
        self._read_only = config.http_read_only
        self._admins = frozenset(config.http_admin_principals)
        self._verifier = verifier
        self._identifies = verifier is not None or certificates
        self._checks = self._mode != NONE
        self._in_clear = config.token_in_clear
        self._open: frozenset[str] = frozenset()
        self._of_administrators: frozenset[str] = frozenset()
        self._changing: frozenset[str] = frozenset()
        self._lines = PeerLines(seconds)
        self.unauthenticated = instruments.counter("http_server_unauthenticated")
        self.forbidden = instruments.counter("http_server_forbidden")
        self.failed_handshakes = instruments.counter("http_server_failed_handshakes")

    def know(self, routes: Iterable[Route]) -> None:
        """Record who may request each page of the server.

        Before this call, no page is open to everybody.

        :param routes: describe the operations of the server, and who may request them.
        """
        reads = [route for route in routes if route.method == "GET"]
        self._open = frozenset(route.path.strip("/") for route in reads if route.access is Access.ANYONE)
        self._of_administrators = frozenset(
            route.path.strip("/") for route in reads if route.access is Access.ADMINISTRATOR
        )
        self._changing = frozenset(route.path.strip("/") for route in reads if route.changes)

    def opened(self, local: bool) -> str:
        """Decide whether requests need credentials; call this when the server has begun to listen.

        :param local: whether only processes of this machine can reach the server.
        :returns: who may use the server, as text for the end of the log line "the HTTP server listens on ...".
        """
        self._checks = self._mode != NONE and not (self._mode == AUTO and local)
        self._in_clear = self._in_clear or local
        if self._checks:
            open_paths = ", ".join(f"/{path}" for path in sorted(self._open) if not path.startswith(_FILES))
            needed = f"asks for a token or certificate, except at {open_paths}"
            return needed if self._identifies else f"{needed}; {_NOBODY_CAN}; httpAuthentication=none opens everything"
        if local:
            return "for this machine alone: httpServerHost=0.0.0.0 opens it"
        return "and asks no one for a password: httpAuthentication=auto closes it, httpServerHost=127.0.0.1 too"

    def check(self, request: Request, path: str) -> RefusedRequest | None:
        """Decide whether to answer a request.

        :param path: the path of the page, without slashes at its ends.
        :returns: None if the request may be answered.
        """
        reads = request.method in _READING and path not in self._changing
        refusal = self._refusal(request, path, reads)
        if refusal is not None:
            counter = self.forbidden if refusal.status == 403 else self.unauthenticated
            counter.value += 1
            method = request.method.decode("ascii", "replace")
            self._lines.log(
                self._log.info, "{asked} of {peer} was refused: {reason}", peer_name(request.getClientAddress()),
                cause=refusal.reason, asked=f"{method[:_SHOWN]} /{path[:_SHOWN]}", reason=refusal.reason,
            )  # fmt: skip
        return refusal

    def _refusal(self, request: Request, path: str, reads: bool) -> RefusedRequest | None:
        try:
            principal, wrong = identify(request, self._verifier, self._in_clear), ""
        except CredentialsError as error:
            principal, wrong = NOBODY, str(error)
        if self._checks and not (reads and path in self._open) and principal.kind == NOBODY.kind:
            challenge = b'Bearer realm="bookkeeper"' + (b', error="invalid_token"' if wrong else b"")
            return RefusedRequest(401, wrong or "a token or a certificate is needed", challenge)
        if self._read_only and not reads:
            return RefusedRequest(403, "httpReadOnly=true: no request may change a state")
        if self._checks and (not reads or path in self._of_administrators) and not self._is_admin(principal):
            name = shown_name(principal) or "a principal without a name"
            return RefusedRequest(403, f"{name} is none of httpAdminPrincipals")
        return None

    def _is_admin(self, principal: Principal) -> bool:
        """Test whether a ``principal`` is an administrator.

        ``httpAdminPrincipals`` contains the names and URIs of administrators, and roles in the form ``role:NAME``.  A
        name or URI of the principal that begins with ``role:`` is ignored: otherwise, a client could get a role by
        choosing such a name.
        """
        name = () if not principal.name or principal.name.startswith(_ROLE) else (principal.name,)
        return not self._admins.isdisjoint((*name, *map(_ROLE.__add__, principal.roles), *_uris(principal)))


def _uris(principal: Principal) -> Iterable[str]:
    return (uri for uri in principal.uris if not uri.startswith(_ROLE))


class HttpProtection:
    """The protection of an HTTP server: its TLS, and the verification of tokens.

    :param clock: the reactor.
    :raises bookkeeper_twisted.errors.ConfigError: a file for TLS or for the verification of tokens cannot be used.
    """

    def __init__(self, config: HttpConfig, clock: Any) -> None:
        self._config = config
        self._clock = clock
        self._tls: Any = None
        if config.http_server_tls_enable:
            from .encryption import http_tls  # imported here, because it needs the packages of the extra "tls"

            self._tls = http_tls(config, clock.seconds)
        self._verifier: Verifier | None = token_verifier(config, clock.seconds)

    def guard(self, instruments: Instruments) -> AccessGuard:
        """Make the guard of the HTTP server, which decides which requests are answered.

        :param instruments: export the numbers of refused requests, and when the certificate of the server expires.
        """
        if self._tls is not None:
            watch_certificate(instruments, "http", self._tls.expires_at)
        certificates = self._tls is not None and self._config.http_server_tls_client_authentication != NONE
        return AccessGuard(self._config, self._verifier, certificates, self._clock.seconds, instruments)

    def encrypted(self, site: Any) -> Any:
        """Return the factory of protocols for a ``site``; it uses TLS if ``httpServerTlsEnable`` is true."""
        if self._tls is None:
            return site
        from .encryption import EncryptedSite

        return EncryptedSite(self._tls, site, self._clock)
