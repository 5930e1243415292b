"""DIGEST-MD5: the exchange, what ends it, and the exchange that was captured between Apache's client and bookie."""

import hmac
import re
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_twisted.authentication.sasl import digest_md5
from bookkeeper_twisted.authentication.sasl.digest_md5 import MAX_AGE, DigestBookieExchange
from bookkeeper_twisted.authentication.sasl.digests import password_digest, proof, response
from bookkeeper_twisted.authentication.sasl.directives import quoted, read_directives
from bookkeeper_twisted.authentication.sasl.users import Users
from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.messages import AuthRequest, AuthResponse
from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.security.principals import Principal
from tests.wires import WIRES

from ...vectors.wire import REQUEST, RESPONSE, Scenario, scenarios
from .sasl_case import LOGIN, PASSWORD, USER, SaslCase, nonce_bytes

_CAPTURED = "/auth-plugin-sasl-digest-md5"
_HD = "testpwd"
"""The password of the captured user hd; the digests fit no other."""


class ExchangeTests(SaslCase):
    """Both sides with each other."""

    def test_tokens(self) -> None:
        """Nothing, a challenge, a response, a proof: the forms are those of Java."""
        bookie, client = self.bookie(), self.client()
        self.assertEqual(self.token(client, None), b"")
        challenge = self.token(bookie, b"")
        self.assertRegex(
            challenge, rb'^realm="bookkeeper",nonce="[A-Za-z0-9+/]{40}",charset=utf-8,algorithm=md5-sess$'
        )
        answer = self.token(client, challenge)
        self.assertRegex(
            answer,
            b'^charset=utf-8,username="%s",realm="bookkeeper",nonce="[^"]{40}",nc=00000001,cnonce="[^"]{40}",'
            b'digest-uri="bookkeeper/bookkeeper",maxbuf=65536,response=[0-9a-f]{32},qop=auth,authzid="%s"$'
            % (USER.encode(), USER.encode()),
        )
        self.assertFalse(bookie.complete)
        shown = self.token(bookie, answer)
        self.assertRegex(shown, b"^rspauth=[0-9a-f]{32}$")
        self.assertTrue(bookie.complete)
        self.assertFalse(client.complete)
        self.assertEqual(self.token(client, shown), b"")
        self.assertTrue(client.complete)

    def test_principals(self) -> None:
        """The bookie knows the user; the client knows of the bookie what its certificate says."""
        certified = Principal("certificate", "CN=bookie")
        bookie, client = self.bookie(), self.client(peer=Peer("bookie:3181", certified, True))
        self.talk(bookie, client)
        self.assertEqual(bookie.principal, Principal("sasl", USER))
        self.assertEqual(client.principal, certified)

    def talk(self, bookie: object, client: object) -> None:
        """Carry the tokens of a whole exchange."""
        token = self.token(client, None)
        for _ in range(2):
            token = self.token(client, self.token(bookie, token))

    def test_nonces(self) -> None:
        """Each connection has nonces of its own."""
        side = self.world
        challenges = {self.token(self.bookie(), b"") for _ in range(3)}
        self.assertEqual((len(challenges), side), (3, self.world))
        challenge = challenges.pop()
        self.assertEqual(len({self.answer(self.client(), challenge) for _ in range(3)}), 3)

    def answer(self, client: object, challenge: bytes) -> bytes:
        """A client's response to a challenge."""
        self.token(client, None)
        return self.token(client, challenge)

    def test_other_characters(self) -> None:
        """Names and passwords may have all characters: Java's spelling of each is that of RFC 2831."""
        for name, password in (("bookkeeper-é", "é"), ("bookkeeper-語", "鍵"), ('bookkeeper "q\\"', 'p"w\\')):
            options = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (f"user_{name}", name, password)]
            self.write(
                f'Bookie {{ {LOGIN} "{options[0]}"="{options[2]}"; }};'
                f'BookKeeper {{ {LOGIN} username="{options[1]}" password="{options[2]}"; }};'
            )
            bookie = self.bookie()
            self.talk(bookie, self.client())
            self.assertEqual(bookie.principal, Principal("sasl", name))
        self.assertNotEqual(password_digest("é", "p"), password_digest("Ã©", "p"))
        self.assertEqual(password_digest("語", "p"), password_digest("語".encode().decode("iso-8859-1"), "p"))


