"""Which tokens are taken, and whom they name."""

import json
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.security.principals import Principal
from bookkeeper_twisted.security.token_keys import TokenKey
from bookkeeper_twisted.security.tokens import MAX_SIZE, TokenRules, TokenVerifier, sign_token

from .signed_tokens import NOW, OTHER, SECRET, claims, issued, public_pem, signers, text

ANY = TokenRules()
ISSUER = TokenRules(issuer="https://issuer", audience="cluster")


class TokenCase(SynchronousTestCase):
    """Has a clock."""

    def setUp(self) -> None:
        """Sets it."""
        self.now = NOW

    def verifier(self, *keys: TokenKey, rules: TokenRules = ANY) -> TokenVerifier:
        """A verifier by this clock."""
        return TokenVerifier(lambda: keys, rules, lambda: self.now)

    def refused(self, verifier: TokenVerifier, token: str, reason: str) -> None:
        """A token is refused with a reason that has nothing of it."""
        error = self.assertRaises(UnauthorizedAccessError, verifier.verify, token)
        self.assertIn(reason, str(error))
        self.assertIsNone(error.__context__)
        for part in token.split("."):
            if len(part) > 3:
                self.assertNotIn(part, str(error))


class SecretTests(TokenCase):
    """Tokens that a secret has signed."""

    def test_principal(self) -> None:
        """A token names its subject, with the roles in their order."""
        verifier = self.verifier(SECRET)
        joe = Principal("token", "joe", ("writers", "readers"))
        self.assertEqual(verifier.verify(sign_token(SECRET, claims())), joe)
        self.assertEqual(verifier.verify(sign_token(SECRET, claims(roles="writers  readers"))), joe)
        self.assertEqual(verifier.verify(sign_token(SECRET, claims(roles=None))), Principal("token", "joe"))
        grouped = self.verifier(SECRET, rules=TokenRules(roles_claim="groups"))
        token = sign_token(SECRET, claims(groups=["admins"]))
        self.assertEqual(grouped.verify(token), Principal("token", "joe", ("admins",)))

    def test_expiry(self) -> None:
        """A token is taken before the second of its expiry, and refused from then on."""
        verifier, token = self.verifier(SECRET), sign_token(SECRET, claims())
        self.now = NOW + 60 - 0.001
        verifier.verify(token)
        self.now = NOW + 60
        self.refused(verifier, token, "the token has expired")
        self.refused(verifier, sign_token(SECRET, claims(exp=None)), "the token has no expiry")

    def test_not_before(self) -> None:
        """A token is refused before its first second, and taken from then on."""
        verifier, token = self.verifier(SECRET), sign_token(SECRET, claims(nbf=int(NOW)))
        verifier.verify(token)
        self.now = NOW - 0.001
        self.refused(verifier, token, "the token is not valid yet")

    def test_skew(self) -> None:
        """Both ends are moved by the time that clocks may differ."""
        verifier = self.verifier(SECRET, rules=TokenRules(skew=5.0))
        token = sign_token(SECRET, claims(nbf=int(NOW)))
        for now, is_taken in ((NOW - 5.001, False), (NOW - 5, True), (NOW + 64.999, True), (NOW + 65, False)):
            self.now = now
            if is_taken:
                verifier.verify(token)
            else:
                self.refused(verifier, token, "the token")

    def test_times_without_meaning(self) -> None:
        """A time that is no number, or too far away to be meant, is refused."""
        values: list[Any] = ["1800000000", True, [], -1, 1 << 53, 10**400, float("inf"), float("nan")]
        for value in values:
            for name in ("exp", "nbf"):
                self.refused(self.verifier(SECRET), sign_token(SECRET, claims(**{name: value})), "malformed")
        self.verifier(SECRET).verify(sign_token(SECRET, claims(exp=NOW + 0.5)))

    def test_rotation(self) -> None:
        """Each of several secrets verifies the tokens that name it, and no others."""
        old, new = sign_token(SECRET, claims()), sign_token(OTHER, claims())
        both = self.verifier(OTHER, SECRET)
        self.assertEqual(both.verify(old), both.verify(new))
        self.refused(self.verifier(OTHER), old, "unknown key")
        renamed = TokenKey(OTHER.key_id, "HS256", SECRET.material)
        self.refused(both, sign_token(renamed, claims()), "the signature of the token is wrong")
        nameless = jwt.encode(claims(), SECRET.material, "HS256")
        self.refused(both, nameless, "unknown key")

    def test_subject(self) -> None:
        """A token without a subject is refused, and so is one whose subject cannot stand in a line of the log."""
        for subject in (None, "", " ", "a\nb", "\x1b[2J", "\u202ejoe", "a" * 257, 7, ["joe"]):
            token = self.signed(text({"alg": "HS256", "kid": "a"}), text(claims(sub=subject)))
            self.refused(self.verifier(SECRET), token, "names no subject")

    def test_roles(self) -> None:
        """Roles that are no names are refused, with a reason that speaks of roles."""
        unnamed = "the token has a role that cannot be a name"
        cases: tuple[tuple[Any, str], ...] = (
            (7, "malformed"), ({"a": 1}, "malformed"), (["a", 7], "malformed"), (["a"] * 257, "too many roles"),
            (["a", ""], unnamed), (["a\nb"], unnamed), (["a" * 257], unnamed),
        )  # fmt: skip
        for roles, reason in cases:
            token = self.signed(text({"alg": "HS256", "kid": "a"}), text(claims(roles=roles)))
            self.refused(self.verifier(SECRET), token, reason)

    def test_audience(self) -> None:
        """A token names the configured audience; where none is configured, it names none."""
        named = sign_token(SECRET, claims(aud="other"))
        self.refused(self.verifier(SECRET), named, "another audience")
        self.refused(self.verifier(SECRET, rules=ISSUER), named, "another audience")
        self.refused(self.verifier(SECRET), sign_token(SECRET, claims(aud="")), "another audience")
        self.verifier(SECRET, rules=ISSUER).verify(sign_token(SECRET, claims(aud=["other", "cluster"])))
        self.refused(self.verifier(SECRET, rules=ISSUER), sign_token(SECRET, claims()), "names no audience")
        self.verifier(SECRET).verify(sign_token(SECRET, claims()))

    def signed(self, header: str, body: str) -> str:
        """A token of two parts as they are, with the right signature."""
        algorithm = jwt.get_algorithm_by_name("HS256")
        return f"{header}.{body}.{text(algorithm.sign(f'{header}.{body}'.encode(), SECRET.material))}"

    def test_size(self) -> None:
        """A token of 16 KiB is read; the reason for a longer one is its length, whatever is in it."""
        head = text({"alg": "HS256", "kid": "a"})
        spare = (MAX_SIZE - len(self.signed(head, text(claims(x=""))))) // 4 * 3
        longest = self.signed(head, text(claims(x="y" * spare)))
        self.assertGreater(len(longest), MAX_SIZE - 8)
        self.verifier(SECRET).verify(longest)
        for token in (longest + "A" * 8, "x" * (MAX_SIZE + 1)):
            self.refused(self.verifier(SECRET), token, "the token is longer than 16 KiB")

    def test_malformed(self) -> None:
        """What is no token is refused, with the right signature too."""
        verifier, head, body = self.verifier(SECRET), text({"alg": "HS256", "kid": "a"}), text(claims())
        verifier.verify(self.signed(head, body))
        for token in ("", ".", "..", "a.b", "a.b.c.d", f"{head}.{body}.", "\ud800.a.b", "é.é.é"):
            self.refused(verifier, token, "malformed")
        deep = b"[" * 10_000
        twice = b'{"sub": "joe", "exp": 9999999999, "sub": "root"}'
        for other in (b"", b"\xff", b"7", b"[]", b"null", deep, b'{"a":' + deep, twice, b'{"exp": NaN}', b"1" * 5000):
            self.refused(verifier, self.signed(head, text(other)), "malformed")
            self.assertRaises(UnauthorizedAccessError, verifier.verify, self.signed(text(other), body))
        self.refused(verifier, self.signed(head, body + "="), "malformed")
        self.refused(verifier, self.signed(head, body) + "\n", "malformed")

    def test_one_text(self) -> None:
        """A token has one text: another one that stands for the same bytes is refused, whoever decodes it leniently."""
        verifier, token = self.verifier(SECRET), sign_token(SECRET, claims())
        alphabet = ascii_uppercase + ascii_lowercase + digits + "-_"
        spare = alphabet[alphabet.index(token[-1]) ^ 1]  # of the last character two bits stand for nothing
        self.refused(verifier, token[:-1] + spare, "malformed")

    def test_extensions(self) -> None:
        """A token that needs an extension is refused."""
        asked: list[dict[str, Any]] = [
            {"crit": ["b64"], "b64": False}, {"crit": []}, {"b64": False}, {"crit": ["x"], "x": 1},
        ]  # fmt: skip
        for more in asked:
            token = self.signed(text({"alg": "HS256", "kid": "a", **more}), text(claims()))
            self.refused(self.verifier(SECRET), token, "extension")


