"""Creates the sources, the stream and the pages of the console, for the HTTP server of a bookie or of autorecovery."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twisted.web.resource import IResource

from ...bookie.admin import IBookieAdmin
from ...limits.adaptive import ISpeedLimits
from ..api import pages_of
from ..autorecovery_api import AutorecoveryApi
from ..cluster_api import Connect
from ..limits_api import limits_of_autorecovery, limits_value
from ..routes import Route, routes_of
from .bookie_pages import BookiePages
from .bookie_parts import SHOWN_JOBS, BookieParts, operations_value, replication_value
from .bundle import BundlePage
from .cluster_parts import ClusterParts
from .feed import ConsoleFeed
from .files import ConsoleFiles, page_version
from .history.event_file import EventFile
from .history.events import EventLog, EventPages, event_row
from .ledger_pages import LedgerPages
from .sources import RecordSource, Source, StateSource
from .stream import StreamPage

CONSOLE_ROUTES: tuple[Route, ...] = (
    *routes_of(BookiePages, LedgerPages, EventPages, BundlePage), *StreamPage.routes, *ConsoleFiles.all_routes,
)  # fmt: skip
"""The operations of the console of a bookie."""

_EVENTS_AT_ONCE = 200

Metrics = Callable[[], Iterator[bytes]]
"""A function that yields the text of the metrics of a process."""


class Console:
    """The console of one HTTP server.

    :param clock: the reactor.
    :param pages: pages, by their paths, that the console has only in this kind of process (bookie or autorecovery).
    :param sources: sources that the console has only in this kind of process.
    :param configuration: returns the configuration by key, with masked secrets.
    :param metrics: yields the text of the metrics of the process.
    :param events: stores events on disk; None if they are kept only in memory.
    :ivar pages: all pages by their paths; the paths have no slash at the beginning.
    """

    def __init__(
        self, clock: Any, pages: Mapping[str, IResource], sources: list[Source],
        configuration: Callable[[], Mapping[str, str]], metrics: Metrics, events: EventFile | None = None,
    ) -> None:  # fmt: skip
        self._log = EventLog(clock.seconds, events)
        self._is_open = False
        newest = RecordSource("events", lambda: (self._log.events,), event_row, _EVENTS_AT_ONCE)
        self._feed = feed = ConsoleFeed(clock, [*sources, newest, StateSource("page", _page)])
        self.pages: dict[str, IResource] = {
            **pages, **ConsoleFiles.pages(),
            **pages_of(EventPages(self._log, clock.seconds)),
            **pages_of(BundlePage(clock, self._log, configuration, metrics, feed.read_all)),
            StreamPage.routes[0].path.strip("/"): StreamPage(feed, clock),
        }  # fmt: skip

    @classmethod
    def of_bookie(
        cls, admin: IBookieAdmin, clock: Any, autorecovery: AutorecoveryApi | None, client: Connect | None,
        events: EventFile | None = None,
    ) -> "Console":  # fmt: skip
        """Make the console of a bookie.

        :param admin: administration interface of the bookie.
        :param clock: the reactor.
        :param autorecovery: answers requests about autorecovery; None if the server has no pages about the cluster.
        :param client: returns the client of the cluster; None if the server has no pages about the cluster.
        :param events: stores events on disk; None if they are kept only in memory.
        """
        parts = BookieParts(admin, clock.seconds)
        pages, sources = _of_cluster(autorecovery, client, clock, lambda: admin.replication_limits)
        own = pages_of(BookiePages(admin, parts)) | pages
        return cls(clock, own, [*parts.sources(), *sources], admin.configuration, admin.metrics, events)

    @classmethod
    def of_autorecovery(
        cls, limits: ISpeedLimits, clock: Any, autorecovery: AutorecoveryApi, client: Connect, metrics: Metrics
    ) -> "Console":  # fmt: skip
        """Make the console of an autorecovery process without a bookie.

        :param limits: the speed limits of autorecovery.
        :param clock: the reactor.
        :param autorecovery: answers requests about autorecovery.
        :param client: returns the client of the cluster.
        :param metrics: yields the text of the metrics of the process.
        """

        async def throttles() -> object:
            return limits_value(limits_of_autorecovery(limits))

        pages, sources = _of_cluster(autorecovery, client, clock, lambda: limits)
        return cls(clock, pages, [StateSource("throttles", throttles), *sources], dict, metrics)

    def start(self) -> None:
        """Begin to record events from the log of the process; called when the server begins to listen."""
        if not self._is_open:
            self._is_open = True
            self._log.start()

    def close(self) -> None:
        """End the responses of all viewers; called when the server stops."""
        if self._is_open:
            self._is_open = False
            self._log.stop()
        self._feed.close()


async def _page() -> object:
    return page_version()


def _of_cluster(
    autorecovery: AutorecoveryApi | None, client: Connect | None, clock: Any,
    limits: Callable[[], ISpeedLimits | None],
) -> tuple[dict[str, IResource], list[Source]]:  # fmt: skip
    """Return the console's pages and data sources about the cluster; none if the server has no BookKeeper client."""
    if autorecovery is None or client is None:
        return {}, []

    parts = ClusterParts(client, clock, limits)

    async def operations() -> object:
        jobs = parts.jobs(SHOWN_JOBS)
        return operations_value(autorecovery.operations, clock.seconds(), jobs, parts.disconnection())

    async def replication() -> object:
        return None if limits() is None else replication_value(parts.jobs(SHOWN_JOBS))

    own = [StateSource("operations", operations), StateSource("replication", replication)]
    return pages_of(LedgerPages(client, clock.seconds, parts.jobs, parts.silent)), [*parts.sources(), *own]
