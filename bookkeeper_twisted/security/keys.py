"""Private keys, certificates and trusted certificates in the files that a configuration names.

=======  ==============================================================  ===============================================
type     key store                                                       trust store
=======  ==============================================================  ===============================================
PEM      the private key, encrypted or not; the chain of its             one certificate or more
         certificate is in a file of its own, ``tlsCertificatePath``
PKCS12   the first private key and the chain of its certificate          the trusted certificates, and the certificate
                                                                         of each private key; all of them are trusted
JKS      like PKCS12                                                     like PKCS12
=======  ==============================================================  ===============================================

If the configured type is PKCS12 or JKS, the content of the store decides which of the two formats it is parsed as.
Java does the same, because its ``keytool`` writes PKCS12 by default since Java 9, whatever the name of the file is.

Every error is a :class:`~bookkeeper_twisted.errors.ConfigError`.  Its text contains the configuration key and the path
of the file, and no password.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import attrs
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from ..errors import CodecError, ConfigError
from ..masking import masked
from . import jks
from .files import file_error, read_small_file

T = TypeVar("T")
PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey

MAX_SIZE = 16 << 20
"""Maximum number of bytes of a file, so that the reactor thread, which parses the file, is not blocked for long."""

_KEY_BEGIN = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----")
_CERTIFICATE_BEGIN = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE")
_SPACE = "".join(map(chr, range(33)))
"""The characters that Java's ``trim`` removes."""

_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)
"""The exceptions of the TLS library for a wrong password and for bytes that it cannot parse."""


@attrs.frozen
class StoreFiles:
    """The files of a key store or of a trust store.

    :ivar name: the common prefix of the settings of the store: for example ``tlsKeyStore`` or ``tlsTrustStore``.
    :ivar kind: ``PEM``, ``PKCS12`` or ``JKS``.
    :ivar password_path: the file with the password; empty if there is none.
    :ivar certificate_path: for a private key in PEM, the file with its certificate and the certificates of the issuers;
        otherwise empty.
    :ivar password: the password itself, if there is no password file.
    :ivar suffix: ``name`` followed by ``suffix`` is the setting with the path of the store: for example ``Path`` in
        ``httpServerKeyStorePath``.
    :ivar certificate_name: the setting with ``certificate_path``.
    """

    name: str
    kind: str
    path: str
    password_path: str = ""
    certificate_path: str = ""
    password: str = attrs.field(default="", repr=masked)
    suffix: str = ""
    certificate_name: str = "tlsCertificatePath"

    @property
    def key(self) -> str:
        """The configuration key that names the file of the store."""
        return self.name + self.suffix

    @property
    def paths(self) -> tuple[str, ...]:
        """All files of the store."""
        return tuple(path for path in (self.path, self.password_path, self.certificate_path) if path)

    @property
    def password_source(self) -> str:
        """The configuration key of the store's password, or the configuration key and path of its password file."""
        if self.password and not self.password_path:
            return f"{self.name}Password"
        return f"{self.name}PasswordPath, {self.password_path!r}"

    def refusal(self, reason: str) -> ConfigError:
        """Return the error for a store that cannot be used; the caller raises it.

        :param reason: a sentence about the store, for the text of the error.
        """
        return file_error(self.key, self.path, reason)


@attrs.frozen
class KeyAndChain:
    """A private key, its certificate, and the certificates of the issuers of this certificate.

    :ivar files: the files from which the key and the chain were read.
    """

    files: StoreFiles
    key: PrivateKey = attrs.field(repr=False)
    chain: tuple[x509.Certificate, ...]


def read_identity(files: StoreFiles) -> KeyAndChain:
    """Read the private key of a key store and the chain of its certificate.

    If every user of the machine can read the key store or its password file, a warning is logged.

    :raises ConfigError: a file cannot be read, has no key or no certificate, or the certificate is not that of the key.
    """
    data = _read(files.key, files.path, secret=True)
    password = _password(files)
    if files.kind == "PEM":
        identity = KeyAndChain(files, _pem_key(files, data, password), _pem_chain(files))
    elif data.startswith(jks.MAGIC):
        identity = _jks_identity(files, data, password)
    else:
        identity = _pkcs12_identity(files, data, password)
    key, certificate = identity.key.public_key(), _parsed(files, identity.chain[0].public_key)
    if certificate != key:
        where = f", {files.certificate_path!r}," if files.certificate_path else ""
        raise files.refusal(f"its private key is not that of the certificate{where} beside it")
    return identity


