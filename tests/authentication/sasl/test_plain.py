"""PLAIN: on encrypted connections only."""

import hmac
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_twisted.authentication.sasl.plain import MAX_PLAIN, PlainClientExchange
from bookkeeper_twisted.authentication.sasl.users import Account
from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.security.principals import Principal

from .sasl_case import BOOKIE, CLIENT, LOGIN, PASSWORD, USER, SaslCase

SAFE_CLIENT = Peer("192.0.2.1:40000", is_encrypted=True)
SAFE_BOOKIE = Peer("bookie:3181", Principal("certificate", "CN=bookie"), is_encrypted=True)
GOOD = f"\0{USER}\0{PASSWORD}".encode()


class PlainTests(SaslCase):
    """Both sides."""

    mechanism = "PLAIN"

    def test_tokens(self) -> None:
        """User and password, then nothing; the bookie knows the user."""
        bookie, client = self.bookie(SAFE_CLIENT), self.client(peer=SAFE_BOOKIE)
        token = self.token(client, None)
        self.assertEqual(token, GOOD)
        answer = self.token(bookie, token)
        self.assertEqual(answer, b"")
        self.assertEqual(bookie.principal, Principal("sasl", USER))
        self.assertFalse(client.complete)
        self.assertEqual(self.token(client, answer), b"")
        self.assertTrue(bookie.complete and client.complete)
        self.assertEqual(client.principal, SAFE_BOOKIE.certified)

    def test_client_in_clear(self) -> None:
        """A client does not send its password in clear."""
        self.assertIn("refused on connections in clear", self.refused(self.client(peer=BOOKIE), None))

    def test_bookie_in_clear(self) -> None:
        """A bookie does not take a password that came in clear, be it the right one."""
        self.assertIn("refused on connections in clear", self.refused(self.bookie(CLIENT), GOOD))

    def test_refused(self) -> None:
        """Wrong passwords, unknown users, users that are not allowed or act as others, and what is no token."""
        reasons = {}
        for token, reason in (
            (f"\0{USER}\0melon", "another password"), (f"\0bookkeeper-nobody\0{PASSWORD}", "another password"),
            (f"\0stranger\0{PASSWORD}", "saslJaasClientAllowedIds"), ("\0stranger\0melon", "another password"),
            (f"auditor-bookkeeper\0{USER}\0{PASSWORD}", "act as another"), ("", "none of PLAIN"), ("\0\0", "none of"),
            (f"\0{USER}\0", "none of PLAIN"), (f"\0\0{PASSWORD}", "none of PLAIN"), (f"{USER}\0{PASSWORD}", "none of"),
            (f"\0{USER}\0{PASSWORD}\0", "none of PLAIN"), (f"\0{USER}\0" + "x" * MAX_PLAIN, "none of PLAIN"),
        ):  # fmt: skip
            reasons[token] = self.refused(self.bookie(SAFE_CLIENT), token.encode())
            self.assertIn(reason, reasons[token])
        self.assertIn("not UTF-8", self.refused(self.bookie(SAFE_CLIENT), b"\0\xff\0x"))
        self.assertIn("none of PLAIN", self.refused(self.bookie(SAFE_CLIENT), None))

    def test_same_steps(self) -> None:
        """An unknown user costs the comparison of a wrong password, which is in constant time."""
        for name in (USER, "bookkeeper-nobody"):
            with mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compared:
                self.refused(self.bookie(SAFE_CLIENT), f"\0{name}\0melon".encode())
            self.assertEqual([list(map(len, call.args)) for call in compared.call_args_list], [[32, 32]])

    def test_acting_as_oneself(self) -> None:
        """A client may name itself as the one to act as."""
        bookie = self.bookie(SAFE_CLIENT)
        self.token(bookie, USER.encode() + GOOD)
        self.assertTrue(bookie.complete)

    def test_second_try(self) -> None:
        """A client has one try on a connection."""
        bookie = self.bookie(SAFE_CLIENT)
        self.refused(bookie, f"\0{USER}\0melon".encode())
        self.assertIn("has ended", self.refused(bookie, GOOD))

    def test_other_mechanism(self) -> None:
        """A bookie with DIGEST-MD5 refuses the token, and a client refuses a challenge."""
        self.assertIn("has to be empty", self.refused(self.bookie(SAFE_CLIENT, sasl_mechanism="DIGEST-MD5"), GOOD))
        client = self.client(peer=Peer("bookie", is_encrypted=True))
        self.token(client, None)
        self.assertIn("does not have", self.refused(client, b'realm="bookkeeper"'))

    @given(st.binary(max_size=300) | st.binary(max_size=20).map(lambda text: b"\0" + USER.encode() + b"\0" + text))
    def test_any_bytes(self, token: bytes) -> None:
        """Any bytes are refused."""
        self.refused(self.bookie(SAFE_CLIENT), token)

    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20))
    def test_any_password(self, password: str) -> None:
        """Every password that a file can have admits its user."""
        text = password.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        if "${" not in text:
            self.path.write_text(f'Bookie {{ {LOGIN} user_bookkeeper="{text}"; }};', newline="")
            client = PlainClientExchange(Account("bookkeeper", password), SAFE_BOOKIE)
            bookie = self.bookie(SAFE_CLIENT)
            self.token(bookie, self.token(client, None))
            self.assertTrue(bookie.complete)

    def test_ended(self) -> None:
        """A bookie that is complete takes no further token."""
        bookie = self.bookie(SAFE_CLIENT)
        self.token(bookie, GOOD)
        self.failureResultOf(bookie.next_token(GOOD), UnauthorizedAccessError)
