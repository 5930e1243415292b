"""HTTP over TLS: wraps the connections of a site (an HTTP server) in TLS, and applies the limits of the site to them.

A connection counts against the limits of the site from the moment it is accepted, so a client cannot evade them with a
slow handshake.  A handshake needs as much CPU time as many requests, because the server signs it with its private key.
Many small TLS records without data, such as KeyUpdate messages, need much CPU time, too.  So received bytes are not
decrypted at once: the connection enters the queue of the site, like a request.

The module needs the packages of the extra ``tls``.
"""

from collections.abc import Callable
from typing import Any, cast

from twisted.internet.interfaces import IAddress, ILoggingContext, IProtocolFactory, ITCPTransport
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from ..config.http import NONE, OPTIONAL, HttpConfig
from ..protocol.tls_layer import TlsLayer
from ..security.contexts import ServerTls, TlsSettings
from .channel import BoundedChannel, BoundedSite


def http_tls(config: HttpConfig, seconds: Callable[[], float]) -> ServerTls:
    """Return the object that makes the TLS connections of an HTTP server.

    :param seconds: returns the seconds since 1970.
    :raises bookkeeper_twisted.errors.ConfigError: a file cannot be used, or the extra ``tls`` is not installed.
    """
    certificates = config.http_server_tls_client_authentication
    settings = TlsSettings(
        prefix="httpServer", key_store_type=config.http_server_key_store_type,
        key_store=config.http_server_key_store_path, key_store_password=config.http_server_key_store_password,
        key_store_password_path=config.http_server_key_store_password_path,
        certificate_path=config.http_server_certificate_path,
        trust_store_type=config.http_server_trust_store_type, trust_store=config.http_server_trust_store_path,
        trust_store_password=config.http_server_trust_store_password,
        trust_store_password_path=config.http_server_trust_store_password_path,
        protocols=config.tls_enabled_protocols, ciphers=config.tls_enabled_cipher_suites,
        client_authentication=certificates != NONE, certificates_optional=certificates == OPTIONAL,
        refresh_seconds=config.tls_cert_files_refresh_duration_seconds,
    )  # fmt: skip
    return ServerTls(settings, seconds)


MOST_AT_ONCE = 16 * 1024
"""Maximum number of bytes received at a time.  To decrypt them takes at most 6 ms, even if their TLS records are tiny.
"""


class EncryptedHttpConnection(TlsLayer):
    """The TLS layer of one HTTP connection.

    When bytes have arrived, the layer puts itself into the queue in which the requests of the server wait, and decrypts
    the bytes in its turn.  So decryption cannot take all of the reactor's time.

    :param channel: the HTTP connection inside TLS.
    :param transport: the TCP connection below TLS.
    """

    def __init__(self, factory: TLSMemoryBIOFactory, channel: BoundedChannel, transport: Any, clock: Any) -> None:
        super().__init__(factory, channel, transport, clock, None)
        self._channel = channel
        self._arrived: list[bytes] = []
        channel.handshaken = False

    @property
    def expects_more(self) -> bool:
        """Return False, because an HTTP connection that ends without a TLS closing message is no error."""
        return False

    def dataReceived(self, data: bytes) -> None:
        if not self._arrived:
            self._channel.site.enter(self)
        self._arrived.append(data)
        self._below.put_off(True)

    def serve(self) -> None:
        """Decrypt the bytes that have arrived, and pass the data to the HTTP connection.

        If the connection was lost meanwhile, the TLS layer ignores the bytes.
        """
        arrived, self._arrived = b"".join(self._arrived), []
        self._below.put_off(False)
        super().dataReceived(arrived)


class _AcceptedConnection(Protocol):
    """The first protocol of an accepted TCP connection; it calls ``begin``, which replaces it by a TLS layer."""

    transport: Any

    def __init__(self, begin: Callable[[Any], None]) -> None:
        self._begin = begin

    def connectionMade(self) -> None:
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)
            self.transport.bufferSize = MOST_AT_ONCE  # type: ignore[attr-defined]
        self._begin(self.transport)


@implementer(ILoggingContext)
class EncryptedSite(ServerFactory):
    """The factory that makes the connections of an HTTP site over TLS.

    :param tls: makes the TLS layers, from the newest key and certificate files.
    :param clock: the reactor.
    """

    noisy = False

    def __init__(self, tls: ServerTls, site: BoundedSite, clock: Any) -> None:
        self._layers = TLSMemoryBIOFactory(tls, False, cast(IProtocolFactory, None), clock)
        self._site = site
        self._clock = clock

    def logPrefix(self) -> str:
        return self._site.logPrefix()

    def startFactory(self) -> None:
        self._site.doStart()

    def stopFactory(self) -> None:
        self._site.doStop()

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """Accept a connection; refuse it if the site refuses it."""
        channel = self._site.buildProtocol(addr)
        if channel is None:
            return None

        def begin(transport: Any) -> None:
            layer = EncryptedHttpConnection(self._layers, channel, transport, self._clock)
            transport.protocol = layer
            layer.begin()
            channel.makeConnection(layer)

        return _AcceptedConnection(begin)

    def opened(self, local: bool) -> str:
        """Decide whether requests need credentials; call this when the server has begun to listen.

        :param local: whether only processes of this machine can reach the server.
        :returns: who may use the server, as text for the end of the log line "the HTTP server listens on ...".
        """
        return f"over TLS, {self._site.opened(local)}"
