"""Sends requests of the shell to the HTTP server of a bookie."""

from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.protocol import Protocol
from twisted.internet.task import Cooperator
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, ResponseDone, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from ..authentication.tokens import read_token
from ..bookie.lifecycle.identity import is_loopback
from ..config.client import ClientConfig
from ..security.contexts import ClientTls, settings_of

TIMEOUT = 10.0
"""Seconds within which an answer must come."""

MAX_BODY = 1 << 20
"""The most bytes of the body of an answer."""


@implementer(IPolicyForHTTPS)
class _Trust:
    """The TLS settings of requests, from the configuration of a client of bookies."""

    def __init__(self, tls: ClientTls) -> None:
        self._tls = tls

    def creatorForNetloc(self, hostname: bytes, port: int) -> IOpenSSLClientConnectionCreator:
        return self._tls.connecting_to(hostname.decode("ascii"))


async def send(reactor: Any, method: str, url: str, body: bytes, config: ClientConfig) -> tuple[int, bytes]:
    """Send an HTTP request.

    :param method: HTTP method, such as ``GET``.
    :param url: URL with scheme ``http`` or ``https``.
    :param body: body of the request; empty for none.
    :param config: configuration of a client of bookies: its TLS is used, and its token is sent.  The token is not sent
        in clear to other machines unless ``tokenInClear`` is set.
    :returns: status and body of the answer.
    :raises OSError: no answer came, or it is too long.
    :raises ConfigError: a file of TLS or of the token cannot be used.
    """
    encrypted = url.startswith("https://")
    agent = Agent(reactor, connectTimeout=TIMEOUT)
    if encrypted:
        agent = Agent(reactor, _Trust(ClientTls(settings_of(config), reactor.seconds)), TIMEOUT)
    headers = Headers()
    if config.client_auth_token_file and (encrypted or config.token_in_clear or _is_local(url)):
        headers.addRawHeader(b"Authorization", b"Bearer " + read_token(config.client_auth_token_file))
    producer = FileBodyProducer(BytesIO(body), Cooperator(scheduler=partial(reactor.callLater, 0))) if body else None

    async def answered() -> tuple[int, bytes]:
        response = await agent.request(method.encode(), url.encode(), headers, producer)
        reading = _Body()
        response.deliverBody(reading)
        return response.code, await reading.whole

    try:
        return await Deferred.fromCoroutine(answered()).addTimeout(TIMEOUT, reactor)
    except ResponseFailed as error:
        raise OSError(f"{url}: {'; '.join(failure.getErrorMessage() for failure in error.reasons)}") from None
    except (ConnectError, TimeoutError) as error:
        raise OSError(f"{url}: {error}") from None
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

    def __init__(self) -> None:
        self.whole: Deferred[bytes] = Deferred()
        self._parts: list[bytes] = []
        self._size = 0

    def dataReceived(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= MAX_BODY:
            self._parts.append(data)
        elif self.transport is not None:
            self.transport.loseConnection()

    def connectionLost(self, reason: Failure | None = None) -> None:
        if self.whole.called:
            return
        if self._size > MAX_BODY:
            self.whole.errback(ResponseFailed([Failure(ValueError(f"more than {MAX_BODY} bytes"))]))
        elif reason is not None and reason.check(ResponseDone):
            self.whole.callback(b"".join(self._parts))
        else:
            self.whole.errback(ResponseFailed([reason]))
