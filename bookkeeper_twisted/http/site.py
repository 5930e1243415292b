"""The small HTTP server of a bookie: metrics and a heartbeat."""

from collections.abc import Callable

from twisted.internet.interfaces import ILoggingContext
from twisted.web import http
from twisted.web.pages import errorPage, notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site
from zope.interface import implementer

from ..bookie.admin import IBookieAdmin
from ..metrics import process_registry, render


class TextPage(Resource):
    """A page of plain text that is made for each request.

    :param content_type: with the version, if the format has one.
    """

    def __init__(self, text: Callable[[], bytes], content_type: str = "text/plain; charset=utf-8") -> None:
        super().__init__()
        self._text = text
        self._content_type = content_type

    def getChild(self, path: bytes, request: Request) -> IResource:
        return notFound()

    def render(self, request: Request) -> object:
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            return errorPage(405, "Method Not Allowed", "This page can only be read.").render(request)
        request.setHeader(b"Content-Type", self._content_type.encode())
        text = self._text()
        if request.method == b"HEAD":  # with a body twisted.web writes a warning
            request.setHeader(b"Content-Length", b"%d" % len(text))
            return b""
        return text


class _Root(Resource):
    """What is not there is not found."""

    def getChild(self, path: bytes, request: Request) -> IResource:
        return notFound()


@implementer(ILoggingContext)
class _QuietSite(Site):
    """Has no line in the log for a connection or a request: scrapes come every few seconds."""

    noisy = False

    def logPrefix(self) -> str:
        return "the HTTP server"

    def log(self, request: http.Request) -> None:
        """Writes nothing."""


def make_site(admin: IBookieAdmin) -> Site:
    """Make the site of one bookie: ``/metrics``, its metrics and those of its process as text, and ``/heartbeat``."""
    root = _Root()
    process = process_registry()
    metrics = TextPage(lambda: admin.metrics() + render(process), "text/plain; version=0.0.4; charset=utf-8")
    root.putChild(b"metrics", metrics)
    root.putChild(b"heartbeat", TextPage(lambda: b"OK\n"))
    return _QuietSite(root)
