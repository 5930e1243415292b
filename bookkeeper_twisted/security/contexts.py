"""TLS connections of a bookie and of a client, made from key files that may change while the process runs."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLServerConnectionCreator
from twisted.logger import Logger
from zope.interface import implementer

from ..config.tls import TlsConfig
from ..errors import ConfigError, IncorrectParameterError
from ..masking import masked
from .files import FromFiles

if TYPE_CHECKING:
    from ssl import SSLContext, SSLSocket

    from cryptography.x509 import Certificate
    from OpenSSL.SSL import Connection, Context
    from twisted.protocols.tls import TLSMemoryBIOProtocol

    from .keys import KeyAndChain, StoreFiles

C = TypeVar("C")

KINDS = ("PEM", "PKCS12", "JKS")
"""Types of stores, as Java names them."""

PROTOCOLS = ("TLSv1.2", "TLSv1.3")
"""Java's names of the protocols that this package supports."""

_OLD = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
"""Java's names of older protocols, which are ignored in the configuration, because RFC 8996 forbids them."""

_SUFFIXES = {"tls": "", "httpServer": "Path", "zkSsl": "Location"}
"""For each prefix of configuration keys, the suffix of the keys that name the file of a store.

For example, ``httpServer`` has the key ``httpServerKeyStorePath``, and ``zkSsl`` has ``zkSslKeyStoreLocation``.
"""


