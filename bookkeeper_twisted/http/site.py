"""Makes the HTTP servers of bookies and of autorecovery: metrics, a heartbeat, and pages with Apache's paths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from twisted.web.resource import IResource, Resource
from twisted.web.server import Request

from ..authorization.access import AccessControl
from ..bookie.admin import IBookieAdmin
from ..limits.adaptive import ISpeedLimits
from ..metrics import pieces, process_registry
from .access import AccessGuard
from .api import Answer, ApiRequest, begin_answer, pages_of, record_refusal
from .autorecovery_api import AutorecoveryApi
from .background_api import BackgroundApi
from .bookie_api import HEARTBEAT, BookieApi, CheckSanity
from .channel import BoundedSite
from .cluster_api import ClusterApi, SharedClient
from .console.assembly import CONSOLE_ROUTES, Console
from .console.history.event_file import EventFile
from .hosts import HostNames
from .limits_api import ConfigurationApi, LimitsApi, LogLevelsApi, limits_of_autorecovery, limits_of_bookie
from .metrics_page import MetricsPage
from .openapi import DescriptionApi
from .routes import ANY_METHOD, Route, routed, routes_of

_LOOPBACK = HostNames()
_NO_PAGE = Answer("<html><body><h1>Resource not found</h1></body></html>", 404, "text/html; charset=utf-8")


class _AutorecoveryProcess:
    """Answers ``/heartbeat`` of a process without a bookie."""

    @routed(*HEARTBEAT)
    async def _alive(self, request: ApiRequest) -> Answer:
        return Answer("OK\n")


ROUTES = sorted(
    {*routes_of(BookieApi, BackgroundApi, LimitsApi, ConfigurationApi, ClusterApi, AutorecoveryApi, DescriptionApi,
                LogLevelsApi),
     *MetricsPage.routes, *CONSOLE_ROUTES},
    key=lambda route: (route.path, route.method == ANY_METHOD, route.method),
)  # fmt: skip
"""The operations of all pages, sorted by path; an HTTP server may have only some of the pages."""


class _Paths(Resource):
    """Finds the page of each request by its full path, and adds the pages that describe the server.

    :param pages: the pages by their paths; the paths have no slash at the beginning.
    :param guard: decides which requests the server answers; None if it answers all requests.
    :param has_api: whether the server has the page with the OpenAPI document.
    """

    isLeaf = True

    def __init__(
        self, pages: Mapping[str, IResource], guard: AccessGuard | None = None, has_api: bool = True
    ) -> None:  # fmt: skip
        super().__init__()
        self._guard = guard
        routes: list[Route] = []
        self._pages = {**pages_of(DescriptionApi(routes)), **pages}
        if not has_api:
            del self._pages["api/v1/openapi.json"]
        for page in self._pages.values():
            routes += page.routes  # type: ignore[attr-defined]
        if guard is not None:
            guard.know(ROUTES)

    def render(self, request: Request) -> object:
        path = request.path.decode("ascii", "replace").strip("/")
        refusal = None if self._guard is None else self._guard.check(request, path)
        page = self._pages.get(path)
        if refusal is not None:
            record_refusal(request, page)
            return begin_answer(request, refusal.answer(request))
        return begin_answer(request, _NO_PAGE) if page is None else page.render(request)


def make_site(
    admin: IBookieAdmin, clock: Any, client: SharedClient | None = None, check_sanity: CheckSanity | None = None,
    hosts: HostNames = _LOOPBACK, guard: AccessGuard | None = None, events: EventFile | None = None,
) -> BoundedSite:  # fmt: skip
    """Make the HTTP server of one bookie.

    It has ``/metrics`` (of the bookie and of its process) and ``/heartbeat``, and the pages below ``/api/v1``.

    :param admin: administration interface of the bookie.
    :param clock: the reactor.
    :param client: the client of the cluster, which is closed with the server; None if the server has no pages about the
        cluster.
    :param check_sanity: writes entries to this bookie and reads them back; None if the server has no page for this
        check.
    :param hosts: the accepted values of the header ``Host``.
    :param guard: decides which requests the server answers; None if it answers all requests.
    :param events: stores the events of the console on disk; None if they are kept only in memory.
    """
    autorecovery = None if client is None else AutorecoveryApi(client, clock)
    console = Console.of_bookie(admin, clock, autorecovery, client, events)
    closing: list[Callable[[], object]] = [console.close]
    pages: dict[str, IResource] = {
        "metrics": _with_process(admin.metrics, clock),
        **pages_of(BookieApi(admin, check_sanity)),
        **pages_of(BackgroundApi(admin)),
        **pages_of(LimitsApi(lambda: limits_of_bookie(admin))),
        **pages_of(ConfigurationApi(admin)),
        **pages_of(LogLevelsApi(admin.configuration, admin.configure)),
        **console.pages,
    }
    if check_sanity is None:
        del pages["api/v1/bookie/sanity"]
    if client is not None and autorecovery is not None:
        pages |= pages_of(ClusterApi(client, clock)) | pages_of(autorecovery)
        closing += [autorecovery.close, client.close]
    return _guarded(pages, clock, hosts, closing, lambda: admin.access, guard, [console.start])


def make_autorecovery_site(
    metrics: Callable[[], Iterator[bytes]], limits: ISpeedLimits, client: SharedClient, clock: Any,
    hosts: HostNames = _LOOPBACK, access: AccessControl | None = None, guard: AccessGuard | None = None,
    levels: LogLevelsApi | None = None,
) -> BoundedSite:  # fmt: skip
    """Make the HTTP server of autorecovery in a process of its own.

    It has the pages ``/metrics`` and ``/heartbeat``, pages for speed limits and for levels of the log, and the pages
    below ``/api/v1/autorecovery``, and the console.

    :param metrics: yields the text of the service's metrics; the page adds the metrics of the process.
    :param limits: the speed limits of autorecovery.
    :param client: client of the cluster, closed with the server.
    :param clock: the reactor.
    :param hosts: the accepted values of ``Host``.
    :param access: decides which principals may change something; None if everybody may.
    :param guard: decides which requests the server answers; None if it answers all requests.
    :param levels: answers requests about the levels of the log; None if the server has no page for them.
    """
    autorecovery = AutorecoveryApi(client, clock)
    console = Console.of_autorecovery(limits, clock, autorecovery, client, metrics)
    pages = {
        "metrics": _with_process(metrics, clock),
        **pages_of(_AutorecoveryProcess()),
        **pages_of(LimitsApi(lambda: limits_of_autorecovery(limits))),
        **pages_of(autorecovery),
        **console.pages,
        **(pages_of(levels) if levels is not None else {}),
    }
    closing = [console.close, autorecovery.close, client.close]
    return _guarded(pages, clock, hosts, closing, lambda: access, guard, [console.start])


def make_metrics_site(metrics: Callable[[], Iterator[bytes]], clock: Any) -> BoundedSite:
    """Make an HTTP server with one page, ``/metrics``, like the server of Apache's Prometheus provider.

    The server accepts any ``Host``.  A script of another web site may read the page, but the page contains no secret,
    and no request changes anything.

    :param metrics: yields the text of the service's metrics; the page adds the metrics of the process.
    :param clock: the reactor.
    """
    return BoundedSite(_Paths({"metrics": _with_process(metrics, clock)}, has_api=False), clock, HostNames(("*",)), [])


def _guarded(
    pages: Mapping[str, IResource], clock: Any, hosts: HostNames, closing: Sequence[Callable[[], object]],
    access: Callable[[], AccessControl | None], guard: AccessGuard | None, opening: Sequence[Callable[[], object]],
) -> BoundedSite:  # fmt: skip
    if guard is None:
        return BoundedSite(_Paths(pages), clock, hosts, closing, access, opening=opening)
    site = BoundedSite(_Paths(pages, guard), clock, hosts, closing, access, guard.opened, opening)
    site.failed_handshakes = guard.failed_handshakes
    return site


def _with_process(metrics: Callable[[], Iterator[bytes]], clock: Any) -> MetricsPage:
    process = process_registry()
    return MetricsPage(lambda: chain(metrics(), pieces(process)), clock)