class IssuerTests(TokenCase):
    """Tokens of an issuer."""

    def keys(self, *algorithms: str) -> list[TokenKey]:
        """The public keys of the issuer."""
        return [TokenKey("", name, signers()[name].public_key()) for name in algorithms or signers()]

    def test_algorithms(self) -> None:
        """Each kind of key verifies its tokens, whatever they call the key."""
        for algorithm in signers():
            for headers in (None, {"kid": "2026-01"}):
                token = issued(algorithm, headers)
                self.assertEqual(self.verifier(*self.keys(), rules=ISSUER).verify(token).name, "joe")
            others = [key for key in self.keys() if key.algorithm != algorithm]
            self.refused(self.verifier(*others, rules=ISSUER), token, "algorithm that is not accepted")

    def test_other_key(self) -> None:
        """The key of another issuer does not verify."""
        other = TokenKey("", "ES256", generate_private_key(SECP256R1()).public_key())
        self.refused(self.verifier(other, rules=ISSUER), issued("ES256"), "the signature of the token is wrong")
        self.verifier(other, *self.keys("ES256"), rules=ISSUER).verify(issued("ES256"))

    def test_issuer(self) -> None:
        """The token has to name the issuer."""
        for issuer in (None, "", "https://other", ["https://issuer"]):
            token = jwt.encode({**claims(), "aud": "cluster"}, signers()["EdDSA"], "EdDSA")
            if issuer is not None:
                body = claims(iss=issuer, aud="cluster")
                token = jwt.PyJWS().encode(json.dumps(body).encode(), signers()["EdDSA"], "EdDSA")
            self.refused(self.verifier(*self.keys(), rules=ISSUER), token, "another issuer")

    def test_audience(self) -> None:
        """The token has to name this audience, alone or among others."""
        for audience in ("", "other", ["other"], []):
            token = issued("EdDSA", aud=audience)
            self.refused(self.verifier(*self.keys(), rules=ISSUER), token, "another audience")
        self.verifier(*self.keys(), rules=ISSUER).verify(issued("EdDSA", aud=["other", "cluster"]))
        bare = TokenRules(issuer="https://issuer")
        self.refused(self.verifier(*self.keys(), rules=bare), issued("EdDSA", aud=""), "another audience")
        nameless = jwt.encode(claims(iss="https://issuer"), signers()["EdDSA"], "EdDSA")
        for rules in (ISSUER, bare):
            self.refused(self.verifier(*self.keys(), rules=rules), nameless, "names no audience")

    def test_confusion(self) -> None:
        """No token says by which algorithm it is verified: not without a signature, not with a public key as secret."""
        verifier = self.verifier(SECRET, *self.keys(), rules=ISSUER)
        body = text(claims(iss="https://issuer", aud="cluster"))
        names: list[Any] = ["none", "None", "NONE", "", None, 7, [], {}, "RS512", "HS512", "PS256"]
        for name in names:
            for key_id in ("a", "", "2026-01"):
                for signature in ("", "AA"):
                    token = f"{text({'alg': name, 'kid': key_id})}.{body}.{signature}"
                    self.assertRaises(UnauthorizedAccessError, verifier.verify, token)
        hmac = jwt.get_algorithm_by_name("HS256")
        for algorithm in signers():
            for material in (public_pem(algorithm), public_pem(algorithm).strip(), b""):
                for key_id in ("a", ""):
                    head = text({"alg": "HS256", "kid": key_id})
                    signature = text(hmac.sign(f"{head}.{body}".encode(), material))
                    self.refused(verifier, f"{head}.{body}.{signature}", "")
        self.refused(self.verifier(*self.keys(), rules=ISSUER), sign_token(SECRET, claims()), "unknown key")


