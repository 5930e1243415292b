"""Tokens for tests: the secrets and private keys that sign them, and their claims."""

import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bookkeeper_twisted.security.token_keys import TokenKey

NOW = 1_700_000_000.0
SECRET = TokenKey("a", "HS256", b"an-old-secret-that-nobody-guesses")
OTHER = TokenKey("b", "HS256", b"a-new-secret-that-nobody-knows-yet")


@cache
def signers() -> dict[str, Any]:
    """Private keys of an issuer by algorithm."""
    return {
        "RS256": generate_rsa_key(65537, 2048), "ES256": generate_private_key(SECP256R1()),
        "EdDSA": Ed25519PrivateKey.generate(),
    }  # fmt: skip


def public_pem(algorithm: str) -> bytes:
    """The public key of the issuer's key."""
    public = signers()[algorithm].public_key()
    return bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def claims(**changes: Any) -> dict[str, Any]:
    """Claims of a token that is valid now; those that are None are left out."""
    found = {"sub": "joe", "exp": int(NOW) + 60, "roles": ["writers", "readers"], **changes}
    return {name: value for name, value in found.items() if value is not None}


def issued(algorithm: str, headers: dict[str, Any] | None = None, **changes: Any) -> str:
    """A token of the issuer."""
    all_claims = claims(**{"iss": "https://issuer", "aud": "cluster", **changes})
    return jwt.encode(all_claims, signers()[algorithm], algorithm, headers)


def text(part: Any) -> str:
    """The encoding of a part of a token."""
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()