class BookieRefusalTests(SaslCase):
    """Clients that a bookie refuses."""

    def setUp(self) -> None:
        super().setUp()
        self.exchange = self.bookie()
        self.challenge = self.token(self.exchange, b"")
        self.values = self.response_of("BookKeeper")

    def response_of(self, section: str) -> bytes:
        client = self.client(section)
        self.token(client, None)
        return self.token(client, self.challenge)

    def signed(self, **more: bytes | None) -> bytes:
        """A response with other values, and the digest of the true password for them."""
        values: dict[str, bytes | None] = {**read_directives(self.values), **more}
        name, nonce, cnonce = values["username"] or b"", values["nonce"] or b"", values["cnonce"] or b""
        digest = response(password_digest(name.decode(), PASSWORD), nonce, cnonce, values["authzid"])
        values["response"] = more.get("response", digest)
        return b",".join(key.encode() + b"=" + quoted(value) for key, value in values.items() if value is not None)

    def test_signed(self) -> None:
        """The helper's response is a good one; optional values may be left out, and others are ignored."""
        for more in ({}, {"authzid": None}, {"qop": None}, {"charset": None}, {"maxbuf": b"1"}, {"other": b"1"}):
            exchange = self.bookie()
            self.challenge = self.token(exchange, b"")
            self.values = self.response_of("BookKeeper")
            self.token(exchange, self.signed(**more))  # type: ignore[arg-type]
            self.assertTrue(exchange.complete)

    def test_password(self) -> None:
        """A wrong password, and an unknown user: with one reason."""
        reason = self.refused(self.exchange, self.response_of("Wrong"))
        self.assertEqual(reason, f"unauthorized access: user '{USER}' does not exist or has another password")
        other = self.bookie()
        self.challenge = self.token(other, b"")
        unknown = self.refused(other, self.response_of("Unknown"))
        self.assertEqual(unknown.replace("bookkeeper-nobody", USER), reason)

    def test_same_steps(self) -> None:
        """An unknown user costs the digests and the comparison of a wrong password, which is in constant time."""
        for section in ("Wrong", "Unknown"):
            exchange = self.bookie()
            self.challenge = self.token(exchange, b"")
            token = self.response_of(section)
            with (
                mock.patch.object(digest_md5, "response", wraps=response) as digests,
                mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compared,
            ):
                self.refused(exchange, token)
            self.assertEqual(digests.call_count, 1)
            self.assertEqual(len(digests.call_args.args[0]), 16)
            self.assertEqual([len(call.args[0]) for call in compared.call_args_list], [40, 32])  # nonce, response

    def test_allowed_ids(self) -> None:
        """A user that does not match is refused, and only after it has proven its password."""
        reason = self.refused(self.exchange, self.response_of("Stranger"))
        self.assertIn("user 'stranger' is not among saslJaasClientAllowedIds", reason)
        exchange = self.bookie(sasl_jaas_client_allowed_ids="stranger")
        self.challenge = self.token(exchange, b"")
        self.token(exchange, self.response_of("Stranger"))
        exchange = self.bookie(sasl_jaas_client_allowed_ids="a-book")
        self.challenge = self.token(exchange, b"")
        self.assertIn("saslJaasClientAllowedIds", self.refused(exchange, self.response_of("BookKeeper")))
        self.values = self.response_of("Stranger")
        exchange = self.bookie()
        nonce = read_directives(self.token(exchange, b""))["nonce"]
        self.assertIn("another password", self.refused(exchange, self.signed(nonce=nonce, response=b"0" * 32)))

    def test_replay(self) -> None:
        """A response to one challenge is none to another, and none for a second time."""
        other = self.bookie()
        self.token(other, b"")
        self.assertIn("not to the challenge of this connection", self.refused(other, self.values))
        self.token(self.exchange, self.values)
        self.failureResultOf(self.exchange.next_token(self.values), UnauthorizedAccessError)

    def test_second_try(self) -> None:
        """A client has one try on a connection."""
        good = self.values
        self.refused(self.exchange, self.response_of("Wrong"))
        self.assertIn("the exchange has ended", self.refused(self.exchange, good))

    def test_age(self) -> None:
        """A challenge is good for a minute."""
        self.clock.advance(MAX_AGE + 0.1)
        self.assertIn("took more than 60 s", self.refused(self.exchange, self.values))
        exchange = self.bookie()
        self.challenge = self.token(exchange, b"")
        self.clock.advance(MAX_AGE)
        self.token(exchange, self.response_of("BookKeeper"))

    def test_values(self) -> None:
        """Each value that is not that of this exchange is refused, though the digest fits."""
        for more in (
            {"nonce": b"other"}, {"nonce": None}, {"nc": b"00000002"}, {"nc": None}, {"realm": b"elsewhere"},
            {"realm": None}, {"digest-uri": b"bookkeeper/elsewhere"}, {"digest-uri": None}, {"qop": b"auth-int"},
            {"charset": b"utf-16"}, {"cnonce": None}, {"cnonce": b""}, {"username": None}, {"username": b""},
            {"response": None}, {"response": b""}, {"authzid": b"auditor-bookkeeper"}, {"authzid": b""},
        ):  # fmt: skip
            with self.subTest(more):
                exchange = self.bookie()
                self.challenge = self.token(exchange, b"")
                self.values = self.response_of("BookKeeper")
                self.refused(exchange, self.signed(**more))  # type: ignore[arg-type]
        exchange = self.bookie()
        self.challenge = self.token(exchange, b"")
        self.values = self.response_of("BookKeeper")
        bad_text = self.values.replace(USER.encode(), b"\xff")
        self.assertIn("is not UTF-8", self.refused(exchange, bad_text))

    def test_first_token(self) -> None:
        """There is no initial response."""
        self.assertIn("has to be empty", self.refused(self.bookie(), self.values))

    def test_long_names(self) -> None:
        """A reason has a name of 64 characters at most, and no line break."""
        reason = self.refused(self.exchange, self.signed(username=b"x\n" * 500))
        self.assertLess(len(reason), 250)
        self.assertNotIn("\n", reason)

    @given(st.binary(max_size=300) | st.from_regex(rb'((nonce|nc|username|response)="[a-z]*",?){0,6}', fullmatch=True))
    def test_any_bytes(self, token: bytes) -> None:
        """Any bytes are refused."""
        users = Users({"bookkeeper": PASSWORD}, b"k" * 32, re.compile(".*"))
        exchange = DigestBookieExchange(users, lambda: 0.0, bytes)
        self.token(exchange, b"")
        self.refused(exchange, token)


