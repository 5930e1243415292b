"""The users of a bookie, with digests of their passwords, and the user of a client."""

import hmac
import re
from collections.abc import Mapping

import attrs

from ...errors import UnauthorizedAccessError
from .digests import password_digest

_SHOWN = 64
"""Maximum number of characters of a user's name that the text of a refusal contains."""


@attrs.frozen
class Account:
    """The user and password of a client.

    :ivar name: name of the user.
    """

    name: str
    password: str = attrs.field(repr=False)


@attrs.frozen
class PasswordDigests:
    """The digests of one user's password, which a bookie keeps instead of the password.

    :ivar digest: the digest that DIGEST-MD5 uses.
    :ivar plain: the digest that PLAIN uses: a MAC with a random key of this process, useless to anybody without the
        key.
    """

    digest: bytes = attrs.field(repr=False)
    plain: bytes = attrs.field(repr=False)


class Users:
    """The users that a bookie admits, with digests of their passwords instead of the passwords."""

    def __init__(self, passwords: Mapping[str, str], key: bytes, allowed: "re.Pattern[str]") -> None:
        """:param passwords: the password of each user, by the name of the user.
        :param key: 32 random bytes, the key for the digests that PLAIN uses.
        :param allowed: a pattern; only users whose whole name matches it may connect.
        """
        self._key = key
        self._allowed = allowed
        self._digests = {
            name: PasswordDigests(password_digest(name, password), self.plain_digest(password.encode("utf-8")))
            for name, password in passwords.items()
        }
        # digests for unknown users, which match no password, so that their refusal takes the same time
        self._nobody = PasswordDigests(self.plain_digest(b"digest" + key)[:16], self.plain_digest(b"plain" + key))

    def digests(self, name: str) -> PasswordDigests:
        """Return the digests of a user's password.

        :param name: name of the user.
        :returns: the digests; for an unknown user, digests that match no password.
        """
        return self._digests.get(name, self._nobody)

    def plain_digest(self, password: bytes) -> bytes:
        """Return the digest of ``password`` that PLAIN compares with the stored digest."""
        return hmac.digest(self._key, password, "sha256")

    def admit(self, name: str, is_proven: bool, authorization: str | None) -> None:
        """Check whether a client may connect as a user.

        :param name: name of the user.
        :param is_proven: whether the client has proven that it knows the user's password.
        :param authorization: the user that the client wants to act as; None if the client has named none.
        :raises UnauthorizedAccessError: the user may not connect.
        """
        shown = repr(name[:_SHOWN])
        if not is_proven:
            raise UnauthorizedAccessError(detail=f"user {shown} does not exist or has another password")
        admit(self._allowed, name, authorization)


def admit(allowed: "re.Pattern[str]", name: str, authorization: str | None) -> None:
    """Check whether an authenticated client may connect.

    :param allowed: a pattern; only users whose whole name matches it may connect.
    :param name: name of the user.
    :param authorization: the user that the client wants to act as; None if the client has named none.
    :raises UnauthorizedAccessError: the user may not connect.
    """
    shown = repr(name[:_SHOWN])
    if authorization is not None and authorization != name:
        raise UnauthorizedAccessError(detail=f"user {shown} wants to act as another")
    if allowed.fullmatch(name) is None:
        raise UnauthorizedAccessError(detail=f"user {shown} is not among saslJaasClientAllowedIds")
