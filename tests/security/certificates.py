"""Certificates for tests: authorities, and keys with certificates of theirs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from bookkeeper_twisted.security.contexts import TlsSettings

FIXTURES = Path(__file__).parent / "fixtures"
PASSWORD = "sesame"
"""The password of the fixtures."""

BEFORE, AFTER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)


@attrs.frozen
class Pair:
    """A private key and its certificate, with those of its issuers."""

    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...]

    def key_pem(self, password: str = "", form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
        """The key in PEM, encrypted if there is a password."""
        how = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, form, how)

    def chain_pem(self) -> bytes:
        """The certificates in PEM."""
        return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in self.chain)

    def pkcs12(self, password: str, others: Sequence[x509.Certificate] = ()) -> bytes:
        """A store in PKCS12; the chain lies in it in no good order."""
        how = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        beside = [*reversed(self.chain[1:]), *others]
        return pkcs12.serialize_key_and_certificates(b"bookie", self.key, self.chain[0], beside, how)


def named(name: str, units: Iterable[str] = ()) -> x509.Name:
    """A name of a subject."""
    ous = [x509.NameAttribute(x509.NameOID.ORGANIZATIONAL_UNIT_NAME, unit) for unit in units]
    return x509.Name([*ous, x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def issued(
    name: str, issuer: Pair | None = None, hosts: Iterable[str] = (), units: Iterable[str] = (),
    until: datetime = AFTER, uris: Iterable[str] = (), of_authority: bool = False,
) -> Pair:  # fmt: skip
    """A new key with a certificate of an issuer, or one that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = named(name, units)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.chain[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEFORE)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(of_authority, None), critical=True)
    )
    alternatives = [*map(_alternative, hosts), *map(x509.UniformResourceIdentifier, uris)]
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    certificate = builder.sign(issuer.key if issuer else key, SHA256())
    return Pair(key, (certificate, *(issuer.chain if issuer else ())))


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@cache
def authority(name: str = "CA") -> Pair:
    """The authority of a name, made once."""
    return issued(name, of_authority=True)


@cache
def bookie() -> Pair:
    """A bookie's key, made once: for a host name, a wildcard and two addresses."""
    hosts = "bookie.example", "*.rack.example", "192.0.2.7", "2001:db8::7"
    return issued("bookie", issued("intermediate", authority(), of_authority=True), hosts)


@cache
def client() -> Pair:
    """A client's key, made once."""
    return issued("client", authority(), units=["0:writer,reader;1:cluster"])


def weak() -> tuple[bytes, bytes]:
    """A key of RSA that is too short, and its certificate, in PEM."""
    key = rsa.generate_private_key(65537, 1024)
    builder = x509.CertificateBuilder().subject_name(named("weak")).issuer_name(named("weak")).serial_number(1)
    dated = builder.not_valid_before(BEFORE).not_valid_after(AFTER)
    certificate = dated.public_key(key.public_key()).sign(key, SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem, certificate.public_bytes(Encoding.PEM)


EXPIRED = BEFORE + timedelta(days=1)
"""A time long ago until which a certificate was valid."""


@attrs.frozen
class Folder:
    """A directory with the files of one side of a connection, in PEM."""

    path: Path

    def put(self, name: str, content: bytes) -> str:
        """Write a file for its owner alone, as a new one in the place of an old one; return its path."""
        self.path.mkdir(exist_ok=True)
        new = self.path / "new"
        new.write_bytes(content)
        new.chmod(0o600)
        new.replace(self.path / name)
        return str(self.path / name)

    def put_pair(self, pair: Pair, trusted: Pair) -> None:
        """Write a key, its certificates, and those that are trusted."""
        self.put("key.pem", pair.key_pem())
        self.put("chain.pem", pair.chain_pem())
        self.put("trust.pem", trusted.chain_pem())

    def settings(self, **others: object) -> TlsSettings:
        """Settings that name the three files."""
        files: dict[str, object] = {
            "key_store_type": "PEM", "key_store": str(self.path / "key.pem"),
            "certificate_path": str(self.path / "chain.pem"),
            "trust_store_type": "PEM", "trust_store": str(self.path / "trust.pem"),
        }  # fmt: skip
        return TlsSettings(**{**files, **others})  # type: ignore[arg-type]