class ClientRefusalTests(SaslCase):
    """Bookies that a client refuses."""

    def begun(self) -> tuple[object, bytes, bytes]:
        """A client that has answered a challenge, the nonces of both."""
        client = self.client()
        self.token(client, None)
        values = read_directives(self.token(client, self.token(self.bookie(), b"")))
        return client, values["nonce"], values["cnonce"]

    def test_no_password(self) -> None:
        """A bookie that does not know the password cannot prove anything."""
        for token in (b"", b"rspauth=" + b"0" * 32, b"rspauth=", b"sesame", b"x=y"):
            client, _, _ = self.begun()
            self.refused(client, token)
        client, nonce, cnonce = self.begun()
        guess = proof(password_digest(USER, "guess"), nonce, cnonce, USER.encode())
        self.assertIn("has not proven that it knows the password", self.refused(client, b"rspauth=" + guess))

    def test_constant_time(self) -> None:
        """The proof is compared in constant time."""
        client, _, _ = self.begun()
        with mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compared:
            self.refused(client, b"rspauth=" + b"0" * 32)
        self.assertEqual(compared.call_count, 1)

    def test_reflected(self) -> None:
        """The client's own response is no proof."""
        client = self.client()
        self.token(client, None)
        values = read_directives(self.token(client, self.token(self.bookie(), b"")))
        self.refused(client, b"rspauth=" + values["response"])

    def test_challenges(self) -> None:
        """A challenge of another realm, algorithm or protection is not answered."""
        good = self.token(self.bookie(), b"")
        for old, new in (
            (b'realm="bookkeeper"', b'realm="x"'), (b'realm="bookkeeper",', b""), (b"md5-sess", b"md5"),
            (b",algorithm=md5-sess", b""), (b"utf-8", b"x"), (b'nonce="', b'xnonce="'),
            (b"charset", b'qop="auth-int,auth-conf",charset'), (good, b""), (good, b"\xff"),
        ):  # fmt: skip
            self.assertIn(old, good)
            client = self.client()
            self.token(client, None)
            self.refused(client, good.replace(old, new))
        client = self.client()
        self.token(client, None)
        self.token(client, good.replace(b"charset", b'qop="auth-int, auth",charset'))

    @given(st.binary(max_size=200) | st.from_regex(rb'((rspauth|nonce)="?[0-9a-f]*"?,?){0,3}', fullmatch=True))
    def test_any_bytes(self, token: bytes) -> None:
        """Any bytes are no proof."""
        client, _, _ = self.begun()
        self.refused(client, token)


class CapturedTests(SaslCase):
    """The exchange of Apache's client and bookie, replayed to each of our sides."""

    def setUp(self) -> None:
        super().setUp()
        self.write(f'Bookie {{ {LOGIN} user_hd="{_HD}"; }}; BookKeeper {{ {LOGIN} username="hd" password="{_HD}"; }};')

    def tokens(self, scenario: Scenario) -> tuple[list[bytes], list[bytes]]:
        """The tokens of the client, and of the bookie."""
        wire = WIRES[int(scenario.name[1])]
        sent = ServerDecoder().receive(b"".join(frame.data for frame in scenario.stream(0, REQUEST)))
        received = ClientDecoder(wire).receive(b"".join(frame.data for frame in scenario.stream(0, RESPONSE)))
        return (
            [item.payload for item in sent if isinstance(item, AuthRequest)],
            [item.payload for item in received if isinstance(item, AuthResponse) and item.plugin == "sasl"],
        )

    def test_replayed(self) -> None:
        """With the captured nonces each side makes the captured tokens."""
        found = [scenario for scenario in scenarios() if scenario.name.endswith(_CAPTURED)]
        self.assertEqual(len(found), 2)
        for scenario in found:
            (first, answer, last), (challenge, shown) = self.tokens(scenario)
            values = read_directives(answer)
            bookie, client = self.bookie(sasl_jaas_client_allowed_ids=".*"), self.client()
            self.numbers.given = [nonce_bytes(values["nonce"].decode())]
            self.assertEqual(self.token(bookie, first), challenge)
            self.assertEqual(self.token(bookie, answer), shown)
            self.assertEqual(bookie.principal, Principal("sasl", "hd"))
            self.assertEqual(self.token(client, None), first)
            self.numbers.given = [nonce_bytes(values["cnonce"].decode())]
            self.assertEqual(self.token(client, challenge), answer)
            self.assertEqual(self.token(client, shown), last)
            self.assertTrue(client.complete)
