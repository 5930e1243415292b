"""``/metrics``, made in slices over several reactor turns so that no add or read waits for a scrape."""

from collections.abc import Callable, Iterator
from typing import Any

from twisted.logger import Logger
from twisted.web.pages import errorPage
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

_SLICE = 0.0005
_REST = 9
_LONGEST_REST = 1.0


class MetricsPage(Resource):
    """The page with the metrics of a registry as text, made once for all requests that are waiting.

    A slice ends with the metric that completes half a millisecond.  Texts take a tenth of the time at most: the next
    is begun once nine times as long has passed as the slices of the last one took.

    :param pieces: yields the text, metric by metric.
    :param clock: of the reactor.
    """

    isLeaf = True
    _log = Logger()

    def __init__(self, pieces: Callable[[], Iterator[bytes]], clock: Any) -> None:
        super().__init__()
        self._pieces = pieces
        self._clock = clock
        self._waiting: list[Request] = []
        self._running = False
        self._rested = 0.0

    def render(self, request: Request) -> object:
        """Answer a GET or HEAD ``request`` with metrics read after its arrival, and any other method with 405."""
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
        """Make one slice of the text.

        :param waiting: the requests that are answered in the end.
        :param spent: seconds in the slices before.
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
            if request.channel is not None:  # skip requests whose peer has disconnected
                request.setResponseCode(status)
                request.setHeader(b"Content-Type", b"text/plain; version=0.0.4; charset=utf-8")
                request.setHeader(b"Content-Length", b"%d" % len(text))
                request.write(b"" if request.method == b"HEAD" else text)
                request.finish()
        self._schedule()
