"""The keys that sign tokens and verify them, in the files that a configuration names.

========================  ==========================================================================================
key of the configuration  content of the file
========================  ==========================================================================================
``tokenKeyFile``          lines of ``KEYID SECRET``; empty lines and lines that begin with ``#`` are ignored.  The first
                          key signs new tokens, all keys verify tokens.
``tokenPublicKeys``       one public key of the issuer or more, in PEM
========================  ==========================================================================================

Each kind of key has only one algorithm.  The algorithm in the header of a token selects which keys are tried, but a key
is never used with another algorithm than its own.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from ..errors import ConfigError
from .files import file_error, read_small_file, read_text

SECRET_ALGORITHM = "HS256"
"""The algorithm of tokens that are signed with a secret."""

SHORTEST_SECRET = 32
"""Minimum number of bytes of a secret (RFC 7518, section 3.2)."""

_SMALLEST_MODULUS = 2048
_MAX_SIZE = 1 << 20
_KEY_ID = re.compile("[A-Za-z0-9._-]{1,64}")
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


@attrs.frozen
class TokenKey:
    """A key that verifies tokens.

    :ivar key_id: the id of a secret, which tokens contain as ``kid``; empty for a public key, whose id is not checked.
    :ivar algorithm: the JWS name of the only algorithm that may be used with the key.
    :ivar material: the bytes of the secret, or the public key.
    """

    key_id: str
    algorithm: str
    material: Any = attrs.field(repr=False)


def read_secrets(path: str) -> tuple[TokenKey, ...]:
    """Read the secrets in the file that ``tokenKeyFile`` names; the first one signs new tokens.

    :raises ConfigError: the file cannot be read or contains no key, a line is not a key, or a secret is too short.
    """
    keys: dict[str, TokenKey] = {}
    for number, line in enumerate(read_text("tokenKeyFile", path, _MAX_SIZE, secret=True).splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or not _KEY_ID.fullmatch(words[0]):
            raise file_error("tokenKeyFile", path, f"line {number} is not KEYID SECRET")
        key_id, secret = words[0], words[1].encode()
        if len(secret) < SHORTEST_SECRET:
            raise file_error("tokenKeyFile", path, f"the secret of line {number} has less than {SHORTEST_SECRET} bytes")
        if key_id in keys:
            raise file_error("tokenKeyFile", path, f"line {number} has the key id of a line before")
        keys[key_id] = TokenKey(key_id, SECRET_ALGORITHM, secret)
    if not keys:
        raise file_error("tokenKeyFile", path, "it has no key")
    return tuple(keys.values())


def read_public_keys(paths: Iterable[str]) -> tuple[TokenKey, ...]:
    """Read the public keys of an issuer from the files that ``tokenPublicKeys`` names.

    :raises ConfigError: a file cannot be read or contains no public key, a key has a kind or size that is not accepted,
        or the extra ``jwt`` is not installed.
    """
    return tuple(key for path in paths for key in _public_keys(path))


def _public_keys(path: str) -> Iterator[TokenKey]:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError:
        raise missing_library("cryptography") from None
    blocks = list(_PEM.finditer(read_small_file("tokenPublicKeys", path, _MAX_SIZE)))
    if any(b"PRIVATE" in block[1] for block in blocks):
        raise file_error("tokenPublicKeys", path, "it has a private key, which only the issuer may have")
    if not blocks:
        raise file_error("tokenPublicKeys", path, "it has no public key in PEM")
    for block in blocks:
        try:
            public = load_pem_public_key(block[0])
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise file_error("tokenPublicKeys", path, "it has a block that is no public key") from None
        yield TokenKey("", _algorithm(path, public), public)


def _algorithm(path: str, public: object) -> str:
    """Return the JWS name of the only algorithm that may be used with a public key."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(public, RSAPublicKey):
        if public.key_size < _SMALLEST_MODULUS:
            raise file_error("tokenPublicKeys", path, f"its RSA key has less than {_SMALLEST_MODULUS} bits")
        return "RS256"
    if isinstance(public, EllipticCurvePublicKey) and isinstance(public.curve, SECP256R1):
        return "ES256"
    if isinstance(public, Ed25519PublicKey):
        return "EdDSA"
    raise file_error("tokenPublicKeys", path, "its key is none of RSA, of the curve P-256, or Ed25519")


def missing_library(name: str) -> ConfigError:
    """Return the error for a library that is not installed.

    :param name: a library of the extra ``jwt``.
    """
    return ConfigError(f"tokens need {name}, which is not installed: pip install 'bookkeeper-twisted[jwt]'")
