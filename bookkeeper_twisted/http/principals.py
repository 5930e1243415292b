"""Finds the principal of an HTTP request: a bearer token names it, or the certificate of the connection does.

If a request has a token, its principal is the one that the token names, whatever certificate its connection has.  A
token that cannot be verified is an error: the certificate is not used instead.
"""

from collections.abc import Sequence
from typing import Protocol

from twisted.web.http import Request

from ..errors import BookKeeperError
from ..security.principals import NOBODY, Principal
from ..security.principals import principal_of as principal_of_certificate

_SCHEME = "bearer"
_LONGEST_NAME = 200


class Verifier(Protocol):
    """Verifies the bearer tokens of HTTP requests."""

    def verify(self, token: str) -> Principal:
        """Return the principal of a ``token``.

        :raises bookkeeper_twisted.errors.BookKeeperError: the token is not valid; the text does not contain the token.
        """
        ...


class CredentialsError(BookKeeperError):
    """The credentials of a request cannot be verified."""


def principal_of(request: Request) -> Principal:
    """Return the principal of a ``request``; :data:`.NOBODY` if the request has no valid credentials."""
    found: Principal = getattr(request, "principal", NOBODY)
    return found


def shown_name(principal: Principal) -> str:
    """Return the name of a ``principal`` for logs and answers, without control characters, cut off if it is long."""
    name = principal.name[:_LONGEST_NAME]
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in name)


def identify(request: Request, verifier: Verifier | None, in_clear: bool) -> Principal:
    """Verify the credentials of a request, and store its principal in the request for :func:`principal_of`.

    :param verifier: verifies tokens; None if the server accepts no tokens.
    :param in_clear: whether a token is accepted over a connection without TLS.
    :returns: the principal; :data:`.NOBODY` for a request without credentials.
    :raises CredentialsError: the token of the request is not valid, or the request has credentials of another kind.
    """
    headers = request.requestHeaders.getRawHeaders(b"Authorization", [])
    is_private = in_clear or request.isSecure()
    principal = _of_token(headers, verifier, is_private) if headers else _of_certificate(request)
    request.principal = principal  # type: ignore[attr-defined]
    return principal


def _of_token(headers: Sequence[bytes], verifier: Verifier | None, is_private: bool) -> Principal:
    if len(headers) > 1:
        raise CredentialsError("there should be one Authorization")
    scheme, _, token = headers[0].decode("latin-1").partition(" ")
    if scheme.lower() != _SCHEME:
        raise CredentialsError("Authorization should be a bearer token")
    if verifier is None:
        raise CredentialsError("this server accepts no tokens")
    if not is_private:
        raise CredentialsError("the token was sent in clear: httpServerTlsEnable or tokenInClear has to be true")
    principal, reason = NOBODY, ""
    try:
        principal = verifier.verify(token.strip())
    except BookKeeperError as error:
        reason = getattr(error, "detail", "") or str(error)
    if reason:
        # Raised outside the except clause, so that the first error, whose traceback refers to the token, is not in its
        # __context__ and cannot be logged.
        raise CredentialsError(reason)
    return principal


def _of_certificate(request: Request) -> Principal:
    """Return the principal of the client certificate, which the TLS handshake has verified; NOBODY if there is none."""
    shown = getattr(getattr(request.channel, "transport", None), "getPeerCertificate", None)
    certificate = shown() if shown is not None else None
    return NOBODY if certificate is None else principal_of_certificate(certificate.to_cryptography())