def _words(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in a comma-separated string, or in a sequence of names."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())


def _kind(given: str) -> str:
    return given.strip().upper()


@attrs.frozen(kw_only=True)
class TlsSettings:
    """The settings of TLS; names in quotes are configuration keys of ``bk_server.conf``.

    :ivar key_store_type: ``PEM``, ``PKCS12`` or ``JKS`` ("tlsKeyStoreType").
    :ivar key_store: the file with the private key in PEM, or the file of the PKCS12 or JKS store ("tlsKeyStore").
    :ivar key_store_password_path: the file with the password of the key store; may be empty
        ("tlsKeyStorePasswordPath").
    :ivar certificate_path: the file with the chain of the key's certificate, if the store type is PEM
        ("tlsCertificatePath").
    :ivar trust_store_type: ``PEM``, ``PKCS12`` or ``JKS``, for the trust store ("tlsTrustStoreType").
    :ivar trust_store: the file with the certificates of trusted issuers ("tlsTrustStore").
    :ivar trust_store_password_path: the file with the password of the trust store; may be empty
        ("tlsTrustStorePasswordPath").
    :ivar protocols: the enabled protocols, as a tuple or as a text with commas; empty for all ("tlsEnabledProtocols").
        Protocols before TLS 1.2 are left out.
    :ivar ciphers: names of cipher suites in Java (IANA) or OpenSSL, as a tuple or as a text with commas; empty for the
        default ("tlsEnabledCipherSuites").
    :ivar client_authentication: in a bookie, whether clients must send a certificate; in a client, whether the client
        sends its certificate ("tlsClientAuthentication").
    :ivar certificates_optional: in a bookie with ``client_authentication``, whether to accept clients that send no
        certificate.
    :ivar key_store_password: the password of the key store, if no password file is named.
    :ivar trust_store_password: the password of the trust store, if no password file is named.
    :ivar prefix: the first part of the configuration keys that name the files, for the text of errors: ``tls``,
        ``httpServer`` or ``zkSsl``.
    :ivar hostname_verification: whether the certificate of a bookie must contain the host to which the client connects
        ("tlsHostnameVerificationEnabled").
    :ivar refresh_seconds: minimum number of seconds between two checks of the files for changes.
    """

    key_store_type: str = attrs.field(default="JKS", converter=_kind)
    key_store: str = ""
    key_store_password_path: str = ""
    certificate_path: str = ""
    trust_store_type: str = attrs.field(default="JKS", converter=_kind)
    trust_store: str = ""
    trust_store_password_path: str = ""
    protocols: tuple[str, ...] = attrs.field(default=PROTOCOLS, converter=_words)
    ciphers: tuple[str, ...] = attrs.field(default=(), converter=_words)
    client_authentication: bool = False
    hostname_verification: bool = True
    refresh_seconds: float = 5.0
    certificates_optional: bool = False
    key_store_password: str = attrs.field(default="", repr=masked)
    trust_store_password: str = attrs.field(default="", repr=masked)
    prefix: str = "tls"

    def __attrs_post_init__(self) -> None:
        for key, kind in (("KeyStoreType", self.key_store_type), ("TrustStoreType", self.trust_store_type)):
            if kind not in KINDS:
                raise ConfigError(f"{self.prefix}{key} = {kind!r}: expected one of {', '.join(KINDS)}")
        for name in self.protocols:
            if name not in PROTOCOLS and name not in _OLD:
                raise ConfigError(f"tlsEnabledProtocols: {name!r} is unknown, expected {' or '.join(PROTOCOLS)}")
        if not self.spoken:
            raise ConfigError(
                f"tlsEnabledProtocols = {','.join(self.protocols)!r}: only {' and '.join(PROTOCOLS)} are spoken"
            )

    @property
    def spoken(self) -> tuple[str, ...]:
        """The TLS protocols that the settings enable and this package supports."""
        return tuple(name for name in PROTOCOLS if name in self.protocols or not self.protocols)

    @property
    def keys(self) -> "StoreFiles":
        """The files of the key store."""
        from .keys import StoreFiles

        return StoreFiles(
            f"{self.prefix}KeyStore", self.key_store_type, self.key_store, self.key_store_password_path,
            self.certificate_path if self.key_store_type == "PEM" else "", self.key_store_password,
            self._suffix, "zkSslKeyStoreLocation" if self.prefix == "zkSsl" else f"{self.prefix}CertificatePath",
        )  # fmt: skip

    @property
    def trusted(self) -> "StoreFiles":
        """The files of the trust store."""
        from .keys import StoreFiles

        return StoreFiles(
            f"{self.prefix}TrustStore", self.trust_store_type, self.trust_store, self.trust_store_password_path,
            password=self.trust_store_password, suffix=self._suffix,
        )  # fmt: skip

    @property
    def _suffix(self) -> str:
        return _SUFFIXES[self.prefix]


def settings_of(config: TlsConfig) -> TlsSettings:
    """Return the settings of TLS in a configuration.

    :raises ConfigError: a store type or a protocol is unknown, or no supported protocol is enabled.
    """
    return TlsSettings(
        key_store_type=config.tls_key_store_type, key_store=config.tls_key_store,
        key_store_password_path=config.tls_key_store_password_path, certificate_path=config.tls_certificate_path,
        trust_store_type=config.tls_trust_store_type, trust_store=config.tls_trust_store,
        trust_store_password_path=config.tls_trust_store_password_path,
        protocols=config.tls_enabled_protocols, ciphers=config.tls_enabled_cipher_suites,
        client_authentication=config.tls_client_authentication,
        hostname_verification=config.tls_hostname_verification_enabled,
        refresh_seconds=config.tls_cert_files_refresh_duration_seconds,
    )  # fmt: skip


class _Tls(Generic[C]):
    """The TLS contexts of one side (bookie or client), made from files that its settings name.

    :cvar what: a name for the files, for the log.
    :param seconds: returns the time in seconds since 1970, as a reactor does.
    :raises ConfigError: a file cannot be used, a setting is wrong, or the extra ``tls`` is not installed.
    """

    what = "the files of TLS"
    _log = Logger()

    def __init__(self, settings: TlsSettings, seconds: Callable[[], float]) -> None:
        _require_library()
        self._settings = settings
        self._seconds = seconds
        paths = [path for store in self._stores(settings) for path in store.paths]
        self._context = FromFiles(self.what, paths, self._make, seconds, settings.refresh_seconds)

    def _stores(self, settings: TlsSettings) -> Iterable["StoreFiles"]:
        """Return the key store and the trust store that this side needs; implemented by each subclass.
        """
        raise NotImplementedError

    def _make(self) -> C:
        """Read the files and make a TLS context; implemented by each subclass."""
        raise NotImplementedError


@implementer(IOpenSSLServerConnectionCreator)
class ServerTls(_Tls["Context"]):
    """Makes the TLS ends of a bookie's connections to clients, from key files that may change.

    :param seconds: returns the time in seconds since 1970, as a reactor does.
    :raises ConfigError: a file cannot be used, a setting is wrong, or the extra ``tls`` is not installed.
    """

    def _stores(self, settings: TlsSettings) -> Iterable["StoreFiles"]:
        return (settings.keys, settings.trusted) if settings.client_authentication else (settings.keys,)

    def _make(self) -> "Context":
        from . import keys, openssl

        identity = keys.read_identity(self._settings.keys)
        trusted = keys.read_trusted(self._settings.trusted) if self._settings.client_authentication else None
        context = openssl.server_context(
            identity, trusted, self._settings.spoken, self._settings.ciphers, not self._settings.certificates_optional
        )
        self._expires_at = min(certificate.not_valid_after_utc for certificate in identity.chain).timestamp()
        read = (self._settings.keys, identity.chain), (self._settings.trusted, trusted or ())
        _warn(self._log, self._seconds(), read)
        return context

    def expires_at(self) -> float:
        """Return the earliest expiry of a certificate in the server's own chain, in seconds since 1970.

        If the files have changed, first read them again.
        """
        self._context.get()
        return self._expires_at

    def serverConnectionForTLS(self, tlsProtocol: "TLSMemoryBIOProtocol") -> "Connection":
        from . import openssl

        return openssl.EncryptedConnection(self._context.get(), None)


class _ClientStores(_Tls[C]):
    """The base class of the makers of TLS connections for clients: reads the trust store and, if used, the key store.
    """

    def _stores(self, settings: TlsSettings) -> Iterable["StoreFiles"]:
        return (settings.keys, settings.trusted) if settings.client_authentication else (settings.trusted,)

    def _read(self) -> tuple["KeyAndChain | None", tuple["Certificate", ...]]:
        """Return the client's key with its chain (None if it sends no certificate), and the trusted certificates."""
        from . import keys

        identity = keys.read_identity(self._settings.keys) if self._settings.client_authentication else None
        trusted = keys.read_trusted(self._settings.trusted)
        shown = identity.chain if identity is not None else ()
        _warn(self._log, self._seconds(), ((self._settings.keys, shown), (self._settings.trusted, trusted)))
        return identity, trusted


class ClientTls(_ClientStores["Context"]):
    """Makes the TLS ends of a client's connections to bookies, from key files that may change.

    With TLS 1.3, the client completes its handshake before the bookie has verified the client's certificate.  If the
    bookie refuses the certificate, the client receives a TLS alert after its handshake.

    :param seconds: returns the time in seconds since 1970, as a reactor does.
    :raises ConfigError: a file cannot be used, a setting is wrong, or the extra ``tls`` is not installed.
    """

    def _make(self) -> "Context":
        from . import openssl

        return openssl.client_context(*self._read(), self._settings.spoken, self._settings.ciphers)

    def connecting_to(self, host: str) -> IOpenSSLClientConnectionCreator:
        """Return an object that makes TLS connections to the bookie at ``host``.

        :param host: a host name or an IP address, without a port.
        :raises IncorrectParameterError: ``host`` is neither a host name nor an IP address.
        """
        try:
            name = host.removesuffix(".").encode("idna").decode("ascii")
        except UnicodeError:
            name = ""
        if not name:
            raise IncorrectParameterError(f"host: {host!r} is no host name")
        return _ToHost(name, self._context.get, self._settings.hostname_verification)


class SocketTls(_ClientStores["SSLContext"]):
    """Makes TLS connections for a client that uses blocking sockets on threads, such as kazoo.

    :param seconds: a thread-safe function that returns the time in seconds since 1970.
    :raises ConfigError: a file cannot be used, a setting is wrong, or the extra ``tls`` is not installed.
    """

    what = "the files of TLS to ZooKeeper"

    def _make(self) -> "SSLContext":
        from . import sockets

        return sockets.socket_context(*self._read(), self._settings.spoken, self._settings.hostname_verification)

    def wrapped(self, plain: Any, host: str) -> "SSLSocket":
        """Make the TLS handshake on a connection; this blocks.

        :param plain: a connected socket with a timeout.
        :param host: the host name or address to which the socket is connected.
        :raises OSError: one side refuses the TLS handshake, or the handshake has timed out.
        """
        return self._context.get().wrap_socket(plain, server_hostname=host)


@implementer(IOpenSSLClientConnectionCreator)
class _ToHost:
    """A factory of TLS connection objects for connections to one host."""

    def __init__(self, host: str, context: Callable[[], "Context"], verified: bool) -> None:
        self._host = host
        self._context = context
        self._verified = verified

    def clientConnectionForTLS(self, tlsProtocol: "TLSMemoryBIOProtocol") -> "Connection":
        from . import openssl

        return openssl.HostConnection(self._context(), self._host, self._verified)


def _require_library() -> None:
    try:
        from . import openssl  # noqa: F401
    except ImportError as error:
        name = (error.name or "a library").partition(".")[0]
        raise ConfigError(f"TLS needs {name}, which is not installed: pip install 'bookkeeper-twisted[tls]'") from None


def _warn(log: Logger, now: float, read: Iterable[tuple["StoreFiles", Iterable["Certificate"]]]) -> None:
    """Log a warning for each certificate in the files that has expired."""
    from .keys import expired

    for files, certificates in read:
        for sentence in expired(files, certificates, datetime.fromtimestamp(now, UTC)):
            log.warn("{sentence}", sentence=sentence)