_NAMES = st.sampled_from(["exp", "nbf", "sub", "aud", "iss", "roles", "x"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=5), max_leaves=8,
)  # fmt: skip


@cache
def _good_tokens() -> list[str]:
    """A token by each algorithm."""
    return [sign_token(SECRET, claims(aud="cluster")), *map(issued, signers())]


class MutationTests(TokenCase):
    """Tokens that somebody has changed."""

    @given(st.data())
    def test_changed(self, data: st.DataObject) -> None:
        """A token of which any character was changed, put in or left out does not verify."""
        public = [TokenKey("", name, private.public_key()) for name, private in signers().items()]
        verifier = self.verifier(SECRET, *public, rules=ISSUER)
        token = data.draw(st.sampled_from(_good_tokens()))
        verifier.verify(token)
        at = data.draw(st.integers(0, len(token)))
        left_out = data.draw(st.integers(0, 2))
        put_in = data.draw(st.text(ascii_letters + digits + "-_.=+/ \n", max_size=2))
        changed = token[:at] + put_in + token[at + left_out :]
        if changed != token:
            self.refused(verifier, changed, "")

    @given(st.sampled_from(["HS256", "RS256", "ES256", "EdDSA"]), st.binary(max_size=300))
    def test_any_signature(self, algorithm: str, signature: bytes) -> None:
        """Any bytes in the place of the signature are refused, whatever their length."""
        public = [TokenKey("", name, private.public_key()) for name, private in signers().items()]
        head, body = text({"alg": algorithm, "kid": "a"}), text(claims(iss="https://issuer", aud="cluster"))
        self.refused(self.verifier(SECRET, *public, rules=ISSUER), f"{head}.{body}.{text(signature)}", "")

    @given(st.text(max_size=200))
    def test_any_text(self, token: str) -> None:
        """Any other text is refused."""
        self.refused(self.verifier(SECRET), token, "malformed")

    @given(_VALUES)
    def test_any_claims(self, body: Any) -> None:
        """Whatever stands in a token with the right signature, it is taken or refused, without another error."""
        signed = jwt.PyJWS().encode(json.dumps(body).encode(), SECRET.material, "HS256", {"kid": "a"})
        try:
            principal = self.verifier(SECRET).verify(signed)
        except UnauthorizedAccessError:
            return
        self.assertTrue(principal.name.isprintable())
