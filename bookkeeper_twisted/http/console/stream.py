"""The stream of the console: one HTTP response with server-sent events for each viewer."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.pages import errorPage
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from ...errors import IncorrectParameterError
from ...protocol.direct_transport import unread_bytes
from ..api import Answer, api_request_of, begin_answer, send_answer
from ..routes import Route
from .feed import MAX_VIEWERS, ConsoleFeed

_EVENTS = b"text/event-stream"
_PIECE = 32 * 1024
"""Maximum number of bytes of an event that are copied to a connection at a time.  All viewers share the memory of the
event, so a slow viewer uses only this much memory of its own.
"""

MOST_SECONDS = 600.0
"""Seconds after which a stream ends.  The page connects again at once, and has to show again who it is: its token may
have expired since then.
"""


@implementer(IPushProducer)
class EventStream:
    """The event stream to the browser of one viewer of the console.

    While the browser does not read, events are dropped; when it reads again, the whole present state is sent instead.
    """

    def __init__(self, request: Request, feed: ConsoleFeed, clock: Any) -> None:
        self._request = request
        self._feed = feed
        self._clock = clock
        self._rest = memoryview(b"")
        self._is_full = self._is_behind = False
        self._read_at = clock.seconds()
        self._expected = 0
        self._ending: IDelayedCall | None = None

    def begin(self) -> None:
        """Set the headers of the response, and send the first events."""
        request = self._request
        request.setHeader(b"Content-Type", b"text/event-stream; charset=utf-8")
        request.setHeader(b"Cache-Control", b"no-store")
        request.setHeader(b"X-Accel-Buffering", b"no")
        request.registerProducer(self, True)
        self._ending = self._clock.callLater(MOST_SECONDS, self._end_in_time)
        request.notifyFinish().addBoth(self._gone)
        self._feed.join(self, (request.getHeader("Last-Event-ID") or "")[:100])

    def _gone(self, result: object) -> None:
        self._feed.leave(self)
        if self._ending is not None and self._ending.active():
            self._ending.cancel()

    def _end_in_time(self) -> None:
        self._feed.expect_return()
        self.end()

    # -- as a viewer --

    def send(self, event: bytes) -> None:
        """Write an ``event`` to the connection; if the connection is full, drop the event and send a snapshot later."""
        if self._is_full:
            self._is_behind = True
        else:
            self._rest = memoryview(event)
            self._write()

    def _write(self) -> None:
        while self._rest and not self._is_full:
            piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
            self._expected += len(piece)
            self._request.write(bytes(piece))

    @property
    def unread(self) -> int:
        kept = 0
        if self._request.channel is not None:
            descriptor = getattr(self._request.channel.transport, "fileno", None)
            kept = 0 if descriptor is None else unread_bytes(descriptor())
        return kept + len(self._rest)

    def idle_for(self) -> float:
        """Return the number of seconds for which the client has read nothing although there are unread bytes."""
        now, unread = self._clock.seconds(), self.unread
        if unread < self._expected or not (unread or self._is_full):
            self._read_at = now
        self._expected = unread
        return float(now - self._read_at)

    def end(self) -> None:
        """End the response, because the server stops, a new viewer needs the place, or it has lasted long enough."""
        if self._request.channel is not None:
            self._request.unregisterProducer()
            self._request.finish()

    def drop(self) -> None:
        """Abort the connection, because the viewer does not read."""
        if self._request.channel is not None:
            transport: Any = self._request.channel.transport
            transport.abortConnection()

    # -- as a producer --

    def pauseProducing(self) -> None:
        self._is_full = True

    def resumeProducing(self) -> None:
        self._is_full, self._read_at = False, self._clock.seconds()
        self._write()
        if self._is_behind and not self._is_full:
            self._is_behind = False
            self.send(self._feed.snapshot())

    def stopProducing(self) -> None:
        self._feed.leave(self)


class StreamPage(Resource):
    """The page that streams the console's data as server-sent events.

    Clients that do not accept ``text/event-stream`` get one JSON object.

    :param feed: collects the data, and sends the events.
    :param clock: the reactor.
    """

    isLeaf = True
    routes = (
        Route("GET", "/api/v1/console/stream", "all parts of the console as JSON; with ``Accept: text/event-stream``, "
              "server-sent events: a snapshot, then changes", refusals=(503,)),
    )  # fmt: skip
    _log = Logger()

    def __init__(self, feed: ConsoleFeed, clock: Any) -> None:
        super().__init__()
        self._feed = feed
        self._clock = clock

    def render(self, request: Request) -> object:
        """Answer a GET or HEAD ``request``; refuse other methods (405), and too many viewers (503)."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            return errorPage(405, "Method Not Allowed", "This page can only be read.").render(request)
        try:
            api_request_of(request).check(self.routes[0])
        except IncorrectParameterError as error:
            return begin_answer(request, Answer(str(error), 400))
        if request.method == b"GET" and _EVENTS in (request.getHeader(b"accept") or b""):
            if not self._feed.make_room():
                return begin_answer(request, Answer(f"There are {MAX_VIEWERS} viewers already\n", 503))
            EventStream(request, self._feed, self._clock).begin()
            return NOT_DONE_YET
        reading = Deferred.fromCoroutine(self._feed.read_all())
        request.notifyFinish().addErrback(lambda _: reading.cancel())
        reading.addCallbacks(_json_text, self._failed).addCallback(send_answer, request)
        return NOT_DONE_YET

    def _failed(self, failure: Failure) -> Answer:
        self._log.failure("the console could not be read", failure)
        return Answer("Internal Server Error", 500)


def _json_text(text: str) -> Answer:
    return Answer(text, 200, "application/json; charset=utf-8")
