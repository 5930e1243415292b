"""Sends requests of the shell, and of ``bookkeeper-spark``, to the HTTP server of a bookie."""

from functools import partial
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlsplit

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import (
    IOpenSSLClientConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Protocol
from twisted.internet.task import Cooperator
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, FileBodyProducer, ResponseDone, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from ..authentication.tokens import read_token
from ..bookie.lifecycle.identity import is_loopback
from ..config.client import ClientConfig
from ..security.contexts import ClientTls, settings_of

TIMEOUT = 10.0
"""Seconds within which an answer must come, unless the caller says otherwise."""

MAX_BODY = 1 << 20
"""Maximum number of bytes of the body of an answer, unless the caller says otherwise."""


@implementer(IAgentEndpointFactory)
class _Servers:
    """Makes the endpoints by which Twisted's HTTP client connects to servers, with TLS if ``tls`` is not None.

    Twisted's own TLS endpoint is not used, because it needs the globally installed reactor; in Spark, another reactor
    runs.
    """

    def __init__(self, reactor: Any, tls: ClientTls | None) -> None:
        self._reactor = reactor
        self._tls = tls

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        host = uri.host.decode("ascii")
        endpoint = HostnameEndpoint(self._reactor, host, uri.port, TIMEOUT)
        return endpoint if self._tls is None else _Encrypted(endpoint, self._tls.connecting_to(host), self._reactor)


@implementer(IStreamClientEndpoint)
@attrs.frozen
class _Encrypted:
    """An endpoint that connects over TLS.

    :ivar endpoint: makes the TCP connections.
    :ivar creator: makes the TLS layer of a connection.
    :ivar clock: the running reactor.
    """

    endpoint: IStreamClientEndpoint
    creator: IOpenSSLClientConnectionCreator
    clock: Any

    def connect(self, factory: IProtocolFactory) -> "Deferred[IProtocol]":
        from twisted.protocols.tls import TLSMemoryBIOFactory

        layers = TLSMemoryBIOFactory(self.creator, True, factory, self.clock)
        return self.endpoint.connect(layers).addCallback(lambda layer: cast(Any, layer).wrappedProtocol)


async def send(
    reactor: Any, method: str, url: str, body: bytes, config: ClientConfig, timeout: float = TIMEOUT,
    max_body: int = MAX_BODY,
) -> tuple[int, bytes]:  # fmt: skip
    """Send an HTTP request.

    :param method: HTTP method, such as ``GET``.
    :param url: URL with scheme ``http`` or ``https``.
    :param body: body of the request; empty for none.
    :param config: configuration of a BookKeeper client, which contains the TLS settings and names the file of the
        token that is sent.  Without TLS, the token is sent only to this machine, unless ``tokenInClear`` is set.
    :param timeout: seconds within which the answer must come.
    :param max_body: maximum number of bytes of the body of the answer.
    :returns: status and body of the answer.
    :raises OSError: no answer came, or it is too long.
    :raises ConfigError: the file of a certificate, a key or a token cannot be used.
    """
    encrypted = url.startswith("https://")
    tls = ClientTls(settings_of(config), reactor.seconds) if encrypted else None
    agent = Agent.usingEndpointFactory(reactor, _Servers(reactor, tls))
    headers = Headers()
    if config.client_auth_token_file and (encrypted or config.token_in_clear or _is_local(url)):
        headers.addRawHeader(b"Authorization", b"Bearer " + read_token(config.client_auth_token_file))
    producer = FileBodyProducer(BytesIO(body), Cooperator(scheduler=partial(reactor.callLater, 0))) if body else None

    async def answered() -> tuple[int, bytes]:
        response = await agent.request(method.encode(), url.encode(), headers, producer)
        reading = _Body(max_body)
        response.deliverBody(reading)
        return response.code, await reading.whole

    try:
        return await Deferred.fromCoroutine(answered()).addTimeout(timeout, reactor)
    except ResponseFailed as error:
        raise OSError(f"{url}: {'; '.join(failure.getErrorMessage() for failure in error.reasons)}") from None
    except (ConnectError, TimeoutError) as error:
        raise OSError(f"{url}: {str(error) or 'no answer in time'}") from None
    except (ValueError, IndexError):  # Twisted raises these errors for a URL that it cannot parse
        raise OSError(f"{url}: no address of an HTTP server") from None


def _is_local(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


class _Body(Protocol):
    """Collects the body of an HTTP answer.

    :ivar whole: fires with the complete body.
    """

    def __init__(self, max_size: int) -> None:
        self.whole: Deferred[bytes] = Deferred()
        self._max_size = max_size
        self._parts: list[bytes] = []
        self._size = 0

    def dataReceived(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._max_size:
            self._parts.append(data)
        elif self.transport is not None:
            self.transport.loseConnection()

    def connectionLost(self, reason: Failure | None = None) -> None:
        if self.whole.called:
            return
        if self._size > self._max_size:
            self.whole.errback(ResponseFailed([Failure(ValueError(f"more than {self._max_size} bytes"))]))
        elif reason is not None and reason.check(ResponseDone):
            self.whole.callback(b"".join(self._parts))
        else:
            self.whole.errback(ResponseFailed([reason]))
