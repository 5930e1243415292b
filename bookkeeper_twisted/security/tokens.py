"""Verifies signed tokens, which identify peers: JSON web tokens (RFC 7519) with an expiry.

Two kinds of keys verify tokens.  A secret in ``tokenKeyFile`` signs and verifies the operator's own tokens; such a
token contains the id of the secret as ``kid``.  A public key in ``tokenPublicKeys`` verifies the tokens of an issuer;
these tokens must name the issuer (``tokenIssuer``) and the cluster (``tokenAudience``).

The library PyJWT verifies signatures.  This module itself checks the claims (the fields of a token), so that it can use
the clock that it gets as an argument.  It also refuses some tokens that the standard permits: tokens with two members
of the same name, with infinite numbers, or with base64 that an encoder would not write.
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
    """A token is refused; the text contains the reason, but no part of the token."""


_MALFORMED = "the token is malformed"
_TOO_LONG = f"the token is longer than {MAX_SIZE // 1024} KiB"
_NO_SUBJECT = "the token names no subject, or one that cannot be a name"
_NO_ROLE = f"the token has a role that cannot be a name: blank, unprintable, or longer than {_LONGEST_NAME} characters"


@attrs.frozen
class TokenRules:
    """The values that the claims (fields) of a token must have.

    :ivar issuer: the issuer in tokens that are verified by a public key.
    :ivar audience: the audience that every token must name.  If it is empty, only tokens that are signed by a secret
        are accepted, and they must not name an audience.
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
    :ivar key: the key that has verified the token.
    :ivar begins: the time from which the token is valid, in seconds since 1970; 0 if the token has no such time.
    :ivar expires: the time from which the token is no longer valid, in seconds since 1970.
    """

    principal: Principal
    key: TokenKey
    begins: float
    expires: float


class TokenVerifier:
    """A verifier of signed tokens; it returns the principal that a token names.

    :param keys: a function that returns the keys that may verify tokens.
    :param rules: the required values of claims.
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
        """Verify a token; return the principal that it names.

        :raises UnauthorizedAccessError: the token is refused; the error contains no part of the token.
        """
        return self.read(token).principal

    def read(self, token: str) -> VerifiedToken:
        """Verify a token; return its content.

        :raises UnauthorizedAccessError: the token is refused; the error contains no part of the token.
        """
        try:
            key = self._signed_by(token)
            return self._checked(_claims(token), key)
        except _RefusedError as refused:
            reason = str(refused)
        # raised outside the except block, so that the error does not refer to stack frames that contain the token
        raise UnauthorizedAccessError(detail=reason)

    def _signed_by(self, token: str) -> TokenKey:
        """Return the key that verifies the signature of a token."""
        if len(token) > MAX_SIZE:
            raise _RefusedError(_TOO_LONG)
        if not (parts := _PARTS.fullmatch(token)):
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
            # A token signed with a secret must contain the id (kid) of the secret.  The id in a token signed with a
            # private key is not looked at: its issuer chose it, and the configuration does not know it.
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
        principal = Principal("token", _name(claims.get("sub"), _NO_SUBJECT), _roles(claims, rules.roles_claim))
        return VerifiedToken(principal, key, begins, expires)


def _check_audience(claims: Mapping[str, Any], audience: str) -> None:
    """Refuse a token that does not name the ``audience``; if ``audience`` is empty, refuse every token."""
    if "aud" not in claims:
        raise _RefusedError("the token names no audience, and tokenAudience is required")
    if not audience or audience not in _texts(claims, "aud"):
        raise _RefusedError("the token is for another audience")


def token_verifier(config: AuthenticationConfig, seconds: Callable[[], float]) -> TokenVerifier | None:
    """Return the token verifier that a configuration describes; None if the configuration names no key files.

    :param seconds: returns the time in seconds since 1970, as a reactor does.
    :raises ConfigError: a file cannot be used, issuer or audience is missing, or the extra ``jwt`` is not installed.
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
    """Return a token with the given ``claims``, signed by a secret.

    :param key: the secret, one of the keys that :func:`~.token_keys.read_secrets` returns.
    :raises ConfigError: the extra ``jwt`` is not installed.
    """
    try:
        import jwt
    except ImportError:
        raise missing_library("PyJWT") from None
    return jwt.encode(dict(claims), key.material, SECRET_ALGORITHM, {"kid": key.key_id})


def _signature_check() -> Callable[[str, TokenKey], bool]:
    """Return a function that tests whether a key verifies the signature of a token, with the key's own algorithm."""
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
    """Decode a part of a token from base64; refuse base64 that is not exactly what an encoder would write."""
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
    raise _RefusedError(_MALFORMED)  # refuse NaN and infinity, which Python's parser accepts


def _time(claims: Mapping[str, Any], name: str, default: float | None) -> float:
    """Return the time in the claim ``name`` of a token, in seconds since 1970.

    :param default: the result if the token lacks the claim; None to refuse a token without it.
    """
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LAST_TIME:
        raise _RefusedError("the token has no expiry" if value is None else _MALFORMED)
    return value


def _texts(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the strings in the claim ``name``, which may be a string or a list of strings; empty if it is missing."""
    value = claims.get(name, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise _RefusedError(_MALFORMED)
    return tuple(values)


def _name(value: object, refusal: str) -> str:
    """Return a subject or role as text; refuse a text that is blank, is too long or has unprintable characters.

    :param refusal: the reason to give if the text is refused.
    """
    if not (isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= _LONGEST_NAME):
        raise _RefusedError(refusal)
    return value


def _roles(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    value = claims.get(claim)
    roles = tuple(value.split()) if isinstance(value, str) else _texts(claims, claim)
    if len(roles) > _MOST_ROLES:
        raise _RefusedError("the token has too many roles")
    return tuple(_name(role, _NO_ROLE) for role in roles)
