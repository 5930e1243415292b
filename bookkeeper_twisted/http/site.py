"""The HTTP servers of a bookie and of autorecovery: metrics, a heartbeat, paths of Apache's that exist here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.interfaces import ILoggingContext
from twisted.web import http
from twisted.web.pages import errorPage, notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site
from zope.interface import implementer

from ..adaptive import ISpeedLimits
from ..bookie.admin import IBookieAdmin
from ..metrics import process_registry, render
from .autorecovery_api import AutorecoveryApi
from .background_api import BackgroundApi
from .bookie_api import BookieApi, CheckSanity
from .cluster_api import ClusterApi, SharedClient
from .limits_api import ConfigurationApi, LimitsApi, limits_of_autorecovery, limits_of_bookie


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
        """Answer GET and HEAD of a ``request`` with the text of now; 405 to any other method."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            return errorPage(405, "Method Not Allowed", "This page can only be read.").render(request)
        request.setHeader(b"Content-Type", self._content_type.encode())
        text = self._text()
        if request.method == b"HEAD":  # with a body twisted.web writes a warning
            request.setHeader(b"Content-Length", b"%d" % len(text))
            return b""
        return text


class _Paths(Resource):
    """Finds a page by its whole path; what is not there is not found."""

    isLeaf = True

    def __init__(self, pages: Mapping[str, Resource]) -> None:
        super().__init__()
        self._pages = pages

    def render(self, request: Request) -> object:
        path = request.path.decode("ascii", "replace").strip("/")
        return self._pages.get(path, notFound()).render(request)


@implementer(ILoggingContext)
class _QuietSite(Site):
    """Has no line in the log for a connection or a request: scrapes come every few seconds."""

    noisy = False
    closing: Sequence[Callable[[], object]] = ()

    def stopFactory(self) -> None:
        super().stopFactory()
        for close in self.closing:
            close()

    def logPrefix(self) -> str:
        return "the HTTP server"

    def log(self, request: http.Request) -> None:
        """Writes nothing."""


def make_site(
    admin: IBookieAdmin, client: SharedClient | None = None, check_sanity: CheckSanity | None = None, clock: Any = None
) -> Site:
    """Make the site of one bookie: ``/metrics``, metrics of it and of its process as text, ``/heartbeat``, and
    what is below ``/api/v1``.

    :param client: of the cluster, closed with the site; without it there are no paths that show the cluster.
    :param check_sanity: of this bookie; without it there is no path for that.
    :param clock: for work that goes on after a request; comes with the client.
    """
    process = process_registry()
    bookie, limits = BookieApi(admin, check_sanity), LimitsApi(lambda: limits_of_bookie(admin))
    closing: list[Callable[[], object]] = []
    pages: dict[str, Resource] = {
        "metrics": TextPage(lambda: admin.metrics() + render(process), "text/plain; version=0.0.4; charset=utf-8"),
        "heartbeat": bookie.heartbeat(),
        **_below("api/v1/bookie", bookie.pages()),
        **_below("api/v1/bookie", BackgroundApi(admin).pages()),
        **_below("api/v1/bookie", limits.pages()),
        **_below("api/v1/config", ConfigurationApi(admin).pages()),
    }
    if client is not None:
        cluster = ClusterApi(client)
        pages |= _below("api/v1/bookie", cluster.bookie_pages()) | _below("api/v1/ledger", cluster.ledger_pages())
        autorecovery = AutorecoveryApi(client, clock)
        pages |= _below("api/v1/autorecovery", autorecovery.pages())
        closing = [autorecovery.close, client.close]
    site = _QuietSite(_Paths(pages))
    site.closing = closing
    return site


def make_autorecovery_site(
    metrics: Callable[[], bytes], limits: ISpeedLimits, client: SharedClient, clock: Any
) -> Site:
    """Make the site of autorecovery in a process of its own: ``/metrics``, ``/heartbeat``, its speed limits, and what
    is below ``/api/v1/autorecovery``.

    :param metrics: returns what is exported, without the metrics of the process.
    :param client: of the cluster, closed with the site.
    :param clock: for work that goes on after a request.
    """
    process = process_registry()
    autorecovery = AutorecoveryApi(client, clock)
    site = _QuietSite(_Paths({
        "metrics": TextPage(lambda: metrics() + render(process), "text/plain; version=0.0.4; charset=utf-8"),
        "heartbeat": TextPage(lambda: b"OK\n"),
        **_below("api/v1/bookie", LimitsApi(lambda: limits_of_autorecovery(limits)).pages()),
        **_below("api/v1/autorecovery", autorecovery.pages()),
    }))  # fmt: skip
    site.closing = [autorecovery.close, client.close]
    return site


def _below(root: str, pages: Mapping[str, Resource]) -> dict[str, Resource]:
    return {f"{root}/{path}": page for path, page in pages.items()}