def read_trusted(files: StoreFiles) -> tuple[x509.Certificate, ...]:
    """Read the certificates of a trust store.

    :raises ConfigError: the file cannot be read or has no certificate.
    """
    data = _read(files.key, files.path)
    if files.kind == "PEM":
        return _pem_certificates(files.key, files.path, data)
    password = _password(files)
    if data.startswith(jks.MAGIC):
        store = _jks(files, data, password)
        encoded = (*store.trusted, *(key.chain[0] for key in store.keys if key.chain))
        trusted = tuple(_certificate(files, each) for each in encoded)
    else:
        _, chain, others = _pkcs12(files, data, password)
        trusted = (*others, *chain[:1])
    if not trusted:
        raise files.refusal("it has no certificate to trust")
    return trusted


def expired(files: StoreFiles, certificates: Iterable[x509.Certificate], now: datetime) -> list[str]:
    """Return a sentence about each certificate that has expired.

    :param files: the store from which the certificates were read.
    """
    named = (files.certificate_name, files.certificate_path) if files.certificate_path else (files.key, files.path)
    return [
        f"{named[0]} = {named[1]!r}: the certificate of {certificate.subject.rfc4514_string()} expired at "
        f"{certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        for certificate in certificates
        if certificate.not_valid_after_utc < now
    ]


def certificates_pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return ``certificates`` in PEM."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def key_pem(identity: KeyAndChain) -> bytes:
    """Return the private key of an ``identity`` in PEM, not encrypted; it must not leave the process."""
    return identity.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


# ---- files and passwords -----------------------------------------------------------------------------


def _read(key: str, path: str, secret: bool = False) -> bytes:
    if not path:
        raise ConfigError(f"{key} is not set: it has to name a file")
    return read_small_file(key, path, MAX_SIZE, secret)


def _password(files: StoreFiles) -> str:
    """Return the password of a store, from its password file; if no file is named, from the configuration."""
    if not files.password_path:
        return files.password
    key = f"{files.name}PasswordPath"
    try:
        password = _read(key, files.password_path, secret=files.name.endswith("KeyStore")).decode()
    except UnicodeDecodeError:
        password = None
    # raised outside the except block: inside, the new error would refer to the first one, which contains the password
    if password is None:
        raise file_error(key, files.password_path, "the password is not UTF-8")
    # like Java, strip white space from the passwords of stores, but not from the passwords of PEM keys
    return password.rstrip("\r\n") if files.kind == "PEM" else password.strip(_SPACE)


def _parsed(files: StoreFiles, parse: Callable[[], T], reason: str = "it has a certificate that cannot be read") -> T:
    """Call ``parse``, a function of the TLS library; convert its errors to a ConfigError.

    :param files: the store that ``parse`` reads; the text of the ConfigError names its path.
    :param reason: what is wrong if ``parse`` fails, for the text of the ConfigError.
    """
    try:
        return parse()
    except _UNREADABLE:
        raise files.refusal(reason) from None


def _certificate(files: StoreFiles, der: bytes) -> x509.Certificate:
    return _parsed(files, lambda: x509.load_der_x509_certificate(der))


def _usable(files: StoreFiles, key: object) -> PrivateKey:
    if not isinstance(key, PrivateKey):
        raise files.refusal(f"its private key is of a kind that TLS does not use, {type(key).__name__}")
    return key


# ---- PEM ---------------------------------------------------------------------------------------------


