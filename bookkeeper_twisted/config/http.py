"""The configuration keys of the HTTP servers of a bookie and of autorecovery: addresses, TLS, and access rules."""

import attrs

from .autorecovery import AutorecoveryConfig
from .fields import BOOLEAN, PRINCIPALS, TEXT, TEXTS, integer, one_of, setting
from .settings import derived

PORT = integer(0, 65535)
"""The :class:`~.fields.Kind` for TCP port numbers."""

AUTO, REQUIRED, OPTIONAL, NONE = "auto", "required", "optional", "none"


@attrs.frozen(kw_only=True)
class HttpConfig(AutorecoveryConfig):
    """The settings of the HTTP server of a process."""

    # -- HTTP --
    http_server_enabled: bool = setting("httpServerEnabled", False, BOOLEAN, "serve /metrics and /heartbeat")
    http_server_host: str = setting(
        "httpServerHost", "127.0.0.1", TEXT,
        "address the HTTP server listens on; 0.0.0.0 opens it to other machines, which httpAuthentication then checks",
        java="0.0.0.0",
    )  # fmt: skip
    http_server_allowed_hosts: tuple[str, ...] = setting(
        "httpServerAllowedHosts", (), TEXTS,
        "names by which the HTTP server may be asked, besides its addresses and the names of this machine; * is any",
        java="none",
    )  # fmt: skip
    http_server_port: int = setting("httpServerPort", 8080, PORT, "HTTP port; 0 lets the system choose one")
    http_server_endpoint: str = setting(
        "httpServerEndpoint", "", TEXT,
        "endpoint string of Twisted in the place of host and port, as unix:/run/bookie.sock",
        java="none",
    )  # fmt: skip
    http_authentication: str = setting(
        "httpAuthentication", AUTO, one_of(AUTO, REQUIRED, NONE),
        "whether requests need a token or a certificate; auto: where other machines reach the HTTP server", java="none",
    )  # fmt: skip
    http_admin_principals: tuple[str, ...] = setting(
        "httpAdminPrincipals", (), PRINCIPALS,
        "who may change states and read entries over HTTP: names of principals, role:NAME, URIs of certificates",
        java="none",
    )  # fmt: skip
    http_read_only: bool = setting(
        "httpReadOnly", False, BOOLEAN, "refuse all requests over HTTP that change a state, whoever sends them",
        java="none",
    )  # fmt: skip

    # -- HTTP over TLS --
    http_server_tls_enable: bool = setting("httpServerTlsEnable", False, BOOLEAN, "serve HTTP over TLS only")
    http_server_key_store_type: str = setting("httpServerKeyStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    http_server_key_store_path: str = setting(
        "httpServerKeyStorePath", "", TEXT, "store with the private key of the HTTP server; for PEM the key alone",
        java="none",
    )  # fmt: skip
    http_server_key_store_password: str = setting(
        "httpServerKeyStorePassword", "", TEXT, "password of that store", java="none", secret=True
    )
    http_server_key_store_password_path: str = setting(
        "httpServerKeyStorePasswordPath", "", TEXT, "file with that password; wins over httpServerKeyStorePassword",
        java="none",
    )  # fmt: skip
    http_server_certificate_path: str = setting(
        "httpServerCertificatePath", "", TEXT, "for PEM: the certificate of the key, then those of its issuers",
        java="none",
    )  # fmt: skip
    http_server_trust_store_type: str = setting("httpServerTrustStoreType", "JKS", TEXT, "JKS, PKCS12 or PEM")
    http_server_trust_store_path: str = setting(
        "httpServerTrustStorePath", "", TEXT, "store with the issuers of the certificates of HTTP clients", java="none"
    )
    http_server_trust_store_password: str = setting(
        "httpServerTrustStorePassword", "", TEXT, "password of that store", java="none", secret=True
    )
    http_server_trust_store_password_path: str = setting(
        "httpServerTrustStorePasswordPath", "", TEXT,
        "file with that password; wins over httpServerTrustStorePassword", java="none",
    )  # fmt: skip
    http_server_tls_client_authentication: str = setting(
        "httpServerTlsClientAuthentication",
        derived(lambda self: REQUIRED if self.http_server_trust_store_path else NONE), one_of(REQUIRED, OPTIONAL, NONE),
        "whether HTTP clients show a certificate; by default required if httpServerTrustStorePath is set",
        default_text="as httpServerTrustStorePath", java="required",
    )  # fmt: skip

    @property
    def has_keys(self) -> bool:
        """Whether the process has secrets in memory: private keys, secrets that sign tokens, or users' passwords."""
        return bool(
            self.tls_key_store or self.http_server_key_store_path or self.zk_ssl_key_store_location
            or self.token_key_file or self.client_auth_token_file or self.sasl_jaas_config
        )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        if self.http_server_tls_enable:
            self._check_http_tls()
            return
        for name in ("http_server_key_store_path", "http_server_certificate_path", "http_server_trust_store_path"):
            if getattr(self, name) and not self.allow_insecure_connections:
                raise self._error(name, "has an effect only with httpServerTlsEnable=true")

    def _check_http_tls(self) -> None:
        if self.http_server_endpoint.startswith("ssl:"):
            raise self._error("http_server_endpoint", "the endpoint has TLS already: httpServerTlsEnable is for others")
        if not self.http_server_key_store_path:
            raise self._error("http_server_tls_enable", "httpServerKeyStorePath is not set: it has to name a file")
        if self.http_server_tls_client_authentication != NONE and not self.http_server_trust_store_path:
            reason = "needs httpServerTrustStorePath, which is not set"
            raise self._error("http_server_tls_client_authentication", reason)
