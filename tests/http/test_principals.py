"""The principals of requests."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from twisted.web.test.requesthelper import DummyRequest

from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.http.principals import CredentialsError, identify, principal_of
from bookkeeper_twisted.security.principals import NOBODY, Principal

_ALICE = Principal("token", "alice", ("admin",))


class _Verifier:
    """Knows the token ``good`` alone."""

    def verify(self, token: str) -> Principal:
        """See :class:`Verifier`."""
        if token != "good":
            raise UnauthorizedAccessError(detail="the token is wrong")
        return _ALICE


class _Request(DummyRequest):
    """A request over a connection in clear."""

    channel = None

    def isSecure(self) -> bool:
        """See :meth:`twisted.web.http.Request.isSecure`."""
        return False


class PrincipalOfTests(SynchronousTestCase):
    """:func:`principal_of`, after :func:`identify` and without it."""

    def request(self, *values: bytes) -> Any:
        """A request with credentials."""
        request = _Request([b""])
        request.requestHeaders.setRawHeaders(b"Authorization", list(values))
        return request

    def test_nobody(self) -> None:
        """A request that was not looked at, or shows nothing, is nobody's."""
        request = self.request()
        self.assertEqual(principal_of(request), NOBODY)
        self.assertEqual(identify(request, _Verifier(), True), NOBODY)
        self.assertEqual(principal_of(request), NOBODY)

    def test_token(self) -> None:
        """The principal of a token stays with its request."""
        request = self.request(b"Bearer good")
        self.assertEqual(identify(request, _Verifier(), True), _ALICE)
        self.assertEqual(principal_of(request), _ALICE)

    def test_refused(self) -> None:
        """A token that is refused leaves the request nobody's; the error has no frame with the token."""
        for values, in_clear in (((b"Bearer bad",), True), ((b"Bearer good",), False), ((b"Bearer good",) * 2, True)):
            request = self.request(*values)
            error = self.assertRaises(CredentialsError, identify, request, _Verifier(), in_clear)
            self.assertEqual(principal_of(request), NOBODY)
            self.assertIsNone(error.__context__)
        self.assertRaises(CredentialsError, identify, self.request(b"Bearer good"), None, True)
