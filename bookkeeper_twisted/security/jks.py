"""Key stores in Java's own format, JKS, versions 1 and 2.  All numbers are big-endian.

===========  ===============================================================================================
file         magic ``feedfeed`` (4 bytes), version (4), number of entries (4), entries, digest (20)
entry        tag (4): 1 a private key, 2 a trusted certificate; alias (text); time of creation (8); then by tag
tag 1        protected key (blob), number of certificates (4), certificates of the chain, the key's own first
tag 2        certificate
certificate  kind, as ``X.509`` (text; not in version 1), DER (blob)
text         length in bytes (2), modified UTF-8
blob         length in bytes (4), bytes
===========  ===============================================================================================

The digest is SHA-1 over the password, a fixed phrase, and the file up to the digest, so a wrong password looks like a
damaged file.  A private key is encrypted by XOR with a key stream that SHA-1 makes from the key's password.
"""

import hashlib
import hmac
from collections.abc import Iterator
from itertools import islice
from struct import Struct

import attrs

from ..errors import CodecError

MAGIC = b"\xfe\xed\xfe\xed"

_HEAD = Struct(">4sII")
assert _HEAD.size == 12
_LENGTH = Struct(">I")
_TEXT_LENGTH = Struct(">H")
_TIME = Struct(">Q")

_DIGEST_SIZE = 20
_PHRASE = b"Mighty Aphrodite"
_KEY, _TRUSTED = 1, 2
_MOST_ENTRIES = 10_000

_PROTECTOR = bytes.fromhex("2b060104012a02110101")
"""The object identifier of Sun's key protector (the encryption of JKS keys), 1.3.6.1.4.1.42.2.17.1.1."""

_SEQUENCE, _OBJECT_ID, _OCTETS = 0x30, 0x06, 0x04


@attrs.frozen
class JksKey:
    """A private key in a JKS store.

    :ivar alias: its name in the store.
    :ivar protected: the encrypted key, as the store contains it; :func:`unprotect` decrypts it.
    :ivar chain: the certificate of the key, followed by the certificates of its issuers, all in DER.
    """

    alias: str
    protected: bytes = attrs.field(repr=False)
    chain: tuple[bytes, ...] = attrs.field(repr=False)


@attrs.frozen
class JksStore:
    """The entries of a JKS store, in their order.

    :ivar trusted: the trusted certificates, in DER.
    """

    keys: tuple[JksKey, ...]
    trusted: tuple[bytes, ...] = attrs.field(repr=False)


def read_jks(data: bytes, password: str) -> JksStore:
    """Verify the digest of a JKS store, and return the store's entries.

    :raises CodecError: ``data`` is not a JKS store, or the store is damaged or has another password.
    """
    if len(data) < _HEAD.size + _DIGEST_SIZE or not data.startswith(MAGIC):
        raise CodecError("it is no JKS store")
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    expected = hashlib.sha1(_spelled(password) + _PHRASE + body).digest()
    if not hmac.compare_digest(digest, expected):
        raise CodecError("the password is wrong, or the file is damaged")
    _, version, n_entries = _HEAD.unpack_from(body)
    if version not in (1, 2) or n_entries > _MOST_ENTRIES:
        raise CodecError(f"a JKS store of version {version} with {n_entries} entries cannot be read")
    entries = _Reader(body, _HEAD.size)
    keys: list[JksKey] = []
    trusted: list[bytes] = []
    for _ in range(n_entries):
        tag, alias = entries.number(_LENGTH), entries.text()
        entries.number(_TIME)
        if tag == _KEY:
            protected, n_certificates = entries.blob(), entries.number(_LENGTH)
            if n_certificates > _MOST_ENTRIES:
                raise CodecError("it is damaged")
            keys.append(JksKey(alias, protected, tuple(entries.certificate(version) for _ in range(n_certificates))))
        elif tag == _TRUSTED:
            trusted.append(entries.certificate(version))
        else:
            raise CodecError(f"it has an entry of kind {tag}, which is neither a private key nor a certificate")
    return JksStore(tuple(keys), tuple(trusted))


def unprotect(protected: bytes, password: str) -> bytes:
    """Decrypt a private key of a store; return it in PKCS8.

    :param protected: an ``EncryptedPrivateKeyInfo`` in DER, encrypted by Sun's key protector (the algorithm of JKS).
    :raises CodecError: the key has another password, or is encrypted by another algorithm.
    """
    outer = _Reader(protected).element(_SEQUENCE)
    algorithm = outer.element(_SEQUENCE)
    if algorithm.element(_OBJECT_ID).rest() != _PROTECTOR:
        raise CodecError("its private key is not protected as JKS stores do it")
    sealed = outer.element(_OCTETS).rest()
    if len(sealed) <= 2 * _DIGEST_SIZE:
        raise CodecError("its private key is damaged")
    salt, hidden, check = sealed[:_DIGEST_SIZE], sealed[_DIGEST_SIZE:-_DIGEST_SIZE], sealed[-_DIGEST_SIZE:]
    spelled = _spelled(password)
    stream = bytes(islice(_key_stream(spelled, salt), len(hidden)))
    key = bytes(a ^ b for a, b in zip(hidden, stream, strict=True))
    if not hmac.compare_digest(check, hashlib.sha1(spelled + key).digest()):
        raise CodecError("its private key has another password than the store; keytool -keypasswd changes it")
    return key


def _key_stream(password: bytes, salt: bytes) -> Iterator[int]:
    block = salt
    while True:
        block = hashlib.sha1(password + block).digest()
        yield from block


def _spelled(password: str) -> bytes:
    """Encode a password for the digest and the key stream as Java does: in UTF-16, big-endian."""
    return password.encode("utf-16-be", "surrogatepass")


class _Reader:
    """A reader of bytes from the beginning to the end; it raises CodecError if the bytes end too early."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise CodecError("it is damaged: it ends too early")
        taken, self._at = self._data[self._at : end], end
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def number(self, form: Struct) -> int:
        number: int = form.unpack(self.take(form.size))[0]
        return number

    def blob(self) -> bytes:
        return self.take(self.number(_LENGTH))

    def text(self) -> str:
        return self.take(self.number(_TEXT_LENGTH)).decode(errors="replace")

    def certificate(self, version: int) -> bytes:
        if version > 1 and self.text() not in ("X.509", "X509"):
            raise CodecError("it has a certificate that is not X.509")
        return self.blob()

    def element(self, tag: int) -> "_Reader":
        """Return a reader of the content of the next DER element, which must have this ``tag``."""
        found, size = self.take(2)
        if found != tag:
            raise CodecError("its private key is damaged")
        if size & 0x80:
            size = int.from_bytes(self.take(size & 0x7F))
        return _Reader(self.take(size))
