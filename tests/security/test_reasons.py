"""Errors of TLS in words."""

from OpenSSL import SSL
from twisted.internet.error import ConnectionDone
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.security.openssl import PeerCertificateError
from bookkeeper_twisted.security.reasons import tls_reason


class ReasonTests(SynchronousTestCase):
    """Whatever ends a connection."""

    def test_words(self) -> None:
        """The reasons of OpenSSL alone, joined; other errors as they are; never an empty text."""
        for error, expected in (
            (SSL.Error([("SSL routines", "", "unknown ca"), ("x", "y", "late")]), "unknown ca; late"),
            (PeerCertificateError("it has expired"), "it has expired"),
            (ConnectionDone(), "Connection was closed cleanly."),
            (ValueError("wrong"), "wrong"),
            (ValueError([1]), "[1]"),
            (ValueError([]), "[]"),
            (SSL.SysCallError(-1, "Unexpected EOF"), "(-1, 'Unexpected EOF')"),
            (ValueError(), "ValueError()"),
        ):
            self.assertEqual(tls_reason(error), expected)
