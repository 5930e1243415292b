"""Sends requests of the shell to the HTTP server of a bookie."""

from functools import partial
from io import BytesIO
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Protocol
from twisted.internet.task import Cooperator
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, ResponseDone, ResponseFailed

TIMEOUT = 10.0
"""Seconds within which an answer must come."""

MAX_BODY = 1 << 20
"""The most bytes of the body of an answer."""


async def send(reactor: Any, method: str, url: str, body: bytes) -> tuple[int, bytes]:
    """Send an HTTP request.

    :param method: HTTP method, such as ``GET``.
    :param url: URL with scheme ``http``.
    :param body: body of the request; empty for none.
    :returns: status and body of the answer.
    :raises OSError: no answer came, or it is too long.
    """
    agent = Agent(reactor, connectTimeout=TIMEOUT)
    producer = FileBodyProducer(BytesIO(body), Cooperator(scheduler=partial(reactor.callLater, 0))) if body else None

    async def answered() -> tuple[int, bytes]:
        response = await agent.request(method.encode(), url.encode(), bodyProducer=producer)
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
