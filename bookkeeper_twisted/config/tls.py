"""The configuration keys of TLS between clients and bookies; bookies, clients and autorecovery share them."""

import attrs

from .fields import BOOLEAN, TEXT, decimal, setting
from .tracing import TracingConfig

_FACTORY = "TLSContextFactory"
"""The end of the name of Apache's TLS factory; a ``tlsProviderFactoryClass`` with another end is refused."""

_OF_TLS = ("tls_direct", "tls_client_authentication", "tls_key_store", "tls_certificate_path", "tls_trust_store")
"""Attributes of the configuration that have an effect only if TLS is switched on."""

_OFF = frozenset({"", "null", "none"})


@attrs.frozen(kw_only=True)
class TlsConfig(TracingConfig):
    """The settings of TLS between clients and bookies."""

    tls_provider_factory_class: str = setting(
        "tlsProviderFactoryClass", "", TEXT, "org.apache.bookkeeper.tls.TLSContextFactory: use TLS; empty: none",
        java="none",
    )  # fmt: skip
    tls_direct: bool = setting(
        "tlsDirect", False, BOOLEAN,
        "a client begins TLS at once, not by StartTLS: for bookies behind a proxy with TLS, and not for Apache's",
    )  # fmt: skip
    tls_client_authentication: bool = setting(
        "tlsClientAuthentication", False, BOOLEAN,
        "a bookie requires a certificate of its clients; a client shows its certificate",
    )  # fmt: skip
    tls_hostname_verification_enabled: bool = setting(
        "tlsHostnameVerificationEnabled", True, BOOLEAN,
        "refuse a bookie whose certificate does not name the host that was connected to", java="false",
    )  # fmt: skip
    tls_key_store_type: str = setting("tlsKeyStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    tls_key_store: str = setting(
        "tlsKeyStore", "", TEXT, "store with the private key; for PEM the key alone", java="none"
    )
    tls_key_store_password_path: str = setting(
        "tlsKeyStorePasswordPath", "", TEXT, "file with the password of tlsKeyStore", java="none"
    )
    tls_certificate_path: str = setting(
        "tlsCertificatePath", "", TEXT, "for PEM: the certificate of the key, then those of its issuers", java="none"
    )
    tls_trust_store_type: str = setting("tlsTrustStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    tls_trust_store: str = setting(
        "tlsTrustStore", "", TEXT, "store with the certificates of issuers that are trusted", java="none"
    )
    tls_trust_store_password_path: str = setting(
        "tlsTrustStorePasswordPath", "", TEXT, "file with the password of tlsTrustStore", java="none"
    )
    tls_enabled_protocols: str = setting(
        "tlsEnabledProtocols", "", TEXT, "TLSv1.2, TLSv1.3, or both with a comma; empty: both", java="none"
    )
    tls_enabled_cipher_suites: str = setting(
        "tlsEnabledCipherSuites", "", TEXT, "suites by their names in Java or OpenSSL; empty: the usual ones",
        java="none",
    )  # fmt: skip
    tls_cert_files_refresh_duration_seconds: float = setting(
        "tlsCertFilesRefreshDurationSeconds", 5.0, decimal(0.0),
        "how soon changed files are used by new connections", unit="s", java="0",
    )  # fmt: skip

    @property
    def encrypts(self) -> bool:
        """Return whether connections between clients and bookies are encrypted."""
        return self.tls_provider_factory_class.lower() not in _OFF

    def _check(self) -> None:
        if self.encrypts:
            if not self.tls_provider_factory_class.endswith(_FACTORY):
                reason = f"no such class, expected one that ends with {_FACTORY}"
                raise self._error("tls_provider_factory_class", reason)
            return
        for name in _OF_TLS:
            value = str(getattr(self, name)).lower()
            if value not in _OFF | {"false"} and not self.allow_insecure_connections:
                raise self._error(name, "has an effect only with tlsProviderFactoryClass, which is not set")
