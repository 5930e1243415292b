"""The endpoints of a bookie and its HTTP server, made from Apache's address keys or Twisted's endpoint strings."""

from typing import Any, Protocol

from twisted.internet.address import UNIXAddress
from twisted.internet.endpoints import TCP4ServerEndpoint, serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import (
    IAddress,
    IListeningPort,
    ILoggingContext,
    IProtocolFactory,
    IStreamServerEndpoint,
)
from twisted.internet.protocol import ServerFactory
from zope.interface import implementer

from ...config.bookie import BookieConfig
from ...config.fields import fields_of
from ...errors import ConfigError
from ...protocol.direct_transport import direct_reactor
from ...protocol.server.connection import ServerConnection
from ...protocol.server.factory import BookieServerFactory
from .identity import is_loopback, listening_address

_BACKLOG = 1024
"""Maximum number of connections that wait to be accepted; large, because all clients reconnect after a restart."""

_FIELDS = fields_of(BookieConfig)


@implementer(ILoggingContext)
class Gate(ServerFactory):
    """The protocol factory of a port that is bound early: it closes each new connection until the bookie serves."""

    noisy = False
    inner: BookieServerFactory | None = None

    def buildProtocol(self, addr: IAddress | None) -> ServerConnection | None:
        return None if self.inner is None else self.inner.buildProtocol(addr)

    def logPrefix(self) -> str:
        return "the port of the bookie"


def bookie_endpoint(reactor: Any, config: BookieConfig) -> IStreamServerEndpoint:
    """Return the bookie's endpoint, from ``listenEndpoint``, or from ``listeningInterface`` and ``bookiePort``.

    Plain TCP connections write data to the socket immediately, without waiting for the reactor's next turn.  For other
    endpoints, such as TLS, Twisted's own connections are used.

    :raises ConfigError: the endpoint string is invalid, or ``listeningInterface`` is not an IP address.
    """
    reactor = direct_reactor(reactor)
    if config.listen_endpoint:
        return _parsed(reactor, config, "listen_endpoint")
    return TCP4ServerEndpoint(reactor, config.bookie_port, _BACKLOG, listening_address(config))


def http_endpoint(reactor: Any, config: BookieConfig) -> IStreamServerEndpoint:
    """Return the HTTP endpoint, from ``httpServerEndpoint``, or from ``httpServerHost`` and ``httpServerPort``.

    :raises ConfigError: the endpoint string is invalid.
    """
    if config.http_server_endpoint:
        return _parsed(reactor, config, "http_server_endpoint")
    return TCP4ServerEndpoint(reactor, config.http_server_port, interface=config.http_server_host)


async def listen(endpoint: IStreamServerEndpoint, factory: IProtocolFactory, key: str) -> IListeningPort:
    """Listen at an endpoint.

    :param factory: makes the protocol of each connection.
    :param key: the configuration key of the endpoint, for the text of the error.
    :raises ConfigError: the port of the endpoint is out of range.
    :raises twisted.internet.error.CannotListenError: the address is in use, or is not an address of this machine.
    """
    try:
        return await endpoint.listen(factory)
    except OverflowError as error:
        raise ConfigError(f"{key}: {error}") from None


async def listen_for_metrics(reactor: Any, config: BookieConfig, factory: IProtocolFactory) -> IListeningPort:
    """Listen for readers of metrics at ``prometheusStatsHttpAddress`` and ``prometheusStatsHttpPort``.

    :param factory: makes the protocols of connections.
    :raises ConfigError: the port is in use, or the address is not an address of this machine.
    """
    host, port = config.prometheus_stats_http_address, config.prometheus_stats_http_port
    try:
        return await listen(TCP4ServerEndpoint(reactor, port, interface=host), factory, "prometheusStatsHttpPort")
    except CannotListenError as error:
        origin = config.origin("prometheus_stats_http_port")
        reason = getattr(error.socketError, "strerror", error.socketError)
        raise ConfigError(
            f"prometheusStatsHttpPort = {port}, {origin}: cannot listen on {host}:{port} for /metrics: {reason}; "
            "prometheusStatsHttpEnable=false opens no port"
        ) from None


async def stop_listening(port: IListeningPort) -> None:
    """Close a ``port``, and wait until it is closed."""
    stopped = port.stopListening()
    if stopped is not None:
        await stopped


def loopback_of(listening: IListeningPort) -> str:
    """Return the address of a ``listening`` port if it is a loopback address, else an empty text."""
    host = str(getattr(listening.getHost(), "host", ""))
    return host if is_loopback(host) else ""


class HttpSite(Protocol):
    """The factory of the connections of an HTTP server."""

    def opened(self, local: bool) -> str:
        """Record that the server listens.

        :param local: whether only processes of this machine reach the server.
        :returns: a text that says who may use the server; the caller appends it to a log message.
        """


def opened(site: HttpSite, listening: IListeningPort) -> str:
    """Tell the HTTP ``site`` (by :meth:`HttpSite.opened`) that its server listens now, and describe the server.

    :param site: the site that the server serves.
    :param listening: the port of the server, which is bound.
    :returns: a log message that says where the server listens and who may use it.
    """
    address: Any = listening.getHost()
    where = f"{address.host}:{address.port}" if hasattr(address, "port") else str(address)
    local = bool(loopback_of(listening)) or isinstance(address, UNIXAddress)
    return f"the HTTP server listens on {where}, {site.opened(local)}".removesuffix(", ")


def describe_metrics(listening: IListeningPort) -> str:
    """Return a log message that says which machines can read the metrics at the separate port ``listening``."""
    address: Any = listening.getHost()
    where = f"{address.host}:{address.port}/metrics"
    if loopback_of(listening):
        return f"metrics are at {where}, for this machine alone: prometheusStatsHttpAddress=0.0.0.0 opens them"
    return f"metrics are at {where}, for every machine: prometheusStatsHttpAddress=127.0.0.1 closes them"


def _parsed(reactor: Any, config: BookieConfig, name: str) -> IStreamServerEndpoint:
    text: str = getattr(config, name)
    try:
        endpoint: IStreamServerEndpoint = serverFromString(reactor, text)
    except Exception as error:  # a plugin's parser may raise any exception
        reason = _reason(error, text.partition(":")[0])
        raise ConfigError(f"{_FIELDS[name].key} = {text!r}, {config.origin(name)}: {reason}") from error
    return endpoint


def _reason(error: Exception, kind: str) -> str:
    """Return a message for the user that says why Twisted refused an endpoint string of the type ``kind``."""
    if isinstance(error, ImportError):
        return f"endpoints of type {kind} need the module {error.name}, which is not installed"
    if isinstance(error, TypeError):
        return f"these are not the arguments of an endpoint of type {kind}"
    if isinstance(error, LookupError):
        return f"there is no such {kind} socket"
    return str(error)
