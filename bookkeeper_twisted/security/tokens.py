"""Verifies signed tokens, which say who a peer is: JSON web tokens (RFC 7519) with an expiry.

Two kinds of keys verify tokens.  A secret of ``tokenKeyFile`` signs and verifies the operator's own tokens; such a
token names its secret in ``kid``.  A public key of ``tokenPublicKeys`` verifies the tokens of an issuer.  A token of
the issuer has to name the issuer (``tokenIssuer``) and the cluster (``tokenAudience``).

The library PyJWT verifies signatures.  This module checks the claims itself, because it gets its clock as an argument.
It also refuses some tokens that the standard permits: tokens in which two members have the same name, with infinite
numbers, or with an unusual base64 text.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from ..config.authentication import AuthenticationConfig
from ..errors import UnauthorizedAccessError
from .files import FromFiles
from .principals import Principal
from .token_keys import SECRET_ALGORITHM, TokenKey, missing_library, read_public_keys, read_secrets

MAX_SIZE = 16 * 1024
"""Maximum number of characters of a token."""

_PARTS = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_LAST_TIME = 1 << 53
_LONGEST_NAME = 256
_MOST_ROLES = 256


class _RefusedError(Exception):
    """A token is refused; the text gives the reason, and contains no part of the token."""


_MALFORMED = "the token is malformed"


@attrs.frozen
class TokenRules:
    """The claims (fields of a JSON web token) that a token must contain.

    :ivar issuer: the issuer that tokens have to name if a public key verifies them.
    :ivar audience: the audience that every token has to name.  If this is empty, only tokens that a secret has signed
        are accepted, and these must not name an audience.
    :ivar roles_claim: name of the claim with the roles: a list of texts, or one text with spaces between roles.
    :ivar skew: maximum number of seconds by which the clock of the token's signer may differ from the clock here.
    """

    issuer: str = ""
    audience: str = ""
    roles_claim: str = "roles"
    skew: float = 0.0


@attrs.frozen
class VerifiedToken:
    """The content of a token that was verified.

    :ivar principal: the principal that the token names.
    :ivar key: the key that has signed the token.
    :ivar begins: the first second since 1970 at which the token is valid; 0 if the token names none.
    :ivar expires: the second since 1970 from which on the token is no longer valid.
    """

    principal: Principal
    key: TokenKey
    begins: float
    expires: float


class TokenVerifier:
    """A verifier of signed tokens; it returns the principal that a token names.

    :param keys: returns the keys with which tokens may be signed.
    :param rules: the claims that a token must contain.
    :param seconds: returns the time in seconds since 1970.
    :raises ConfigError: the extra ``jwt`` is not installed.
    """

    def __init__(
        self, keys: Callable[[], tuple[TokenKey, ...]], rules: TokenRules, seconds: Callable[[], float]
    ) -> None:
        self._is_signed = _signature_check()
        self._keys = keys
        self._rules = rules
        self._seconds = seconds

    def verify(self, token: str) -> Principal:
        """Return the principal that a token names.

        :raises UnauthorizedAccessError: the token is refused; the error contains no part of the token.
        """
        return self.read(token).principal

    def read(self, token: str) -> VerifiedToken:
        """Return the content of a token.

        :raises UnauthorizedAccessError: the token is refused; the error contains no part of the token.
        """
        try:
            key = self._signed_by(token)
            return self._checked(_claims(token), key)
        except _RefusedError as refused:
            reason = str(refused)
        # raised outside of the handler, so that no stack frame with the token is kept
        raise UnauthorizedAccessError(detail=reason)

    def _signed_by(self, token: str) -> TokenKey:
        """Return the key that has signed a token."""
        if len(token) > MAX_SIZE or not (parts := _PARTS.fullmatch(token)):
            raise _RefusedError(_MALFORMED)
        for part in parts.groups():
            _decoded(part)
        header = _object(_decoded(parts[1]))
        if "crit" in header or header.get("b64", True) is not True:
            raise _RefusedError("the token needs an extension that is not known here")
        candidates = list(self._candidates(header))
        if not candidates:
            raise _RefusedError("the token is signed with an unknown key, or by an algorithm that is not accepted")
        for key in candidates:
            if self._is_signed(token, key):
                return key
        raise _RefusedError("the signature of the token is wrong")

    def _candidates(self, header: Mapping[str, Any]) -> Iterator[TokenKey]:
        """Yield the keys that may have signed a token with this header."""
        algorithm, key_id = header.get("alg"), header.get("kid")
        for key in self._keys():
            # The token must name the secret that signed it.  The names of public keys do not count, because issuers
            # choose them.
            if key.algorithm == algorithm and (key.algorithm != SECRET_ALGORITHM or key.key_id == key_id):
                yield key

    def _checked(self, claims: Mapping[str, Any], key: TokenKey) -> VerifiedToken:
        """Check the claims (the fields of a JSON web token) of a token with a valid signature; return its content."""
        now, rules = self._seconds(), self._rules
        begins, expires = _time(claims, "nbf", 0), _time(claims, "exp", None)
        if now >= expires + rules.skew:
            raise _RefusedError("the token has expired")
        if now < begins - rules.skew:
            raise _RefusedError("the token is not valid yet")
        is_own = key.algorithm == SECRET_ALGORITHM
        if not is_own and claims.get("iss") != rules.issuer:
            raise _RefusedError("the token is of another issuer")
        # without a configured audience, only tokens of a secret are accepted, and they must not name an audience
        if rules.audience or not is_own or "aud" in claims:
            _check_audience(claims, rules.audience)
        principal = Principal("token", _name(claims.get("sub")), _roles(claims, rules.roles_claim))
        return VerifiedToken(principal, key, begins, expires)


def _check_audience(claims: Mapping[str, Any], audience: str) -> None:
    """Refuse a token that does not name the configured ``audience``, or any token if this is empty."""
    if "aud" not in claims:
        raise _RefusedError("the token names no audience, and tokenAudience is required")
    if not audience or audience not in _texts(claims, "aud"):
        raise _RefusedError("the token is for another audience")


def token_verifier(config: AuthenticationConfig, seconds: Callable[[], float]) -> TokenVerifier | None:
    """Return the verifier of tokens that a configuration describes; None if it names no keys.

    :param seconds: returns the time in seconds since 1970, as a reactor does.
    :raises ConfigError: a file cannot be used, issuer or audience are missing, or the extra ``jwt`` is not installed.
    """
    secret, public = config.token_key_file, config.token_public_keys
    if not secret and not public:
        return None
    if public:
        for name in ("token_issuer", "token_audience"):
            if not getattr(config, name):
                raise config.error(name, "has to be set, as tokenPublicKeys is")

    def read() -> tuple[TokenKey, ...]:
        return (*(read_secrets(secret) if secret else ()), *read_public_keys(public))

    rules = TokenRules(
        config.token_issuer, config.token_audience, config.token_roles_claim, config.token_clock_skew_sec
    )
    keys = FromFiles("the files of keys for tokens", (*((secret,) if secret else ()), *public), read, seconds)
    return TokenVerifier(keys.get, rules, seconds)


def sign_token(key: TokenKey, claims: Mapping[str, Any]) -> str:
    """Return a token that a secret signs.

    :param key: one of the keys that :func:`~.token_keys.read_secrets` returns.
    :raises ConfigError: the extra ``jwt`` is not installed.
    """
    try:
        import jwt
    except ImportError:
        raise missing_library("PyJWT") from None
    return jwt.encode(dict(claims), key.material, SECRET_ALGORITHM, {"kid": key.key_id})


def _signature_check() -> Callable[[str, TokenKey], bool]:
    """Return a function that tests whether a key has signed a token; it uses the algorithm of the key."""
    try:
        import jwt
    except ImportError:
        raise missing_library("PyJWT") from None
    jws = jwt.PyJWS()

    def is_signed(token: str, key: TokenKey) -> bool:
        try:
            jws.decode(token, key.material, [key.algorithm])
        except jwt.PyJWTError:
            return False
        return True

    return is_signed


# ---- the parts of a token ----------------------------------------------------------------------------


def _decoded(part: str) -> bytes:
    """Decode a part of a token from base64; refuse a text that the encoder would not have written for these bytes."""
    try:
        data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise _RefusedError(_MALFORMED) from None
    if urlsafe_b64encode(data).rstrip(b"=") != part.encode():
        raise _RefusedError(_MALFORMED)
    return data


def _claims(token: str) -> dict[str, Any]:
    return _object(_decoded(token.split(".")[1]))


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_members, parse_constant=_no_number)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _RefusedError(_MALFORMED)
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RefusedError(_MALFORMED)
    return members


def _no_number(_: str) -> float:
    raise _RefusedError(_MALFORMED)  # NaN and infinite numbers


def _time(claims: Mapping[str, Any], name: str, default: float | None) -> float:
    """Return the time in a claim of a token, in seconds since 1970.

    :param default: the result if the token lacks the claim; None to refuse such a token.
    """
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LAST_TIME:
        raise _RefusedError("the token has no expiry" if value is None else _MALFORMED)
    return value


def _texts(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts in a claim, which may be one text or a list of texts; empty if the claim is missing."""
    value = claims.get(name, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise _RefusedError(_MALFORMED)
    return tuple(values)


def _name(value: object) -> str:
    """Return a subject or role; refuse one that cannot be logged, because it is not printable, blank or too long."""
    if not (isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= _LONGEST_NAME):
        raise _RefusedError("the token names no subject, or one that cannot be a name")
    return value


def _roles(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    value = claims.get(claim)
    roles = tuple(value.split()) if isinstance(value, str) else _texts(claims, claim)
    if len(roles) > _MOST_ROLES:
        raise _RefusedError("the token has too many roles")
    return tuple(map(_name, roles))
