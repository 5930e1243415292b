"""The principals of certificates."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.security.principals import NOBODY, Principal, principal_of, roles_of

from .certificates import client, issued


class PrincipalTests(SynchronousTestCase):
    """``principal_of``."""

    def test_roles(self) -> None:
        """Name and roles are those of the subject."""
        self.assertEqual(
            principal_of(client().chain[0]),
            Principal("certificate", "CN=client,OU=0:writer\\,reader\\;1:cluster", ("writer", "reader")),
        )

    def test_plain(self) -> None:
        """A certificate without units and alternative names gives a name alone."""
        self.assertEqual(principal_of(issued("plain").chain[0]), Principal("certificate", "CN=plain"))

    def test_first_unit(self) -> None:
        """Of several units the first of the certificate counts, as in Java."""
        self.assertEqual(principal_of(issued("x", units=["0:a", "0:b"]).chain[0]).roles, ("a",))
        self.assertEqual(principal_of(issued("x", units=["plain", "0:b"]).chain[0]).roles, ())

    def test_uris(self) -> None:
        """URIs of the alternative names are there, as the ids of SPIFFE; hosts are not."""
        certificate = issued("x", hosts=["h.example"], uris=["spiffe://domain/bookie"]).chain[0]
        self.assertEqual(principal_of(certificate).uris, ("spiffe://domain/bookie",))

    def test_nobody(self) -> None:
        """A peer that has shown nothing has no name and no roles."""
        self.assertEqual(NOBODY, Principal("none", "", (), ()))


class RolesTests(SynchronousTestCase):
    """``roles_of``."""

    def test_read(self) -> None:
        """Units are read as Java reads them."""
        for unit, roles in {
            "0:a": ("a",), "0:a,b;1:c": ("a", "b"), "1:c;0: a , b ": ("a", "b"), "0:a;0:b": ("b",),
            "0:,b": ("", "b"), "0:a,,": ("a",), "0:": (), "": (), "a": (), "00:a": (), " 0:a": (), "1:0:a": (),
            "0:a\n;1:c": ("a",), "0:a\r\n": ("a",), "0:a\u2028": ("a",), "0:\ra": (), "0:\na": (), "0:a\u2028b": (),
            "0: \ta\0": ("a",), "0:\u00a0a": ("\u00a0a",), "0: a b ": ("a b",),
        }.items():  # fmt: skip
            self.assertEqual(roles_of(unit), roles, unit)