def _pem_key(files: StoreFiles, data: bytes, password: str) -> PrivateKey:
    begin = _KEY_BEGIN.search(data)  # the file may also contain certificates or curve parameters
    end = b"-----END %b-----" % begin[1] if begin is not None else b""
    ended_at = data.find(end, begin.end()) if begin is not None else -1
    if begin is None or ended_at < 0:
        raise files.refusal("it has no private key in PEM")
    block = data[begin.start() : ended_at + len(end)]
    if not (begin[1].startswith(b"ENCRYPTED") or b"Proc-Type: 4,ENCRYPTED" in block):
        return _usable(files, _parsed(files, lambda: load_pem_private_key(block, None), "its key cannot be read"))
    if not password:
        raise files.refusal(f"its key is encrypted, and {files.name}PasswordPath gives no password")
    wrong = f"its key cannot be read with the password of {files.password_source}"
    return _usable(files, _parsed(files, lambda: load_pem_private_key(block, password.encode()), wrong))


def _pem_chain(files: StoreFiles) -> tuple[x509.Certificate, ...]:
    key = files.certificate_name
    return _pem_certificates(key, files.certificate_path, _read(key, files.certificate_path))


def _pem_certificates(key: str, path: str, data: bytes) -> tuple[x509.Certificate, ...]:
    try:
        found = tuple(x509.load_pem_x509_certificates(data))
    except _UNREADABLE:
        raise file_error(key, path, "it has no certificate in PEM, or one that cannot be read") from None
    if len(found) != len(_CERTIFICATE_BEGIN.findall(data)):  # the library ignores a truncated last block
        raise file_error(key, path, "its last certificate is cut off")
    return found


# ---- PKCS12 and JKS ----------------------------------------------------------------------------------


def _wrong(files: StoreFiles) -> str:
    """Return a text with the probable reason why a store cannot be opened: a wrong password or a damaged file."""
    if files.password_path or files.password:
        return f"its password is not that of {files.password_source}, or it is damaged"
    return f"it has a password, and {files.name}PasswordPath names none; or it is damaged"


def _pkcs12(
    files: StoreFiles, data: bytes, password: str
) -> tuple[object, tuple[x509.Certificate, ...], tuple[x509.Certificate, ...]]:
    """Return the private key of a PKCS12 store (or None), the key's certificate chain, and the other certificates."""
    if not data.startswith(b"\x30"):
        raise files.refusal("it is neither a PKCS12 nor a JKS store")
    store = _parsed(files, lambda: load_pkcs12(data, password.encode() or None), _wrong(files))
    others = [each.certificate for each in store.additional_certs]
    chain = _chain(store.cert.certificate, others) if store.cert is not None else ()
    for certificate in chain[1:]:
        others.remove(certificate)
    return store.key, chain, tuple(others)


def _chain(first: x509.Certificate, others: Sequence[x509.Certificate]) -> tuple[x509.Certificate, ...]:
    """Return the chain of a certificate: ``first``, then its issuer, and so on, as far as ``others`` has them."""
    chain = [first]
    while issuer := next((c for c in others if c.subject == chain[-1].issuer and c not in chain), None):
        chain.append(issuer)
    return tuple(chain)


def _pkcs12_identity(files: StoreFiles, data: bytes, password: str) -> KeyAndChain:
    key, chain, _ = _pkcs12(files, data, password)
    if key is None or not chain:
        raise files.refusal("it has no private key with a certificate")
    return KeyAndChain(files, _usable(files, key), chain)


def _jks(files: StoreFiles, data: bytes, password: str) -> jks.JksStore:
    try:
        return jks.read_jks(data, password)
    except CodecError as error:
        raise files.refusal(f"{error} (the password is that of {files.password_source})") from None


def _jks_identity(files: StoreFiles, data: bytes, password: str) -> KeyAndChain:
    found = next((key for key in _jks(files, data, password).keys if key.chain), None)
    if found is None:
        raise files.refusal("it has no private key with a certificate")
    try:
        der = jks.unprotect(found.protected, password)
    except CodecError as error:
        raise files.refusal(str(error)) from None
    key = _parsed(files, lambda: load_der_private_key(der, None), "its private key cannot be read")
    first, *others = (_certificate(files, each) for each in found.chain)
    return KeyAndChain(files, _usable(files, key), _chain(first, others))
