"""The page ``/metrics``: its text is made in short slices, so that adds and reads do not wait for a scrape."""

from collections.abc import Callable, Iterator
from typing import Any

from twisted.logger import Logger
from twisted.web.pages import errorPage
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from .routes import TEXT, Access, Route

_SLICE = 0.0005
_REST = 9
_LONGEST_REST = 1.0


class MetricsPage(Resource):
    """The page with all metrics as text.

    The text is generated in steps of about half a millisecond; between the steps, the reactor does other work.  The
    text is sent to all clients whose requests came before its first step.  The next text is begun after a pause of
    nine times the duration of the steps, so that the page takes at most a tenth of the process's time.

    :param pieces: yields the text, metric by metric.
    :param clock: the reactor.
    """

    isLeaf = True
    routes = (
        Route("GET", "/metrics", "all metrics in Prometheus text format", content=TEXT, access=Access.ANYONE),
    )
    _log = Logger()

    def __init__(self, pieces: Callable[[], Iterator[bytes]], clock: Any) -> None:
        super().__init__()
        self._pieces = pieces
        self._clock = clock
        self._waiting: list[Request] = []
        self._running = False
        self._rested = 0.0

    def render(self, request: Request) -> object:
        """Answer a GET or HEAD ``request`` with metrics that are read after its arrival; refuse other methods (405)."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            return errorPage(405, "Method Not Allowed", "This page can only be read.").render(request)
        self._waiting.append(request)
        self._schedule()
        return NOT_DONE_YET

    def _schedule(self) -> None:
        if self._waiting and not self._running:
            self._running = True
            rest = self._rested - self._clock.seconds()
            self._clock.callLater(max(0.0, min(rest, _LONGEST_REST)), self._begin)

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._proceed(waiting, iter(self._pieces()), [], 0.0)

    def _proceed(self, waiting: list[Request], pieces: Iterator[bytes], made: list[bytes], spent: float) -> None:
        """Make one slice of the text, then schedule the next slice; after the last slice, answer the requests.

        :param waiting: the requests to answer.
        :param pieces: yields the rest of the text.
        :param made: the metrics that are already formatted; this call appends to the list.
        :param spent: seconds that the slices before this one have taken.
        """
        began = now = self._clock.seconds()
        try:
            while now - began < _SLICE:
                made.append(next(pieces))
                now = self._clock.seconds()
        except StopIteration:
            self._end(waiting, 200, b"".join(made), spent + now - began)
        except Exception:
            self._log.failure("metrics could not be exported")
            self._end(waiting, 500, b"Internal Server Error\n", spent + now - began)
        else:
            self._clock.callLater(0, self._proceed, waiting, pieces, made, spent + now - began)

    def _end(self, waiting: list[Request], status: int, text: bytes, spent: float) -> None:
        self._running, self._rested = False, self._clock.seconds() + _REST * spent
        for request in waiting:
            if request.channel is not None:  # skip requests whose client has disconnected
                request.setResponseCode(status)
                request.setHeader(b"Content-Type", b"text/plain; version=0.0.4; charset=utf-8")
                request.setHeader(b"Content-Length", b"%d" % len(text))
                request.write(b"" if request.method == b"HEAD" else text)
                request.finish()
        self._schedule()
