"""Certificates for bookies on loopback, made anew by each run, and the keys that name them on either side."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import attrs

HOST = "127.0.0.1"
SUITE = "TLS_AES_128_GCM_SHA256"
"""The suite of all runs: of the three of TLS 1.3 it is the cheapest where the processor has instructions for AES."""
_CONFIGURATION = f"""openssl_conf = all
[all]
ssl_conf = names
[names]
system_default = client
[client]
Ciphersuites = {SUITE}
"""
_VALID = timedelta(days=2)


@attrs.frozen
class TlsFiles:
    """The files of a bookie with TLS, in PEM; they are only for a measurement.

    :ivar folder: with ``key.pem``, ``chain.pem``, ``trust.pem`` and ``openssl.cnf``.
    """

    folder: Path

    @property
    def trusted(self) -> Path:
        """The certificate of the authority."""
        return self.folder / "trust.pem"

    @property
    def suite(self) -> Path:
        """A configuration of OpenSSL (``OPENSSL_CONF``) by which a client offers one suite, :data:`SUITE`."""
        return self.folder / "openssl.cnf"

    def settings(self) -> dict[str, str]:
        """The keys of a bookie of either side; it serves connections in clear as well."""
        return {
            "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
            "tlsKeyStoreType": "PEM", "tlsKeyStore": str(self.folder / "key.pem"),
            "tlsCertificatePath": str(self.folder / "chain.pem"),
            "tlsTrustStoreType": "PEM", "tlsTrustStore": str(self.trusted),
        }  # fmt: skip


def make_files(folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> TlsFiles:
    """Make the key of a bookie on loopback and a certificate of a new authority.

    :param folder: made if it is not there.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])

    def certificate(key: ec.EllipticCurvePrivateKey, name: str, is_authority: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder(named("authority"), named(name), key.public_key(), x509.random_serial_number())
            .not_valid_before(now() - _VALID)
            .not_valid_after(now() + _VALID)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )

    issuer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate(issuer, "authority", True).sign(issuer, SHA256())
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
    own = certificate(key, "bookie", False).add_extension(address, critical=False).sign(issuer, SHA256())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "chain.pem").write_bytes(own.public_bytes(Encoding.PEM))
    (folder / "trust.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    files = TlsFiles(folder)
    files.suite.write_text(_CONFIGURATION)
    return files
