"""The digests of DIGEST-MD5 (RFC 2831, section 2.1.2.1), as Java computes them."""

from hashlib import md5

REALM = "bookkeeper"
"""The realm (the name of the user database) that every bookie sends in its challenge."""

URI = b"bookkeeper/bookkeeper"
"""The value of the directive ``digest-uri``.  RFC 2831 wants ``service/host``; Apache's clients always send this text.
"""

COUNT = b"00000001"
"""The value of the directive ``nc``: the hexadecimal number of uses of the bookie's nonce, which is always 1."""


def password_digest(user: str, password: str) -> bytes:
    """Return the digest of a password.  It must be kept secret: anybody who has it can authenticate as the user.

    :param user: the name of the user, which is a part of the digest.
    :param password: the password of the user.
    """
    return md5(b":".join(map(_spelled, (user, REALM, password)))).digest()


def response(secret: bytes, nonce: bytes, cnonce: bytes, authorization: bytes | None) -> bytes:
    """Return the response of a client to a challenge.

    :param secret: the :func:`password_digest`.
    :param nonce: the random text that the bookie has sent.
    :param cnonce: the random text that the client sends.
    :param authorization: the user that the client wants to act as (authzid); None if the client sends none.
    """
    return _value(b"AUTHENTICATE:" + URI, secret, nonce, cnonce, authorization)


def proof(secret: bytes, nonce: bytes, cnonce: bytes, authorization: bytes | None) -> bytes:
    """Return ``rspauth``, by which the bookie proves that it knows the password.

    :param secret: the :func:`password_digest`; the other arguments are the same as those of :func:`response`.
    """
    return _value(b":" + URI, secret, nonce, cnonce, authorization)


def _value(request: bytes, secret: bytes, nonce: bytes, cnonce: bytes, authorization: bytes | None) -> bytes:
    session = [secret, nonce, cnonce] if authorization is None else [secret, nonce, cnonce, authorization]
    return _hex(b":".join((_hex(b":".join(session)), nonce, COUNT, cnonce, b"auth", _hex(request))))


def _hex(data: bytes) -> bytes:
    return md5(data).hexdigest().encode("ascii")


def _spelled(text: str) -> bytes:
    """Encode a text in ISO 8859-1 if possible, otherwise in UTF-8, as RFC 2831 requires for password digests."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")
